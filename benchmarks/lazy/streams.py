"""Generated streams of share prices, whose event types are the regions of paper 000, section 8."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

REGIONS: dict[str, int] = {
    "NorthAmericanCompany": 5662,
    "EuropeanCompany": 267,
    "AsianCompany": 218,
    "MiddleEasternCompany": 93,
    "CentralAmericanCompany": 90,
    "SouthAmericanCompany": 42,
    "AustralianCompany": 16,
    "AfricanCompany": 8,
}
"""Companies in each region: the frequencies of the paper, where one is 8 and another 267, and of the lists it used."""

HISTORY = 20
"""Prices in a history, the current one included."""

MINUTE = 60_000
"""Ticks of a generated stream, which are milliseconds."""

Integers = npt.NDArray[np.int64]
Floats = npt.NDArray[np.float64]


def by_ratio(types: int, ratio: float) -> dict[str, float]:
    """Rates of `types` event types from the most frequent to the rarest, each the same factor below the one before.

    >>> by_ratio(3, 100)
    {'T1': 100.0, 'T2': 10.0, 'T3': 1.0}
    """
    return {f"T{k + 1}": float(ratio ** ((types - 1 - k) / (types - 1))) for k in range(types)}


def region_stream(events: int, *, per_minute: float, seed: int = 1) -> pa.Table:
    """A stream with the frequencies of the eight regions."""
    return _stream([REGIONS], events, per_minute, seed, REGIONS)


def ratio_stream(types: int, ratio: float, events: int, *, per_minute: float, seed: int = 1) -> pa.Table:
    """A stream of as many types as a pattern has, in which the most frequent is `ratio` times the rarest."""
    return _stream([by_ratio(types, ratio)], events, per_minute, seed)


def switching_stream(
    segments: Sequence[Mapping[str, float]], events: int, *, per_minute: float, seed: int = 1
) -> pa.Table:
    """A stream whose rates change after each `events` events."""
    return _stream(segments, events, per_minute, seed)


def rotations(rates: Mapping[str, float]) -> list[dict[str, float]]:
    """The same rates given to the types in turn, so that each is the rarest once.

    >>> rotations({"A": 9, "B": 3, "C": 1})
    [{'A': 9, 'B': 3, 'C': 1}, {'A': 1, 'B': 9, 'C': 3}, {'A': 3, 'B': 1, 'C': 9}]
    """
    values = list(rates.values())
    return [dict(zip(rates, values[-k:] + values[:-k], strict=True)) for k in range(len(values))]


def repeated(table: pa.Table, times: int, gap: int) -> pa.Table:
    """The stream `times` over with `gap` ticks in between: `times` as many matches, if no window is that long."""
    longer = pa.concat_tables([table] * times).combine_chunks()
    ts = table["ts"].cast(pa.int64()).to_numpy()
    shift = np.repeat(np.arange(times) * (int(ts[-1]) + gap), len(ts))
    return longer.set_column(0, "ts", pa.array(np.tile(ts, times) + shift).cast(table.schema.field("ts").type))


def _stream(
    segments: Sequence[Mapping[str, float]],
    events: int,
    per_minute: float,
    seed: int,
    companies: Mapping[str, int] | None = None,
) -> pa.Table:
    """Poisson arrivals, at most one in a millisecond, so that no two events are concurrent."""
    rng = np.random.default_rng(seed)
    names = list(segments[0])
    codes = []
    for rates in segments:
        weight = np.array([rates[name] for name in names], dtype=np.float64)
        codes.append(rng.choice(len(names), size=events, p=weight / weight.sum()))
    code = np.concatenate(codes).astype(np.int32)
    ts = np.cumsum(1 + np.floor(rng.exponential(MINUTE / per_minute - 0.5, len(code)))).astype(np.int64)
    counts = np.array([(companies or {}).get(name, 40) for name in names])
    first = np.concatenate([[0], np.cumsum(counts)])
    company = first[code] + rng.integers(0, counts[code])
    history = price_histories(company, rng)
    return pa.table(
        {
            "ts": pa.array(ts).cast(pa.timestamp("ms")),
            "type": pa.DictionaryArray.from_arrays(pa.array(code), pa.array(names)),
            "price": history[:, -1],
            "history": pa.FixedSizeListArray.from_arrays(pa.array(history.ravel()), HISTORY),
        }
    )


def price_histories(company: Integers, rng: np.random.Generator) -> Floats:
    """For each event the last prices of its company, a walk in steps of about 0.3% from a start between 20 and 220.

    Every walk begins before the stream does, so that the first event of a company has a full history as well.
    """
    order = np.argsort(company, kind="stable")
    counts = np.bincount(company)
    before = HISTORY - 1
    lengths = np.where(counts > 0, counts + before, 0)
    starts = np.concatenate([[0], np.cumsum(lengths)])
    moves = rng.normal(0.0, 0.003, starts[-1])
    total = np.concatenate([[0.0], np.cumsum(moves)])
    walk = total[1:] - np.repeat(total[starts[:-1]], lengths)
    price = np.round(np.repeat(rng.uniform(20.0, 220.0, len(counts)), lengths) * np.exp(walk), 2)
    # The k-th event of a company sees its prices k to k + 19.
    rank = np.arange(len(company)) - np.repeat(np.concatenate([[0], np.cumsum(counts)])[:-1], counts)
    windows = np.lib.stride_tricks.sliding_window_view(price, HISTORY)
    histories = np.empty((len(company), HISTORY))
    histories[order] = windows[starts[company[order]] + rank]
    return histories
