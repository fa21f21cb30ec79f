"""Sorted rows of one partition -> the rows that a MATCH_RECOGNIZE clause writes for them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from augury.errors import Diagnostic, QueryError
from augury.ir.row_expression import ColumnValue, walk
from augury.ir.row_pattern import BoundRowPattern, Rows, SkipTo
from augury.reference.row_pattern.mapping import Mapping
from augury.reference.row_pattern.search import Budget, Search
from augury.reference.row_pattern.states import States
from augury.reference.row_pattern.values import Evaluator, arrow_values, python_values


@dataclass(slots=True)
class _Written:
    """Output rows so far: the input row of each, and the values of the measures by column."""

    rows: list[int] = field(default_factory=list)
    measures: list[list[Any]] = field(default_factory=list)


def match_rows(bound: BoundRowPattern, partition: pa.Table, budget: Budget) -> pa.Table:
    """What the clause writes for one partition, whose rows are sorted.

    The result has the columns of `bound.output_schema`.
    """
    columns = {c: python_values(partition.column(c)) for c in _used_columns(bound)}
    evaluator = Evaluator(columns, partition.num_rows, bound.source)
    order = columns[bound.order_by[0].column] if bound.within is not None else None
    search = Search(bound, States(bound.pattern), evaluator, order, budget)
    written = _Written([], [[] for _ in bound.measures])
    row, number, mapped_to = 0, 1, 0
    while row < partition.num_rows:
        mapping = search.match_at(row, number)
        if mapping is None:
            if bound.rows is Rows.ALL_WITH_UNMATCHED and row >= mapped_to:
                _write(written, row, [None] * len(bound.measures))
            row += 1
            continue
        _write_match(bound, evaluator, mapping, written)
        number += 1
        mapped_to = max(mapped_to, row + len(mapping))
        row = _next_candidate(bound, mapping)
    return _table(bound, partition, written)


def _used_columns(bound: BoundRowPattern) -> set[int]:
    expressions = [*bound.conditions.values(), *(m.value for m in bound.measures)]
    used = {n.column for e in expressions for n in walk(e) if isinstance(n, ColumnValue)}
    return used | ({bound.order_by[0].column} if bound.within is not None else set())


def _write(written: _Written, row: int, values: list[Any]) -> None:
    written.rows.append(row)
    for column, value in zip(written.measures, values, strict=True):
        column.append(value)


def _write_match(bound: BoundRowPattern, evaluator: Evaluator, mapping: Mapping, written: _Written) -> None:
    length = len(mapping)

    def measures(at: int) -> list[Any]:
        return [evaluator.value(m.value, at) for m in bound.measures]

    if bound.rows is Rows.ONE_ROW:
        # The last row sees the whole match, so that running and final are the same there.
        _write(written, mapping.start, measures(length))
    elif length == 0:
        if bound.rows is not Rows.ALL_OMIT_EMPTY:
            _write(written, mapping.start, measures(0))
    else:
        for position in range(length):
            if not mapping.excluded[position]:
                _write(written, mapping.start + position, measures(position + 1))


def _next_candidate(bound: BoundRowPattern, mapping: Mapping) -> int:
    """The row from which on the next match is looked for."""
    if not len(mapping):
        return mapping.start + 1
    skip = bound.skip
    match skip.to:
        case SkipTo.PAST_LAST_ROW:
            return mapping.start + len(mapping)
        case SkipTo.NEXT_ROW:
            return mapping.start + 1
    places = [k for k, variable in enumerate(mapping.variables) if variable in skip.variables]
    if not places:
        message = "AFTER MATCH SKIP leads to a variable that a match does not map"
        help = "skip to a variable that every match maps, or TO NEXT ROW"
        raise QueryError([Diagnostic("A742", message, skip.span, "not mapped", help)], bound.source)
    place = places[0] if skip.to is SkipTo.FIRST else places[-1]
    if place == 0:
        message = "AFTER MATCH SKIP leads to the first row of a match, which would be found for ever"
        help = "skip TO NEXT ROW, PAST LAST ROW or to a later variable"
        raise QueryError([Diagnostic("A743", message, skip.span, "the first row", help)], bound.source)
    return mapping.start + place


def _table(bound: BoundRowPattern, partition: pa.Table, written: _Written) -> pa.Table:
    rows = pa.array(written.rows, pa.int64())
    leading = [partition.column(c).take(rows) for c in bound.leading_columns]
    measures = [arrow_values(values, m.value.type) for m, values in zip(bound.measures, written.measures, strict=True)]
    trailing = [partition.column(c).take(rows) for c in bound.trailing_columns]
    return pa.table([*leading, *measures, *trailing], schema=bound.output_schema)
