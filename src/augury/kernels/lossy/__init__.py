"""Lossy streams over batches."""
