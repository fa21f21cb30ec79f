"""What an event costs, by stage, and whether a linear model of it holds: `python -m benchmarks.scale`.

A keyed query over random events in Parquet is measured in CPU time, which other programs on the machine disturb less
than the clock. The model, a cost of the call and one of each event, is the line through the smallest and the largest
stream; it is compared with those in between, on one thread and on two.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

import augury
from augury.compiler import load
from augury.engine.sources.schemas import known_events
from augury.kernels.stream import StreamKernel
from augury.options import Roles, make_options

EVENTS = (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
EVENTS_PER_SECOND = 1_000
KEYS = 10_000
TYPES = np.array(["A", "B", "C", "D"])
QUERY = "PATTERN SEQ(A a, B b) WHERE [k] AND b.x > a.x WITHIN 60 seconds"
COLUMNS = ("ts", "type", "k", "x")
TIME: Final = "ts"
UNIT: Final = "us"
ROW_GROUP_EVENTS = 250_000
STATE_EVENTS = 200_000


@dataclass(frozen=True, slots=True)
class Cost:
    """CPU seconds of one stage over so many events: `fixed` for the call, `event` for each of them.

    >>> Cost.fitted({1_000: 0.5, 2_000: 0.75}).of(4_000)
    1.25
    """

    fixed: float
    event: float

    @classmethod
    def fitted(cls, seconds: Mapping[int, float]) -> Cost:
        """The line through the smallest and the largest stream."""
        (few, least), *_, (more, most) = sorted(seconds.items())
        event = (most - least) / (more - few)
        return cls(least - few * event, event)

    def of(self, events: int) -> float:
        return self.fixed + events * self.event


def write_stream(path: Path, events: int) -> None:
    """Random events in the order of time, a row group at a time."""
    chance = np.random.default_rng(1)
    schema = pa.schema([("ts", pa.int64()), ("type", pa.string()), ("k", pa.int64()), ("x", pa.float64())])
    with pq.ParquetWriter(path, schema, compression="zstd") as writer:
        for first in range(0, events, ROW_GROUP_EVENTS):
            n = min(ROW_GROUP_EVENTS, events - first)
            ts = (np.arange(first, first + n) * 1_000_000) // EVENTS_PER_SECOND
            columns = ts, TYPES[chance.integers(0, len(TYPES), n)], chance.integers(0, KEYS, n), chance.random(n)
            writer.write_table(pa.table([pa.array(c) for c in columns], schema=schema))


def least_cpu(work: Callable[[], object], rounds: int) -> float:
    """CPU seconds of the cheapest of several runs, after one that is not counted."""
    work()
    found = []
    for _ in range(rounds):
        began = process_time()
        work()
        found.append(process_time() - began)
    return min(found)


def measure(path: Path, rounds: int) -> dict[str, float]:
    """CPU seconds by stage; matching is what a call takes beyond reading, writing what a sink takes beyond the call."""
    out = path.with_suffix(".matches.parquet")

    def read() -> None:
        file = pq.ParquetFile(path, read_dictionary=["type"])
        for group in range(file.num_row_groups):
            file.read_row_group(group, columns=list(COLUMNS), use_threads=False)

    def match(threads: int) -> int:
        return len(augury.match(path, QUERY, threads=threads, max_matches=10**9, time=TIME, time_unit=UNIT))

    query = augury.compile(QUERY, path, time=TIME, time_unit=UNIT, max_matches=10**9)
    reading = least_cpu(read, rounds)
    one, two = least_cpu(lambda: match(1), rounds), least_cpu(lambda: match(2), rounds)
    sinking = least_cpu(lambda: query.sink_parquet(path, out), rounds)
    return {
        "read": reading,
        "match": max(0.0, one - reading),
        "write": max(0.0, sinking - two),
        "call, 1 thread": one,
        "call, 2 threads": two,
    }


def state_bytes(path: Path) -> float:
    """Bytes that a kernel holds for each event of a window, with its buffers."""
    known = known_events(str(path), Roles(time=TIME, time_unit=UNIT))
    assert known is not None
    assert known.scan is not None
    query = augury.compile(QUERY, path, time=TIME, time_unit=UNIT).program.last
    kernel = load(query, make_options(jit=True))
    assert isinstance(kernel, StreamKernel)
    events = known.scan.events(query.rewritten).slice(0, STATE_EVENTS)
    state, _ = kernel.step(kernel.start(), events.batch(query.bound.schema), int(events.time[-1]))
    held = sum(int(table.nbytes) for table in state.tables.values())
    return held / kernel.remembered(state)["events"]


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--events", type=int, nargs="+", default=list(EVENTS), help="sizes of the streams, two or more")
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args(arguments)
    warnings.simplefilter("ignore", augury.AuguryWarning)
    with tempfile.TemporaryDirectory() as folder:
        found: dict[int, dict[str, float]] = {}
        for events in sorted(given.events):
            path = Path(folder) / f"{events}.parquet"
            write_stream(path, events)
            found[events] = measure(path, given.rounds)
        held = state_bytes(Path(folder) / f"{min(found)}.parquet")
    table = Table(title="CPU time of a stage: the line through the smallest and the largest stream")
    for column in ("stage", "call, ms", "event, ns", *(f"{n:,}: measured / model" for n in sorted(found)[1:-1])):
        table.add_column(column, justify="right")
    for stage in next(iter(found.values())):
        seconds = {events: by_stage[stage] for events, by_stage in found.items()}
        cost = Cost.fitted(seconds)
        compared = [f"{seconds[n]:.2f} / {cost.of(n):.2f} s" for n in sorted(found)[1:-1]]
        table.add_row(stage, f"{cost.fixed * 1e3:.1f}", f"{cost.event * 1e9:.0f}", *compared)
    console = Console()
    console.print(table)
    console.print(f"state: {held:.0f} bytes an event of the window")
    return 0


if __name__ == "__main__":
    sys.exit(main())
