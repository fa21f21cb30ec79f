"""What cuts, skips, orders, matches, merges and saves streams of events, whatever host they come from."""
