"""Finite frames and files of Spark."""
