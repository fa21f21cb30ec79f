"""Structured streaming: buckets of keys in Spark's state."""
