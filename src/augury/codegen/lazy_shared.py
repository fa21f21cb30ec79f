"""Sequences whose predicates read one event each, as the buffers they lie in: counted and written out on demand.

Nothing but order and window joins their events, so the buffers are the factorised result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from augury.codegen.lazy_state import LazyState
from augury.codegen.reporting import Expanded
from augury.codegen.segment import EDGES, NODES, Segment
from augury.codegen.tier import Tier
from augury.runtime.batch import Integers

FIRST_ROWS, MOST_ROWS = 1 << 10, 1 << 16
"""How many matches are written out at first, since often few are looked at, and later."""


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """The input buffers after a step, one after the other in the order of the components: events, ranks and times.

    New matches end with one of the events from `first` on, which the last buffer has from position `begin`.
    """

    first: int
    begin: int
    starts: Integers
    events: Integers
    ranks: Integers
    times: Integers
    rank: Integers
    time: Integers
    rows: Integers

    def count(self, span: int, support: Tier) -> tuple[int, Integers]:
        """How many new matches there are, in all and by the event that completes them."""
        mask = np.zeros(len(self.time), dtype=np.int64)
        k = len(self.starts) - 1
        for b in range(k):
            mask[self.events[self.starts[b] : self.starts[b + 1]]] |= 1 << b
        square = (np.zeros((k, k), dtype=np.int64) for _ in range(2))
        rows = np.zeros(k, dtype=np.int64), np.zeros((len(mask) + 1, k), dtype=np.int64)
        each = np.zeros(len(mask), dtype=np.int64)
        total = support("count_sequences", self.first, mask, self.rank, self.time, span, *square, *rows, each)
        return int(total), each

    def segment(self, span: int, support: Tier) -> Segment:
        """The new matches as ways back."""
        n = len(self.events)
        buffer = {name: np.empty(2 * n, dtype=np.int64) for name in NODES}
        buffer |= {name: np.empty(n, dtype=np.int64) for name in EDGES}
        support("chain_ways", self.starts, self.events, self.ranks, self.times, *buffer.values())
        finals = 2 * np.arange(self.begin, n, dtype=np.int64)
        return Segment(finals, buffer, self.time, span, self.time, self.rank, self.rows)

    def batches(self, span: int, support: Tier) -> Iterator[Expanded]:
        """The new matches, some at a time."""
        k = len(self.starts) - 1
        at = np.zeros(k + 1, dtype=np.int64)
        at[0] = self.begin
        size = FIRST_ROWS
        while at[k] >= 0:
            out = np.empty((size, k), dtype=np.int64)
            m = support("write_sequences", self.starts, self.events, self.ranks, self.times, span, at, out)
            yield Expanded(k * np.arange(m + 1), out[:m].reshape(-1), np.tile(np.arange(k), m))
            size = MOST_ROWS


def snapshot(live: LazyState, sequence: Sequence[int], first: int, begin: int) -> Snapshot:
    """A copy of all that the matches of a step are made of; `sequence` are the buffers of the components in order."""
    fill = [int(live.arrays["FILL"][b]) for b in sequence]
    starts = np.concatenate([[0], np.cumsum(fill)])
    buffers = (
        np.concatenate([live.arrays[f"B{b}_{x}"][:n] for b, n in zip(sequence, fill, strict=True)]) for x in "ert"
    )
    columns = (live.events.view(name).copy() for name in ("rank", "time", "rows"))
    return Snapshot(first, int(starts[-2]) + begin, starts, *buffers, *columns)
