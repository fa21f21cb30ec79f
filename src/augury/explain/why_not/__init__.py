"""The reason why a query has no match: events left by each of its conditions, and the longest partial match."""
