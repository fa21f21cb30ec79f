"""What was written (`syntax`) and what was meant (`pattern`, `predicate`, `query`)."""
