"""Lists by the leading coefficients of their cosine transform, which bound how near one another two lists can be.

The transform is orthonormal, so the dot product of two lists is that of all their coefficients. With a few of them
known, what the others add is at most the product of the lengths of the two rests. Lists that change little from one
element to the next, such as prices, have short rests.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

LEADING = 8
"""Coefficients that are kept of a list."""

SHORTEST = 2 * (LEADING + 1)
"""Elements of a list from which on it takes at most half as long to bound a product as to compute it."""


def cosines(width: int) -> Floats:
    """What each element of a list of `width` contributes to each coefficient.

    The first function is left out: it is constant, and the elements of a standardised list sum up to nothing.

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
