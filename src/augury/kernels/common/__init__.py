"""Reporting, keys and states that the kernels of several families share."""
