"""Cutting a stream into parts that are matched apart: by key, and by time with a halo of one window."""
