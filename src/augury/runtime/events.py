"""The store of recent events of a stream, as growing arrays."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from augury.runtime.batch import Integers
from augury.runtime.checks import FLOAT64, INT32, MAX_COUNT, UINT8, ArraySpec, flags, inconsistent, read_arrays, require
from augury.runtime.columns import Arrays, ColumnSpec, EncodedBatch, array_names, column_arrays
from augury.runtime.memory import empty_array
from augury.schema import Kind

FIXED = {
    "rows": np.int64,
    "time": np.int64,
    "rank": np.int64,
    "place": np.int64,
    "type": np.int32,
    "partition": np.int64,
}


class EventStore:
    """Columns of events that are appended to and dropped from the front, without an allocation for each batch."""

    def __init__(self, specs: Sequence[ColumnSpec], *, with_places: bool, capacity: int = 1024) -> None:
        self.lists = [s.name for s in specs if s.kind is Kind.LIST]
        self.values = {f"{name}_values" for name in self.lists}
        self.offsets = {f"{name}_offsets" for name in self.lists}
        self.length = 0
        self.version = 0
        """Goes up whenever earlier views become invalid."""
        self.ascending = True
        """Whether the row numbers ascend, as they do unless events came out of order."""
        self.arrays: Arrays = {
            name: np.zeros(capacity if name != "place" or with_places else 0, dtype=dtype)
            for name, dtype in FIXED.items()
        }
        self.plain: list[str] = []
        self.listed: tuple[Sequence[ColumnSpec], tuple[str, ...]] = ((), ())
        for spec in specs:
            for array in column_arrays(spec):
                if spec.kind is not Kind.LIST or array.dtype == UINT8:
                    self.plain.append(array.name)
                self.arrays[array.name] = np.zeros(capacity, dtype=array.dtype)
        for name in self.lists:
            self.arrays[f"{name}_offsets"] = np.zeros(capacity + 1, dtype=np.int64)
        self.nbytes = self._size()
        """The memory that the columns take; another number only when one of them has grown."""

    @property
    def coded(self) -> list[str]:
        """The names of the columns that hold codes of strings."""
        return [name for name, array in self.arrays.items() if array.dtype == INT32]

    @property
    def capacity(self) -> int:
        return len(self.arrays["time"])

    @property
    def latest(self) -> int:
        """The time of the last event; there must be one."""
        return int(self.arrays["time"].item(self.length - 1))

    def append(self, batch: EncodedBatch) -> None:
        """Add a batch at the end."""
        n, size = self.length, batch.length
        arrays = self.arrays
        if n and size:
            time, rank = arrays["time"].item(n - 1), arrays["rank"].item(n - 1)
            if batch.time.item(0) < time or batch.rank.item(0) < rank:
                # Kernels use binary search on times. Hosts keep the order; only a manipulated state can break it.
                raise inconsistent("its events are later than those that follow")
        if n + size > self.capacity:
            # A little more than needed, for what is left of this batch when the next one of its size comes.
            self._grow(max(2 * self.capacity, (n + size) * 9 // 8))
        new = slice(n, n + size)
        arrays["rows"][new], arrays["time"][new] = batch.rows, batch.time
        arrays["rank"][new], arrays["type"][new] = batch.rank, batch.type
        for name in self.plain:
            arrays[name][new] = batch.arrays[name]
        if self.ascending or not n:
            # Of consecutive rows only the first has to be compared.
            self.ascending = self._ascends(max(0, n - 1), n + min(1, size) if batch.consecutive else n + size)
        for name in self.lists:
            self._append_list(name, batch.arrays[f"{name}_offsets"], batch.arrays[f"{name}_values"])
        self.length = n + size
        self.version += 1

    def _ascends(self, start: int, stop: int) -> bool:
        rows = self.arrays["rows"]
        if stop - start == 2:
            return bool(rows.item(start) < rows.item(start + 1))
        return stop - start < 2 or not np.count_nonzero(rows[start + 1 : stop] <= rows[start : stop - 1])

    def least_row(self, start: int) -> int | None:
        """The least row number of the events from `start` on, None if there are none."""
        if start >= self.length:
            return None
        rows = self.arrays["rows"]
        return int(rows[start] if self.ascending else rows[start : self.length].min())

    def _append_list(self, name: str, offsets: Integers, values: npt.NDArray[Any]) -> None:
        kept, ends = self.arrays[f"{name}_values"], self.arrays[f"{name}_offsets"]
        used = int(ends[self.length])
        if used + len(values) > len(kept):
            larger = np.empty(max(2 * len(kept), used + len(values)))
            larger[:used] = kept[:used]
            kept = self.arrays[f"{name}_values"] = larger
            self.nbytes = self._size()
        kept[used : used + len(values)] = values
        ends[self.length + 1 : self.length + len(offsets)] = offsets[1:] - offsets[0] + used

    def drop(self, count: int) -> None:
        """Drop the first `count` events."""
        n = self.length - count
        for name in self.lists:
            ends = self.arrays[f"{name}_offsets"]
            base = int(ends[count])
            used = int(ends[self.length]) - base
            values = self.arrays[f"{name}_values"]
            values[:used] = values[base : base + used].copy()
            ends[: n + 1] = ends[count : self.length + 1] - base
        for name, array in self.arrays.items():
            if name in self.values or name in self.offsets:
                continue
            if len(array):
                array[:n] = array[count : self.length].copy()
        self.length = n
        self.version += 1

    def _size(self) -> int:
        return sum(array.nbytes for array in self.arrays.values())

    def view(self, name: str) -> npt.NDArray[Any]:
        """A column, up to the last event."""
        if not self.lists:
            return self.arrays[name][: self.length]
        if name in self.values:
            return self.arrays[name]
        return self.arrays[name][: self.length + (name in self.offsets)]

    def views(self, names: Iterable[str]) -> list[npt.NDArray[Any]]:
        """Columns of the events there are."""
        if self.lists:
            return [*map(self.view, names)]
        part = slice(self.length)
        return [self.arrays[name][part] for name in names]

    def columns(self, specs: Sequence[ColumnSpec]) -> list[npt.NDArray[Any]]:
        """The arrays of these columns, in the order of `array_names`, whose names are cached from step to step."""
        if self.listed[0] is not specs:
            self.listed = specs, tuple(name for spec in specs for name in array_names(spec))
        return self.views(self.listed[1])

    def _grow(self, capacity: int) -> None:
        for name, array in self.arrays.items():
            if name in self.values or not len(array):
                continue
            size = capacity + (name in self.offsets)
            larger = empty_array(size, array.dtype)
            larger[: len(array)] = array
            self.arrays[name] = larger
        self.nbytes = self._size()

    def to_tables(self) -> dict[str, pa.Table]:
        flat = [n for n in self.arrays if n not in self.values and n not in self.offsets]
        tables = {"events": pa.table({n: self.view(n) for n in flat if len(self.arrays[n]) or n != "place"})}
        for name in self.lists:
            ends = self.view(f"{name}_offsets")
            tables[f"events.{name}_offsets"] = pa.table({"": ends})
            tables[f"events.{name}_values"] = pa.table({"": self.arrays[f"{name}_values"][: int(ends[-1])]})
        return tables

    def restore(self, tables: Mapping[str, pa.Table], *, strings: int, partitions: int) -> None:
        """Load and check what `to_tables` wrote.

        Codes have to be below the number of `strings`, partitions below that of `partitions`.
        """
        # Events without a type column have the type code 0, even if there are no strings.
        sizes = {"strings": strings, "types": max(1, strings), "partitions": partitions}
        events = read_arrays(tables, "events", self._specs(), sizes)
        self.length = len(events["time"])
        self.version += 1
        if self.length > self.capacity:
            self._grow(2 * self.length)
        for name, values in events.items():
            self.arrays[name][: self.length] = values
        self.ascending = self._ascends(0, self.length)
        for name in self.lists:
            (values,) = read_arrays(tables, f"events.{name}_values", [ArraySpec("", FLOAT64)]).values()
            end = ArraySpec("", low=0, below=len(values) + 1, ascending=True)
            (ends,) = read_arrays(tables, f"events.{name}_offsets", [end], rows=self.length + 1).values()
            require(ends[0] == 0 and ends[-1] == len(values), f"the lists of `{name}` are not as long as they say")
            for part, array in (("offsets", ends), ("values", values)):
                if len(array) > len(self.arrays[f"{name}_{part}"]):
                    self.arrays[f"{name}_{part}"] = np.zeros(2 * len(array), dtype=array.dtype)
                self.arrays[f"{name}_{part}"][: len(array)] = array
        self.nbytes = self._size()

    def _specs(self) -> list[ArraySpec]:
        """The specs of the saved columns, in the order they are saved."""
        known = {
            "rows": ArraySpec("rows"),
            "time": ArraySpec("time", ascending=True),
            "rank": ArraySpec("rank", low=0, below=MAX_COUNT, ascending=True),
            "place": ArraySpec("place", low=0, below=MAX_COUNT),
            "type": ArraySpec("type", INT32, -1, refers_to="types"),
            "partition": ArraySpec("partition", low=-1, refers_to="partitions"),
        }
        specs = []
        for name, array in self.arrays.items():
            if name in self.values or name in self.offsets or (name == "place" and not len(array)):
                continue
            if name in known:
                specs.append(known[name])
            elif array.dtype == INT32:
                specs.append(ArraySpec(name, INT32, -1, refers_to="strings"))
            else:
                specs.append(flags(name) if array.dtype == UINT8 else ArraySpec(name, array.dtype))
        return specs
