"""One bucket of a stream under a row pattern: the rows kept of its keys, and searching them as far as is decided.

The rows of a key are kept from its earliest undecided candidate on, with the rows before it that PREV reads.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from augury.engine.row_patterns.evaluate import compiling, sorted_vector
from augury.engine.row_patterns.keys import Numbers, counted_keys, key_numbers
from augury.engine.row_patterns.planned import PlannedRowPattern
from augury.engine.row_patterns.sorting import SortedTable, sort_by_key
from augury.ir.row_pattern import BoundRowPattern
from augury.jit.tier import Tier
from augury.kernels.row_pattern.kernel import FoundMatches, RowPatternKernel
from augury.kernels.row_pattern.output import WrittenRows, written_rows
from augury.kernels.row_pattern.rows import Progress, SortedRows
from augury.kernels.row_pattern.vectors import Integers, column_vector
from augury.native.row_pattern_support import row_pattern_support
from augury.options import Options
from augury.reference.row_pattern.output import SearchProgress, match_known_rows
from augury.reference.row_pattern.search import Budget
from augury.runtime.state import LONG_AGO

Flags = npt.NDArray[np.bool_]

FORGOTTEN = -1
"""Stands for the first row of a partition that is not kept any more."""


@dataclass(frozen=True, slots=True, eq=False)
class KeyStates:
    """The state of some keys, one row per key: `values` are their columns of PARTITION BY.

    `rows` is the number of rows kept of a key. The other numbers are those of `Progress`, counted from the first kept
    row; `forgotten` is whether there were rows before it.
    """

    values: pa.Table
    rows: Integers
    candidate: Integers
    number: Integers
    mapped: Integers
    forgotten: Flags

    def __len__(self) -> int:
        return len(self.rows)

    def where(self, mask: Flags) -> KeyStates:
        """The keys for which `mask` holds."""
        return KeyStates(
            self.values.filter(pa.array(mask)),
            self.rows[mask],
            self.candidate[mask],
            self.number[mask],
            self.mapped[mask],
            self.forgotten[mask],
        )

    def __add__(self, other: KeyStates) -> KeyStates:
        return KeyStates(
            pa.concat_tables([self.values, other.values]),
            np.concatenate([self.rows, other.rows]),
            np.concatenate([self.candidate, other.candidate]),
            np.concatenate([self.number, other.number]),
            np.concatenate([self.mapped, other.mapped]),
            np.concatenate([self.forgotten, other.forgotten]),
        )

    @staticmethod
    def new(values: pa.Table) -> KeyStates:
        """The state of keys without any rows yet."""
        none = np.zeros(values.num_rows, np.int64)
        return KeyStates(values, none, none, np.ones_like(none), none, np.zeros(len(none), np.bool_))


@dataclass(frozen=True, slots=True, eq=False)
class RowBucket:
    """Rows `held` until the watermark passes them, in arrival order, and the rows `kept` of each key, key by key."""

    held: pa.Table
    kept: pa.Table
    keys: KeyStates
    watermark: int

    @property
    def idle(self) -> bool:
        """Whether the bucket holds no rows and no keys."""
        return not self.held.num_rows and not len(self.keys)


def new_bucket(bound: BoundRowPattern) -> RowBucket:
    """The bucket before its first row."""
    none = bound.schema.empty_table()
    return RowBucket(none, none, KeyStates.new(_key_columns(bound, none)), LONG_AGO)


def take_in(bucket: RowBucket, rows: pa.Table) -> RowBucket:
    """Add new rows, none of them late, to the bucket."""
    return replace(bucket, held=pa.concat_tables([bucket.held, rows]))


def advance(
    bucket: RowBucket, planned: PlannedRowPattern, watermark: int, max_steps: int, options: Options
) -> tuple[RowBucket, pa.Table]:
    """Search the rows that the watermark has passed: the bucket afterwards, and the rows of the result."""
    bound = planned.bound
    watermark = max(watermark, bucket.watermark)
    due = row_times(bound, bucket.held) < watermark
    passed = bucket.held.filter(pa.array(due))
    moved = replace(bucket, held=bucket.held.filter(pa.array(~due)), watermark=watermark)
    states, numbers = _with_new_keys(bound, bucket.keys, passed)
    active = np.zeros(len(states), np.bool_)
    active[numbers] = True
    active |= _overdue(bound, bucket.kept, states, watermark)
    if not active.any():
        return moved, bound.output_schema.empty_table()
    owner = np.repeat(np.arange(len(states)), states.rows)
    again = active[owner]
    compact = np.cumsum(active) - 1
    table = pa.concat_tables([bucket.kept.filter(pa.array(again)), passed])
    keys = compact[np.concatenate([owner[again], numbers])]
    search = _KeySearch(planned, states.where(active), watermark, max_steps, options)
    written, kept, after = search.run(table, keys)
    rest = states.where(~active)
    left = pa.concat_tables([bucket.kept.filter(pa.array(~again)), kept])
    return replace(moved, kept=left, keys=rest + after), written


def next_decision(bound: BoundRowPattern, bucket: RowBucket) -> int | None:
    """The earliest time at which the watermark decides about a candidate by WITHIN; None if none is undecided."""
    if bound.within is None:
        return None
    times = _candidate_times(bound, bucket.kept, bucket.keys)
    return int(times.min() + bound.within.distance) if len(times) else None


def row_times(bound: BoundRowPattern, rows: pa.Table) -> Integers:
    """The times of rows, in ticks of the first column of ORDER BY."""
    if not rows.num_rows:
        return np.zeros(0, np.int64)
    return column_vector(rows.column(bound.order_by[0].column)).values


def _key_columns(bound: BoundRowPattern, rows: pa.Table) -> pa.Table:
    """The columns of PARTITION BY; without PARTITION BY, all rows have the same key."""
    columns = [rows.column(c) for c in bound.partition_by] or [pa.array(np.zeros(rows.num_rows, np.int64))]
    return pa.table(columns, names=[str(k) for k in range(len(columns))])


def _with_new_keys(bound: BoundRowPattern, known: KeyStates, rows: pa.Table) -> tuple[KeyStates, Numbers]:
    """Add the keys of new rows to the known ones; also the number of each new row's key."""
    values = pa.concat_tables([known.values, _key_columns(bound, rows)])
    found = key_numbers(values.columns, values.num_rows)
    assert found is not None
    # Known keys are distinct and so get the first numbers; the values of a new key are where its number first occurs.
    _, first = np.unique(found, return_index=True)
    fresh = values.take(pa.array(first[len(known) :]))
    return known + KeyStates.new(fresh), found[len(known) :]


