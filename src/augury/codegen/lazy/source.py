"""The generated kernel of lazy chains, and what its caller must know to feed it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from augury.codegen.lazy.layout import Layout
from augury.plan import Absence
from augury.runtime.columns import ColumnSpec
from augury.runtime.kernel_source import KernelSource

MATCHES, ENTRIES, FULL, LIMIT, SO_FAR = range(5)
"""Cells of `nums`: how many matches and events of matches there are, what had no room left, how many lists may be, how
many matches there were when there was no room, those of the outermost event included."""

TOO_MANY_LISTS = -1
STOPPED = -2

NO_ROOM_FOR_MATCHES = 1
NO_ROOM_IN_POOL = 2
"""And higher numbers: 2 + n for the pool of node n."""

COUNTERS = ("predicates", "partial_matches", "peak_partial_matches", "buffer_writes")
"""The measures of paper 000."""

OUTPUT = ("O_offsets", "O_events", "O_codes")
"""Matches as they are found."""


@dataclass(frozen=True, slots=True)
class Pool:
    """The partial matches of a node that wait: `P<node>_<variable>` are positions in buffers, `t` their earliest clock.

    `heads` are the waiting children that find theirs by key.
    """

    node: int
    variables: tuple[str, ...]
    buffers: tuple[int, ...]
    heads: tuple[int, ...]

    @property
    def arrays(self) -> tuple[str, ...]:
        keyed = [f"P{self.node}_{x}{child}" for child in self.heads for x in ("id", "next", "head")]
        return (*(f"P{self.node}_{v}" for v in self.variables), f"P{self.node}__t", f"P{self.node}__p", *keyed)


@dataclass(frozen=True, slots=True)
class Entry:
    """A generated function to call for each step.

    `start` goes over new events of `buffer`, `resume` too, with the waiting partial matches of `pool`; `more` goes over
    these (over one empty match when there is no pool).
    """

    name: str
    kind: str
    buffer: int
    pool: int | None
    lists: tuple[int, ...] = ()
    """For `more`, the buffers of its lists."""


@dataclass(frozen=True)
class LazyChainSource:
    """The generated kernel and what its caller must know to feed it."""

    source: KernelSource
    specs: tuple[ColumnSpec, ...]
    strings: tuple[str, ...]
    layout: Layout
    arrays: tuple[str, ...]
    pools: tuple[Pool, ...]
    entries: tuple[Entry, ...]
    lists: Mapping[str, tuple[int, int, int]]
    """Identifiers of iterated variables: their buffer, and the integer and float cells of their value vectors."""
    component_variables: tuple[str, ...]
    branch_of_component: tuple[int, ...]
    absent: tuple[tuple[Absence, ...], ...]
    negated: int
    functions: Mapping[str, tuple[str, ...]]
    fixed: int
    """The number of events of every match, where all have as many and are bound in order; else 0."""
    nodes: tuple[tuple[tuple[int, int], ...], ...]
    """For each counter of partial matches the (branch, step) pairs it counts."""
    found: Mapping[str, int]
    """Arrays that searches write candidates to, with the number of their state."""
    node_buffers: Mapping[int, int]
    """The buffers of the states, by number."""
    buffer_of: Mapping[str, int]
    head_keys: Mapping[int, str]
    """The key columns by which the waiting partial matches of a node's parent are found."""

    @cached_property
    def buffer_arrays(self) -> tuple[tuple[str, ...], ...]:
        """For each buffer the arrays that are as long as it is."""
        return tuple(tuple(self._buffer_arrays(b)) for b in range(len(self.layout.buffers)))

    def _buffer_arrays(self, b: int) -> Iterator[str]:
        layout = self.layout
        yield from (name for name in self.arrays if name.startswith(f"B{b}_"))
        for (owner, _), q in layout.indexes.items():
            if owner == b:
                yield from (f"X{q}_{x}" for x in ("id", "next", "prev"))
        yield from (f"L{k}" for (owner, _, _), k in layout.links.items() if owner == b)
        yield from (name for name, state in self.found.items() if self.node_buffers[state] == b)
        yield from (f"Z{z}_order" for (owner, _), z in layout.sorted.items() if owner == b)
        for variable, (owner, _, _) in self.lists.items():
            if owner == b:
                yield from (f"{x}_{variable}" for x in ("S", "E", "RI", "RF"))
