"""Rates of a finite stream scaled from a sample of it, and its heaviest key."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import pyarrow as pa

from augury.engine.host import Totals
from augury.plan import StreamStatistics


def scaled(measured: StreamStatistics, sampled: int, whole: Totals | None) -> StreamStatistics:
    """Scale the rates measured on a sample to the whole stream; selectivities stay as they are.

    >>> found = StreamStatistics({"a": 0.5}, {}, 1.0, 10.0, "measured")
    >>> scaled(found, 10, Totals(1_000, 100)).rates
    {'a': 5.0}
    """
    if whole is None or not measured.total or not whole.ticks:
        return measured
    factor = whole.events / whole.ticks / measured.total
    return replace(
        measured,
        rates={name: rate * factor for name, rate in measured.rates.items()},
        total=measured.total * factor,
        ticks=float(whole.ticks),
        source=f"measured on {sampled} of {whole.events} events",
    )


@dataclass(frozen=True, slots=True)
class Heaviest:
    """The most frequent key, and the share of events that have it."""

    key: tuple[object, ...]
    share: float


def heaviest(keys: pa.Table) -> Heaviest | None:
    """The most frequent key in a sample; None if no event has a key.

    >>> heaviest(pa.table({"k": ["a", "b", "a", None]}))
    Heaviest(key=('a',), share=0.5)
    """
    rows = zip(*(keys[name].to_pylist() for name in keys.column_names), strict=True)
    counted = Counter(row for row in rows if None not in row)
    if not counted:
        return None
    ((key, number),) = counted.most_common(1)
    return Heaviest(key, number / keys.num_rows)
