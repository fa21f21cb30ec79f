"""The engine, which cuts, skips, orders, matches, merges and saves streams of events, for any host."""
