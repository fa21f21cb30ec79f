"""Leading coefficients of the cosine transform of lists, which bound the dot product of two lists.

The transform is orthonormal, so the dot product of two lists is that of all their coefficients. With a few of them
known, what the others add is at most the product of the lengths of the two rests. Lists that change little from one
element to the next, such as prices, have short rests.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

LEADING = 8
"""Coefficients kept per list."""

MIN_BOUNDED_LENGTH = 2 * (LEADING + 1)
"""Elements of a list from which on bounding a product takes at most half as long as computing it."""


def cosines(width: int) -> Floats:
    """The matrix of the transform: what each element of a list of `width` contributes to each coefficient.

    The constant function is left out: the elements of a standardised list sum up to zero.

    >>> table = cosines(20)
    >>> table.shape, bool(np.allclose(table.T @ table, np.eye(LEADING)))
    ((20, 8), True)
    >>> cosines(3)[:, 2:].any()
    np.False_
    """
    at, k = np.arange(width)[:, None] + 0.5, np.arange(1, LEADING + 1)
    table: Floats = np.sqrt(2 / width) * np.cos(np.pi * at * k / width)
    return np.where(k < width, table, 0.0)


def lead(rows: Floats) -> Floats:
    """The coefficients of each standardised list, and the length of its rest."""
    found = rows @ cosines(rows.shape[1])
    rest = np.sqrt(np.maximum(0.0, 1.0 - (found * found).sum(axis=1)))
    return np.column_stack([found, rest])
