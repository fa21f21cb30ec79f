"""Conditions on a fixed number of earlier rows.

Where a pattern begins with positions that follow one another in one way only, such as `A{5} B`, the rows mapped before
each of them are at a known distance. A condition that looks back at them is decided by the row and its neighbours.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import assert_never

from augury.ir.row_expression import (
    Aggregate,
    Classifier,
    ColumnValue,
    Constant,
    MatchNumber,
    Navigation,
    Operation,
    RowExpression,
    walk,
)
from augury.ir.sql_types import Family, family
from augury.plan.row_pattern import AT_FIRST_ROW, FIRST_POSITION, Program, kind_of

MAX_SHIFTS = 32
"""Rows that an aggregate adds up again for each row; for more, the search carries the aggregate if it can."""


def fixed_paths(program: Program) -> dict[int, tuple[str, ...]]:
    """Variables that can be mapped to one row of a match only, each with the variables of the rows up to it."""
    reached = Counter(s for k, follow in enumerate(program.follow) if k != AT_FIRST_ROW for s in follow)
    places = Counter(p.label for p in program.positions)
    path: list[str] = []
    out: dict[int, tuple[str, ...]] = {}
    for position in program.opening:
        if reached[FIRST_POSITION + position] > 1:
            break
        label = program.positions[position].label
        path.append(program.labels[label])
        if places[label] == 1:
            out[label] = tuple(path)
    return out


def at_fixed_rows(condition: RowExpression, path: tuple[str, ...]) -> RowExpression | None:
    """A condition on the last row of a path, with rows given by their distance; None if it has no such form."""
    if not all(_is_fixed(node, path) for node in walk(condition)):
        return None
    return _rewritten(condition, path)


def _mapped(variables: frozenset[str] | None, path: tuple[str, ...]) -> list[int]:
    """The rows of the path that are mapped to the given variables."""
    return [k for k, name in enumerate(path) if variables is None or name in variables]


def _is_fixed(node: RowExpression, path: tuple[str, ...]) -> bool:
    match node:
        case MatchNumber():
            return False
        case Aggregate(function, arguments, variables):
            if not arguments:
                return function == "count"
            if len(arguments) > 1 or node.limit is not None or len(_mapped(variables, path)) > MAX_SHIFTS:
                return False
            if any(isinstance(n, Classifier | MatchNumber) for n in walk(arguments[0])):
                return False
            if function == "count":
                return kind_of(arguments[0].type) is not None
            summed = function in ("sum", "avg") and family(node.type) in (Family.INTEGER, Family.FLOAT)
            kinds = {kind_of(arguments[0].type), kind_of(node.type)}
            return (summed or function in ("min", "max")) and kinds <= {"integer", "float"}
        case Constant() | Operation() | ColumnValue() | Classifier():
            return True
        case _:
            assert_never(node)


def _rewritten(node: RowExpression, path: tuple[str, ...]) -> RowExpression:
    match node:
        case Constant() | MatchNumber():
            return node
        case Operation(_, operands):
            return replace(node, operands=tuple(_rewritten(o, path) for o in operands))
        case ColumnValue(_, type, at):
            assert at is not None
            row = _row(at, path)
            if row is None:
                return Constant(None, type, node.span)
            return replace(node, at=Navigation(shift=row - (len(path) - 1) + at.shift))
        case Classifier(at, type):
            assert at is not None
            row = _row(at, path)
            inside = row is not None and 0 <= row + at.shift < len(path)
            return Constant(path[row + at.shift] if row is not None and inside else None, type, node.span)
        case Aggregate(_, arguments, variables, _, type):
            rows = _mapped(variables, path)
            if not arguments:
                return Constant(len(rows), type, node.span)
            return replace(node, shifts=tuple(row - (len(path) - 1) for row in rows))
        case _:
            assert_never(node)


def _row(at: Navigation, path: tuple[str, ...]) -> int | None:
    """The row of the path that FIRST or LAST leads to."""
    rows = _mapped(at.variables, path)
    if at.offset >= len(rows):
        return None
    return rows[-1 - at.offset] if at.last else rows[at.offset]
