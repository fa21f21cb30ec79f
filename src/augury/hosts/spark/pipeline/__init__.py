"""Pipelines from a configuration file: read, match, write."""
