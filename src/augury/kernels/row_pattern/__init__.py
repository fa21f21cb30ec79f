"""Runs the search of row patterns, and computes what they write."""
