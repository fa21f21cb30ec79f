"""NFA^b over batches."""
