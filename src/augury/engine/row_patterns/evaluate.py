"""Evaluates a row pattern over a whole table.

The compiled search finds the matches of all partitions in one pass. Where it meets an error, such as a division by
zero, or a search that takes too many steps, the reference evaluator runs that partition and reports what is wrong.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from queue import SimpleQueue

import numpy as np
import pyarrow as pa

from augury.engine.row_patterns.keys import Numbers
from augury.engine.row_patterns.planned import PlannedRowPattern, plan_row_pattern
from augury.engine.row_patterns.sorting import SortedTable, sort_table
from augury.engine.threads import map_in_threads, threads_of
from augury.errors import UnsupportedPlan
from augury.ir.row_pattern import BoundRowPattern
from augury.jit.compile import compiled_before
from augury.jit.tier import Tier
from augury.kernels.row_pattern.kernel import RowPatternKernel
from augury.kernels.row_pattern.output import WrittenRows, written_rows
from augury.kernels.row_pattern.rows import SortedRows, Unsorted
from augury.kernels.row_pattern.vectors import Vector, column_vector
from augury.native.row_pattern_support import row_pattern_support
from augury.options import Options
from augury.plan.row_pattern import kind_of
from augury.reference.row_pattern.output import match_rows
from augury.reference.row_pattern.search import Budget

MAX_STEPS = 5_000_000
"""Steps of the search at one row, besides those that its partition's rows need: some 20 seconds."""

MIN_ROWS_TO_COMPILE = 20_000
"""Rows from which on a search is compiled first: as plain Python it would take about as long."""

MIN_PORTION_ROWS = 1 << 17
"""Rows that a thread searches at a time, such that the values computed for them fit into the processor caches."""

MIN_PORTION_ROWS_PER_WORD = 4
"""Rows of a portion per distinct string of a column, since every portion calls some functions for each string."""

MIN_ROWS_TO_LOAD = 1_000
"""Rows from which on a search that was compiled before is loaded."""


def evaluate(
    bound: BoundRowPattern,
    table: pa.Table,
    max_steps: int = MAX_STEPS,
    options: Options | None = None,
    *,
    plan: str | None = None,
) -> pa.Table:
    """The rows that a row pattern writes for a table, partition by partition in the order of their first rows.

    `plan` forces an evaluator: "row-pattern" or "reference".
    """
    planned = PlannedRowPattern(bound, None, None, None) if plan == "reference" else plan_row_pattern(bound)
    if plan == "row-pattern" and planned.refused is not None:
        raise UnsupportedPlan(
            "A691",
            f"the plan `row-pattern` cannot run this pattern: {planned.refused.reason}",
            "leave `plan` out: the reference evaluator runs it",
        )
    return run(planned, table, max_steps, Options() if options is None else options)


def run(planned: PlannedRowPattern, table: pa.Table, max_steps: int, options: Options) -> pa.Table:
    """The rows of a planned clause."""
    bound = planned.bound
    if not table.num_rows:
        return bound.output_schema.empty_table()
    if planned.source is not None:
        options = compiling(planned, table.num_rows, options)
        table = _in_one_chunk(table, [c for c in _written(bound) if c not in bound.partition_by])
    rows = sort_table(bound, table, Tier(row_pattern_support(), options), threads_of(options))
    if planned.plan is None:
        return _by_reference(bound, rows, range(len(rows.starts) - 1), max_steps)
    return _compiled(planned, rows, max_steps, options)


def _in_one_chunk(table: pa.Table, columns: Sequence[int]) -> pa.Table:
    """Combine the chunks of some columns: each `take` from several chunks would combine them anew."""
    for number in columns:
        column = table.column(number)
        if column.num_chunks > 1:
            whole = column.combine_chunks()
            table = table.set_column(number, table.schema.field(number), whole)
    return table


def _written(bound: BoundRowPattern) -> tuple[int, ...]:
    """The columns of the input that are written beside the measures."""
    return bound.leading_columns + bound.trailing_columns


def compiling(planned: PlannedRowPattern, rows: int, options: Options) -> Options:
    """The options with `jit` on, if a search over this many rows is worth compiling or loading first."""
    if options.jit is not None or planned.source is None or rows < MIN_ROWS_TO_LOAD:
        return options
    at_once = rows >= MIN_ROWS_TO_COMPILE or compiled_before(planned.source.source, options.cache_dir)
    return replace(options, jit=True) if at_once else options


def _by_reference(bound: BoundRowPattern, rows: SortedTable, partitions: range | list[int], max_steps: int) -> pa.Table:
    budget = Budget(max_steps, bound)
    parts = [match_rows(bound, rows.partition(p), budget) for p in partitions]
    return pa.concat_tables(parts) if parts else bound.output_schema.empty_table()


