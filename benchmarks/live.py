"""Latency of feeding a `Matcher` batch by batch: `python -m benchmarks.live`; `make bench-live`.

Rates of types drift along the stream, matches are few, and how many there are is counted by NumPy as well: a wrong
answer has no time. The garbage collector runs as it does in a service. Each stream begins with an empty cache: its
first kernel is compiled before the first batch, and what better plans need is compiled while it runs.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter_ns, process_time_ns
from typing import Any, Literal, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console
from rich.table import Table

import augury
from augury.jit.store import default_cache_dir
from augury.plan import FamilyName
from benchmarks.measure import WrongAnswer

WINDOW = 100  # milliseconds, and events: there is one each millisecond
APART = 0.99  # of two prices between 0 and 1, which one pair in 20,000 is
QUERY = f"PATTERN SEQ(A a, B b) WHERE a.price > b.price + {APART} WITHIN {WINDOW} milliseconds"
TYPES = ("A", "B", "C", "D")

WARM_UP_EVENTS = 5_000
"""Fed at once before time is taken: by the end of it the first kernel is ready."""

DEFAULT_EVENTS = {1: 500_000, 100: 10_000_000, 1_000: 10_000_000}
QUICK_EVENTS = 8_000

WIDTH = 130  # of the table, also where the output is no terminal

DICTS = 10  # times fewer events are fed as dicts: making them takes longer than matching them

DRAWN_TOGETHER = 1_000_000  # events that are drawn at a time, which need several times their memory

Form: TypeAlias = Literal["arrow", "dicts"]


@dataclass(frozen=True, slots=True)
class Latency:
    """Microseconds by the clock that feeds of one size took, and what they found.

    Beside it are those of all processors meanwhile, which a busy machine does not change.
    """

    form: Form
    batch: int
    feeds: int
    p50: float
    p99: float
    p999: float
    longest: float
    pauses: int
    """Feeds that took longer than `PAUSE`."""
    cpu_p999: float
    cpu_longest: float
    matches: int


PAUSE = 50_000  # microseconds: no feed is to take longer


def drifting_stream(events: int, seed: int = 20) -> pa.Table:
    """Events of four types, one a millisecond; each type is frequent and rare by turns."""
    random = np.random.default_rng(seed)
    parts = []
    for first in range(0, events, DRAWN_TOGETHER):
        moments = np.arange(first, min(first + DRAWN_TOGETHER, events))
        phase = 2 * np.pi * (moments / 50_000)[:, None] + np.arange(len(TYPES)) * np.pi / 2
        rates = 1.1 + np.sin(phase)
        bounds = np.cumsum(rates, axis=1) / rates.sum(axis=1, keepdims=True)
        types = (random.random(len(moments))[:, None] > bounds[:, :-1]).sum(axis=1)
        columns = {
            "ts": moments,
            "type": pa.DictionaryArray.from_arrays(types.astype(np.int32), list(TYPES)).cast(pa.string()),
            "price": random.random(len(moments)),
            "volume": random.integers(1, 1_000, len(moments)),
        }
        parts.append(pa.table(columns))
    return pa.concat_tables(parts)


def expected_matches(table: pa.Table) -> int:
    """How many pairs the query means, found by comparing the stream with itself, shifted."""
    price = table["price"].to_numpy()
    is_a, is_b = (pc.equal(table["type"], name).to_numpy() for name in "AB")
    a, b = np.where(is_a, price, -np.inf), np.where(is_b, price, np.inf)
    return sum(int((a[:-lag] > b[lag:] + APART).sum()) for lag in range(1, WINDOW + 1))


def batches(table: pa.Table, size: int, form: Form) -> Iterator[Any]:
    """The stream as it is fed, made before the time of a feed begins."""
    for start in range(0, table.num_rows, size):
        (batch,) = table.slice(start, size).combine_chunks().to_batches()
        yield batch if form == "arrow" else batch.to_pylist()


def latency(table: pa.Table, size: int, form: Form, cache: Path, *, plan: FamilyName | None = None) -> Latency:
    """Feed the stream in batches of `size`, the first events at once and without taking the time."""
    matcher = augury.Matcher(QUERY, table.schema, time_unit="ms", jit=True, plan=plan, cache_dir=cache)
    found = len(matcher.feed(table.slice(0, WARM_UP_EVENTS)))
    rest, times, cpu = table.slice(WARM_UP_EVENTS), [], []
    for batch in batches(rest, size, form):
        began, spent = perf_counter_ns(), process_time_ns()
        matches = matcher.feed(batch)
        times.append(perf_counter_ns() - began)
        cpu.append(process_time_ns() - spent)
        found += len(matches)
    found += len(matcher.finish())
    wanted = expected_matches(table)
    if found != wanted:
        raise WrongAnswer(f"{found} matches instead of {wanted} in batches of {size} as {form}")
    p50, p99, p999 = (float(q) / 1000 for q in np.quantile(times, (0.5, 0.99, 0.999)))
    pauses = sum(taken > 1000 * PAUSE for taken in times)
    cpu_p999 = float(np.quantile(cpu, 0.999)) / 1000
    return Latency(form, size, len(times), p50, p99, p999, max(times) / 1000, pauses, cpu_p999, max(cpu) / 1000, found)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.live", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help=f"streams of {QUICK_EVENTS:,} events only")
    parser.add_argument("--share", type=float, default=1.0, help="how much of the streams is fed, such as 0.1")
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    options = parser.parse_args(arguments)
    names = ("form", "batch", "feeds", "p50 us", "p99 us", "p99.9 us", "longest us", "over 50 ms")
    told = Table(*names, "CPU p99.9 us", "CPU longest us", "matches", title=QUERY)
    figures: list[Latency] = []
    for size, events in DEFAULT_EVENTS.items():
        whole = drifting_stream(QUICK_EVENTS if options.quick else int(events * options.share))
        for form in ("arrow", "dicts"):
            table = whole if form == "arrow" or options.quick else whole.slice(0, max(len(whole) // DICTS, 100_000))
            try:
                with TemporaryDirectory() as empty:
                    # A smoke run compiles once, and not for each row.
                    cache = default_cache_dir() if options.quick else None
                    taken = latency(table, size, form, Path(empty) if cache is None else cache)
            except WrongAnswer as wrong:
                print(wrong, file=sys.stderr)
                return 1
            figures.append(taken)
            clock = (taken.feeds, taken.p50, taken.p99, taken.p999, taken.longest, taken.pauses)
            row = (*clock, taken.cpu_p999, taken.cpu_longest, taken.matches)
            told.add_row(form, f"{size:,}", *(f"{value:,.0f}" for value in row))
    Console(width=WIDTH).print(told)
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps([asdict(figure) for figure in figures], indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
