"""Lists standardised one by one; compiled with the kernels, which takes less time than NumPy on all of them at once."""

from __future__ import annotations

from math import sqrt

from augury.native.kinds import Floats, Floats2


def standardise_each(rows: Floats2, result: Floats2, squares: Floats) -> None:
    """Put the rows less their means, over the roots of their `squares`, into `result`, as `ir.functions.standardise`.

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
        # Nothing is made of a list without a variance.
        if root > 0.0:
            for k in range(width):
                result[i, k] = (rows[i, k] - mean) / root
