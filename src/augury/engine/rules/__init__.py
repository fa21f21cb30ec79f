"""Many queries over the same events: rules of one shape are one query in which their values are columns."""
