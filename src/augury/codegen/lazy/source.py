"""The generated kernel of lazy chains, and what its caller must know to feed it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from augury.codegen.lazy.arrays import keyed, pool_owner, stage_owner, waiting
from augury.codegen.lazy.layout import Layout
from augury.plan import Absence
from augury.runtime.arrays import ArraySpec
from augury.runtime.columns import ColumnSpec
from augury.runtime.kernel_source import KernelSource

# What `nums[ChainCell.FULL]` says had no room left.
TOO_MANY_LISTS = -1
STOPPED = -2

NO_ROOM_FOR_MATCHES = 1
NO_ROOM_IN_POOL = 2
"""Return codes of a function that ran out of room: for matches, and 2 + n for the pool of node n."""
NO_ROOM_IN_STAGE = 1 << 20
"""And higher numbers: 2^20 + n for the stage of node n."""

COUNTERS = ("predicates", "partial_matches", "peak_partial_matches", "buffer_writes")
"""The measures of paper 000."""


@dataclass(frozen=True, slots=True)
class Pool:
    """The partial matches that wait at a node: `pool<node>_at` are their positions in buffers, `_t` the earliest clock.

    `heads` are the waiting children that find theirs by key.
    """

    node: int
    buffers: tuple[int, ...]
    heads: tuple[int, ...]

    @property
    def rows(self) -> tuple[str, ...]:
        """The arrays with what a partial match is."""
        p = f"pool{self.node}"
        return (f"{p}_at", f"{p}_t", f"{p}_p", *(f"{p}_id{child}" for child in self.heads))

    @property
    def links(self) -> tuple[str, ...]:
        """The arrays that lead from a partial match to the next one with its key."""
        return tuple(f"pool{self.node}_next{child}" for child in self.heads)

    @property
    def owner(self) -> str:
        return pool_owner(self.node)

    def arrays(self, head_keys: Mapping[int, str]) -> tuple[ArraySpec, ...]:
        """The arrays of the pool; `head_keys` are the columns by which child states find its partial matches."""
        at, *others = self.rows
        return (
            waiting(at, self.owner, len(self.buffers)),
            *(waiting(name, self.owner) for name in (*others, *self.links)),
            *(keyed(f"pool{self.node}_head{child}", head_keys[child], self.owner) for child in self.heads),
        )


@dataclass(frozen=True, slots=True)
class Stage:
    """The partial matches of a node that one function hands to another one, as `Q<node>`."""

    node: int
    width: int

    @property
    def name(self) -> str:
        return f"stage{self.node}"

    @property
    def owner(self) -> str:
        return stage_owner(self.node)

    @property
    def array(self) -> ArraySpec:
        return waiting(self.name, self.owner, self.width)


class EntryKind(StrEnum):
    """The kind of loop that a generated function runs."""

    START = "new events of the buffer of a first state"
    RESUME = "new events of a buffer, each with the waiting partial matches of a pool"
    MORE = "the waiting partial matches of a pool, or one empty match, for new elements of lists"
    GO_ON = "the partial matches of a stage"


@dataclass(frozen=True, slots=True)
class Entry:
    """A generated function to call for each step, or, for `GO_ON`, whenever a stage is to be emptied."""

    name: str
    kind: EntryKind
    buffer: int
    pool: int | None
    lists: tuple[int, ...] = ()
    """For `MORE`, the buffers of its lists."""
    arrays: tuple[str, ...] = ()
    """The arrays that the function takes after the arrays of the stream."""
    stages: tuple[int, ...] = ()
    """The states whose partial matches the function stages; the caller resumes them once it has returned."""


@dataclass(frozen=True, slots=True)
class LazyChainSource:
    """The generated kernel and what its caller must know to feed it."""

    source: KernelSource
    specs: tuple[ColumnSpec, ...]
    strings: tuple[str, ...]
    layout: Layout
    arrays: tuple[ArraySpec, ...]
    """The arrays of the kernel's own."""
    store_arrays: tuple[str, ...]
    """The arrays that `store` takes."""
    pools: tuple[Pool, ...]
    stages: tuple[Stage, ...]
    entries: tuple[Entry, ...]
    """The functions that are called for each step."""
    go_on: Mapping[int, Entry]
    """The functions that take up the partial matches of stages, by state."""
    component_variables: tuple[str, ...]
    branch_of_component: tuple[int, ...]
    absent: tuple[tuple[Absence, ...], ...]
    negated: int
    functions: Mapping[str, tuple[str, ...]]
    fixed: int
    """The number of events of every match, where all bind one to each component, in that order; else 0."""
    in_time: bool
    """Whether the events of a match are written in the order of time."""
    nodes: tuple[tuple[tuple[int, int], ...], ...]
    """For each counter of partial matches the (branch, step) pairs it counts."""
    buffer_of: Mapping[str, int]
    head_keys: Mapping[int, str]
    """The key columns by which the waiting partial matches of a node's parent are found."""
    lookup_keys: frozenset[str] = field(init=False)
    """The key columns that have a table with a place for each of their values."""

    def __post_init__(self) -> None:
        keys = {key for _, key in self.layout.indexes}
        keys |= {self.head_keys[child] for pool in self.pools for child in pool.heads}
        object.__setattr__(self, "lookup_keys", frozenset(keys))
