"""Emits the search of row patterns."""
