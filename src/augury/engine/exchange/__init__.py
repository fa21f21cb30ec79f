"""What travels between tasks: events as blobs, strings as codes, compiled kernels."""
