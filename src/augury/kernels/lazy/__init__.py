"""Lazy chains over batches."""
