"""The rows of a table by partition, as the search reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from augury.ir.row_expression import Aggregate, ColumnValue, RowExpression
from augury.jit.tier import Tier
from augury.kernels.row_pattern.expressions import Leaf, evaluate
from augury.kernels.row_pattern.vectors import FAILED, NULL, Integers, Vector, nulls
from augury.kernels.row_pattern.windows import window_aggregate


@dataclass(frozen=True, slots=True)
class Progress:
    """The progress of the search in each partition.

    It goes on at row `candidate`; its next match has this `number`; the rows before `mapped` are known to be mapped or
    not. `first` is the first row that the partition ever had, or -1 if that is no longer among its rows.
    """

    candidate: Integers
    number: Integers
    mapped: Integers
    first: Integers

    @staticmethod
    def none(starts: Integers) -> Progress:
        """The progress before the first row."""
        low = starts[:-1].astype(np.int64)
        return Progress(low.copy(), np.ones(len(low), np.int64), np.zeros(len(low), np.int64), low)

    @property
    def arrays(self) -> tuple[Integers, ...]:
        return self.candidate, self.number, self.mapped, self.first

    def copied(self) -> Progress:
        """The same in arrays of its own."""
        return Progress(*(a.copy() for a in self.arrays))


@dataclass(frozen=True, slots=True)
class Unsorted:
    """Columns in the order of a table: sorted row k is its row `order[k]`, or row `first + k` if `order` is None."""

    columns: Mapping[int, Vector]
    order: npt.NDArray[np.signedinteger[Any]] | None
    first: int = 0

    def at(self, column: int, rows: Integers) -> Vector:
        """A column at sorted rows; null where the row is -1."""
        there = rows + self.first if self.order is None else self.order.take(rows, mode="clip")
        return self.columns[column].take(np.where(rows < 0, -1, there) if (rows < 0).any() else there)


@dataclass(frozen=True, slots=True)
class SortedRows:
    """Input columns in the order of the search: partition after partition, each sorted.

    Partition p is the rows from `starts[p]` up to `starts[p + 1]`; `columns` are those that the search reads, and the
    measures, unless they find theirs among the `unsorted` ones. With a `watermark` more rows may come, none of them
    earlier; what they will be is `FAILED` until they are there.
    """

    starts: Integers
    columns: Mapping[int, Vector]
    watermark: int | None = None
    resumed: Progress | None = None
    unsorted: Unsorted | None = None
    _shifted: dict[tuple[int, int], Vector] = field(default_factory=dict)

    @property
    def open(self) -> bool:
        """Whether more rows may come."""
        return self.watermark is not None

    @property
    def progress(self) -> Progress:
        """The progress of a search that has not begun."""
        return Progress.none(self.starts) if self.resumed is None else self.resumed

    def __len__(self) -> int:
        return int(self.starts[-1])

    @property
    def partitions(self) -> int:
        return len(self.starts) - 1

    def at(self, column: int, rows: Integers) -> Vector:
        """A column at some rows; null where the row is -1."""
        if self.unsorted is not None and column not in self.columns:
            return self.unsorted.at(column, rows)
        return self.columns[column].take(rows)

    def column(self, number: int, shift: int = 0) -> Vector:
        """A column, read some rows on in the same partition; null outside of it."""
        if shift == 0:
            return self.columns[number]
        key = number, shift
        if key not in self._shifted:
            self._shifted[key] = self._shift(self.columns[number], shift)
        return self._shifted[key]

    def _shift(self, column: Vector, shift: int) -> Vector:
        size, far = len(self), abs(shift)
        unknown = FAILED if self.open and shift > 0 else NULL
        if far >= size:
            return replace(nulls(column.type, size), codes=np.full(size, unknown, np.uint8))
        values = np.zeros_like(column.values)
        codes = np.zeros(size, np.uint8)
        into, out_of = (slice(far, None), slice(None, -far)) if shift < 0 else (slice(None, -far), slice(far, None))
        values[into] = column.values[out_of]
        if column.codes is not None:
            codes[into] = column.codes[out_of]
        codes[self.outside(shift)] = unknown
        return replace(column, values=values, codes=codes)

    def outside(self, shift: int) -> Integers:
        """Mask of the rows whose partition has no row at that offset."""
        firsts, ends, far = self.starts[:-1], self.starts[1:], abs(shift)
        short = np.minimum(far, ends - firsts)
        begin = firsts if shift < 0 else ends - short
        offsets = np.cumsum(short) - short
        return np.repeat(begin - offsets, short) + np.arange(int(short.sum()))

    def value(self, expression: RowExpression, support: Tier) -> Vector:
        """An expression of one row and its neighbours, for every row."""

        def read(leaf: Leaf) -> Vector:
            if isinstance(leaf, Aggregate):
                (argument,) = leaf.arguments
                return window_aggregate(leaf, self.value(argument, support), support)
            return plain(leaf)

        plain = self._reader(self.column)
        return evaluate(expression, read).sized(len(self))

    def value_of_nulls(self, expression: RowExpression) -> Vector:
        """The columns of a row that does not exist: every value is null."""
        return evaluate(expression, self._reader(lambda column, shift: nulls(self.columns[column].type)))

    @staticmethod
    def _reader(column: Callable[[int, int], Vector]) -> Callable[[Leaf], Vector]:
        def read(leaf: Leaf) -> Vector:
            if not isinstance(leaf, ColumnValue):
                raise AssertionError(leaf)
            return column(leaf.column, 0 if leaf.at is None else leaf.at.shift)

        return read
