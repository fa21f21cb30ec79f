"""Aggregates over rows that are a fixed number of rows away, for every row of a column."""

from __future__ import annotations

import numpy as np

from augury.ir.row_expression import Aggregate
from augury.ir.sql_types import BIGINT
from augury.jit.tier import Tier
from augury.kernels.row_pattern.vectors import FAILED, KNOWN, NULL, Integers, Vector
from augury.runtime.memory import empty_array

EXACT = 2**53
"""Integers below this are doubles without rounding."""

SAFE = 2**62
"""Integers whose absolute values add up to no more than this do not overflow 64 bits."""


def window_aggregate(aggregate: Aggregate, argument: Vector, support: Tier, reach: tuple[int, int] = (0, 0)) -> Vector:
    """The aggregate of `argument` at `shifts` rows from each row, leaving out those at the ends that `reach` tells.

    It has failed where a value has, and where a sum may not be exact. What is outside of the partition of a row counts
    as well: the search does not look at rows that have so few before them.
    """
    low, high = reach
    size = max(len(argument) + low - high, 0)
    found = _of_known_values(aggregate, argument, low, size) if reach != (0, 0) else None
    return _of_each_row(aggregate, argument, support).slice(-low, size) if found is None else found


def _of_known_values(aggregate: Aggregate, argument: Vector, low: int, size: int) -> Vector | None:
    """Sums and averages for `size` rows from row `-low` on, all of which have the rows that are added up.

    None if some value is not known, or a sum may not be exact.
    """
    shifts = aggregate.shifts
    if aggregate.function not in ("sum", "avg") or argument.codes is not None or not shifts or not size:
        return None
    if argument.kind == "integer":
        most = EXACT if aggregate.function == "avg" else SAFE
        if max(abs(int(argument.values.max())), abs(int(argument.values.min()))) > most // len(shifts):
            return None
    total, *others = (argument.values[shift - low : shift - low + size] for shift in shifts)
    total = total.copy()
    for values in others:
        total += values
    if aggregate.function == "avg":
        return Vector(aggregate.type, "float", total / len(shifts))
    return Vector(aggregate.type, argument.kind, total)


def _of_each_row(aggregate: Aggregate, argument: Vector, support: Tier) -> Vector:
    assert aggregate.shifts is not None
    size, shifts = len(argument), np.array(aggregate.shifts, np.int64)
    codes = np.zeros(size, np.uint8) if argument.codes is None else np.ascontiguousarray(argument.codes)
    seen = empty_array(size)
    if aggregate.function == "count":
        support("window_counts", codes, shifts, seen)
        return Vector(BIGINT, "integer", np.maximum(seen, 0), _failures(seen))
    values = np.ascontiguousarray(argument.values)
    out = empty_array(len(values), values.dtype)
    if aggregate.function in ("min", "max"):
        support("window_extremes", values, codes, shifts, aggregate.function == "max", out, seen)
        return Vector(aggregate.type, argument.kind, out, _codes(seen))
    floats = argument.kind == "float"
    most = np.inf if floats else float(EXACT if aggregate.function == "avg" else SAFE)
    support("window_sums", values, codes, shifts, most, out, seen)
    if aggregate.function == "avg":
        return Vector(aggregate.type, "float", out / np.maximum(seen, 1), _codes(seen))
    return Vector(aggregate.type, argument.kind, out, _codes(seen))


def _codes(seen: Integers) -> np.ndarray[tuple[int], np.dtype[np.uint8]] | None:
    """Null where nothing was seen, failed where that could not be told."""
    if seen.min(initial=1) > 0:
        return None
    return np.where(seen < 0, FAILED, np.where(seen == 0, NULL, KNOWN)).astype(np.uint8)


def _failures(seen: Integers) -> np.ndarray[tuple[int], np.dtype[np.uint8]] | None:
    return None if seen.min(initial=0) >= 0 else np.where(seen < 0, FAILED, KNOWN).astype(np.uint8)
