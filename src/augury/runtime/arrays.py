"""What an array of a kernel holds: one record from which it is allocated, grown, saved, checked and documented."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

INT64, INT32, UINT8, FLOAT64, FLOAT32 = (np.dtype(t) for t in (np.int64, np.int32, np.uint8, np.float64, np.float32))

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class ArrayType:
    """What compiled code has to know of an array; all of them are contiguous."""

    dtype: np.dtype[Any]
    dimensions: int = 1


@dataclass(frozen=True, slots=True)
class GroupType:
    """A named tuple of arrays."""

    kind: type[tuple[Any, ...]]
    members: tuple[ArrayType, ...]


ParameterType: TypeAlias = "type[int] | type[float] | type[bool] | ArrayType | GroupType"
"""What a compiled function takes as one argument."""


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """One array: what it is called, how it is laid out, and what its numbers may be.

    It has a cell, or with a `width` a row of so many cells, for each of its `owner`s (runs, nodes, the events of a
    buffer, ...) and grows with them; `per_cell` of them share one, and `more` cells follow the last. One without an
    owner has `more` cells for good. With `rows` there are so many of all that, side by side. A new cell holds `fill`,
    or whatever was there if that is None. `account` is what its memory is charged to. Generated functions take it that
    touch all of its `scope`, if they do not take every array.

    Its numbers are at least `low` and below `below`, or below the number of what they refer to (`refers_to`). With
    `ascending` none is less than the one before it; with `earlier` each is less than its own place, so that links
    cannot go round in a circle. `saved` arrays are written into states; `holds` describes it for docs/kernels.md.

    >>> spec = ArraySpec("run_cells", owner="runs", width=2, fill=-1)
    >>> spec.allocate(3).tolist()
    [[-1, -1], [-1, -1], [-1, -1]]
    >>> spec.grown(np.array([[7, 8]]), 2).tolist()
    [[7, 8], [-1, -1]]
    """

    name: str
    dtype: np.dtype[Any] = INT64
    low: int | None = None
    below: int | None = None
    refers_to: str | None = None
    ascending: bool = False
    earlier: bool = False
    owner: str = ""
    width: int = 0
    rows: int = 0
    per_cell: int = 1
    more: int = 0
    fill: int | None = 0
    account: str = ""
    scope: tuple[str, ...] = ()
    saved: bool = False
    holds: str = ""

    @property
    def type(self) -> ArrayType:
        """One dimension, and one more each for a width and for rows."""
        return ArrayType(self.dtype, 1 + bool(self.width) + bool(self.rows))

    def shape(self, owners: int) -> tuple[int, ...]:
        """The shape with so many owners."""
        length = (owners // self.per_cell if self.owner else 0) + self.more
        shape = (length, self.width) if self.width else (length,)
        return (self.rows, *shape) if self.rows else shape

    def allocate(self, owners: int = 0) -> Array:
        """The array for so many owners, before anything is written to it."""
        if self.fill is None:
            return np.empty(self.shape(owners), dtype=self.dtype)
        if self.fill == 0:
            return np.zeros(self.shape(owners), dtype=self.dtype)
        return np.full(self.shape(owners), self.fill, dtype=self.dtype)

    def grown(self, old: Array, owners: int) -> Array:
        """The array for more owners, with what it held."""
        larger = self.allocate(owners)
        larger[tuple(slice(0, size) for size in old.shape)] = old
        return larger

    # -- saving -------------------------------------------------------------------------------------------------------

    @property
    def columns(self) -> tuple[ArraySpec, ...]:
        """What it is saved as: a column, or one for each cell of its rows.

        >>> [column.name for column in ArraySpec("run_cells", width=2).columns]
        ['run_cells_0', 'run_cells_1']
        """
        if not self.width:
            return (self,)
        return tuple(replace(self, name=f"{self.name}_{k}", width=0) for k in range(self.width))

    def to_columns(self, array: Array) -> dict[str, Array]:
        """The columns that an array, or some cells of it, is saved as."""
        values = (array[..., k] for k in range(self.width)) if self.width else (array,)
        return {column.name: some for column, some in zip(self.columns, values, strict=True)}

    def from_columns(self, saved: Mapping[str, Array]) -> Array:
        """The array that was saved as columns."""
        if not self.width:
            return saved[self.name]
        return np.stack([saved[column.name] for column in self.columns], axis=1)


def saved_arrays(specs: Iterable[ArraySpec], owner: str) -> tuple[ArraySpec, ...]:
    """The arrays with a cell for each run, node, ... that a state is saved with."""
    return tuple(spec for spec in specs if spec.owner == owner and spec.saved)
