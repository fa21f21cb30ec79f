"""Standardising of lists one by one; compiled with the kernels, since NumPy takes longer for all of them at once."""

from __future__ import annotations

from math import sqrt

from augury.native.kinds import Floats, Floats2


def standardise_each(rows: Floats2, result: Floats2, squares: Floats) -> None:
    """Write rows, less their means and over the roots of their `squares`, to `result`, as `ir.functions.standardise`.

    >>> import numpy as np
    >>> result, squares = np.empty((1, 2)), np.empty(1)
    >>> standardise_each(np.array([[1.0, 3.0]]), result, squares)
    >>> result.tolist(), squares.tolist()
    ([[-0.7071067811865475, 0.7071067811865475]], [2.0])
    """
    width = rows.shape[1]
    for i in range(len(rows)):
        total = 0.0
        for k in range(width):
            total += rows[i, k]
        mean = total / width
        total = 0.0
        for k in range(width):
            total += (rows[i, k] - mean) * (rows[i, k] - mean)
        squares[i] = total
        root = sqrt(total)
        # A list without variance has no standardised form.
        if root > 0.0:
            for k in range(width):
                result[i, k] = (rows[i, k] - mean) / root
