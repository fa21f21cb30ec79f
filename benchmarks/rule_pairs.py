"""Rules of the benchmark that are pairs of ticks, as a user of Polars would count their matches: joins by time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import polars as pl

Values: TypeAlias = "Mapping[str, Any]"
"""What a rule was drawn with: types, thresholds and the rest."""

Condition: TypeAlias = "Callable[[Values], pl.Expr]"

COLUMNS = ("ts_us", "name", "price", "volume", "side")


def _all(values: Values) -> pl.Expr:
    return pl.lit(value=True)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two ticks, the second up to so many seconds after the first; columns of the second end in `_b`."""

    seconds: int
    first: Condition
    second: Condition
    both: Condition = _all
    types: tuple[str, tuple[str, ...]] = ("A", ("B",))
    any_order: bool = False

    def count(self, ticks: pl.DataFrame, values: Values) -> int:
        """How many pairs there are."""
        first, others = self.types
        a = ticks.lazy().filter(pl.col("name") == values[first], self.first(values)).select(COLUMNS)
        b = ticks.lazy().filter(pl.col("name").is_in([values[name] for name in others]), self.second(values))
        b = b.select(pl.col(COLUMNS).name.suffix("_b"))
        time, after, window = pl.col("ts_us"), pl.col("ts_us_b"), self.seconds * 1_000_000
        begins = after >= time - window if self.any_order else after > time
        pairs = a.join_where(b, begins, after <= time + window).filter(self.both(values))
        return int(pairs.select(pl.len()).collect().item())


def _volume(name: str) -> Condition:
    return lambda values: pl.col("volume") > values[name]


def _and(*conditions: Condition) -> Condition:
    return lambda values: pl.all_horizontal([condition(values) for condition in conditions])


def _side(values: Values) -> pl.Expr:
    return pl.col("side").eq(values["side"])


PAIRS: dict[int, Pair] = {
    0: Pair(10, _volume("a"), _volume("b")),
    1: Pair(60, _and(_volume("a"), _side), _volume("b")),
    3: Pair(
        5,
        _volume("a"),
        _all,
        lambda v: (pl.col("side") == pl.col("side_b")) & (pl.col("price_b") > pl.col("price") * v["up"]),
        ("A", ("A",)),
    ),
    4: Pair(20, _volume("a"), _volume("b"), lambda v: pl.col("price_b") < pl.col("price") * v["down"], ("A", ("A",))),
    8: Pair(30, _volume("a"), _and(_volume("b"), _side)),
    9: Pair(8, _volume("a"), _volume("b"), types=("A", ("B", "C"))),
    10: Pair(6, _volume("a"), _volume("b"), any_order=True),
    12: Pair(15, lambda v: pl.col("volume").is_between(v["a"], v["most"]), _volume("b")),
    13: Pair(20, _volume("a"), _all, lambda v: pl.col("volume_b") - pl.col("volume") > v["c"]),
    14: Pair(15, _volume("a"), _volume("b"), lambda v: pl.col("side") != pl.col("side_b")),
    17: Pair(20, _and(_volume("a"), lambda v: pl.col("price") > v["price"]), _volume("b")),
    18: Pair(10, _volume("a"), lambda v: (pl.col("volume") > v["b"]) | (pl.col("volume") == v["odd"])),
}
"""By the place of their pattern among the shapes."""
