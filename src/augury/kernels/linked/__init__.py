"""Linked chains over batches."""
