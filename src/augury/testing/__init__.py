"""Hypothesis strategies for queries and streams, and helpers that compare matches."""
