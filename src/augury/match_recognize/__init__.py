"""SQL with MATCH_RECOGNIZE: reading the statement, and binding its row patterns to the columns of their input."""