def _candidates(states: KeyStates) -> tuple[Flags, Integers]:
    """A mask of the keys with an undecided candidate, and the positions of these candidates among the kept rows."""
    waiting = states.candidate < states.rows
    return waiting, (np.cumsum(states.rows) - states.rows + states.candidate)[waiting]


def _candidate_times(bound: BoundRowPattern, kept: pa.Table, states: KeyStates) -> Integers:
    return row_times(bound, kept)[_candidates(states)[1]]


def _overdue(bound: BoundRowPattern, kept: pa.Table, states: KeyStates, watermark: int) -> Flags:
    """Keys whose candidate is decided by WITHIN, because every later row is too far from it."""
    overdue = np.zeros(len(states), np.bool_)
    if bound.within is not None:
        waiting, _ = _candidates(states)
        overdue[waiting] = watermark - _candidate_times(bound, kept, states) > bound.within.distance
    return overdue


@dataclass(frozen=True, slots=True)
class _KeySearch:
    """One search over the rows of some keys, which continue from `states`."""

    planned: PlannedRowPattern
    states: KeyStates
    watermark: int
    max_steps: int
    options: Options

    def run(self, rows: pa.Table, keys: Numbers) -> tuple[pa.Table, pa.Table, KeyStates]:
        """Run the search: the rows of the result, the rows that are still needed, and the new states of the keys."""
        bound = self.planned.bound
        options = compiling(self.planned, rows.num_rows, self.options)
        numbered = counted_keys(keys, len(self.states))
        table = sort_by_key(bound, rows, numbered, Tier(row_pattern_support(), options))
        before = self._before(table.starts)
        every = np.arange(len(self.states))
        if self.planned.plan is None:
            written, after = self._by_reference(table, before, every)
        else:
            written, after = self._compiled(table, before, options)
        return written, *self._kept(table, after)

    def _before(self, starts: Integers) -> Progress:
        low, states = starts[:-1], self.states
        first = np.where(states.forgotten, FORGOTTEN, low)
        return Progress(low + states.candidate, states.number.copy(), low + states.mapped, first)

    def _by_reference(self, table: SortedTable, before: Progress, partitions: Integers) -> tuple[pa.Table, Progress]:
        after, parts = before.copied(), [self.planned.bound.output_schema.empty_table()]
        budget = Budget(self.max_steps, self.planned.bound)
        for p in partitions.tolist():
            low = int(table.starts[p])
            reached = SearchProgress(
                int(before.candidate[p]) - low,
                int(before.number[p]),
                int(before.mapped[p]) - low,
                bool(before.first[p] == FORGOTTEN),
            )
            found, reached = match_known_rows(self.planned.bound, table.partition(p), budget, reached, self.watermark)
            parts.append(found)
            after.candidate[p], after.number[p] = low + reached.candidate, reached.number
            after.mapped[p] = low + reached.mapped
        return pa.concat_tables(parts), after

    def _compiled(self, table: SortedTable, before: Progress, options: Options) -> tuple[pa.Table, Progress]:
        bound, plan = self.planned.bound, self.planned.plan
        assert plan is not None
        support = Tier(row_pattern_support(), options)
        vectors = {c: column_vector(table.table.column(c)) for c in sorted(bound.used_columns)}
        columns = {c: sorted_vector(table, v, support) for c, v in vectors.items()}
        rows = SortedRows(table.starts, columns, self.watermark, before)
        kernel = RowPatternKernel(plan, options, self.planned.source)
        found = kernel.search(rows, self.max_steps)
        written = written_rows(kernel, found, rows)
        decided = self._decided(found, written, table.starts, before)
        taken = pa.array(table.rows(written.rows[decided.shown]))
        leading = [table.table.column(c).take(taken) for c in bound.leading_columns]
        measures = [m.filter(pa.array(decided.shown)) for m in written.measures]
        trailing = [table.table.column(c).take(taken) for c in bound.trailing_columns]
        out = pa.table([*leading, *measures, *trailing], schema=bound.output_schema)
        if not len(decided.failed):
            return out, decided.progress
        # An error, or a search that took too long: the reference evaluator says which.
        more, after = self._by_reference(table, before, decided.failed)
        chosen = np.isin(np.arange(len(self.states)), decided.failed)
        arrays = (np.where(chosen, a, b) for a, b in zip(after.arrays, decided.progress.arrays, strict=True))
        return pa.concat_tables([out, more]), Progress(*arrays)

    def _decided(self, found: FoundMatches, written: WrittenRows, starts: Integers, before: Progress) -> _Decided:
        """Drop the first match of each key whose measures are not all known yet, and all matches after it."""
        bound = self.planned.bound
        matches = len(found.start)
        partition = np.searchsorted(starts, found.start, side="right") - 1
        unknown = np.unique(written.matches[written.failed])
        ahead = found.start[unknown] + found.length[unknown] - 1 + bound.measures_read_ahead
        wrong = unknown[ahead < starts[partition[unknown] + 1]]
        failed = np.union1d(np.array(found.undecided, np.int64), partition[wrong])
        first = np.full(len(starts) - 1, matches, np.int64)
        np.minimum.at(first, partition[unknown], unknown)
        first[failed] = 0
        kept = np.arange(matches) < first[partition]
        progress = found.progress.copied()
        stopped = np.flatnonzero((first < matches) & ~np.isin(np.arange(len(first)), failed))
        progress.candidate[stopped] = found.start[first[stopped]]
        progress.number[stopped] = found.number[first[stopped]]
        mapped = before.mapped.copy()
        mapping = kept & (found.number > 0)
        np.maximum.at(mapped, partition[mapping], (found.start + found.length)[mapping])
        progress.mapped[stopped] = mapped[stopped]
        return _Decided(kept[written.matches], progress, failed)

    def _kept(self, table: SortedTable, after: Progress) -> tuple[pa.Table, KeyStates]:
        """The rows that a later match may still read, and the states of the keys that are remembered."""
        bound, low, high = self.planned.bound, table.starts[:-1], table.starts[1:]
        begin = np.maximum(low, after.candidate - bound.reads_back)
        states = KeyStates(
            self.states.values,
            high - begin,
            after.candidate - begin,
            after.number,
            np.maximum(0, after.mapped - begin),
            (after.first == FORGOTTEN) | (begin > low),
        )
        size = int(table.starts[-1])
        needed = np.arange(size) >= np.repeat(begin, high - low)
        rows = table.table.take(pa.array(table.rows(np.flatnonzero(needed))))
        if remembers_keys(bound):
            return rows, states
        return rows, states.where(states.rows > 0)


@dataclass(frozen=True, slots=True)
class _Decided:
    """The output rows that are certain, the progress of each key, and the keys that the reference has to evaluate."""

    shown: Flags
    progress: Progress
    failed: Integers


def remembers_keys(bound: BoundRowPattern) -> bool:
    """Whether keys without rows are kept: else the next row would be the first again, or the next match number 1."""
    return bound.counts_matches or any(not anchor.end for anchor in bound.anchors)
