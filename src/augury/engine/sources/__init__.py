"""Whatever holds events -> Arrow tables, and what their columns mean."""
