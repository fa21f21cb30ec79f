"""The query template of paper 001, section 6, and what its answer is, found without Augury."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias, assert_never

import numpy as np
import pyarrow as pa

Strategy: TypeAlias = Literal["partition_contiguity", "skip_till_next_match"]
Iterator: TypeAlias = Literal["p1", "p2", "p3max", "p3min", "p3avg"]

STRATEGIES: dict[Strategy, str] = {"partition_contiguity": "s1", "skip_till_next_match": "s2"}
ITERATORS: dict[Iterator, str] = {
    "p1": "",
    "p2": "a[i].price > a[i-1].price AND ",
    "p3max": "a[i].price > max(a[..i-1].price) AND ",
    "p3min": "a[i].price > min(a[..i-1].price) AND ",
    "p3avg": "a[i].price > avg(a[..i-1].price) AND ",
}


@dataclass(frozen=True, slots=True)
class Workload:
    """One query of the template; the window counts events of the partition, or ticks if `timed`."""

    strategy: Strategy
    iterator: Iterator
    window: int
    timed: bool = False

    @property
    def name(self) -> str:
        """The paper's short name.

        >>> Workload("skip_till_next_match", "p2", 500).name
        's2 p2 w=500'
        """
        return f"{STRATEGIES[self.strategy]} {self.iterator} w={self.window}{' ticks' if self.timed else ''}"

    @property
    def text(self) -> str:
        """The query; `W` is a parameter when the window is one of time."""
        return (
            "PATTERN SEQ(Stock+ a[], Stock b)\n"
            f"WHERE {self.strategy} {{\n"
            f"  [symbol] AND a[1].price % 500 = 0 AND {ITERATORS[self.iterator]}b.volume < 150 }}\n"
            f"WITHIN {'W' if self.timed else f'{self.window} EVENTS'}"
        )

    @property
    def parameters(self) -> dict[str, int]:
        return {"W": self.window} if self.timed else {}


@dataclass(frozen=True, slots=True)
class Tally:
    """What is compared of two answers: how many matches, of how many events, and the sum of those events' rows."""

    matches: int
    length: int
    rows: int

    def __add__(self, other: Tally) -> Tally:
        return Tally(self.matches + other.matches, self.length + other.length, self.rows + other.rows)

    @property
    def average(self) -> float:
        """The average match length."""
        return self.length / self.matches if self.matches else 0.0


def expected(workload: Workload, table: pa.Table) -> Tally:
    """The answer by direct simulation: from each start, follow the one list that the strategy allows.

    An event that may end the match ends one here, with the list as it is before the event; then the event joins the
    list, is ignored, or ends the run.
    """
    columns = {name: table[name].to_numpy() for name in ("ts", "symbol", "price", "volume")}
    order = np.argsort(columns["symbol"], kind="stable")
    pieces = np.split(order, np.flatnonzero(np.diff(columns["symbol"][order])) + 1)
    skips = workload.strategy == "skip_till_next_match"
    takes = _takes(workload.iterator)
    matches = length = rows = 0
    for piece in pieces:
        rows_of, price, volume = piece.tolist(), columns["price"][piece].tolist(), columns["volume"][piece].tolist()
        time = columns["ts"][piece].tolist()
        for start in np.flatnonzero(columns["price"][piece] % 500 == 0).tolist():
            if workload.timed:
                end = int(np.searchsorted(time, time[start] + workload.window, side="right"))
            else:
                end = min(len(piece), start + workload.window)
            taken, row_sum = 1, rows_of[start]
            known = _Known(price[start])
            for at in range(start + 1, end):
                if volume[at] < 150:
                    matches += 1
                    length += taken + 1
                    rows += row_sum + rows_of[at]
                if takes(price[at], known):
                    known.add(price[at])
                    taken += 1
                    row_sum += rows_of[at]
                elif not skips:
                    break
    return Tally(matches, length, rows)


class _Known:
    """The last, least and greatest price of a list, and their sum."""

    __slots__ = ("count", "greatest", "last", "least", "total")

    def __init__(self, price: int) -> None:
        self.last = self.least = self.greatest = self.total = price
        self.count = 1

    def add(self, price: int) -> None:
        self.last = price
        self.least = min(self.least, price)
        self.greatest = max(self.greatest, price)
        self.total += price
        self.count += 1


def _takes(iterator: Iterator) -> Callable[[int, _Known], bool]:
    match iterator:
        case "p1":
            return lambda price, known: True
        case "p2":
            return lambda price, known: price > known.last
        case "p3max":
            return lambda price, known: price > known.greatest
        case "p3min":
            return lambda price, known: price > known.least
        case "p3avg":
            return lambda price, known: price * known.count > known.total
        case _:
            assert_never(iterator)
