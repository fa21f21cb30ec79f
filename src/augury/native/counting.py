"""Overflow-checked sums and products of match counts, exact up to 2**63 - 1; OVERFLOWED stands for any greater number.

Counts are never negative, so a sum with OVERFLOWED is OVERFLOWED, and so is a product unless the other factor is zero:
a result is OVERFLOWED if and only if the true number does not fit. Compiled once for all queries, like
`augury.native.buffer`.
"""

from __future__ import annotations

from augury.native.prelude import INT_MAX

OVERFLOWED = -1
"""A number of matches that does not fit in 64 bits."""


def plus(a: int, b: int) -> int:
    """The sum of two numbers of matches.

    >>> plus(2, 3), plus(2**62, 2**62 - 1) == 2**63 - 1, plus(2**62, 2**62), plus(-1, 0)
    (5, True, -1, -1)
    """
    if a < 0 or b < 0 or a > INT_MAX - b:
        return -1
    return a + b


def times(a: int, b: int) -> int:
    """The product of two numbers of matches.

    >>> times(2, 3), times(2**31, 2**32 - 1) == 2**63 - 2**31, times(2**31, 2**32), times(-1, 2), times(-1, 0)
    (6, True, -1, -1, 0)
    """
    if a == 0 or b == 0:
        return 0
    if a < 0 or b < 0:
        return -1
    # A division costs more than everything else, so only products close to the limit are checked exactly.
    if float(a) * float(b) > 4e18 and a > INT_MAX // b:
        return -1
    return a * b
