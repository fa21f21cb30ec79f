"""Hypothesis strategies for queries and streams, and what tests compare matches with."""
