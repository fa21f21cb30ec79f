"""Explanations of queries, stage by stage."""
