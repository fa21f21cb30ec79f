"""Structured streaming: buckets of keys as Spark's state."""
