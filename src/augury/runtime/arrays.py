"""What an array of a kernel holds: one record from which it is allocated, grown, saved, checked and documented."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

INT64, INT32, UINT8, FLOAT64, FLOAT32 = (np.dtype(t) for t in (np.int64, np.int32, np.uint8, np.float64, np.float32))

Array = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """One array: what it is called, how it is laid out, and what its numbers may be.

    It has a cell, or with a `width` a row of so many cells, for each of its `owner`s (runs, nodes, the events of a
    buffer, ...) and grows with them; `per_cell` of them share one, and `more` cells follow the last. One without an
    owner has `more` cells for good. With `rows` there are so many of all that, side by side. A new cell holds `fill`,
    or whatever was there if that is None. `account` is what its memory is charged to.

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
    saved: bool = False
    holds: str = ""

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
        larger[: len(old)] = old
        return larger
