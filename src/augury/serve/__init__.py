"""Pages that a browser on this machine opens: the playground for queries, and the live view of a stream."""
