"""Matches as ways back through a shared buffer: the one factorised form, whichever plan found them.

A node is an event bound to a component (`node_component`), or with component -1 one that only joins histories;
`node_before` and the edges (`node_edge`, `edge_node`, `edge_next`) lead to the nodes before it, -1 begins a match. A
match is a way back from one of the `finals` to a beginning inside the window. The match buffer of runs is such a graph
as it stands; linked chains and the input buffers of unary sequences become one with a node for each event and one for
"this event or an earlier one".
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from random import Random
from typing import Any

import numpy as np
import numpy.typing as npt

from augury.codegen.eager import arrays
from augury.jit.tier import Tier
from augury.kernels.common.expanded import Expanded
from augury.kernels.common.totals import Totals, Weighed
from augury.native.groups import Counting, Edges, Nodes, Ways, Weights
from augury.runtime.arrays import saved_arrays
from augury.runtime.batch import Integers

EXPANDED_EVENTS = 1 << 18
"""How many events of matches are written out at a time."""

NODES = tuple(spec.name for spec in saved_arrays(arrays.run_arrays(), arrays.NODES))
EDGES = tuple(spec.name for spec in saved_arrays(arrays.run_arrays(), arrays.EDGES))


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """A graph of histories as it was when its matches were complete, and the events it speaks of.

    `start` is what the window is measured in, by event; `span` how far a match may reach, -1 for any distance.
    """

    finals: Integers
    buffer: Mapping[str, Integers]
    start: Integers
    span: int
    time: Integers
    rank: Integers
    rows: Integers

    @property
    def nbytes(self) -> int:
        """The memory that it takes."""
        arrays = (self.finals, *self.buffer.values(), self.start, self.time, self.rank, self.rows)
        return sum(array.nbytes for array in arrays)

    def write_out(self, support: Tier) -> Iterator[Expanded]:
        """The matches, some at a time."""
        return write_out(support, self.finals, self.buffer, self.start, self.span)

    def count(self, support: Tier) -> Integers:
        """How many matches end at each final node."""
        return count_ways(support, self.finals, self.buffer, self.start, self.span)

    # -- single matches -----------------------------------------------------------------------------------------------

    def totals(self, support: Tier) -> list[int]:
        """The numbers of `count`, exact however large they are."""
        counts: list[int] = self.count(support).tolist()
        if self.span < 0 and min(counts, default=0) < 0:
            # Without a window, the ways back from a node are the same whichever final node they are counted for.
            ways = self._ways_of(int(final) for final in self.finals)
            return [ways[int(final)] for final in self.finals]
        return [n if n >= 0 else self._ways(f)[int(self.finals[f])] for f, n in enumerate(counts)]

    def walks(self, f: int, numbers: Sequence[int]) -> Iterator[list[tuple[int, int]]]:
        """The matches of these numbers among those of a final node: events with their components, in order."""
        ways = self._ways(f)
        for number in numbers:
            node, events = int(self.finals[f]), []
            while True:
                if self.buffer["node_component"][node] >= 0:
                    events.append((int(self.buffer["node_event"][node]), int(self.buffer["node_component"][node])))
                for before in self._before(node):
                    here = ways.get(before, 0) if before >= 0 else int(self._begins(node, f))
                    if number < here:
                        break
                    number -= here
                else:
                    raise AssertionError(f"node {node} has fewer ways back than were counted")
                if before < 0:
                    break
                node = before
            yield events[::-1]

    def _before(self, node: int) -> Iterator[int]:
        yield int(self.buffer["node_before"][node])
        edge = int(self.buffer["node_edge"][node])
        while edge >= 0:
            yield int(self.buffer["edge_node"][edge])
            edge = int(self.buffer["edge_next"][edge])

    def _begins(self, node: int, f: int) -> bool:
        """Whether a match that ends at final node f may begin here."""
        first, last = (self.start[self.buffer["node_event"][n]] for n in (node, self.finals[f]))
        return self.span < 0 or bool(last - first <= self.span)

    def _ways(self, f: int) -> dict[int, int]:
        """The number of ways back from every node that final node f leads to, without any limit."""
        return self._ways_of([int(self.finals[f])], f)

    def _ways_of(self, finals: Iterable[int], f: int = 0) -> dict[int, int]:
        """The number of ways back from `finals` and every node that they lead to, inside the window of the f-th."""
        reached = set(finals)
        pending = list(reached)
        while pending:
            fresh = {before for before in self._before(pending.pop()) if before >= 0} - reached
            reached |= fresh
            pending += fresh
        ways: dict[int, int] = {}
        # A node comes after those it leads back to.
        for node in sorted(reached):
            ways[node] = sum(
                ways[before] if before >= 0 else int(before == -1 and self._begins(node, f))
                for before in self._before(node)
            )
        return ways


def match_buffer(arrays: Mapping[str, npt.NDArray[Any]]) -> tuple[Nodes, Edges]:
    """The arrays of a match buffer, as functions of the library take them."""
    nodes = Nodes(
        event=arrays["node_event"],
        before=arrays["node_before"],
        component=arrays["node_component"],
        start=arrays["node_start"],
        edge=arrays["node_edge"],
    )
    return nodes, Edges(node=arrays["edge_node"], next=arrays["edge_next"])


def write_out(
    support: Tier, finals: Integers, buffer: Mapping[str, npt.NDArray[Any]], start: Integers, span: int
) -> Iterator[Expanded]:
    """The matches that end at the nodes `finals`, some at a time."""
    state = np.zeros(3, dtype=np.int64)
    at, n = 0, len(finals)
    # No match is longer than the buffer up to its last node; the first piece is small, as most are all there is.
    longest = int(finals.max(initial=0)) + 2
    stack, cursor = (np.empty(longest, dtype=np.int64) for _ in range(2))
    size = max(4096, longest)
    while at < n:
        offsets = np.empty(size + 1, dtype=np.int64)
        offsets[0] = 0
        events, codes = np.empty(size, dtype=np.int64), np.empty(size, dtype=np.int64)
        state[1:] = 0
        size = max(EXPANDED_EVENTS, longest)
        nodes, edges = match_buffer(buffer)
        at = support("expand", at, n, finals, nodes, edges, start, span, state, stack, cursor, offsets, events, codes)
        m, entries = int(state[1]), int(state[2])
        yield Expanded(offsets[: m + 1], events[:entries], codes[:entries])


def count_ways(
    support: Tier, finals: Integers, buffer: Mapping[str, npt.NDArray[Any]], start: Integers, span: int
) -> Integers:
    """Number of matches that end at each of the nodes `finals`, OVERFLOWED where 64 bits cannot count them."""
    support.claim("counting", 8 * (8 * len(buffer["node_event"]) + len(finals)))
    scratch = Counting(*(np.full(len(buffer["node_event"]) + 1, -1, dtype=np.int64) for _ in Counting._fields))
    each = np.zeros(len(finals), dtype=np.int64)
    support("count", support.cells, len(finals), finals, *match_buffer(buffer), start, span, scratch, each)
    return each


def weigh_ways(
    support: Tier,
    finals: Integers,
    buffer: Mapping[str, npt.NDArray[Any]],
    start: Integers,
    span: int,
    totals: Totals,
    counts_for: tuple[npt.NDArray[np.uint8], ...],
    weights: tuple[npt.NDArray[Any], ...],
) -> tuple[Weighed, int]:
    """The totals of the matches that end at each of the nodes `finals`, and the number of nodes visited."""
    n = len(buffer["node_event"]) + 1
    support.claim("sums over matches", 8 * n * (8 + 4 * len(totals.sums) + 2 * len(totals.keys)))
    scratch = (np.empty(n, dtype=np.int64) for _ in range(3))
    stamp = np.full(n, -1, dtype=np.int64)
    found = Weighed.none(len(finals), totals)
    ways = [Ways(np.zeros((n, 2)), rows.sums, rows.least) for rows in (Weighed.none(n, totals) for _ in range(2))]
    looked = support(
        "weigh_ways",
        support.cells,
        len(finals),
        finals,
        *match_buffer(buffer),
        start,
        span,
        Weights(*counts_for, *weights),
        *scratch,
        stamp,
        *ways,
        found.sums,
        found.least,
    )
    return found, int(looked)


def sample(support: Tier, segments: Sequence[Segment], size: int, seed: int | None) -> list[tuple[int, Expanded]]:
    """`size` of the matches of all segments, or all if they are fewer; each set of them is equally likely.

    The matches come by segment, given by its place.
    """
    ends = [(s, f, n) for s, segment in enumerate(segments) for f, n in enumerate(segment.totals(support)) if n]
    upto = list(accumulate(n for _, _, n in ends))
    chosen: dict[tuple[int, int], list[int]] = {}
    for number in sorted(_distinct(Random(seed), upto[-1] if upto else 0, size)):
        k = bisect_right(upto, number)
        s, f, n = ends[k]
        chosen.setdefault((s, f), []).append(number - upto[k] + n)
    found: dict[int, list[list[tuple[int, int]]]] = {}
    for (s, f), numbers in chosen.items():
        found.setdefault(s, []).extend(segments[s].walks(f, numbers))
    return [(s, _expanded(matches)) for s, matches in found.items()]


def _distinct(random: Random, bound: int, size: int) -> set[int]:
    """`size` numbers below `bound`, which may be too great for `Random.sample`."""
    if size >= bound:
        return set(range(bound))
    if bound <= sys.maxsize:
        return set(random.sample(range(bound), size))
    numbers: set[int] = set()
    while len(numbers) < size:
        numbers.add(random.randrange(bound))
    return numbers


def _expanded(matches: Sequence[Sequence[tuple[int, int]]]) -> Expanded:
    sizes = [len(m) for m in matches]
    pairs = np.array([pair for m in matches for pair in m], dtype=np.int64).reshape(-1, 2)
    return Expanded(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64), pairs[:, 0].copy(), pairs[:, 1].copy())
