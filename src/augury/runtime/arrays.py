"""Specs of the arrays of kernels, from which they are allocated, grown, saved, checked and documented."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from augury.runtime.memory import empty_array, zero_array

INT64, INT32, UINT8, FLOAT64, FLOAT32 = (np.dtype(t) for t in (np.int64, np.int32, np.uint8, np.float64, np.float32))

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class ArrayType:
    """The type of a contiguous array that compiled code takes."""

    dtype: np.dtype[Any]
    dimensions: int = 1


@dataclass(frozen=True, slots=True)
class GroupType:
    """The type of a named tuple of arrays."""

    kind: type[tuple[Any, ...]]
    members: tuple[ArrayType, ...]


ParameterType: TypeAlias = "type[int] | type[float] | type[bool] | ArrayType | GroupType"
"""The type of one argument of a compiled function."""


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """One array: its name, its layout, and the range of its numbers.

    It has one cell, or with a `width` a row of that many cells, for each `owner` (run, node, event of a buffer, ...)
    and grows with their number; with `per_cell` several owners share one, and `more` cells follow the last. Without an
    owner it has `more` cells and never grows. With `rows` all this is repeated that many times, as a first dimension. A
    new cell holds `fill`, or is uninitialised if that is None. Its memory is charged to `account`. A generated function
    takes it if it touches all of its `scope`, or takes every array.

    Its numbers are at least `low` and below `below`, or below the number of what they refer to (`refers_to`). With
    `ascending` none is less than the one before it; with `earlier` each is less than its own position, so that links
    cannot form a cycle. `saved` arrays are written into states; `holds` describes it for docs/kernels.md.

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
        """The array type: one dimension, and one more each for a width and for rows."""
        return ArrayType(self.dtype, 1 + bool(self.width) + bool(self.rows))

    def shape(self, owners: int) -> tuple[int, ...]:
        """The shape for this number of owners."""
        length = (owners // self.per_cell if self.owner else 0) + self.more
        shape = (length, self.width) if self.width else (length,)
        return (self.rows, *shape) if self.rows else shape

    def allocate(self, owners: int = 0) -> Array:
        """A new array for this number of owners."""
        if self.fill is None:
            return empty_array(self.shape(owners), self.dtype)
        if self.fill == 0:
            return zero_array(self.shape(owners), self.dtype)
        array = empty_array(self.shape(owners), self.dtype)
        array[...] = self.fill
        return array

    def grown(self, old: Array, owners: int) -> Array:
        """A larger array for more owners, with the contents of the old one."""
        larger = self.allocate(owners)
        larger[tuple(slice(0, size) for size in old.shape)] = old
        return larger

    # -- saving -------------------------------------------------------------------------------------------------------

    @property
    def columns(self) -> tuple[ArraySpec, ...]:
        """The specs of the columns it is saved as: one, or with a width one per cell of a row.

        >>> [column.name for column in ArraySpec("run_cells", width=2).columns]
        ['run_cells_0', 'run_cells_1']
        """
        if not self.width:
            return (self,)
        return tuple(replace(self, name=f"{self.name}_{k}", width=0) for k in range(self.width))

    def to_columns(self, array: Array) -> dict[str, Array]:
        """The columns that an array, or a part of it, is saved as."""
        values = (array[..., k] for k in range(self.width)) if self.width else (array,)
        return {column.name: some for column, some in zip(self.columns, values, strict=True)}

    def from_columns(self, saved: Mapping[str, Array]) -> Array:
        """The array that was saved as columns."""
        if not self.width:
            return saved[self.name]
        return np.stack([saved[column.name] for column in self.columns], axis=1)


def saved_arrays(specs: Iterable[ArraySpec], owner: str) -> tuple[ArraySpec, ...]:
    """The saved arrays that have a cell for each run, node, or other `owner`."""
    return tuple(spec for spec in specs if spec.owner == owner and spec.saved)
