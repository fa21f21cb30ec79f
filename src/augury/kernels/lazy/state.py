"""The memory of lazy chains: the recent events, their input buffers, and the partial matches that wait.

Only the events are saved. Buffers and partial matches follow from them, so that a state can be continued by a plan with
another evaluation order.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from augury.budget import Account
from augury.codegen.common.inventory import stream_arrays
from augury.codegen.lazy.arrays import (
    COUNT,
    FOUND,
    LONGEST,
    MATCH_EVENTS,
    MATCHES,
    block_owner,
    buffer_owner,
    key_owner,
)
from augury.codegen.lazy.layout import PARTITION
from augury.codegen.lazy.source import LazyChainSource
from augury.jit.tier import Tier
from augury.kernels.common.expanded import Expanded
from augury.kernels.common.keys import KeyNumbers
from augury.kernels.common.pool import ArrayPool
from augury.kernels.stream import StreamState
from augury.native.cells import CELLS
from augury.native.prelude_lists import BLOCK_LISTS
from augury.native.prelude_search import SORTED_BLOCK_EVENTS
from augury.plan import ChainVariant
from augury.runtime.checks import ArraySpec, read_arrays
from augury.runtime.columns import ColumnSpec, Encoding
from augury.runtime.cosines import LEADING, cosines
from augury.runtime.events import EventStore
from augury.runtime.state import FOREVER

ACCOUNT = "buffers"
"""What their memory is charged to, but for partial matches and matches."""

INITIAL_ROOM = 256
"""Events of a buffer, partial matches and matches that arrays are allocated for at first; they grow."""


@dataclass(slots=True, eq=False, kw_only=True)
class LazyState(StreamState):
    """Everything that outlives a step, as arrays that are changed in place."""

    source: LazyChainSource
    variant: ChainVariant
    arrays: ArrayPool
    values: dict[str, KeyNumbers] = field(default_factory=dict)
    """The values of key columns, numbered, by their kind."""
    now: int = -(2**63)
    begin: int = 0
    """The first event that the buffers were filled with."""
    stored: int = 0
    peak: int = 0
    pruned: int = INITIAL_ROOM
    longest: int = INITIAL_ROOM
    """Events that the longest buffer has had room for."""
    spare: int = 0
    """Events that every buffer still has room for, at least."""
    seen: int = 0
    """Partial matches made in orders that were left."""
    changes: int = 0
    begun: tuple[int, int] = (0, 0)
    """Before the last step: how far the buffer of the last component was filled, and how many events there were."""
    weighed: int = 0
    """Steps taken for what counted matches come to."""
    rates: Mapping[str, float] = field(default_factory=dict)
    """Events of each variable in a window, when the order was last thought about."""
    wanted: ChainVariant | None = None
    """The variant to change to as soon as its kernel is there."""
    next_look: int = 0
    """How many events there are to be when the rates are looked at again."""
    streamed: tuple[tuple[int, str], list[npt.NDArray[Any]]] = ((-1, ""), [])
    """The arrays of `stream`, and what they were listed for: a version of the events, and a kernel."""

    @classmethod
    def start(
        cls,
        source: LazyChainSource,
        variant: ChainVariant,
        *,
        keys: int,
        with_places: bool,
        totals: tuple[ColumnSpec, ...] = (),
        memory: Account | None = None,
        used_up: LazyState | None = None,
    ) -> LazyState:
        """`totals` are columns that aggregates over matches read.

        There is as much room as in a state that is `used_up`, and matches go to the arrays that it had for them.
        """
        room = {} if used_up is None else {"capacity": used_up.events.capacity}
        return cls(
            source=source,
            variant=variant,
            arrays=ArrayPool((), {}, ACCOUNT, memory) if used_up is None else used_up.arrays,
            longest=INITIAL_ROOM if used_up is None else used_up.longest,
            encoding=Encoding.start(source.strings),
            events=EventStore((*source.specs, *totals), with_places=with_places, **room),
            keys=KeyNumbers(keys),
            nums=np.zeros(CELLS, dtype=np.int64),
            pending=Expanded.none(),
            memory=memory,
        ).renewed(source)

    def renewed(self, source: LazyChainSource) -> LazyState:
        """The same events with empty buffers and pools, as `source` wants them."""
        self.source, self.values, self.spare = source, {}, 0
        # What has grown once would grow again. Pools are small, and what they hold is limited as they grow.
        sizes = {spec.owner: self.longest for spec in source.arrays if spec.owner}
        sizes |= {pool.owner: INITIAL_ROOM for pool in source.pools}
        sizes |= {stage.owner: INITIAL_ROOM for stage in source.stages}
        sizes |= {MATCHES: INITIAL_ROOM, MATCH_EVENTS: 4 * INITIAL_ROOM}
        sizes |= {owner: self.arrays.room(owner) for owner in (MATCHES, MATCH_EVENTS) if owner in self.arrays.sizes}
        given = {spec.name: self.arrays[spec.name] for spec in FOUND if spec.name in self.arrays}
        given |= {COUNT.name: self.keys.counts}
        self.arrays = ArrayPool(source.arrays, sizes, ACCOUNT, self.memory, given)
        self.arrays["block_width"][:, 0] = 1
        return self

    def stream(self) -> list[npt.NDArray[Any]]:
        source = self.source.source
        seen = (self.events.version, source.fingerprint)
        # Strings are ranked anew whenever there is a new one.
        if seen != self.streamed[0] or source.ranks_strings:
            self.streamed = seen, stream_arrays(self.events, self.encoding, self.source.specs, source)
        return self.streamed[1]

    # -- room -------------------------------------------------------------------------------------------------------

    def reserve(self, more: int) -> None:
        """Room for `more` events in every buffer; there often is some from the last time."""
        if more <= self.spare:
            self.spare -= more
            return
        arrays, spare = self.arrays, []
        for b, fill in enumerate(arrays["buffer_fill"][: len(self.source.layout.buffers)].tolist()):
            arrays.reserve(buffer_owner(b), fill + more)
            room = arrays.room(buffer_owner(b))
            spare.append(room - fill - more)
            self.longest = max(self.longest, room)
        for (b, _, led), d in self.source.layout.turned.items():
            blocks = -(-arrays.room(buffer_owner(b)) // BLOCK_LISTS)
            width = LEADING + 1 if led else int(arrays["block_width"][d, 0])
            arrays.reserve(block_owner(d), blocks * BLOCK_LISTS * width)
        arrays.reserve(LONGEST, self.longest)
        # Blocks of lists may need more room though there are no more events.
        self.spare = 0 if self.source.layout.turned else min(spare, default=0)

    def widen(self, first: int, end: int) -> None:
        """Expect lists that are as long as most of the events from `first` to `end`, where nothing is expected yet."""
        for (_, x, led), d in self.source.layout.turned.items():
            if self.arrays["block_width"][d, 0] == 1:
                lengths = np.bincount(np.diff(self.events.view(f"{x}_offsets")[first : end + 1]))
                if len(lengths) > 2:
                    width = int(lengths[2:].argmax()) + 2
                    self.arrays["block_width"][d] = width, 0
                    if led:
                        self.arrays[f"cosine{d}"] = cosines(width).reshape(-1)

    def sort(self) -> None:
        """Sort the blocks of buffers that have become complete."""
        for (b, x), z in self.source.layout.sorted.items():
            done = int(self.arrays["sorted_fill"][z])
            full = int(self.arrays["buffer_fill"][b]) // SORTED_BLOCK_EVENTS * SORTED_BLOCK_EVENTS
            if full > done:
                values = self.arrays[f"buffer{b}__{x}"][done:full].reshape(-1, SORTED_BLOCK_EVENTS)
                order = values.argsort(axis=1) + np.arange(done, full, SORTED_BLOCK_EVENTS)[:, None]
                self.arrays[f"sorted{z}_order"][done:full] = order.reshape(-1)
                self.arrays["sorted_fill"][z] = full

    def reserve_keys(self) -> None:
        """Room for every key there is in the tables that are looked up by key."""
        self.arrays[COUNT.name] = self.keys.counts
        for key in self.source.lookup_keys:
            known = self.keys if key == PARTITION else self.values.get(key, ())
            self.arrays.reserve(key_owner(key), len(known))

    def waiting(self) -> int:
        """How many partial matches wait."""
        if not self.source.pools:
            return 0
        return sum(self.arrays["pool_fill"][:, 0].tolist())

    def prune(self, support: Tier, span: int, *, by_partition: bool) -> None:
        """Forget the partial matches whose window has passed; places are counted in all, or `by_partition`."""
        if span >= 0:
            for pool in self.source.pools:
                n = int(self.arrays["pool_fill"][pool.node, 0])
                t = self.arrays[f"pool{pool.node}_t"][:n]
                now = self.counts[self.arrays[f"pool{pool.node}_p"][:n]] if by_partition else self.now
                keep = np.flatnonzero(now - t <= span) if self.now != FOREVER else np.empty(0, dtype=np.int64)
                for name in pool.rows:
                    self.arrays[name][: len(keep)] = self.arrays[name][keep]
                self.arrays["pool_fill"][pool.node, 0] = len(keep)
            self.rehead(support)
        self.pruned = max(INITIAL_ROOM, self.waiting())

    def rehead(self, support: Tier) -> None:
        """Link the partial matches that wait by their keys; those that were put back for want of room are left out."""
        for pool in self.source.pools:
            for child in pool.heads:
                n = int(self.arrays["pool_fill"][pool.node, 0])
                arrays = (self.arrays[f"pool{pool.node}_{x}{child}"] for x in ("id", "next", "head"))
                support("rehead", n, *arrays)

    # -- saving -----------------------------------------------------------------------------------------------------

    def to_tables(self) -> dict[str, pa.Table]:
        return StreamState.to_tables(self) | {"now": pa.table({"": pa.array([self.now], pa.int64())})}

    def restore(self, tables: Mapping[str, pa.Table]) -> None:
        """Take over what `to_tables` wrote beside the events; buffers and pools are left empty."""
        self.now = int(read_arrays(tables, "now", [ArraySpec("")], rows=1)[""][0])
