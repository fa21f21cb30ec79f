"""The memory of lazy chains: the recent events, their input buffers, and the partial matches that wait.

Only the events are saved. Buffers and partial matches follow from them, so that a state can be continued by a plan with
another evaluation order.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, assert_never

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from augury.budget import Account
from augury.codegen.common.inventory import stream_arrays
from augury.codegen.lazy.arrays import Extent, LazyArray
from augury.codegen.lazy.layout import PARTITION
from augury.codegen.lazy.source import LazyChainSource, Pool
from augury.jit.tier import Tier
from augury.kernels.common.keys import KeyNumbers
from augury.kernels.common.reporting import Expanded
from augury.kernels.stream import StreamState
from augury.native.prelude_lists import ABREAST
from augury.native.prelude_search import BLOCK
from augury.plan import ChainVariant
from augury.runtime.checks import ArraySpec, read_arrays
from augury.runtime.columns import ColumnSpec, Encoding
from augury.runtime.cosines import LEADING, cosines
from augury.runtime.events import EventStore
from augury.runtime.state import FOREVER

INITIAL_ROOM = 256
"""Events of a buffer, partial matches and matches that there is room for at first."""

SPARE_ELEMENTS = 64
"""Elements behind the last one, which vectors may reach into."""


@dataclass(slots=True, eq=False, kw_only=True)
class LazyState(StreamState):
    """Everything that outlives a step, as arrays that are changed in place."""

    source: LazyChainSource
    variant: ChainVariant
    arrays: dict[str, npt.NDArray[Any]] = field(default_factory=dict)
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
    seen: int = 0
    """Partial matches made in orders that were left."""
    changes: int = 0
    begun: tuple[int, int] = (0, 0)
    """Before the last step: how far the buffer of the last component was filled, and how many events there were."""
    weighed: int = 0
    """Steps taken for what counted matches come to."""
    rates: Mapping[str, float] = field(default_factory=dict)
    """Events of each variable in a window, when the order was last thought about."""
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
    ) -> LazyState:
        """`totals` are columns that aggregates over matches read."""
        return cls(
            source=source,
            variant=variant,
            encoding=Encoding.start(source.strings),
            events=EventStore((*source.specs, *totals), with_places=with_places),
            keys=KeyNumbers(keys),
            nums=np.zeros(16, dtype=np.int64),
            pending=Expanded.none(),
            memory=memory,
        ).renewed(source)

    def renewed(self, source: LazyChainSource) -> LazyState:
        """The same events with empty buffers and pools, as `source` wants them."""
        self.source, layout = source, source.layout
        self.values, arrays = {}, {}
        arrays["FILL"] = np.zeros(max(1, len(layout.buffers)), dtype=np.int64)
        arrays["PF"] = np.zeros((max(1, len(source.nodes)), 2), dtype=np.int64)
        arrays["SEEN"] = np.zeros(max(1, len(source.nodes)), dtype=np.int64)
        arrays["MASK"] = np.zeros(self.longest + SPARE_ELEMENTS, dtype=np.uint8)
        arrays["SORTED"] = np.zeros(max(1, len(layout.sorted)), dtype=np.int64)
        arrays["COUNT"] = self.keys.counts
        arrays["WIDTH"] = np.zeros((max(1, len(layout.turned)), 2), dtype=np.int64)
        arrays["WIDTH"][:, 0] = 1
        for name, size in (
            ("O_offsets", INITIAL_ROOM + 1),
            ("O_events", 4 * INITIAL_ROOM),
            ("O_codes", 4 * INITIAL_ROOM),
        ):
            arrays[name] = self.arrays.get(name, np.zeros(size, dtype=np.int64))
        if source.stages:
            arrays["QF"] = np.zeros(len(source.nodes), dtype=np.int64)
        for array in source.arrays:
            if array.name not in arrays:
                # What has grown once would grow again. Pools are small, and what they hold is limited as they grow.
                size = self.longest if array.pool is None and array.stage is None else INITIAL_ROOM
                arrays[array.name] = np.empty(self._shape(array, size), dtype=self._dtype(array))
                if array.extent is Extent.KEYS:
                    arrays[array.name][:] = -1
        self.arrays = arrays
        return self

    def _shape(self, array: LazyArray, size: int) -> tuple[int, ...]:
        """The shape of an array with room for `size` events, partial matches or keys."""
        match array.extent:
            case Extent.BUFFER:
                # A selector reads columns to the end of a vector, and stores vectors.
                length = size + SPARE_ELEMENTS
            case Extent.BITS:
                length = size // ABREAST + 1
            case Extent.LIST:
                length = size + 1
            case Extent.FIXED:
                return (array.width,)
            case Extent.INDEX | Extent.BLOCKS | Extent.KEYS | Extent.ROWS | Extent.MATCHES | Extent.TABLE:
                length = size
            case _:
                assert_never(array.extent)
        return (length, array.width) if array.width else (length,)

    def _dtype(self, array: LazyArray) -> Any:
        return self.events.arrays[array.column].dtype if array.column else np.dtype(array.dtype)

    def stream(self) -> list[npt.NDArray[Any]]:
        source = self.source.source
        seen = (self.events.version, source.fingerprint)
        # Strings are ranked anew whenever there is a new one.
        if seen != self.streamed[0] or source.ranks_strings:
            self.streamed = seen, stream_arrays(self.events, self.encoding, self.source.specs, source)
        return self.streamed[1]

    # -- room -------------------------------------------------------------------------------------------------------

    def reserve(self, more: int) -> None:
        """Room for `more` events in every buffer."""
        for b, names in enumerate(self.source.buffer_arrays):
            least = int(self.arrays["FILL"][b]) + more
            size = len(self.arrays[f"B{b}_e"]) - SPARE_ELEMENTS
            if least > size:
                size = max(2 * size, least)
                for name in names:
                    self.grow(name, size)
            self.longest = max(self.longest, size)
        for (b, _, led), d in self.source.layout.turned.items():
            blocks = -(-(len(self.arrays[f"B{b}_e"]) - SPARE_ELEMENTS) // ABREAST)
            room = blocks * ABREAST * (LEADING + 1 if led else int(self.arrays["WIDTH"][d, 0]))
            if room > len(self.arrays[f"D{d}"]):
                self.grow(f"D{d}", room)
        if self.longest + SPARE_ELEMENTS > len(self.arrays["MASK"]):
            self.arrays["MASK"] = np.zeros(2 * self.longest + SPARE_ELEMENTS, dtype=np.uint8)

    def widen(self, first: int, end: int) -> None:
        """Expect lists that are as long as most of the events from `first` to `end`, where nothing is expected yet."""
        for (_, x, led), d in self.source.layout.turned.items():
            if self.arrays["WIDTH"][d, 0] == 1:
                lengths = np.bincount(np.diff(self.events.view(f"{x}_offsets")[first : end + 1]))
                if len(lengths) > 2:
                    width = int(lengths[2:].argmax()) + 2
                    self.arrays["WIDTH"][d] = width, 0
                    if led:
                        self.arrays[f"C{d}"] = cosines(width).reshape(-1)

    def sort(self) -> None:
        """Sort the blocks of buffers that have become complete."""
        for (b, x), z in self.source.layout.sorted.items():
            done, full = int(self.arrays["SORTED"][z]), int(self.arrays["FILL"][b]) // BLOCK * BLOCK
            if full > done:
                values = self.arrays[f"B{b}__{x}"][done:full].reshape(-1, BLOCK)
                order = values.argsort(axis=1) + np.arange(done, full, BLOCK)[:, None]
                self.arrays[f"Z{z}_order"][done:full] = order.reshape(-1)
                self.arrays["SORTED"][z] = full

    def grow(self, name: str, size: int, fill: int = 0) -> None:
        old, array = self.arrays[name], self.source.by_name[name]
        shape = self._shape(array, size)
        if self.memory is not None:
            waits = array.pool is not None or array.stage is not None
            what = "partial matches" if waits else "matches" if array.extent is Extent.MATCHES else "buffers"
            self.memory.hold("buffers", sum(array.nbytes for array in self.arrays.values()))
            self.memory.claim(what, math.prod(shape) * old.itemsize)
        larger = np.empty(shape, dtype=old.dtype)
        larger[: len(old)] = old
        if fill:
            larger[len(old) :] = fill
        self.arrays[name] = larger

    def reserve_keys(self) -> None:
        """Room for every key there is in the tables that are looked up by key."""
        self.arrays["COUNT"] = self.keys.counts
        layout = self.source.layout
        for (_, key), q in layout.indexes.items():
            for table in (f"X{q}_first", f"X{q}_last"):
                self._reserve_key(table, key)
        for pool in self.source.pools:
            for child in pool.heads:
                self._reserve_key(f"P{pool.node}_head{child}", self.source.head_keys[child])

    def _reserve_key(self, table: str, key: str) -> None:
        least = (
            len(self.keys if key == PARTITION else self.values[key]) if key == PARTITION or key in self.values else 1
        )
        if least > len(self.arrays[table]):
            self.grow(table, 2 * least, -1)

    def grow_pool(self, pool: Pool) -> None:
        size = 2 * len(self.arrays[f"P{pool.node}__t"])
        for name in (*pool.rows, *pool.links):
            self.grow(name, size)

    def waiting(self) -> int:
        """How many partial matches wait."""
        return int(self.arrays["PF"][:, 0].sum())

    def prune(self, support: Tier, span: int, *, by_partition: bool) -> None:
        """Forget the partial matches whose window has passed; places are counted in all, or `by_partition`."""
        if span >= 0:
            for pool in self.source.pools:
                n = int(self.arrays["PF"][pool.node, 0])
                t = self.arrays[f"P{pool.node}__t"][:n]
                now = self.counts[self.arrays[f"P{pool.node}__p"][:n]] if by_partition else self.now
                keep = np.flatnonzero(now - t <= span) if self.now != FOREVER else np.empty(0, dtype=np.int64)
                for name in pool.rows:
                    self.arrays[name][: len(keep)] = self.arrays[name][keep]
                self.arrays["PF"][pool.node, 0] = len(keep)
            self.rehead(support)
        self.pruned = max(INITIAL_ROOM, self.waiting())

    def rehead(self, support: Tier) -> None:
        """Link the partial matches that wait by their keys; those that were put back for want of room are left out."""
        for pool in self.source.pools:
            for child in pool.heads:
                n = int(self.arrays["PF"][pool.node, 0])
                arrays = (self.arrays[f"P{pool.node}_{x}{child}"] for x in ("id", "next", "head"))
                support("rehead", n, *arrays)

    # -- saving -----------------------------------------------------------------------------------------------------

    def to_tables(self) -> dict[str, pa.Table]:
        return StreamState.to_tables(self) | {"now": pa.table({"": pa.array([self.now], pa.int64())})}

    def restore(self, tables: Mapping[str, pa.Table]) -> None:
        """Take over what `to_tables` wrote beside the events; buffers and pools are left empty."""
        self.now = int(read_arrays(tables, "now", [ArraySpec("")], rows=1)[""][0])
