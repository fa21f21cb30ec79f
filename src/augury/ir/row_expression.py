"""Typed expressions of MEASURES and DEFINE, over the rows that a match has mapped so far."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa

from augury.source import Span, span_field


@dataclass(frozen=True, slots=True)
class Navigation:
    """The row that a value is read from.

    Among the rows mapped to one of `variables` (None: to any), it is the one `offset` rows after the first, or before
    the last; then `shift` rows further in the partition. With `running` only rows up to the current one count. If there
    is no such row, the value is null.

    >>> Navigation(frozenset({"A"}), last=False, offset=1)
    Navigation(variables=frozenset({'A'}), last=False, offset=1, running=True, shift=0)
    """

    variables: frozenset[str] | None = None
    last: bool = True
    offset: int = 0
    running: bool = True
    shift: int = 0


@dataclass(frozen=True, slots=True)
class Constant:
    """A value known before any row is read; times are integers in ticks of their type's unit."""

    value: Any
    type: pa.DataType
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class ColumnValue:
    """An input column at a row; `at` is None inside an aggregate, for the aggregated row."""

    column: int
    type: pa.DataType
    at: Navigation | None
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Classifier:
    """The name of the variable that a row is mapped to; `at` as in `ColumnValue`."""

    at: Navigation | None
    type: pa.DataType
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class MatchNumber:
    """The number of the match in its partition, from 1."""

    type: pa.DataType
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Aggregate:
    """An aggregate over the rows mapped to `variables` (None: all rows), up to the current one if `running`.

    Arguments read the aggregated row. `limit` is the `n` of `max(x, n)` and `max_by(x, y, n)`. A planner that knows the
    distances of those rows from the current one sets them in `shifts`.
    """

    function: str
    arguments: tuple[RowExpression, ...]
    variables: frozenset[str] | None
    running: bool
    type: pa.DataType
    limit: int | None = None
    span: Span = span_field()
    shifts: tuple[int, ...] | None = None


@dataclass(frozen=True, slots=True)
class Operation:
    """A scalar function or an operator, named as in `sql_functions`."""

    function: str
    operands: tuple[RowExpression, ...]
    type: pa.DataType
    span: Span = span_field()


RowExpression: TypeAlias = Constant | ColumnValue | Classifier | MatchNumber | Aggregate | Operation


def walk(expression: RowExpression) -> Iterator[RowExpression]:
    """The expression and all its subexpressions, including arguments of aggregates."""
    pending: list[RowExpression] = [expression]
    while pending:
        node = pending.pop()
        yield node
        match node:
            case Operation(_, operands):
                pending.extend(operands)
            case Aggregate(_, arguments):
                pending.extend(arguments)
            case _:
                pass
