"""SQL text with MATCH_RECOGNIZE -> a statement whose row patterns are read, then bound to their input's columns."""
