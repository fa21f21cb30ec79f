"""Sequences whose predicates read one event each, as the buffers they lie in: counted and written out on demand.

Nothing but order and window joins their events, so the buffers are the factorised result.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from augury.jit.tier import Tier
from augury.kernels.common.expanded import Expanded
from augury.kernels.common.segment import EDGES, NODES, Segment, match_buffer
from augury.kernels.common.totals import Floats, Totals, Weighed
from augury.kernels.lazy.state import LazyState
from augury.native.groups import Products
from augury.native.prelude import INT_MAX
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
        """Number of new matches, in all and by the event that completes them; OVERFLOWED where it does not fit."""
        mask, k = self._mask(), len(self.starts) - 1
        support.claim("counting", 8 * (k + 2) * len(mask))
        square = (np.zeros((k, k), dtype=np.int64) for _ in range(2))
        rows = np.zeros(k, dtype=np.int64), np.zeros((len(mask) + 1, k), dtype=np.int64)
        each = np.zeros(len(mask), dtype=np.int64)
        total = support(
            "count_sequences", support.cells, self.first, mask, self.rank, self.time, span, *square, *rows, each
        )
        return int(total), each

    def total(self, span: int, support: Tier) -> int:
        """How many new matches there are, exact however many they are."""
        n = self.count(span, support)[0]
        return n if n >= 0 else sum(self.segment(span, support).totals(support))

    def weigh(
        self, span: int, support: Tier, totals: Totals, variables: Sequence[str], weights: tuple[Floats, Integers]
    ) -> tuple[Weighed, int]:
        """The totals of the new matches by the event that completes them, and the number of steps that took."""
        n, k = len(self.time), len(self.starts) - 1
        support.claim("sums over matches", 8 * n * (k + 1) * (2 + 2 * len(totals.sums) + len(totals.keys)))
        mask = self._mask()
        terms = totals.sums, totals.keys
        of = (np.array([variables.index(v) for v, _, _ in some], dtype=np.int64) for some in terms)
        sums, keys = len(totals.sums), len(totals.keys)
        group = np.zeros(k), np.zeros((sums, 2)), np.zeros(keys, dtype=np.int64)

        def cells(*shape: int) -> Products:
            least = np.full((*shape, keys), INT_MAX, dtype=np.int64)
            return Products(np.zeros((*shape, 2)), np.zeros((*shape, sums, 2)), least)

        older = cells(n + 1, k)
        older.number[n, 0, 0] = 1.0
        found = Weighed.none(n, totals)
        events = self.first, mask, self.rank, self.time, span
        products = cells(k, k), cells(k, k), older
        steps = support(
            "weigh_sequences", support.cells, *events, *of, *weights, *group, *products, found.sums, found.least
        )
        return found, int(steps)

    def _mask(self) -> Integers:
        """By event a bit for each component whose buffer it is in."""
        mask = np.zeros(len(self.time), dtype=np.int64)
        for b in range(len(self.starts) - 1):
            mask[self.events[self.starts[b] : self.starts[b + 1]]] |= 1 << b
        return mask

    def segment(self, span: int, support: Tier) -> Segment:
        """The new matches as ways back."""
        n = len(self.events)
        support.claim("compressed matches", 8 * 2 * n * 6)
        buffer = {name: np.empty(2 * n, dtype=np.int64) for name in NODES}
        buffer |= {name: np.empty(n, dtype=np.int64) for name in EDGES}
        support("chain_ways", self.starts, self.events, self.ranks, self.times, *match_buffer(buffer))
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
            m = support(
                "write_sequences", support.cells, self.starts, self.events, self.ranks, self.times, span, at, out
            )
            yield Expanded.alike(k, out[:m].reshape(-1))
            size = MOST_ROWS


def snapshot(live: LazyState, sequence: Sequence[int], first: int, begin: int) -> Snapshot:
    """A copy of all that the matches of a step are made of; `sequence` are the buffers of the components in order."""
    fill = [int(live.arrays["buffer_fill"][b]) for b in sequence]
    starts = np.concatenate([[0], np.cumsum(fill)])
    buffers = (
        np.concatenate([live.arrays[f"buffer{b}_{x}"][:n] for b, n in zip(sequence, fill, strict=True)])
        for x in ("e", live.source.layout.rank, "t")
    )
    columns = (live.events.view(name).copy() for name in ("rank", "time", "rows"))
    return Snapshot(first, int(starts[-2]) + begin, starts, *buffers, *columns)
