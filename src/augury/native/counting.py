"""Sums and products of numbers of matches, exact up to 2**63 - 1; MANY stands for any greater number.

No number of matches is negative, so a sum or product that has MANY in it is MANY too, but for a product with zero: a
result is MANY if and only if the true number does not fit. Compiled once for all queries, like `augury.native.buffer`.
"""

from __future__ import annotations

from augury.native.prelude import INT_MAX

MANY = -1
"""More matches than 64 bits can count."""


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
    # A division costs more than all the rest: only what comes close to the limit is looked at exactly.
    if float(a) * float(b) > 4e18 and a > INT_MAX // b:
        return -1
    return a * b
