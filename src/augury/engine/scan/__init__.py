"""Selects the columns, rows and row groups of a source that have to be read."""
