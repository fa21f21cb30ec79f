"""Matches -> the rows that a MATCH_RECOGNIZE clause writes."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from augury.ir.row_pattern import Rows
from augury.kernels.row_pattern.kernel import FoundMatches, RowPatternKernel
from augury.kernels.row_pattern.measures import MappedRows, MeasureEvaluator, Points
from augury.kernels.row_pattern.rows import SortedRows
from augury.kernels.row_pattern.vectors import FAILED, NULL, Integers, arrow_array


@dataclass(frozen=True, slots=True)
class WrittenRows:
    """The output of a clause: the sorted row and the match that each output row belongs to, and the measures.

    `partitions` are those of the matches; `failed` is whether a measure could not be computed for an output row.
    """

    rows: Integers
    matches: Integers
    partitions: Integers
    measures: tuple[pa.Array, ...]
    failed: npt.NDArray[np.bool_]


def written_rows(kernel: RowPatternKernel, found: FoundMatches, rows: SortedRows) -> WrittenRows:
    """The output rows of all matches, in their order."""
    plan = kernel.plan
    mapped = MappedRows(plan, found, rows.starts)
    points, where = _points(plan.bound.rows, found, mapped)
    evaluator = MeasureEvaluator(plan, rows, mapped, points, kernel.support)
    unmatched = points.of(found.number) == 0 if plan.bound.rows is Rows.ALL_WITH_UNMATCHED else None
    measures, failed = [], np.zeros(len(where), np.bool_)
    for measure in plan.bound.measures:
        vector = evaluator.value(measure.value)
        if unmatched is not None:
            codes = np.zeros(len(where), np.uint8) if vector.codes is None else vector.codes
            vector = replace(vector, codes=np.where(unmatched, NULL, codes).astype(np.uint8))
        if vector.codes is not None:
            failed |= vector.codes == FAILED
        measures.append(arrow_array(vector, measure.value.type))
    matches = np.arange(len(found.start)) if points.match is None else points.match
    return WrittenRows(where, matches, points.of(mapped.partition), tuple(measures), failed)


def _points(mode: Rows, found: FoundMatches, mapped: MappedRows) -> tuple[Points, Integers]:
    """The points at which measures are evaluated, and the sorted row of each output row."""
    if mode is Rows.ONE_ROW:
        return Points(None, mapped.offset[1:]), found.start
    shown = np.flatnonzero(~mapped.excluded)
    match, end, row = mapped.match[shown], shown + 1, mapped.row[shown]
    every = np.arange(len(found.start))
    empty = every[(found.length == 0) & ((found.number == 0) | (mode is not Rows.ALL_OMIT_EMPTY))]
    if not len(empty):
        return Points(match, end), row
    match = np.concatenate([match, empty])
    end = np.concatenate([end, mapped.offset[empty]])
    row = np.concatenate([row, found.start[empty]])
    order = np.argsort(match, kind="stable")
    return Points(match[order], end[order]), row[order]
