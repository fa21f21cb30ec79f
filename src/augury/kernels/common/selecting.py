"""The OUTPUT modes that choose among matches by their start or by what they contain (SEMANTICS section 7)."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

import numpy as np
import numpy.typing as npt

from augury.ir.query import BoundQuery
from augury.ir.terms import OutputMode
from augury.kernels.common.expanded import Expanded
from augury.kernels.common.reporting import Remembered, Reporting
from augury.runtime.batch import Integers
from augury.runtime.state import FOREVER


class SelectingReporting(Reporting):
    """Reporting that knows FIRST, LONGEST, LONGEST NONOVERLAP and NONOVERLAP FROM as well."""

    def selected(self, live: Remembered, found: Expanded, watermark: int) -> Expanded:
        found = self._chosen(live, found, watermark)
        return self._spaced(live, found, watermark) if self.query.paced else found

    def _chosen(self, live: Remembered, found: Expanded, watermark: int) -> Expanded:
        """The matches that the mode lets through now."""
        match self.query.output:
            case OutputMode.FIRST:
                return self._first(live, found, watermark)
            case OutputMode.LONGEST:
                return self._longest(live, found, watermark)
            case OutputMode.LONGEST_NONOVERLAP:
                return self.non_overlapping(live, self._longest(live, found, watermark), watermark)
            case OutputMode.NONOVERLAP_FROM:
                return self._skipping(live, found, watermark)
            case OutputMode.TIMEOUTS | OutputMode.ALL_WITH_TIMEOUTS | OutputMode.FIRST_WITH_TIMEOUTS:
                return self._with_timeouts(live, found, watermark)
            case _:
                return super().selected(live, found, watermark)

    # -- ties ---------------------------------------------------------------------------------------------------------

    def _preferred(self, found: Expanded, *keys: Integers) -> Integers:
        """The places of matches by `keys`, the first one foremost; of equal ones the one that is chosen comes first.

        That is the one that binds most events, then variable by variable the earlier event, unbound last.
        """
        keys = (*keys, -self.sizes(found))
        order = np.lexsort(keys[::-1])
        tied = np.ones(max(0, len(order) - 1), dtype=bool)
        for key in keys:
            tied &= key[order[1:]] == key[order[:-1]]
        if not tied.any():
            return order
        placed = order.tolist()
        at = 0
        while at < len(placed):
            end = at + 1
            while end < len(placed) and tied[end - 1]:
                end += 1
            if end > at + 1:
                placed[at:end] = sorted(placed[at:end], key=lambda m: self._spelled(found, m))
            at = end
        return np.array(placed, dtype=np.int64)

    def sizes(self, found: Expanded) -> Integers:
        """How many events each match binds."""
        return np.diff(found.offsets)

    def _spelled(self, found: Expanded, m: int) -> list[tuple[bool, list[int]]]:
        """The events of a match variable by variable, such that the one that is chosen compares as less."""
        part = slice(int(found.offsets[m]), int(found.offsets[m + 1]))
        bound: list[list[int]] = [[] for _ in self.positive]
        for e, v in zip(found.events[part].tolist(), self.variable_of[found.codes[part]].tolist(), strict=True):
            bound[v].append(e)
        return [(not events, events) for events in bound]

    # -- FIRST --------------------------------------------------------------------------------------------------------

    def _first(self, live: Remembered, found: Expanded, watermark: int) -> Expanded:
        """The match that ends first for each first event, once no other can end earlier; only that one waits."""
        rank, time = live.events.view("rank"), live.events.view("time")
        found = found.take(np.flatnonzero(~np.isin(found.first, live.selection.started)))
        if not len(found):
            return found
        order = self._preferred(found, found.first, rank[found.last])
        starts, places = np.unique(found.first[order], return_index=True)
        best = found.take(order[places])
        ends = rank[best.last]
        # A concurrent event may still come that ends a match as early.
        known = np.ones(len(best), dtype=bool) if watermark == FOREVER else time[best.last] < watermark
        uncertain = self.uncertain(live)
        if len(uncertain):
            at, there = _places(uncertain.first, starts)
            not_later = there & (rank[uncertain.last] <= ends[at])
            known[at[not_later]] = False
        chosen = best.take(np.flatnonzero(known))
        started = np.union1d(live.selection.started, chosen.first)
        live.selection = replace(live.selection, started=started)
        if len(live.pending):
            # What ends later than a match that is certain comes to nothing, whatever becomes of it.
            at, there = _places(live.pending.first, starts)
            later = there & (rank[live.pending.last] > ends[at])
            live.pending = live.pending.take(np.flatnonzero(~later & ~np.isin(live.pending.first, started)))
        live.pending = live.pending + best.take(np.flatnonzero(~known))
        return chosen

    # -- LONGEST ------------------------------------------------------------------------------------------------------

    def _longest(self, live: Remembered, found: Expanded, watermark: int) -> Expanded:
        """The matches that no other contains, once no event to come can be in one that does.

        What a match contains that is certain is let go of at once, also if it is not certain itself.
        """
        found = found.take(np.flatnonzero(~self._contained(found, found)))
        uncertain = live.pending.take(np.flatnonzero(~self._contained(live.pending, found)))
        open_ = ~self.window_closed(live, found, watermark) | self._contained(found, uncertain)
        live.pending = uncertain + found.take(np.flatnonzero(open_))
        return found.take(np.flatnonzero(~open_))

    def _contained(self, small: Expanded, large: Expanded) -> npt.NDArray[np.bool_]:
        """A mask of the matches `small` that one of `large` contains, which binds more events."""
        contained = np.zeros(len(small), dtype=np.uint8)
        if not len(small) or not len(large):
            return contained.astype(bool)
        words, larger_words = (self._bound(matches) for matches in (small, large))
        sizes = np.diff(large.offsets)
        match = np.repeat(np.arange(len(large)), sizes)
        by_word = np.lexsort((-sizes[match], larger_words))
        # Of the words of a match, the one that fewest others have tells which of them to look at.
        begins = np.searchsorted(larger_words[by_word], words, side="left")
        counts = np.searchsorted(larger_words[by_word], words, side="right") - begins
        own = np.repeat(np.arange(len(small)), np.diff(small.offsets))
        rarest = np.lexsort((counts, own))[small.offsets[:-1]]
        begin, end = begins[rarest], begins[rarest] + counts[rarest]
        matches = small.offsets, words, large.offsets, larger_words
        self.support("mark_contained", self.support.cells, begin, end, match[by_word], *matches, contained)
        return contained.astype(bool)

    def _bound(self, found: Expanded) -> Integers:
        """A number for each event that a match binds and the variable it is bound to; those of a match ascend."""
        bound: Integers = found.events * len(self.positive) + self.variable_of[found.codes]
        return bound

    # -- NONOVERLAP FROM ----------------------------------------------------------------------------------------------

    def _skipping(self, live: Remembered, found: Expanded, watermark: int) -> Expanded:
        """The matches in order of (start, end) that start where the last one kept says, or later.

        A match is looked at only when every one before it is known and certain: no event to come shares a window with
        its start.
        """
        rank, time = live.events.view("rank"), live.events.view("time")
        live.pending = live.pending.take(np.flatnonzero(~self._passed_over(live, live.pending)))
        found = found.take(np.flatnonzero(~self._passed_over(live, found)))
        closed = self.window_closed(live, found, watermark)
        first, last, partition = rank[found.first], rank[found.last], self._partition(live, found)
        blocked: dict[int, tuple[int, int]] = {}
        uncertain = self.uncertain(live)
        places = self._partition(live, uncertain), rank[uncertain.first], rank[uncertain.last]
        for p, start, end in zip(*(numbers.tolist() for numbers in places), strict=True):
            blocked[p] = min(blocked.get(p, (start, end)), (start, end))
        keep, wait = [], []
        for m in self._preferred(found, first, last).tolist():
            p, key = int(partition[m]), (int(first[m]), int(last[m]))
            if not closed[m]:
                blocked[p] = min(blocked.get(p, key), key)
            if p in blocked and blocked[p] <= key:
                wait.append(m)
            elif p not in live.ends or key[0] > live.ends[p][0]:
                keep.append(m)
                live.ends[p] = self._goes_on_after(found, m, rank, time)
        live.pending = live.pending + found.take(np.array(wait, dtype=np.int64))
        return found.take(np.array(keep, dtype=np.int64))

    # -- TIMEOUTS -----------------------------------------------------------------------------------------------------

    def _with_timeouts(self, live: Remembered, found: Expanded, watermark: int) -> Expanded:
        """The matches that the mode reports, and for each event that led to none what got farthest, when time is up.

        Of the partial matches of an event two wait: the farthest, and the one that ends last, which tells how long one
        may still go on.
        """
        is_partial = self.partial[self.branches(found)]
        complete, partial = found.take(np.flatnonzero(~is_partial)), found.take(np.flatnonzero(is_partial))
        led = np.union1d(live.selection.started, complete.first)
        match self.query.output:
            case OutputMode.FIRST_WITH_TIMEOUTS:
                reported = self._first(live, complete, watermark)
            case mode:
                reported = complete if mode is OutputMode.ALL_WITH_TIMEOUTS else Expanded.none()
                live.selection = replace(live.selection, started=led)
        partial = partial.take(np.flatnonzero(~np.isin(partial.first, led)))
        if not len(partial):
            return reported
        farthest = self._preferred(partial, partial.first, -self._reached(partial))
        starts, places = np.unique(partial.first[farthest], return_index=True)
        best = partial.take(farthest[places])
        by_end = np.lexsort((-partial.last, partial.first))
        latest = partial.take(by_end[np.unique(partial.first[by_end], return_index=True)[1]])
        over = self.window_closed(live, best, watermark)
        if self.query.each is not None and watermark != FOREVER:
            over |= watermark > live.events.view("time")[latest.last] + self.query.each
        # A match that is not certain yet is waited for, whatever the window says.
        over &= ~np.isin(starts, self.uncertain(live).first)
        waiting = np.flatnonzero(~over)
        live.pending = live.pending + best.take(waiting) + latest.take(waiting)
        return reported + best.take(np.flatnonzero(over))

    def _reached(self, found: Expanded) -> Integers:
        """The place in the pattern of the last component that each match binds."""
        reached: Integers = np.maximum.reduceat(self.variable_of[found.codes], found.offsets[:-1])
        return reached

    # -- EVERY and ONCE -----------------------------------------------------------------------------------------------

    def _spaced(self, live: Remembered, found: Expanded, watermark: int) -> Expanded:
        """Select from the matches of the mode, in order of (end, start), those that are far enough apart.

        None is looked at before every earlier one is known; those that are not wait in `live.selection`.
        """
        found = live.selection.chosen + found
        rank, time = live.events.view("rank"), live.events.view("time")
        first, last, partition = rank[found.first], rank[found.last], self._partition(live, found)
        open_ = self._blocked(live)
        paced = dict(live.selection.paced)
        keep, wait = [], []
        for m in self._preferred(found, last, first).tolist():
            p, end = int(partition[m]), int(time[found.last[m]])
            if (watermark != FOREVER and end >= watermark) or (p in open_ and open_[p] <= (last[m], first[m])):
                wait.append(m)
            elif p not in paced or (self.query.every is not None and end - paced[p] >= self.query.every):
                keep.append(m)
                paced[p] = end
        waiting = found.take(np.array(wait, dtype=np.int64))
        live.selection = replace(live.selection, chosen=waiting, paced=paced)
        return found.take(np.array(keep, dtype=np.int64))

    def _partition(self, live: Remembered, found: Expanded) -> Integers:
        """The partition by which each match is judged."""
        if not self.query.partition_by:
            return np.zeros(len(found), dtype=np.int64)
        return live.events.view("partition")[found.first]

    def _passed_over(self, live: Remembered, found: Expanded) -> npt.NDArray[np.bool_]:
        """A mask of the matches that start too early to be kept, whatever is decided about others."""
        first = live.events.view("rank")[found.first].tolist()
        ends = [live.ends.get(p, (-1, 0))[0] for p in self._partition(live, found).tolist()]
        return np.array([start <= end for start, end in zip(first, ends, strict=True)], dtype=bool)

    def _goes_on_after(self, found: Expanded, m: int, rank: Integers, time: Integers) -> tuple[int, int]:
        """Rank and time after which the next match starts: just before the event of the variable, if it is bound."""
        to = self.query.skip_to
        assert to is not None
        part = slice(int(found.offsets[m]), int(found.offsets[m + 1]))
        named = self.variable_of[found.codes[part]] == self.positive.index(to.variable)
        events = found.events[part][named]
        if not len(events):
            last = found.events[part][-1]
            return int(rank[last]), int(time[last])
        e = events[-1 if to.last else 0]
        return int(rank[e]) - 1, int(time[e])


def windows_of(query: BoundQuery) -> int:
    """How many windows before the watermark a match that waits for others, or what it must be without, may begin."""
    match query.output:
        case _ if query.paced:
            return 3
        case OutputMode.ALL | OutputMode.COVER | OutputMode.LATEST | OutputMode.COUNT:
            return 1
        case OutputMode.NONOVERLAP:
            return 2
        case (
            OutputMode.FIRST
            | OutputMode.LONGEST
            | OutputMode.LONGEST_NONOVERLAP
            | OutputMode.NONOVERLAP_FROM
            | OutputMode.TIMEOUTS
            | OutputMode.ALL_WITH_TIMEOUTS
            | OutputMode.FIRST_WITH_TIMEOUTS
        ):
            # It waits for a window of its own, or of a match that ends before it, and is then looked at once more.
            return 3
        case _:
            assert_never(query.output)


def _places(of: Integers, among: Integers) -> tuple[Integers, npt.NDArray[np.bool_]]:
    """The positions of numbers among ascending ones, and a mask of those that are among them."""
    at = np.minimum(np.searchsorted(among, of), len(among) - 1)
    there: npt.NDArray[np.bool_] = among[at] == of
    return at, there