def _compiled(planned: PlannedRowPattern, table: SortedTable, max_steps: int, options: Options) -> pa.Table:
    """Run the compiled search over portions of the partitions, on several threads if there are several."""
    assert planned.plan is not None
    plan, bound = planned.plan, planned.bound
    support = Tier(row_pattern_support(), options)

    def read(number: int) -> Vector:
        column = table.table.column(number)
        if number not in plan.searched_columns:
            return column_vector(column)
        if table.place is not None and column.type in (pa.int64(), pa.float64()) and not column.null_count:
            return Vector(column.type, kind_of(column.type), table.sorted_numbers(column, support))
        return sorted_vector(table, column_vector(column), support)

    # Columns that only measures read are not sorted: only a few of their values are read.
    used = sorted(bound.used_columns)
    vectors = dict(zip(used, map_in_threads(read, used, threads_of(options) if options.jit else 1), strict=True))
    keys = {c: _at_rows(table.table.column(c), table.rows(table.starts[:-1])) for c in bound.partition_by}
    if not options.jit:
        return _portion(RowPatternKernel(plan, options, planned.source), table, vectors, keys, max_steps)
    words = max((len(v.words) for v in vectors.values()), default=0)
    portions = table.portions(max(MIN_PORTION_ROWS, MIN_PORTION_ROWS_PER_WORD * words))
    first_keys = [0, *accumulate(len(portion.starts) - 1 for portion in portions)]
    threads = min(threads_of(options), len(portions))
    # A kernel serves one thread at a time.
    kernels: SimpleQueue[RowPatternKernel] = SimpleQueue()
    for _ in range(threads):
        kernels.put(RowPatternKernel(plan, options, planned.source))

    def one(number: int) -> pa.Table:
        kernel = kernels.get()
        try:
            own = {c: values.slice(first_keys[number]) for c, values in keys.items()}
            return _portion(kernel, portions[number], vectors, own, max_steps)
        finally:
            kernels.put(kernel)

    return pa.concat_tables(map_in_threads(one, range(len(portions)), threads))


def _at_rows(column: pa.ChunkedArray, rows: Numbers) -> pa.Array:
    """A column at a few rows, from whichever chunk they are in: `take` would bring all chunks together."""
    ends = np.cumsum([len(chunk) for chunk in column.chunks])
    chunks = np.searchsorted(ends, rows, side="right")
    by_chunk = np.argsort(chunks, kind="stable")
    parts, first = [], 0
    for number, many in enumerate(np.bincount(chunks).tolist()):
        if many:
            chunk = column.chunk(number)
            within = rows[by_chunk[first : first + many]] - (ends[number] - len(chunk))
            parts.append(chunk.take(pa.array(within)))
            first += many
    place = np.empty(len(rows), np.int64)
    place[by_chunk] = np.arange(len(rows))
    return pa.chunked_array(parts, column.type).combine_chunks().take(pa.array(place))


def _portion(
    kernel: RowPatternKernel,
    table: SortedTable,
    vectors: Mapping[int, Vector],
    keys: Mapping[int, pa.Array],
    max_steps: int,
) -> pa.Table:
    """Run the compiled search over some partitions.

    `vectors` are columns of the whole table; those that the search reads are sorted in its order. `keys` are columns of
    PARTITION BY, one row per partition, from the first of these on.
    """
    bound = kernel.plan.bound
    searched = {c: vectors[c].slice(table.first, len(table)) for c in kernel.plan.searched_columns}
    rows = SortedRows(table.starts, searched, unsorted=Unsorted(vectors, table.order, table.first))
    found = kernel.search(rows, max_steps)
    written = written_rows(kernel, found, rows)
    leading = _written_columns(table, bound.leading_columns, keys, written)
    trailing = _written_columns(table, bound.trailing_columns, keys, written)
    failed = {*found.undecided, *written.partitions[written.failed].tolist()}
    if not failed:
        return pa.table([*leading, *written.measures, *trailing], schema=bound.output_schema)
    # In the order of partitions, so that the first error is the one that is reported.
    undecided = sorted(failed)
    by_reference = [_by_reference(bound, table, [p], max_steps) for p in undecided]
    out = pa.table([*leading, *written.measures, *trailing], schema=bound.output_schema)
    pieces, at = [], 0
    for number, piece in zip(undecided, by_reference, strict=True):
        before, after = np.searchsorted(written.partitions, [number, number + 1])
        pieces += [out.slice(at, int(before) - at), piece]
        at = int(after)
    return pa.concat_tables([*pieces, out.slice(at)])


def _written_columns(
    table: SortedTable, columns: Sequence[int], keys: Mapping[int, pa.Array], written: WrittenRows
) -> list[pa.Array | pa.ChunkedArray]:
    """Columns of the input that are written beside the measures; those of PARTITION BY are read once per partition."""
    places, out = None, []
    for number in columns:
        if number in keys:
            out.append(keys[number].take(pa.array(written.partitions)))
        else:
            places = pa.array(table.rows(written.rows)) if places is None else places
            out.append(table.table.column(number).take(places))
    return out


def sorted_vector(table: SortedTable, vector: Vector, support: Tier) -> Vector:
    """A column in the order of the search."""
    codes = None if vector.codes is None else table.sorted(vector.codes, support)
    return replace(vector, values=table.sorted(vector.values, support), codes=codes)
