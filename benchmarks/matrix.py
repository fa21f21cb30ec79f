"""The experiments of paper 001, section 6: each query of the template, by window size, with and without merging."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa
from rich.table import Table

from benchmarks.measure import Batches, Time, WrongAnswer, alternate, check, cut, kernel_for, timed_run
from benchmarks.workload import ITERATORS, STRATEGIES, Tally, Workload, expected


@dataclass(frozen=True, slots=True)
class Row:
    """One query, merging or not, on one stream; `void` says what was wrong with its answer."""

    query: str
    merging: bool
    events: int
    matches: int
    match_length: float
    runs: int = 0
    peak_runs: int = 0
    merged: int = 0
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
    void: str | None = None

    @property
    def events_per_second(self) -> float:
        return self.events / self.cpu_seconds if self.cpu_seconds else 0.0

    def to_json(self) -> dict[str, object]:
        return {**asdict(self), "events_per_second": self.events_per_second}


def workloads(windows: Sequence[int]) -> Iterator[Workload]:
    for strategy in STRATEGIES:
        for iterator in ITERATORS:
            for window in windows:
                yield Workload(strategy, iterator, window)


def measure_matrix(table: pa.Table, windows: Sequence[int], cache: Path, rounds: int) -> Iterator[Row]:
    """Both rows of every workload, measured in turns."""
    batches = cut(table, 10_000)
    for workload in workloads(windows):
        yield from measure_pair(workload, table, batches, cache, rounds)


def measure_pair(workload: Workload, table: pa.Table, batches: Batches, cache: Path, rounds: int) -> list[Row]:
    """A workload without and with merging; both void if either finds something else than it should."""
    answer = expected(workload, table)
    counts, kernels = {}, {}
    try:
        for merge in (False, True):
            counting = kernel_for(workload, table, cache, merge=merge, counters=True)
            counts[merge] = counting.counters(check(counting, batches, answer))
            kernels[merge] = kernel_for(workload, table, cache, merge=merge)
            check(kernels[merge], batches, answer)
        times = alternate(
            {merge: partial(timed_run, kernel, batches, answer.matches) for merge, kernel in kernels.items()}, rounds
        )
    except WrongAnswer as e:
        return [_row(workload, merge, batches, answer, void=str(e)) for merge in (False, True)]
    return [_row(workload, merge, batches, answer, counts[merge], times[merge]) for merge in (False, True)]


def _row(
    workload: Workload,
    merge: bool,
    batches: Batches,
    answer: Tally,
    counts: dict[str, int] | None = None,
    time: Time | None = None,
    void: str | None = None,
) -> Row:
    counts, time = counts or {}, time or Time(0.0, 0.0)
    return Row(
        workload.name,
        merge,
        batches.events,
        answer.matches,
        answer.average,
        counts.get("runs", 0),
        counts.get("peak_runs", 0),
        counts.get("merged", 0),
        time.wall,
        time.cpu,
        void,
    )


def matrix_table(rows: Sequence[Row]) -> Table:
    """The rows for people."""
    table = Table(title="Paper 001: queries, windows, merging")
    for heading in ("query", "merging"):
        table.add_column(heading)
    for heading in ("events/s", "runs", "peak", "merged", "matches", "length"):
        table.add_column(heading, justify="right")
    for r in rows:
        table.add_row(
            r.query,
            "on" if r.merging else "off",
            f"VOID: {r.void}" if r.void else f"{r.events_per_second:,.0f}",
            *(f"{n:,}" for n in (r.runs, r.peak_runs, r.merged, r.matches)),
            f"{r.match_length:.1f}",
        )
    return table
