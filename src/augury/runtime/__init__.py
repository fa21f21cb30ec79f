"""Columnar data that kernels read and write."""
