"""The state of a stream between micro-batches: buckets of keys, what is written of them, and reading it back."""
