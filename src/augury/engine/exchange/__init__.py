"""Data that is sent between tasks: events as blobs, strings as codes, compiled kernels."""
