"""Latency of feeding a `Matcher` batch by batch: `python -m benchmarks.live`; `make bench-live`.

Rates of types drift along the stream, matches are few, and how many there are is counted by NumPy as well: a wrong
answer has no time. The garbage collector runs as it does in a service.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter_ns
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
from rich.console import Console
from rich.table import Table

import augury
from augury.plan import FamilyName
from benchmarks.measure import WrongAnswer

WINDOW = 100  # milliseconds, and events: there is one each millisecond
APART = 0.99  # of two prices between 0 and 1, which one pair in 20,000 is
QUERY = f"PATTERN SEQ(A a, B b) WHERE a.price > b.price + {APART} WITHIN {WINDOW} milliseconds"
TYPES = ("A", "B", "C", "D")

WARM_UP_EVENTS = 5_000
"""Fed at once before time is taken: the first batches compile kernels, or load them."""

DEFAULT_EVENTS = {1: 100_000, 100: 2_000_000, 1_000: 5_000_000}
QUICK_EVENTS = 8_000

Form: TypeAlias = Literal["arrow", "dicts"]


@dataclass(frozen=True, slots=True)
class Latency:
    """Microseconds that feeds of one size took, and what they found."""

    form: Form
    batch: int
    feeds: int
    p50: float
    p99: float
    p999: float
    longest: float
    matches: int


def drifting_stream(events: int, seed: int = 20) -> pa.Table:
    """Events of four types, one a millisecond; each type is frequent and rare by turns."""
    random = np.random.default_rng(seed)
    phase = 2 * np.pi * (np.arange(events) / 50_000)[:, None] + np.arange(len(TYPES)) * np.pi / 2
    rates = 1.1 + np.sin(phase)
    bounds = np.cumsum(rates, axis=1) / rates.sum(axis=1, keepdims=True)
    types = (random.random(events)[:, None] > bounds[:, :-1]).sum(axis=1)
    return pa.table(
        {
            "ts": np.arange(events),
            "type": pa.DictionaryArray.from_arrays(types.astype(np.int32), list(TYPES)).cast(pa.string()),
            "price": random.random(events),
            "volume": random.integers(1, 1_000, events),
        }
    )


def expected_matches(table: pa.Table) -> int:
    """How many pairs the query means, found by comparing the stream with itself, shifted."""
    price, types = table["price"].to_numpy(), table["type"].to_numpy(zero_copy_only=False)
    a, b = np.where(types == "A", price, -np.inf), np.where(types == "B", price, np.inf)
    return sum(int((a[:-lag] > b[lag:] + APART).sum()) for lag in range(1, WINDOW + 1))


def batches(table: pa.Table, size: int, form: Form) -> Iterator[Any]:
    """The stream as it is fed, made before the time of a feed begins."""
    for start in range(0, table.num_rows, size):
        (batch,) = table.slice(start, size).combine_chunks().to_batches()
        yield batch if form == "arrow" else batch.to_pylist()


def latency(table: pa.Table, size: int, form: Form, *, plan: FamilyName | None = None) -> Latency:
    """Feed the stream in batches of `size`, the first events at once and without taking the time."""
    matcher = augury.Matcher(QUERY, table.schema, time_unit="ms", jit=True, plan=plan)
    found = len(matcher.feed(table.slice(0, WARM_UP_EVENTS)))
    rest, times = table.slice(WARM_UP_EVENTS), []
    for batch in batches(rest, size, form):
        began = perf_counter_ns()
        matches = matcher.feed(batch)
        times.append(perf_counter_ns() - began)
        found += len(matches)
    found += len(matcher.finish())
    wanted = expected_matches(table)
    if found != wanted:
        raise WrongAnswer(f"{found} matches instead of {wanted} in batches of {size} as {form}")
    p50, p99, p999 = (float(q) / 1000 for q in np.quantile(times, (0.5, 0.99, 0.999)))
    return Latency(form, size, len(times), p50, p99, p999, max(times) / 1000, found)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.live", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help=f"streams of {QUICK_EVENTS:,} events only")
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    options = parser.parse_args(arguments)
    told = Table("form", "batch", "feeds", "p50 us", "p99 us", "p99.9 us", "longest us", "matches", title=QUERY)
    figures: list[Latency] = []
    for size, events in DEFAULT_EVENTS.items():
        table = drifting_stream(QUICK_EVENTS if options.quick else events)
        for form in ("arrow", "dicts"):
            try:
                taken = latency(table, size, form)
            except WrongAnswer as wrong:
                print(wrong, file=sys.stderr)
                return 1
            figures.append(taken)
            row = (taken.feeds, taken.p50, taken.p99, taken.p999, taken.longest, taken.matches)
            told.add_row(form, f"{size:,}", *(f"{value:,.0f}" for value in row))
    Console().print(told)
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps([asdict(figure) for figure in figures], indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
