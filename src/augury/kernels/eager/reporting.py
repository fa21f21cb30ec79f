"""From the nodes of the match buffer to matches, written out or still sharing their events."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from augury.budget import too_many_matches
from augury.codegen.eager.source import EagerNfaSource
from augury.ir.query import CountWindow, span_of
from augury.ir.terms import OutputMode
from augury.jit.tier import Tier
from augury.kernels.common.expanded import Expanded
from augury.kernels.common.reporting import Bindings, Remembered
from augury.kernels.common.restoring import restore_pending
from augury.kernels.common.segment import EDGES, Segment, count_ways, weigh_ways, write_out
from augury.kernels.common.segment import NODES as NODE_ARRAYS
from augury.kernels.common.shared import SharedReporting
from augury.kernels.common.totals import Weighed
from augury.kernels.eager.rounds import RoundCodes, restore_rounds
from augury.kernels.eager.state import EagerState
from augury.native.cells import RunCell
from augury.options import Options
from augury.plan import EagerNfaPlan, EventSetsPlan
from augury.runtime.batch import Integers
from augury.runtime.events import EventStore
from augury.runtime.matches import MatchSet
from augury.runtime.shared import SharedMatches


class EagerReporting(SharedReporting):
    """Reporting for runs, whose matches lie in a shared buffer."""

    def __init__(
        self,
        plan: EagerNfaPlan | EventSetsPlan,
        source: EagerNfaSource,
        options: Options,
        code: Tier,
        support: Tier,
    ) -> None:
        absent = tuple(b.absent for b in plan.branches)
        self.rounds = RoundCodes.of(plan) if isinstance(plan, EagerNfaPlan) and plan.names else None
        if self.rounds is None:
            variables, branches = source.component_variables, source.branch_of_component
        else:
            variables, branches = self.rounds.variables, self.rounds.branches
        bindings = Bindings(variables, branches, absent, len(source.negated), partial=_partial(plan))
        super().__init__(plan.query, bindings, code, support)
        self.options = options

    def starts(self, live: EagerState) -> Integers:
        """The time or position that the window is measured in, by event."""
        return live.events.view("place" if isinstance(self.query.window, CountWindow) else "time")

    def expand(self, live: EagerState, before: int) -> Expanded:
        """Write out the matches of the nodes reported so far."""
        finals = live.pool["final_node"][: int(live.nums[RunCell.FOUND])]
        parts, count = [], before
        for some in write_out(self.support, finals, live.pool, self.starts(live), span_of(self.query.window)):
            parts.append(some)
            count += len(some)
            # They are brought together, put in order and written by variable: three copies at a time.
            self.support.claim("matches", 3 * sum(2 * p.events.nbytes + p.offsets.nbytes for p in parts))
            if count > self.options.max_matches:
                raise too_many_matches(
                    self.options.max_matches,
                    "ask for OUTPUT NONOVERLAP, shorten WITHIN, add predicates, or let them stay compressed",
                )
        live.nums[RunCell.FOUND] = 0
        found = Expanded.of(parts)
        return found if self.rounds is None else self.rounds.added(found)

    def _absent(self, live: Remembered, found: Expanded) -> npt.NDArray[np.uint8]:
        keep = super()._absent(live, found)
        if self.rounds is not None and self.rounds.negates:
            match, branches, whole, bound = self.rounds.one_by_one(found)
            occurs = self.without(live, branches, whole, bound) == 0
            keep[match[occurs]] = 0
        return keep

    def sizes(self, found: Expanded) -> Integers:
        return super().sizes(found) if self.rounds is None else self.rounds.sizes(found)

    def restore_pending(self, tables: Mapping[str, pa.Table], events: EventStore) -> Expanded:
        """The matches that wait, as they were saved."""
        if self.rounds is None:
            return restore_pending(tables, events, self.branch_of, self.fixed)
        return restore_rounds(tables, events, self.branch_of, self.rounds)

    # -- matches that are not written out -----------------------------------------------------------------------------

    @property
    def shares(self) -> bool:
        """Whether matches may stay in the buffer: nothing but the runs decides about them."""
        return self.options.compressed and self.query.reports_all and self._by_runs_alone

    @property
    def tallies(self) -> bool:
        """Whether matches are only counted, in the buffer."""
        return self.query.output is OutputMode.COUNT and self._by_runs_alone

    @property
    def _by_runs_alone(self) -> bool:
        return not self.negated and not self.overlapping

    def tally(self, live: EagerState) -> None:
        """Count the matches of the nodes reported so far."""
        finals, nodes = live.pool["final_node"][: int(live.nums[RunCell.FOUND])], int(live.nums[RunCell.NODES])
        buffer = {name: live.pool[name][:nodes] for name in NODE_ARRAYS} | {k: live.pool[k] for k in EDGES}
        ways = buffer, self.starts(live), span_of(self.query.window)
        counts = count_ways(self.support, finals, *ways)
        weighed = Weighed.none(0, self.totals)
        if self.totals:
            weights = self.totals.weights(live.events, live.encoding.dictionary)
            weighed, looked = weigh_ways(self.support, finals, *ways, self.totals, self.counts_for, weights)
            live.looked += looked
        live.tallies.append((live.pool["node_event"][finals], counts, weighed))
        live.nums[RunCell.FOUND] = 0

    def tallied(self, live: EagerState) -> MatchSet:
        """The counts since the last call."""
        tallies, live.tallies = live.tallies, []
        if not tallies:
            return self.nothing
        events, counts, weighed = zip(*tallies, strict=True)
        return self.counted(live, np.concatenate(events), np.concatenate(counts), Weighed.of(weighed))

    def shared(self, live: EagerState) -> SharedMatches:
        segments, live.segments = tuple(live.segments), []
        return self.from_segments(segments)

    def _matches(self, segment: Segment, found: Expanded) -> MatchSet:
        return super()._matches(segment, found if self.rounds is None else self.rounds.added(found))


def _partial(plan: EagerNfaPlan | EventSetsPlan) -> tuple[bool, ...]:
    """Whether each branch finds partial matches; empty unless timeouts are asked for."""
    if isinstance(plan, EventSetsPlan) or not plan.query.output.has_timeouts:
        return ()
    return tuple(branch.partial for branch in plan.branches)
