"""Intermediate representations: the syntax tree (`syntax`) and the bound query (`pattern`, `predicate`, `query`)."""
