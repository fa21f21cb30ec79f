"""Matches written out: checked against what must be absent, ordered, and reported when they are certain."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from augury.ir.deadlines import Deadline, deadlines
from augury.ir.predicate import Value
from augury.ir.query import BoundQuery, CountWindow, TimeWindow
from augury.ir.terms import OutputMode
from augury.jit.tier import Tier
from augury.kernels.common.arranging import (
    MAX_PLAIN_ALIKE,
    MAX_PLAIN_MATCHES,
    NOTHING,
    Words,
    arrange,
    spell_plainly,
    split_plainly,
)
from augury.kernels.common.candidates import candidates
from augury.kernels.common.expanded import Expanded
from augury.kernels.common.packing import order_plainly, packed, write_plainly
from augury.kernels.common.selection import Selection
from augury.kernels.common.totals import Totals, Weighed
from augury.native.groups import Weights
from augury.plan import Absence
from augury.runtime.batch import Integers
from augury.runtime.columns import Encoding
from augury.runtime.events import EventStore
from augury.runtime.matches import MAX_LIST_ROWS, MatchSet, each_once, exact, row_lists, shared_lists, too_wide
from augury.runtime.memory import empty_array
from augury.runtime.row_matches import MAX_ROW, ROW, RowColumn, RowMatches
from augury.runtime.state import FOREVER

WARM_UP_EVENTS = 64
"""Events, or matches, of one call while the kernel may still be compiling in the background."""


class Remembered(Protocol):
    """The part of the state of a kernel that reporting reads and updates."""

    encoding: Encoding
    events: EventStore
    nums: Integers
    pending: Expanded
    ends: dict[int, tuple[int, int]]
    """Per partition, rank and time of the end of the last match kept (NONOVERLAP)."""
    selection: Selection

    @property
    def counts(self) -> Integers:
        """How many events each partition has had."""
        ...

    def stream(self) -> list[npt.NDArray[Any]]:
        """The arrays that generated functions take first, in their order."""
        ...


@dataclass(frozen=True, slots=True)
class Bindings:
    """The meaning of the codes in matches: a variable and a branch each, and the negated parts of each branch.

    `negated` are as many as the components of those parts, in the order that generated code knows them by. `fixed` is
    the number of events of every match, where all bind one event to each code and in their order; else 0. `partial` are
    the branches whose matches are what a run had bound when it came to nothing; empty where there are none. Events of
    `fixed` matches are in the order of time unless `in_time` is False.
    """

    variables: tuple[str, ...]
    branches: tuple[int, ...]
    absent: tuple[tuple[Absence, ...], ...]
    negated: int
    fixed: int = 0
    partial: tuple[bool, ...] = ()
    in_time: bool = True


@dataclass(frozen=True, slots=True)
class OpenPart:
    """The end of the search for a negated part with nothing bound behind it: after FOR, else when the window closes.

    A deadline of its event may be earlier.
    """

    silence: int | None
    deadlines: tuple[Deadline, ...]

    @property
    def earlier(self) -> bool:
        """Whether the search for the part may end before the window closes, or go on for longer."""
        return self.silence is not None or bool(self.deadlines)


def _open_part(query: BoundQuery, part: Absence) -> OpenPart:
    if len(part.components) > 1 or part.inner:
        return OpenPart(part.silence, ())
    negated = {v.name for v in query.variables if v.negated}
    found = deadlines(query, query.conjuncts, part.components[0].variable)
    return OpenPart(part.silence, tuple(d for d in found if d.variable not in negated))


class Reporting:
    """The last part of a step, from matches that were found to those that are reported."""

    def __init__(
        self,
        query: BoundQuery,
        bindings: Bindings,
        code: Tier,
        support: Tier,
        few: int = MAX_PLAIN_MATCHES,
        few_alike: int = MAX_PLAIN_ALIKE,
        *,
        rows_only: bool = False,
    ) -> None:
        """Prepare reporting; with `rows_only` matches may be reported as `RowMatches`."""
        self.query, self.code, self.support, self.rows_only = query, code, support, rows_only
        self.few, self.few_alike = few, few_alike
        self.positive = tuple(v.name for v in query.variables if not v.negated)
        self.nothing = MatchSet.of(self.positive, ())
        self.variable_of = np.array([self.positive.index(v) for v in bindings.variables], dtype=np.int64)
        self.branch_of = np.array(bindings.branches, dtype=np.int64)
        self.negated, self.fixed = bindings.negated, bindings.fixed
        self.partial = np.array(bindings.partial, dtype=bool)
        self.columns = np.argsort(self.variable_of)
        in_order = bool((self.columns == np.arange(len(self.columns))).all())
        self.permuted, self.in_sequence = not in_order, in_order and bindings.in_time
        self.opens = np.array([any(part.open for part in parts) for parts in bindings.absent])
        self.waits = bool(self.opens.any())
        self.open_parts = [[_open_part(query, part) for part in parts if part.open] for parts in bindings.absent]
        bound: list[set[str]] = [set() for _ in bindings.absent]
        for variable, branch in zip(bindings.variables, bindings.branches, strict=True):
            bound[branch].add(variable)
        self.totals = Totals(query)
        self.counts_for = (
            self.totals.places(self.totals.sums, bindings.variables),
            self.totals.places(self.totals.keys, bindings.variables),
        )
        self.overlapping = len(set(map(frozenset, bound))) < len(bound)

    def report(self, live: Remembered, found: Expanded, watermark: int) -> MatchSet | RowMatches:
        """The matches that are certain now; the others wait."""
        if not len(found) and not len(live.selection.chosen):
            return self.nothing
        live.pending = Expanded.none()
        if self.waits:
            waiting = self.opens[self.branches(found)] & ~self._is_over(live, found, watermark)
            live.pending = found.take(np.flatnonzero(waiting))
            found = found.take(np.flatnonzero(~waiting))
        if self.negated and len(found):
            found = found.take(np.flatnonzero(self._absent(live, found)))
        if self.overlapping:
            found = self._distinct(found)
        if self.query.output in (OutputMode.COUNT, OutputMode.LATEST):
            found = self._certain_by_last_event(live, found)
        if self.query.output is OutputMode.COUNT:
            last = found.last
            return self.counted(live, last, np.ones(len(last), dtype=np.int64), self._weighed(live, found))
        return self.written(live, self.selected(live, found, watermark))

    def written(self, live: Remembered, found: Expanded) -> MatchSet | RowMatches:
        """Matches as they are reported; those of partial branches have the count 0."""
        columns = [live.events.view(name) for name in ("rank", "time", "rows")]
        if not len(self.partial):
            without_times = self.row_matches(found, *columns) if self._may_omit_times(live, found) else None
            return self.match_set(found, *columns) if without_times is None else without_times
        partial = self.partial[self.branches(found)]
        whole, others = (self.match_set(found.take(np.flatnonzero(p)), *columns) for p in (~partial, partial))
        both = whole + replace(others, count=np.zeros(len(others), dtype=np.int64))
        return both.take(np.lexsort((both.start, both.end)))

    def _may_omit_times(self, live: Remembered, found: Expanded) -> bool:
        """Whether matches can be reported as `RowMatches`, which look their times up by row."""
        if not self.rows_only or self.support.plain or len(found) <= self.few or not live.events.ascending:
            return False
        return bool(live.events.view("rows")[-1] <= MAX_ROW)

    def selected(self, live: Remembered, found: Expanded, watermark: int) -> Expanded:
        """Select the matches that OUTPUT reports now; undecided ones go back to those that wait."""
        match self.query.output:
            case OutputMode.LATEST:
                return self._latest(live, found)
            case OutputMode.NONOVERLAP:
                return self.non_overlapping(live, found, watermark)
            case _:
                return found

    def branches(self, found: Expanded) -> Integers:
        """The branch that found each match."""
        return self.branch_of[found.codes[found.offsets[1:] - 1]]

    def _is_over(self, live: Remembered, found: Expanded, watermark: int) -> npt.NDArray[np.bool_]:
        """A mask of the matches for which no event still to come can be one of a negated part."""
        over = self.window_closed(live, found, watermark)
        if watermark == FOREVER or not any(part.earlier for parts in self.open_parts for part in parts):
            return over
        time, closed, branch = live.events.view("time"), over.copy(), self.branches(found)
        for b, parts in enumerate(self.open_parts):
            own = np.flatnonzero(branch == b)
            some = found.take(own)
            all_over = np.ones(len(own), dtype=bool)
            for part in parts:
                silent = closed[own] if part.silence is None else watermark > time[some.last] + part.silence
                for deadline in part.deadlines:
                    event = self._bound_to(some, deadline.variable, last=deadline.last)
                    # An event that is not there, -1, bounds nothing.
                    silent = silent | ((event >= 0) & (watermark > time[event] + deadline.ticks))
                all_over &= silent
            over[own] = all_over
        return over

    def _bound_to(self, found: Expanded, variable: str, *, last: bool) -> Integers:
        """The first or the last event that each match binds to a variable; -1 for one that binds none."""
        entries = np.flatnonzero(self.variable_of[found.codes] == self.positive.index(variable))
        match = np.searchsorted(found.offsets, entries, side="right") - 1
        events = np.full(len(found), -1, dtype=np.int64)
        ordered = slice(None) if last else slice(None, None, -1)
        # Of several values for one place the last one stays.
        events[match[ordered]] = found.events[entries[ordered]]
        return events

    def window_closed(self, live: Remembered, found: Expanded, watermark: int) -> npt.NDArray[np.bool_]:
        """A mask of the matches that share a window with no event still to come."""
        first = found.first
        match self.query.window:
            case _ if watermark == FOREVER:
                return np.ones(len(found), dtype=bool)
            case TimeWindow(ticks):
                return watermark > live.events.view("time")[first] + ticks
            case CountWindow(events):
                counts: Integers = live.counts[live.events.view("partition")[first]]
                return counts >= live.events.view("place")[first] + events
            case _:
                return np.zeros(len(found), dtype=bool)

    def _by_variable(self, found: Expanded, order: Integers, rows: Integers) -> tuple[Integers, Integers]:
        """The matches `order` variable by variable: offsets of each, and the rows of all events."""
        if self.fixed:
            rows_of = rows[found.events.reshape(-1, self.fixed)[order]].T[self.columns]
            starts = np.arange(len(order) + 1) + len(order) * np.arange(self.fixed)[:, None]
            return starts, np.ascontiguousarray(rows_of).reshape(-1)
        if self.support.plain:
            variable = self.variable_of[found.codes]
            entries, offsets = self.support.timed_call(
                split_plainly, order, found.offsets, variable, len(self.positive)
            )
            return offsets, rows[found.events[entries]]
        offsets = np.empty((len(self.positive), len(order) + 1), dtype=np.int64)
        by_variable = np.empty(int(found.offsets[-1]), dtype=np.int64)
        self.support(
            "split", order, found.offsets, found.events, found.codes, self.variable_of, rows, offsets, by_variable
        )
        return offsets, by_variable

    def _absent(self, live: Remembered, found: Expanded) -> npt.NDArray[np.uint8]:
        """A mask of the matches beside which no negated part occurs."""
        return self.without(live, self.branches(found), found, found)

    def without(self, live: Remembered, branches: Integers, found: Expanded, bound: Expanded) -> npt.NDArray[np.uint8]:
        """1 for each match beside which no part occurs that is negated in its branch; `bound` is what that looks at."""
        stream = live.stream()
        n = live.events.length
        offsets, by_variable = self._by_variable(bound, np.arange(len(bound)), np.arange(n))
        keep = np.zeros(len(found), dtype=np.uint8)
        matches = (
            branches,
            found.offsets,
            found.events,
            offsets,
            by_variable,
            *self.candidates(live, stream),
        )
        at = 0
        while at < len(found):
            end = min(len(found), at + WARM_UP_EVENTS) if self.code.warming_up else len(found)
            self.code("absent", at, end, keep, live.nums, *stream, *matches)
            at = end
        return keep

    def candidates(self, live: Remembered, stream: list[npt.NDArray[Any]]) -> tuple[Integers, Integers, Integers]:
        """The events that fit each negated component, by partition: where each begins, their partitions, the events."""
        return candidates(self.code, self.negated, live.events, stream)

    def _distinct(self, found: Expanded) -> Expanded:
        """Drop duplicates of matches, which two branches that bind the same variables may find."""
        seen: dict[tuple[bytes, bytes, bool], int] = {}
        for m in range(len(found)):
            part = slice(int(found.offsets[m]), int(found.offsets[m + 1]))
            # A partial match may bind what a match does.
            branch = int(self.branch_of[found.codes[part.start]])
            partial = bool(len(self.partial) and self.partial[branch])
            bound = found.events[part].tobytes(), self.variable_of[found.codes[part]].tobytes(), partial
            seen.setdefault(bound, m)
        return found.take(np.array(list(seen.values()), dtype=np.int64))

    def _order(self, found: Expanded, rank: Integers, words: Words | None = None) -> Integers:
        """By end, then start, then the events of the variables in pattern order; `words` if they are known already."""
        if len(found) == 1:
            return np.zeros(1, dtype=np.int64)
        ends = rank[found.last]
        # Events ascend with their ranks: where words begin with the first event, they tell the start as well.
        first = NOTHING if self.fixed and self.in_sequence else rank[found.first]
        few = self.few_alike if self.fixed else self.few
        return arrange(self.support, ends, first, lambda: words or self._words(found), few)

    def _words(self, found: Expanded) -> Words:
        """Matches as words that compare as they do."""
        if self.fixed:
            events = found.events
            if self.permuted:
                events = events.reshape(-1, self.fixed)[:, self.columns].reshape(-1)
            return np.arange(0, len(events) + 1, self.fixed), events
        variables = len(self.positive)
        if self.support.plain:
            return spell_plainly(found.offsets, found.events, self.variable_of[found.codes], variables)
        starts = empty_array(len(found) + 1)
        words = empty_array(len(found.events) + variables * len(found))
        self.support("spell", found.offsets, found.events, found.codes, self.variable_of, variables, starts, words)
        return starts, words

    def non_overlapping(self, live: Remembered, found: Expanded, watermark: int) -> Expanded:
        """Drop overlapping matches; matches that end at the watermark or that wait stay pending."""
        rank, time = live.events.view("rank"), live.events.view("time")
        partition = live.events.view("partition")
        strict_key = bool(self.query.partition_by)
        blocked = self._blocked(live)
        keep, wait = [], []
        first, last = found.first, found.last
        for m in self._order(found, rank).tolist():
            p = int(partition[first[m]]) if strict_key else 0
            key = (int(rank[last[m]]), int(rank[first[m]]))
            if (watermark != FOREVER and time[last[m]] >= watermark) or (p in blocked and blocked[p] < key):
                wait.append(m)
            elif p not in live.ends or rank[first[m]] > live.ends[p][0]:
                keep.append(m)
                live.ends[p] = (int(rank[last[m]]), int(time[last[m]]))
        live.pending = live.pending + found.take(np.array(wait, dtype=np.int64))
        return found.take(np.array(keep, dtype=np.int64))

    def uncertain(self, live: Remembered) -> Expanded:
        """The matches that may still come to nothing."""
        return live.pending

    def _blocked(self, live: Remembered) -> dict[int, tuple[int, int]]:
        """The first match of each partition, in the order of (end, start), that is not certain yet."""
        rank, partition = live.events.view("rank"), live.events.view("partition")
        blocked: dict[int, tuple[int, int]] = {}
        uncertain = self.uncertain(live)
        for m in range(len(uncertain)):
            first = uncertain.events[uncertain.offsets[m]]
            last = uncertain.events[uncertain.offsets[m + 1] - 1]
            p = int(partition[first]) if self.query.partition_by else 0
            key = (int(rank[last]), int(rank[first]))
            blocked[p] = min(blocked.get(p, key), key)
        return blocked

    def _certain_by_last_event(self, live: Remembered, found: Expanded) -> Expanded:
        """The matches of the events of which all matches are certain; the others wait for one another."""
        last = found.last
        uncertain = self.uncertain(live)
        waits = np.isin(last, uncertain.last)
        live.pending = live.pending + found.take(np.flatnonzero(waits))
        return found.take(np.flatnonzero(~waits))

    def _latest(self, live: Remembered, found: Expanded) -> Expanded:
        """The latest match of each event that completes matches."""
        best = np.full(live.events.length, -1, dtype=np.int64)
        lists = self._by_variable(found, np.arange(len(found)), np.arange(live.events.length))
        self.support("latest_matches", np.ascontiguousarray(found.last), *lists, best)
        return found.take(best[best >= 0])

    def _weighed(self, live: Remembered, found: Expanded) -> Weighed:
        """The contribution of each match to the aggregates."""
        weighed = Weighed.none(len(found) if self.totals else 0, self.totals)
        if self.totals:
            matches = np.arange(len(found)), found.offsets, found.events, found.codes
            weights = self.totals.weights(live.events, live.encoding.dictionary)
            self.support("weigh_matches", *matches, Weights(*self.counts_for, *weights), weighed.sums, weighed.least)
        return weighed

    def counted(self, live: Remembered, events: Integers, counts: Integers, weighed: Weighed) -> MatchSet:
        """The numbers of matches that `events` complete, and what they are `weighed`, summed up by event."""
        some = np.flatnonzero(counts)
        last, places = np.unique(events[some], return_inverse=True)
        if not len(last):
            return self.nothing
        if counts.min() < 0:
            exact(None, "the number of matches")
        sums = [0] * len(last)
        for place, count in zip(places.tolist(), counts[some].tolist(), strict=True):
            sums[place] += count
        time, rows = live.events.view("time")[last], live.events.view("rows")[last]
        empty = row_lists(np.zeros(len(last) + 1, dtype=np.int64), np.empty(0, dtype=np.int64))
        counts = np.array([exact(total, "the number of matches") for total in sums], dtype=np.int64)
        totals: tuple[tuple[Value, ...], ...] = ()
        if self.totals:
            joined = weighed.take(some).by_place(self.support, places, len(last), self.totals)
            dictionary = live.encoding.dictionary
            totals = self.totals.values(joined, self.totals.weights(live.events, dictionary)[0], dictionary)
        return MatchSet(self.positive, (empty,) * len(self.positive), time, time, None, counts, rows, totals)

    def match_set(self, found: Expanded, rank: Integers, time: Integers, rows: Integers) -> MatchSet:
        if not len(found):
            return self.nothing
        if len(found.events) > MAX_LIST_ROWS:
            raise too_wide(len(found))
        m = len(found)
        one, none = each_once(m)
        if self.fixed and not self.support.plain:
            out, start, end = empty_array((self.fixed, m)), empty_array(m), empty_array(m)
            self._write_rows(found, rank, time, rows, out, start, end)
            ends = pa.py_buffer(np.arange(m + 1, dtype=np.int32))
            columns = tuple(shared_lists(ends, m, of_variable) for of_variable in out)
            return MatchSet(self.positive, columns, start, end, None, one, none)
        if self.support.plain or m <= self.few:
            order = self._order(found, rank)
            offsets, by_variable = self._by_variable(found, order, rows)
        elif (written := self._lists_in_order(found, rank, time, rows)) is not None:
            ends_of, rows_of, start, end = written
            columns = tuple(shared_lists(pa.py_buffer(o), m, v) for o, v in zip(ends_of, rows_of, strict=True))
            return MatchSet(self.positive, columns, start, end, None, one, none)
        else:
            words = self._words(found)
            order = self._order(found, rank, words)
            offsets = empty_array((len(self.positive), m + 1))
            of_code = np.bincount(found.codes, minlength=len(self.variable_of))
            of_variable = np.bincount(self.variable_of, of_code, minlength=len(self.positive)).astype(np.int64)
            offsets[:, 0] = np.cumsum(of_variable) - of_variable
            by_variable = empty_array(len(found.events))
            self.support("write_words", order, *words, rows, offsets, by_variable)
        columns = tuple(row_lists(o - o[0], by_variable[int(o[0]) : int(o[-1])]) for o in offsets)
        start, end = time[found.first[order]], time[found.last[order]]
        return MatchSet(self.positive, columns, start, end, None, one, none)

    def row_matches(self, found: Expanded, rank: Integers, time: Integers, rows: Integers) -> RowMatches | None:
        """The matches without their times; None if they would have to be sorted as lists first."""
        if self.fixed:
            out = empty_array((self.fixed, len(found)), ROW)
            self._write_rows(found, rank, time, rows, out, _UNWRITTEN, _UNWRITTEN)
            return RowMatches(self.positive, len(found), tuple(map(RowColumn, out)), rows, time)
        written = self._lists_in_order(found, rank, time, rows, dated=False)
        if written is None:
            return None
        offsets, rows_of, _, _ = written
        return RowMatches(self.positive, len(found), tuple(map(RowColumn, rows_of, offsets)), rows, time)

    def _write_rows(
        self, found: Expanded, rank: Integers, time: Integers, rows: Integers, *out: npt.NDArray[Any]
    ) -> None:
        """Write matches of one event a variable in their order: rows by variable, starts and ends."""
        matches = found.events.reshape(-1, self.fixed)
        many = len(found) > self.few
        if not self.support.stands_in("write_ordered_rows", len(found)):
            if self.support("write_ordered_rows", self.columns, matches, rank, time, rows, *out):
                return
            if not self.support.stands_in("write_packed" if many else "write_rows", len(found)):
                in_time = self.in_sequence
                numbers = packed(self.support, matches, self.columns, rank, sequential=in_time) if many else None
                if numbers is not None:
                    numbers.write(self.support, time, rows, *out)
                else:
                    self.support("write_rows", self._order(found, rank), self.columns, matches, time, rows, *out)
                return
        order = order_plainly(matches, self.columns, rank, sequential=self.in_sequence)
        write_plainly(order, self.columns, matches, time, rows, *out)

    def _lists_in_order(
        self, found: Expanded, rank: Integers, time: Integers, rows: Integers, *, dated: bool = True
    ) -> tuple[npt.NDArray[np.int32], list[npt.NDArray[Any]], Integers, Integers] | None:
        """Offsets and rows by variable, and starts and ends unless not `dated`, of matches found in their order.

        None if they were found in another.
        """
        m, variables = len(found), len(self.positive)
        begins, offsets = np.empty(variables, dtype=np.int64), empty_array((variables, m + 1), np.int32)
        by_variable = empty_array(len(found.events), np.int64 if dated else ROW)
        start, end = (empty_array(m) if dated else _UNWRITTEN for _ in range(2))
        matches = found.offsets, found.events, found.codes, self.variable_of
        out = begins, offsets, by_variable, start, end
        if not self.support("write_ordered_lists", *matches, rank, time, rows, *out):
            return None
        return offsets, np.split(by_variable, begins[1:]), start, end


_UNWRITTEN = np.empty(0, dtype=np.int64)
"""Stands for the starts and the ends of matches where they are not to be written."""
