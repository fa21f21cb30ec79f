"""Scored matches: refuted by what was observed after them, and reported when they are certain."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from augury.codegen.lossy.queues import LossySource
from augury.ir.query import TimeWindow
from augury.ir.terms import OutputMode
from augury.jit.tier import Tier
from augury.kernels.common.candidates import candidates
from augury.kernels.lossy.state import LossyState, Scored
from augury.plan import LossyPlan
from augury.runtime.batch import Integers
from augury.runtime.matches import MatchSet, each_once, row_lists
from augury.runtime.state import FOREVER

WARM_UP_EVENTS = 64
"""Events, or matches, of one call while the kernel may still be compiling in the background."""


class LossyReporting:
    """The last part of a step."""

    def __init__(self, plan: LossyPlan, source: LossySource, code: Tier) -> None:
        assert isinstance(plan.query.window, TimeWindow)
        self.plan, self.source, self.code = plan, source, code
        self.window = plan.query.window.ticks
        self.variables = tuple(c.variable for c in plan.positive)
        self.nothing = MatchSet.of(self.variables, ())
        final = [e for e in plan.edges if e.target == len(plan.positive)]
        # Component by component, whether a match that ends with it has something after it in the pattern.
        self.opens = np.array(
            [any(e.source == k and e.table is not None for e in final) for k in range(len(plan.positive))]
        )

    def report(self, live: LossyState, found: Scored, watermark: int) -> MatchSet:
        """The matches that no later event can refute; the others are kept for the next step."""
        if not len(found):
            return self.nothing
        live.pending = Scored.none(found.events.shape[1])
        if self.opens.any():
            last = found.events.shape[1] - 1 - (found.events[:, ::-1] >= 0).argmax(axis=1)
            open_ = self.opens[last]
            closed = watermark == FOREVER or watermark > live.events.view("time")[found.first] + self.window
            waiting = open_ & ~np.broadcast_to(closed, len(found))
            live.pending = found.take(waiting)
            found, open_ = found.take(~waiting), open_[~waiting]
            if self.source.awaited and open_.any():
                keep = np.ones(len(found), dtype=bool)
                keep[open_] = self._settled(live, found.take(open_)) == 1
                found = found.take(keep)
        if self.plan.query.output is OutputMode.NONOVERLAP:
            found = self._non_overlapping(live, found, watermark)
        return self._match_set(live, found)

    def _settled(self, live: LossyState, found: Scored) -> npt.NDArray[np.uint8]:
        """1 for each match that nothing observed after its last event refutes."""
        stream = live.stream(self.source)
        lists = candidates(self.code, len(self.source.awaited), live.events, stream)
        keep = np.zeros(len(found), dtype=np.uint8)
        at = 0
        while at < len(found):
            end = min(len(found), at + WARM_UP_EVENTS) if self.code.warming_up else len(found)
            self.code("settled", at, end, keep, found.events, *lists, live.nums, *stream, live.pool["path_event"])
            at = end
        return keep

    def _order(self, live: LossyState, found: Scored) -> Integers:
        """By end, then start, then the events of the components in pattern order, a missing one before any other."""
        rank = live.events.view("rank")
        columns = [found.events[:, k] for k in range(found.events.shape[1] - 1, -1, -1)]
        return np.asarray(np.lexsort((*columns, rank[found.first], rank[found.last])))

    def _non_overlapping(self, live: LossyState, found: Scored, watermark: int) -> Scored:
        """Drop overlapping matches; matches that end at the watermark or that wait stay pending."""
        rank, time = live.events.view("rank"), live.events.view("time")
        partition = live.events.view("partition") if self.plan.query.partition_by else np.zeros_like(rank)
        blocked: dict[int, tuple[int, int]] = {}
        waiting = live.pending
        for first, last in zip(waiting.first.tolist(), waiting.last.tolist(), strict=True):
            key = (int(rank[last]), int(rank[first]))
            p = int(partition[first])
            blocked[p] = min(blocked.get(p, key), key)
        keep, wait = [], []
        first_of, last_of = found.first, found.last
        for m in self._order(live, found).tolist():
            first, last = int(first_of[m]), int(last_of[m])
            p, key = int(partition[first]), (int(rank[last]), int(rank[first]))
            if (watermark != FOREVER and time[last] >= watermark) or (p in blocked and blocked[p] < key):
                wait.append(m)
            elif p not in live.ends or rank[first] > live.ends[p][0]:
                keep.append(m)
                live.ends[p] = (int(rank[last]), int(time[last]))
        live.pending = live.pending + found.take(np.array(wait, dtype=np.int64))
        return found.take(np.array(keep, dtype=np.int64))

    def _match_set(self, live: LossyState, found: Scored) -> MatchSet:
        if not len(found):
            return self.nothing
        found = found.take(self._order(live, found))
        rows, time = live.events.view("rows"), live.events.view("time")
        columns = []
        for k in range(len(self.variables)):
            events = found.events[:, k]
            columns.append(row_lists(np.concatenate([[0], np.cumsum(events >= 0)]), rows[events[events >= 0]]))
        times = time[found.first], time[found.last]
        return MatchSet(self.variables, tuple(columns), *times, found.scores, *each_once(len(found)))
