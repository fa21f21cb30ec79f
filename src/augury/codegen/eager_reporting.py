"""From the nodes of the match buffer to matches, written out or still sharing their events."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from augury.codegen.eager_nfa import EagerNfaSource
from augury.codegen.eager_state import OUT, EagerState, Segment
from augury.codegen.reporting import Bindings, Expanded, Reporting, span_of
from augury.codegen.tier import Tier
from augury.errors import TooManyMatches
from augury.ir.query import CountWindow
from augury.ir.terms import OutputMode
from augury.options import Options
from augury.plan import EagerNfaPlan
from augury.runtime.batch import Integers
from augury.runtime.matches import MatchSet
from augury.runtime.shared import SharedMatches

CHUNK = 1 << 18
"""How many events of matches are written out at a time."""


class EagerReporting(Reporting):
    """Reporting for runs, whose matches lie in a shared buffer."""

    def __init__(self, plan: EagerNfaPlan, source: EagerNfaSource, options: Options, code: Tier, support: Tier) -> None:
        absent = tuple(b.absent for b in plan.branches)
        bindings = Bindings(source.component_variables, source.branch_of_component, absent, len(source.negated))
        super().__init__(plan.query, bindings, code, support)
        self.options = options

    def starts(self, live: EagerState) -> Integers:
        """What the window is measured in, by event."""
        return live.events.view("place" if isinstance(self.query.window, CountWindow) else "time")

    def expand(self, live: EagerState, before: int) -> Expanded:
        """Write out the matches of the nodes reported so far."""
        finals = live.pool["OUT"][: int(live.nums[OUT])]
        parts, count = [], before
        for some in self._write_out(finals, live.pool, self.starts(live)):
            parts.append(some)
            count += len(some)
            if count > self.options.max_matches:
                raise TooManyMatches(
                    f"more than {self.options.max_matches} matches\n = help: raise max_matches, ask for OUTPUT "
                    "NONOVERLAP, shorten WITHIN, add predicates, or let them stay compressed"
                )
        live.nums[OUT] = 0
        return Expanded.of(parts)

    def _write_out(self, finals: Integers, pool: Mapping[str, npt.NDArray[Any]], start: Integers) -> Iterator[Expanded]:
        """The matches that end at the nodes `finals`, some at a time."""
        state = np.zeros(3, dtype=np.int64)
        at, n = 0, len(finals)
        # No match is longer than the buffer up to its last node; the first piece is small, as most are all there is.
        longest = int(finals.max()) + 2
        stack, cursor = (np.empty(longest, dtype=np.int64) for _ in range(2))
        size = max(4096, longest)
        while at < n:
            offsets = np.empty(size + 1, dtype=np.int64)
            offsets[0] = 0
            events, codes = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
            state[1:] = 0
            size = max(CHUNK, longest)
            at = self.support(
                "expand",
                at,
                n,
                finals,
                *(pool[k] for k in ("NE", "NP", "NC", "NT", "NM", "XN", "XX")),
                start,
                span_of(self.query.window),
                state,
                stack,
                cursor,
                offsets,
                events,
                codes,
            )
            m, entries = int(state[1]), int(state[2])
            yield Expanded(offsets[: m + 1], events[:entries], codes[:entries])

    @property
    def shares(self) -> bool:
        """Whether matches may stay in the buffer: nothing but the runs decides about them."""
        return (
            self.options.compressed
            and self.query.output is OutputMode.ALL
            and not self.negated
            and not self.overlapping
        )

    def shared(self, live: EagerState) -> SharedMatches:
        segments, live.segments = tuple(live.segments), []
        return SharedMatches(
            self.positive,
            lambda: min(2**61, sum(map(self._count, segments))),
            lambda: (batch for segment in segments for batch in self._batches(segment)),
        )

    def _count(self, segment: Segment) -> int:
        scratch = (np.empty(len(segment.buffer["NE"]) + 1, dtype=np.int64) for _ in range(6))
        stamp = np.full(len(segment.buffer["NE"]) + 1, -1, dtype=np.int64)
        arrays = (segment.buffer[k] for k in ("NE", "NP", "NT", "NM", "XN", "XX"))
        return int(
            self.support(
                "count",
                len(segment.finals),
                segment.finals,
                *arrays,
                segment.start,
                span_of(self.query.window),
                *scratch,
                stamp,
            )
        )

    def _batches(self, segment: Segment) -> Iterator[MatchSet]:
        for some in self._write_out(segment.finals, segment.buffer, segment.start):
            yield self.match_set(some, segment.rank, segment.time, segment.rows)
