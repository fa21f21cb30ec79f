"""Aggregates over all matches of an event: the values read of each event, and the sums as results.

Every aggregate is made of sums and least values over the events that matches bind to its variable
(`augury.native.weighing`): the number of values that are not null, their sum, the least of their keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, assert_never

import numpy as np
import numpy.typing as npt

from augury.ir.functions import representable
from augury.ir.predicate import Aggregate, Expr, Ref, Value, map_children
from augury.ir.query import BoundQuery
from augury.jit.tier import Tier
from augury.native.prelude import INT_MAX
from augury.runtime.batch import Integers
from augury.runtime.columns import ColumnSpec
from augury.runtime.dictionary import StringDictionary, ranks
from augury.runtime.events import EventStore
from augury.runtime.matches import exact
from augury.schema import Kind

Floats = npt.NDArray[np.float64]

EXACT = 2.0**100
"""Up to here sums of integers are exact."""

TOO_MANY = 10**280
"""Numbers of ways that are not told apart any more."""


@dataclass(frozen=True, slots=True, eq=False)
class Weighed:
    """One row for each completing event: sums as pairs of floats, and least keys."""

    sums: Floats
    least: Integers

    @classmethod
    def none(cls, rows: int, totals: Totals) -> Weighed:
        """Rows for no matches so far."""
        sums, keys = len(totals.sums), len(totals.keys)
        return cls(np.zeros((rows, sums, 2)), np.full((rows, keys), INT_MAX, dtype=np.int64))

    @classmethod
    def of(cls, parts: Sequence[Weighed]) -> Weighed:
        """The rows of all parts, in their order."""
        return cls(np.concatenate([p.sums for p in parts]), np.concatenate([p.least for p in parts]))

    def take(self, rows: Integers) -> Weighed:
        return Weighed(self.sums[rows], self.least[rows])

    def by_place(self, support: Tier, places: Integers, rows: int, totals: Totals) -> Weighed:
        """The sum of all rows that have the same place."""
        joined = Weighed.none(rows, totals)
        support("weigh_rows", places, self.sums, self.least, joined.sums, joined.least)
        return joined


class Totals:
    """The aggregates of RETURN of OUTPUT COUNT; none for other queries.

    `specs` are the columns that they read of each event; `sums` and `keys` say of which variable's events which column
    is summed up, or the least wanted.
    """

    def __init__(self, query: BoundQuery) -> None:
        self.aggregates = query.totals
        arguments = dict.fromkeys(_of_event(a.argument) for a in self.aggregates if a.argument is not None)
        self._column = {argument: k for k, argument in enumerate(arguments)}
        self.specs = tuple(
            ColumnSpec(f"total_{k}", Kind.OTHER if e.type.kind is Kind.LIST else e.type.kind, e)
            for e, k in self._column.items()
        )
        self.sums: list[tuple[str, int, bool]] = []
        self.keys: list[tuple[str, int, bool]] = []
        for a in self.aggregates:
            column = -1 if a.argument is None else self._column[_of_event(a.argument)]
            self._once(self.sums, (a.variable, column, False))
            if a.function in ("sum", "avg"):
                self._once(self.sums, (a.variable, column, True))
            if a.function in ("min", "max"):
                self._once(self.keys, (a.variable, column, a.function == "max"))

    def __bool__(self) -> bool:
        return bool(self.aggregates)

    @staticmethod
    def _once(terms: list[tuple[str, int, bool]], term: tuple[str, int, bool]) -> None:
        if term not in terms:
            terms.append(term)

    # -- of each event ------------------------------------------------------------------------------------------------

    def weights(self, events: EventStore, dictionary: StringDictionary) -> tuple[Floats, Integers]:
        """The contribution of each event to each sum, and its keys."""
        n = events.length
        sums = np.zeros((len(self.sums), n, 2))
        for t, (_, column, valued) in enumerate(self.sums):
            sums[t] = self._values(events, column) if valued else self._there(events, column)[:, None] * (1.0, 0.0)
        keys = np.full((len(self.keys), n), INT_MAX, dtype=np.int64)
        for t, (_, column, greatest) in enumerate(self.keys):
            ordered = self._ordered(events, column, dictionary)
            keys[t] = np.where(self._there(events, column), ~ordered if greatest else ordered, INT_MAX)
        return sums, keys

    def _there(self, events: EventStore, column: int) -> npt.NDArray[np.bool_]:
        """Whether the value of each event is not null."""
        if column < 0:
            return np.ones(events.length, dtype=bool)
        spec = self.specs[column]
        match spec.kind:
            case Kind.FLOAT:
                unknown: npt.NDArray[np.bool_] = np.isnan(events.view(spec.name))
                return ~unknown
            case Kind.STRING:
                there: npt.NDArray[np.bool_] = events.view(spec.name) >= 0
                return there
            case Kind.INT | Kind.TIMESTAMP | Kind.DURATION | Kind.BOOL | Kind.LIST | Kind.NULL | Kind.OTHER:
                known: npt.NDArray[np.bool_] = events.view(f"{spec.name}_null") == 0
                return known
            case _:
                assert_never(spec.kind)

    def _values(self, events: EventStore, column: int) -> Floats:
        """The value of each event as a pair of floats, nothing for null."""
        spec = self.specs[column]
        pairs = np.zeros((events.length, 2))
        if spec.kind is Kind.FLOAT:
            pairs[:, 0] = np.nan_to_num(events.view(spec.name), nan=0.0, posinf=np.inf, neginf=-np.inf)
        elif spec.kind is not Kind.NULL:
            values = events.view(spec.name)
            high = (values >> 32 << 32).astype(np.float64)
            low = (values & 0xFFFFFFFF).astype(np.float64)
            pairs[:, 0] = high + low
            pairs[:, 1] = low - (pairs[:, 0] - high)
        return pairs

    def _ordered(self, events: EventStore, column: int, dictionary: StringDictionary) -> Integers:
        """The value of each event as an integer of the same order."""
        spec = self.specs[column]
        if spec.kind is Kind.NULL:
            return np.zeros(events.length, dtype=np.int64)
        values = events.view(spec.name)
        if spec.kind is Kind.FLOAT:
            # Adding zero turns -0.0 into 0.0. The bits of negative floats ascend the other way round.
            bits: Integers = (values + 0.0).view(np.int64)
            return np.where(bits < 0, bits ^ INT_MAX, bits)
        if spec.kind is Kind.STRING:
            ranked: Integers = np.append(ranks(dictionary), 0)[values]
            return ranked
        return np.asarray(values, dtype=np.int64)

    # -- of all matches -----------------------------------------------------------------------------------------------

    def places(self, terms: Sequence[tuple[str, int, bool]], variables: Sequence[str]) -> npt.NDArray[np.uint8]:
        """A mask, by term and component, of the components of `variables` that count for each of `terms`."""
        on = [[v == variable for v in variables] for variable, _, _ in terms]
        return np.array(on, dtype=np.uint8).reshape(len(terms), len(variables))

    def values(self, weighed: Weighed, weights: Floats, dictionary: StringDictionary) -> tuple[tuple[Value, ...], ...]:
        """The aggregates of each row; `weights` are the sums of single events."""
        greatest = np.abs(weights[:, :, 0]).max(axis=1, initial=0.0)
        by_rank: dict[int, str] = {}
        if any(self.specs[column].kind is Kind.STRING for _, column, _ in self.keys):
            by_rank = dict(zip(ranks(dictionary).tolist(), dictionary.strings, strict=True))
        columns = [self._aggregate(a, weighed, greatest, by_rank) for a in self.aggregates]
        return tuple(zip(*columns, strict=True))

    def _aggregate(self, a: Aggregate, weighed: Weighed, greatest: Floats, by_rank: Mapping[int, str]) -> list[Value]:
        column = -1 if a.argument is None else self._column[_of_event(a.argument)]
        numbers = _integers(weighed.sums[:, self.sums.index((a.variable, column, False))])
        if a.function == "count":
            return [exact(n, f"count({a.variable})") for n in numbers]
        if a.function in ("min", "max"):
            keys = weighed.least[:, self.keys.index((a.variable, column, a.function == "max"))]
            ordered = (~keys if a.function == "max" else keys).tolist()
            read = self._reader(column, by_rank)
            return [read(key) if n else None for key, n in zip(ordered, numbers, strict=True)]
        t = self.sums.index((a.variable, column, True))
        sums: list[Any] = weighed.sums[:, t, 0].tolist()
        whole = self.specs[column].kind is not Kind.FLOAT
        if whole:
            known = [n * greatest[t] < EXACT for n in numbers]
            totals = _integers(weighed.sums[:, t])
            sums = [total if fits else s for total, s, fits in zip(totals, sums, known, strict=True)]
        if a.function == "avg":
            return [representable(s / n) if n else None for s, n in zip(sums, numbers, strict=True)]
        if not whole:
            return [representable(s) if n else None for s, n in zip(sums, numbers, strict=True)]
        # A float among integers is a sum too great to be known exactly.
        what = f"sum({a.variable})"
        return [
            exact(s if isinstance(s, int) else None, what) if n else None for s, n in zip(sums, numbers, strict=True)
        ]

    def _reader(self, column: int, by_rank: Mapping[int, str]) -> Any:
        match self.specs[column].kind:
            case Kind.FLOAT:
                return _float
            case Kind.STRING:
                return by_rank.__getitem__
            case _:
                return int


def _of_event(e: Expr) -> Expr:
    """`e` over a single event named `e`."""
    return Ref("e", e.column, e.type) if isinstance(e, Ref) else map_children(_of_event, e)


def _float(key: int) -> float:
    """The float whose bits, made to ascend with its value, are `key`."""
    bits = key if key >= 0 else key ^ INT_MAX
    return float(np.array(bits, dtype=np.int64).view(np.float64))


def _integers(pairs: Floats) -> list[int]:
    """Pairs of floats as the integers they are, none greater than `TOO_MANY`."""
    return [int(x) + int(y) if abs(x) < TOO_MANY else TOO_MANY for x, y in pairs.tolist()]
