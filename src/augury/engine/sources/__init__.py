"""Reads events into Arrow tables, and finds out what their columns mean."""
