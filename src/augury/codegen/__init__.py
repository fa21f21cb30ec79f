"""Plan -> source: readable Python specialised to the query, and nothing else."""
