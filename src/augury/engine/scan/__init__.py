"""Which columns, rows and row groups of a source have to be read."""
