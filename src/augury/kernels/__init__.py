"""Runs compiled sources over batches, one folder a family; each is loaded when a query needs it."""
