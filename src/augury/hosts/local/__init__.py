"""Matching in this process: finite streams, batches as they come, SQL over local tables."""
