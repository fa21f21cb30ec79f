"""Evaluation of a MATCH_RECOGNIZE clause over the sorted rows of one partition."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from augury.errors import Diagnostic, QueryError
from augury.ir.row_pattern import BoundRowPattern, Rows, SkipTo
from augury.reference.row_pattern.mapping import Mapping
from augury.reference.row_pattern.search import Budget, PartitionEnds, Search
from augury.reference.row_pattern.states import States
from augury.reference.row_pattern.values import Evaluator, NotKnownYet, arrow_values, python_values


@dataclass(slots=True)
class _Written:
    """Output rows so far: the input row of each, and the values of the measures by column."""

    rows: list[int] = field(default_factory=list)
    measures: list[list[Any]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class SearchProgress:
    """The progress of a search in one partition, whose rows are those that it still needs.

    It resumes at row `candidate`; its next match has this `number`; rows before `mapped` are known to be mapped or not.
    Row 0 is the first of the partition unless rows before it have been `forgotten`.
    """

    candidate: int = 0
    number: int = 1
    mapped: int = 0
    forgotten: bool = False


def match_rows(bound: BoundRowPattern, partition: pa.Table, budget: Budget) -> pa.Table:
    """The rows that the clause returns for one partition, whose rows are sorted.

    The result has the columns of `bound.output_schema`.
    """
    return match_known_rows(bound, partition, budget, SearchProgress(), None)[0]


def match_known_rows(
    bound: BoundRowPattern, partition: pa.Table, budget: Budget, reached: SearchProgress, watermark: int | None
) -> tuple[pa.Table, SearchProgress]:
    """The rows that the clause returns for the known rows of a partition, and the progress of the search.

    With a `watermark` more rows may come, none of them earlier: the search stops before the first match that could
    depend on them.
    """
    columns = {c: python_values(partition.column(c)) for c in bound.used_columns}
    evaluator = Evaluator(columns, partition.num_rows, bound.source, more=watermark is not None)
    order = columns[bound.order_by[0].column] if bound.within is not None else None
    ends = PartitionEnds(None if reached.forgotten else 0, watermark)
    search = Search(bound, States(bound.pattern), evaluator, order, budget, ends)
    written = _Written([], [[] for _ in bound.measures])
    while reached.candidate < partition.num_rows:
        try:
            reached = _advance(bound, search, reached, written)
        except NotKnownYet:
            break
    return _table(bound, partition, written), reached


def _advance(bound: BoundRowPattern, search: Search, reached: SearchProgress, written: _Written) -> SearchProgress:
    """Find and write the match at the next candidate."""
    row, number = reached.candidate, reached.number
    mapping = search.match_at(row, number)
    if mapping is None:
        if bound.rows is Rows.ALL_WITH_UNMATCHED and row >= reached.mapped:
            _write(written, row, [None] * len(bound.measures))
        return replace(reached, candidate=row + 1)
    _write_match(bound, search.evaluator, mapping, written)
    following = _next_candidate(bound, mapping)
    mapped = max(reached.mapped, row + len(mapping))
    return replace(reached, candidate=following, number=number + 1, mapped=mapped)


def _write(written: _Written, row: int, values: list[Any]) -> None:
    written.rows.append(row)
    for column, value in zip(written.measures, values, strict=True):
        column.append(value)


def _write_match(bound: BoundRowPattern, evaluator: Evaluator, mapping: Mapping, written: _Written) -> None:
    """Write all rows of a match, or none if a measure is not known yet."""
    length = len(mapping)
    # The input row of each row to write, and the number of rows of the match that its measures see.
    if bound.rows is Rows.ONE_ROW:
        # The last row sees the whole match, so RUNNING and FINAL are the same there.
        shown = [(mapping.start, length)]
    elif length == 0:
        shown = [] if bound.rows is Rows.ALL_OMIT_EMPTY else [(mapping.start, 0)]
    else:
        shown = [(mapping.start + p, p + 1) for p in range(length) if not mapping.excluded[p]]
    values = [[evaluator.value(m.value, at) for m in bound.measures] for _, at in shown]
    for (row, _), measures in zip(shown, values, strict=True):
        _write(written, row, measures)


def _next_candidate(bound: BoundRowPattern, mapping: Mapping) -> int:
    """The row at which the search for the next match starts."""
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
