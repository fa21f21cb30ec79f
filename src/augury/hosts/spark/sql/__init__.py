"""Queries as table functions of Spark SQL."""
