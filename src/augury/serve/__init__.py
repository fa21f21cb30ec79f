"""Local web pages: the playground for queries, and the live view of a stream."""
