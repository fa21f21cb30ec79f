"""Evaluates the conditions of DEFINE to masks of rows: null counts as false, and neighbours are not copied."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from augury.ir.row_expression import Aggregate, ColumnValue, Constant, Operation, RowExpression, walk
from augury.jit.tier import Tier
from augury.kernels.row_pattern.expressions import Leaf, evaluate
from augury.kernels.row_pattern.rows import SortedRows
from augury.kernels.row_pattern.vectors import FAILED, KNOWN, Vector
from augury.kernels.row_pattern.windows import window_aggregate
from augury.runtime.memory import zero_array

Flags = npt.NDArray[np.bool_]

STRICT = frozenset(("=", "<>", "<", "<=", ">", ">=", "+", "-", "*", "/", "%", "mod", "negate", "abs", "not"))
"""Operations that are null, and do not fail, where an operand is null."""

MAY_FAIL = frozenset(("+", "-", "*", "/", "%", "mod", "negate", "abs"))
"""Those that may fail where no operand is null: numbers overflow, and nothing is divided by zero."""


def true_rows(rows: SortedRows, condition: RowExpression, support: Tier) -> Flags | None:
    """Whether a condition is true, for each row; None if it fails at some row, or may fail once more rows are known."""
    if rows.open:
        return None
    if not isinstance(condition, Operation) or condition.function not in ("and", "or") or not condition.operands:
        return _part(rows, condition, support)
    combine = np.logical_and if condition.function == "and" else np.logical_or
    out: Flags | None = None
    for operand in condition.operands:
        found = true_rows(rows, operand, support)
        if found is None:
            return None
        out = found if out is None else combine(out, found, out=out)
    return out


def _part(rows: SortedRows, condition: RowExpression, support: Tier) -> Flags | None:
    """Whether a condition without AND and OR around it is true; the array is the caller's."""
    low, high = _reach(condition)
    if not _is_strict(condition, {low, high} - {0}):
        vector, low, high = rows.value(condition, support), 0, 0
    else:
        vector = _beside_neighbours(rows, condition, low, high, support)
    true = zero_array(len(rows), np.bool_)
    inner = slice(-low, max(len(rows) - high, 0))
    if not len(true[inner]) or vector.kind != "boolean":
        return None if vector.failed.any() else true
    true[inner] = vector.values if vector.codes is None else vector.values & (vector.codes == KNOWN)
    # The partitions of these rows have no such neighbours: what was read there are rows of others.
    outside = [rows.outside(shift) for shift in (low, high) if shift]
    for places in outside:
        true[places] = False
    if vector.codes is not None and (vector.codes == FAILED).any():
        failed = np.zeros(len(rows), np.bool_)
        failed[inner] = vector.codes == FAILED
        for places in outside:
            failed[places] = False
        if failed.any():
            return None
    return true


def _beside_neighbours(rows: SortedRows, condition: RowExpression, low: int, high: int, support: Tier) -> Vector:
    """A condition for all rows but the first `-low` and the last `high`, whose neighbours are views of the columns."""
    size = max(len(rows) + low - high, 0)

    def read(leaf: Leaf) -> Vector:
        match leaf:
            case ColumnValue(column, _, at):
                return rows.columns[column].slice((0 if at is None else at.shift) - low, size)
            case Aggregate():
                return window_aggregate(leaf, rows.value(leaf.arguments[0], support), support, (low, high))
            case _:
                raise AssertionError(leaf)

    return evaluate(condition, read)


def _reach(condition: RowExpression) -> tuple[int, int]:
    """The least and the greatest distance of the rows that a condition reads, the row itself included."""
    shifts = {0} | _shifts(condition)
    return min(shifts), max(shifts)


def _shifts(expression: RowExpression) -> set[int]:
    """The distances of the rows that an expression reads."""
    shifts = set[int]()
    for node in walk(expression):
        if isinstance(node, ColumnValue):
            shifts.add(0 if node.at is None else node.at.shift)
        elif isinstance(node, Aggregate):
            shifts.update(node.shifts or ())
    return shifts


def _is_strict(condition: RowExpression, farthest: set[int]) -> bool:
    """Whether a condition is not true, and does not fail, where one of the rows that it reads is not there.

    What may fail has to read the rows that are `farthest`, so that it is null where any row is missing. An aggregate of
    fewer rows is another one, but the search does not look at rows that have so few before them.
    """
    match condition:
        case Operation(function, operands):
            if function in MAY_FAIL and not farthest <= _shifts(condition):
                return False
            return function in STRICT and all(_is_strict(o, farthest) for o in operands)
        case ColumnValue():
            return True
        case Aggregate():
            return farthest <= _shifts(condition)
        case Constant(value):
            return value is not None
        case _:
            return False
