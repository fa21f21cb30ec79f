"""Runs the search of a row pattern over sorted rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from augury.codegen.row_pattern.cells import CELLS, Cell, SkipMode, Status
from augury.codegen.row_pattern.search import WORD_BITS, RowPatternSource, emit_row_pattern
from augury.ir.row_pattern import Rows, SkipTo
from augury.jit.tier import Tier
from augury.kernels.row_pattern.conditions import Flags, true_rows
from augury.kernels.row_pattern.rows import Progress, SortedRows
from augury.kernels.row_pattern.vectors import FAILED, KNOWN, Integers, Vector, merged
from augury.native.row_pattern_support import row_pattern_support
from augury.options import Options
from augury.plan.row_pattern import ACCEPT, FIRST_POSITION, RowPatternPlan
from augury.runtime.memory import empty_array

WARM_UP_ROWS = 2_000
"""Candidates of one call while the search is plain Python."""

FIRST_ROOM = 1024
"""Rows of a path, and matches, that arrays are allocated for at first; they grow."""

MOST_STEPS = 50_000
"""Steps at one candidate, beside those for rows, after which the reference evaluator takes over: it remembers more."""

SKIPS = {
    SkipTo.PAST_LAST_ROW: SkipMode.PAST_LAST,
    SkipTo.NEXT_ROW: SkipMode.NEXT_ROW,
    SkipTo.FIRST: SkipMode.FIRST,
    SkipTo.LAST: SkipMode.LAST,
}


@dataclass(frozen=True, slots=True)
class FoundMatches:
    """Matches in the order they were found; unmatched rows among them have number 0 and no length.

    Match m maps `length[m]` rows from `start[m]` on; the states of all mapped rows are in `states`, one match after the
    other. `undecided` are partitions that the search did not finish. `progress` is how far the others have come.
    """

    start: Integers
    length: Integers
    number: Integers
    states: npt.NDArray[np.int16]
    undecided: tuple[int, ...]
    steps: int
    progress: Progress


class RowPatternKernel:
    """The search of one plan; `source` is what the plan was emitted as, if it was."""

    def __init__(self, plan: RowPatternPlan, options: Options, source: RowPatternSource | None = None) -> None:
        self.plan, self.options = plan, options
        self.source = source or emit_row_pattern(plan)
        self.code = Tier(self.source.source, options)
        self.support = Tier(row_pattern_support(), options)
        self._tables = _tables(plan)
        # Room that one search leaves to the next: fresh memory of this size costs more than what is done with it.
        self._bits, self._output = np.empty(0, np.int64), _Output()

    def search(self, rows: SortedRows, max_steps: int) -> FoundMatches:
        """All matches of all partitions."""
        plan, tables = self.plan, self._tables
        size, words = len(rows), tables.words
        self.code.claim("bits of rows", 8 * size * words)
        if len(self._bits) < size * words:
            self._bits = empty_array(size * words)
        bits = self._bits[: size * words]
        failures, marked = _mark(plan, rows, tables, self.support, bits)
        reach = self._reach(rows)
        carried = self._carried(rows)
        progress = rows.progress.copied()
        nums = np.zeros(CELLS, np.int64)
        _enter(nums, progress, 0)
        nums[Cell.OPEN] = rows.open
        nums[Cell.AHEAD] = plan.bound.reads_ahead if rows.open else 0
        nums[Cell.STEPS] = min(max_steps, MOST_STEPS) if plan.looks_back else 2**62
        nums[Cell.SKIP] = SKIPS[plan.bound.skip.to]
        nums[Cell.UNMATCHED] = plan.bound.rows is Rows.ALL_WITH_UNMATCHED
        nums[Cell.WORDS] = words
        nums[Cell.WITHIN] = plan.bound.within is not None
        nums[Cell.FALLIBLE] = failures is not None
        if failures is None and words == 1 and nums[Cell.UNMATCHED] == 0:
            nums[Cell.PROBE], nums[Cell.PROBE_MASK] = _probe(plan, tables, marked)
        if self.options.budget is not None:
            self.options.budget.watch(nums)
        out = self._output
        out.fit(size, nums[Cell.UNMATCHED] != 0)
        stack = _Stack(carried)
        undecided: list[int] = []
        status = Status.PAUSED
        while status is not Status.DONE:
            nums[Cell.UNTIL] = nums[Cell.ROW] + WARM_UP_ROWS if self.code.warming_up else size
            status = Status(
                self.code(
                    "search",
                    nums,
                    rows.starts,
                    *progress.arrays,
                    bits,
                    bits if failures is None else failures,
                    reach,
                    *tables.arrays,
                    stack.path,
                    stack.back,
                    stack.log,
                    *out.arrays,
                    *stack.carried(self.source, tables.label_of, size),
                )
            )
            match status:
                case Status.OUTPUT_FULL:
                    self.code.claim("matches", out.grow(nums))
                case Status.PATH_FULL:
                    stack.grow_path()
                case Status.LOG_FULL:
                    stack.grow_log()
                case Status.FAILED | Status.TOO_LONG | Status.NOT_MAPPED | Status.FIRST_ROW:
                    undecided.append(int(nums[Cell.PARTITION]))
                    _give_up(nums, progress)
                case Status.DONE | Status.PAUSED | Status.WAITING:
                    pass
        return out.found(nums, tuple(undecided), progress)

    def _reach(self, rows: SortedRows) -> Integers:
        bound = self.plan.bound
        if bound.within is None:
            return np.empty(0, np.int64)
        times = rows.columns[bound.order_by[0].column]
        reach = empty_array(len(rows))
        self.support("reach_of", times.values, times.known, rows.starts, float(bound.within.distance), reach)
        if rows.watermark is not None:
            # The end of what is known is the end of a match only if every row to come is too far away.
            ends = np.repeat(rows.starts[1:], np.diff(rows.starts))
            reach[(reach == ends) & (rows.watermark - times.values <= bound.within.distance)] += 1
        return reach

    def _carried(self, rows: SortedRows) -> _Columns | None:
        return _columns(self.plan, rows, self.source, self.support) if self.plan.looks_back else None


def _enter(nums: Integers, progress: Progress, partition: int) -> None:
    """Go on with a partition, unless it is behind the last one."""
    nums[Cell.PARTITION] = partition
    if partition < len(progress.candidate):
        nums[Cell.ROW], nums[Cell.NUMBER] = progress.candidate[partition], progress.number[partition]
        nums[Cell.MAPPED] = progress.mapped[partition]


def _give_up(nums: Integers, progress: Progress) -> None:
    """Leave a partition to somebody else, and forget what was found in it."""
    _enter(nums, progress, int(nums[Cell.PARTITION]) + 1)
    nums[Cell.FOUND], nums[Cell.USED] = nums[Cell.FIRST_FOUND], nums[Cell.FIRST_USED]


# -- what the search reads ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Tables:
    """A program as arrays by state."""

    words: int
    arrays: tuple[npt.NDArray[Any], ...]
    word_of: Integers
    mask_of: Integers
    label_of: Integers


def _tables(plan: RowPatternPlan) -> _Tables:
    program = plan.program
    states = len(program.follow)
    begin = np.zeros(states + 1, np.int64)
    begin[1:] = np.cumsum([len(f) for f in program.follow])
    follow = np.array([s for f in program.follow for s in f] or [ACCEPT], np.int64)
    positions = np.arange(states) - FIRST_POSITION
    word_of = np.maximum(positions, 0) // WORD_BITS
    mask_of = np.array([0 if p < 0 else 1 << (int(p) % WORD_BITS) for p in positions], np.int64)
    label_of = np.array([0] * FIRST_POSITION + [p.label for p in program.positions], np.int64)
    remembered = np.array([0] * FIRST_POSITION + [int(r) for r in plan.remembered], np.int64)
    names = plan.bound.skip.variables
    skips = [0] * FIRST_POSITION + [int(program.labels[p.label] in names) for p in program.positions]
    words = max(1, -(-len(program.positions) // WORD_BITS))
    arrays = begin, follow, np.array(program.ends, np.int64), word_of, mask_of, remembered, np.array(skips, np.int64)
    return _Tables(words, arrays, word_of, mask_of, label_of)


def _mark(
    plan: RowPatternPlan, rows: SortedRows, tables: _Tables, support: Tier, bits: Integers
) -> tuple[Integers | None, dict[int, int]]:
    """Write into `bits`, for each row, the positions that it may be mapped to.

    Returned are those whose condition fails there, if any does, and how many rows the condition of a variable is true
    for.
    """
    size, words = len(rows), tables.words
    masks = np.zeros((len(plan.program.labels), words), np.int64)
    for k, position in enumerate(plan.program.positions):
        state = FIRST_POSITION + k
        masks[position.label, tables.word_of[state]] |= tables.mask_of[state]
    always = np.zeros(words, np.int64)
    # Variables of the same condition share its rows: `alike` are theirs by the text of the condition.
    alike: dict[str, list[int]] = {}
    for label, condition in enumerate(plan.conditions):
        if condition.bit is None:
            always |= masks[label]
        else:
            alike.setdefault(repr(condition.bit), []).append(label)
    true = np.empty((len(alike), size), np.bool_)
    set_bits = np.zeros((len(alike), words), np.int64)
    failures: Integers | None = None
    marked: dict[int, int] = {}
    for k, labels in enumerate(alike.values()):
        expression = plan.conditions[labels[0]].bit
        assert expression is not None
        set_bits[k] = np.bitwise_or.reduce(masks[labels])
        found = true_rows(rows, expression, support)
        if found is None:
            found, failed = _true_or_failed(rows.value(expression, support))
            if failed.any():
                failures = np.zeros((size, words), np.int64) if failures is None else failures
                failures[failed] |= set_bits[k]
        true[k] = found
        marked.update(dict.fromkeys(labels, int(np.count_nonzero(found))))
    if support.plain:
        by_row = bits.reshape(size, words)
        by_row[:] = always
        for k in range(len(alike)):
            by_row[true[k]] |= set_bits[k]
    else:
        for word in range(words):
            support("mark_rows", true.view(np.int8), set_bits[:, word].copy(), int(always[word]), words, word, bits)
    return None if failures is None else failures.reshape(-1), marked


def _true_or_failed(vector: Vector) -> tuple[Flags, Flags]:
    """The rows for which a condition is true or fails, and those for which it fails."""
    true = vector.values.astype(np.bool_) if vector.kind == "boolean" else np.zeros(len(vector), np.bool_)
    if vector.codes is None:
        return true, np.zeros(len(vector), np.bool_)
    failed = vector.codes == FAILED
    return true & (vector.codes == KNOWN) | failed, failed


def _probe(plan: RowPatternPlan, tables: _Tables, marked: Mapping[int, int]) -> tuple[int, int]:
    """The offset of the row of a match whose condition the fewest rows meet, and the bit of it; bit 0 if there is none.

    Positions before it must not be able to fail, or a candidate that is an error would be passed over.
    """
    fewest, out = 0, (0, 0)
    for distance, position in enumerate(plan.program.opening):
        label = plan.program.positions[position].label
        if plan.conditions[label].value is not None:
            break
        if label in marked and (out[1] == 0 or marked[label] < fewest):
            fewest, out = marked[label], (distance, int(tables.mask_of[FIRST_POSITION + position]))
    return out


@dataclass(frozen=True, slots=True)
class _Columns:
    """Terms for every row and, last, for a row that there is none of; and the constants of conditions."""

    arrays: tuple[npt.NDArray[Any], ...]
    integers: Integers
    reals: npt.NDArray[np.float64]


def _columns(plan: RowPatternPlan, rows: SortedRows, source: RowPatternSource, support: Tier) -> _Columns:
    vectors = [(rows.value(t.value, support), rows.value_of_nulls(t.value)) for t in plan.terms]
    texts = [v for term, pair in zip(plan.terms, vectors, strict=True) if term.kind == "string" for v in pair]
    strings = tuple(v for v in source.integers if isinstance(v, str))
    held = Vector(texts[0].type, "string", np.zeros(0, np.int64), None, strings) if texts else None
    words, numbers = merged([*texts, held] if held is not None else [])
    ranks = iter(numbers)
    arrays: list[npt.NDArray[Any]] = []
    for term, (all_rows, no_row) in zip(plan.terms, vectors, strict=True):
        kind = np.float64 if term.kind == "float" else np.int64
        values = np.empty(len(rows) + 1, kind)
        for place, vector in ((slice(None, -1), all_rows), (slice(-1, None), no_row)):
            values[place] = next(ranks)[vector.values] if term.kind == "string" else vector.values
        codes = np.zeros(len(rows) + 1, np.uint8)
        for place, codes_of in ((slice(None, -1), all_rows.codes), (slice(-1, None), no_row.codes)):
            if codes_of is not None:
                codes[place] = codes_of
        arrays += [values, codes]
    rank = {word: k for k, word in enumerate(words)}
    integers = [rank.get(v, -1) if isinstance(v, str) else v for v in source.integers]
    return _Columns(tuple(arrays), np.array(integers or [0], np.int64), np.array(source.reals or [0.0]))


# -- what the search writes --------------------------------------------------------------------------------------------


class _Stack:
    """The path of the match that is looked for, and what is carried along it."""

    def __init__(self, columns: _Columns | None) -> None:
        self.columns = columns
        self.path = np.zeros(FIRST_ROOM, np.int64)
        self.back = np.zeros(FIRST_ROOM, np.int64)
        self.log = np.zeros((FIRST_ROOM, 2), np.int64)
        self.whole: Integers | None = None
        self.real: npt.NDArray[np.float64] | None = None

    def grow_path(self) -> None:
        self.path, self.back = np.zeros(2 * len(self.path), np.int64), np.zeros(2 * len(self.path), np.int64)
        self.whole = None

    def grow_log(self) -> None:
        self.log = np.zeros((2 * len(self.log), 2), np.int64)

    def carried(self, source: RowPatternSource, label_of: Integers, size: int) -> tuple[Any, ...]:
        if self.columns is None:
            return ()
        if self.whole is None or self.real is None:
            depth = len(self.path) + 1
            self.whole = np.zeros((depth, max(1, len(source.start_integers))), np.int64)
            self.whole[0, : len(source.start_integers)] = source.start_integers
            self.real = np.zeros((depth, max(1, source.floats)))
        columns = self.columns
        return self.whole, self.real, label_of, columns.integers, columns.reals, size, *columns.arrays


class _Output:
    """Room for matches, which grows."""

    def __init__(self) -> None:
        self.start, self.length, self.number = (np.empty(0, np.int64) for _ in range(3))
        self.states = np.empty(0, np.int16)

    def fit(self, rows: int, unmatched: bool) -> None:
        """Make room for the matches of this many rows, if they are not dense."""
        room = max(FIRST_ROOM, rows if unmatched else rows // 16)
        if len(self.start) < room:
            self.start, self.length, self.number = (empty_array(room) for _ in range(3))
        if len(self.states) < max(FIRST_ROOM, rows // 4):
            self.states = np.empty(max(FIRST_ROOM, rows // 4), np.int16)

    @property
    def arrays(self) -> tuple[npt.NDArray[Any], ...]:
        return self.start, self.length, self.number, self.states

    def grow(self, nums: Integers) -> int:
        """Twice the room of what is full; how many bytes that takes."""
        if nums[Cell.FOUND] >= len(self.start):
            self.start, self.length, self.number = (
                np.concatenate([a, np.empty_like(a)]) for a in (self.start, self.length, self.number)
            )
        else:
            self.states = np.concatenate([self.states, np.empty_like(self.states)])
        return sum(a.nbytes for a in self.arrays)

    def found(self, nums: Integers, undecided: tuple[int, ...], progress: Progress) -> FoundMatches:
        count, used = int(nums[Cell.FOUND]), int(nums[Cell.USED])
        start, length, number = (a[:count].copy() for a in (self.start, self.length, self.number))
        states, steps = self.states[:used].copy(), int(nums[Cell.TRIED])
        return FoundMatches(start, length, number, states, undecided, steps, progress)
