"""Running a kernel over a stream, and what that costs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter, thread_time
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa

from augury.compiler import compile_program, load
from augury.kernels.eager.kernel import EagerKernel
from augury.options import Options
from augury.runtime.batch import EventBatch, time_ticks
from augury.runtime.matches import MatchSet
from augury.runtime.shared import FoundMatches, matches_in
from augury.runtime.state import FOREVER, RunState
from augury.schema import EventSchema
from augury.source import Source
from benchmarks.workload import Tally, Workload

Name = TypeVar("Name")


class WrongAnswer(Exception):
    """A run found other matches than it should, so its time means nothing."""


@dataclass(frozen=True, slots=True)
class Time:
    """Seconds by the clock, and of this thread on a CPU."""

    wall: float
    cpu: float

    def __add__(self, other: Time) -> Time:
        return Time(self.wall + other.wall, self.cpu + other.cpu)

    def least(self, other: Time) -> Time:
        return Time(min(self.wall, other.wall), min(self.cpu, other.cpu))


@dataclass(frozen=True, slots=True)
class Batches:
    """A stream cut into batches, each with the watermark that comes with it."""

    events: int
    parts: tuple[tuple[EventBatch, int], ...]


def cut(table: pa.Table, size: int) -> Batches:
    """The stream in batches of `size` events, the way a host hands them over."""
    schema = EventSchema.from_arrow(table.schema)
    time = time_ticks(table, schema)
    rows = np.arange(table.num_rows)
    parts = []
    for at in range(0, table.num_rows, size):
        end = min(at + size, table.num_rows)
        watermark = int(time[end]) if end < table.num_rows else FOREVER
        parts.append((EventBatch(table.slice(at, end - at), rows[at:end], time[at:end]), watermark))
    return Batches(table.num_rows, tuple(parts))


def kernel_of(text: str, table: pa.Table, options: Options) -> EagerKernel:
    """The automaton of a query; it is an error if the planner chose something else."""
    query = compile_program(Source(text), EventSchema.from_arrow(table.schema), options).last
    kernel = load(query, options)
    assert isinstance(kernel, EagerKernel), query.choice
    return kernel


def kernel_for(workload: Workload, table: pa.Table, cache: Path | None, **options: Any) -> EagerKernel:
    """The compiled automaton of a workload, unless the options say otherwise."""
    base = Options(jit=True, cache_dir=cache, max_matches=10**9, parameters=workload.parameters)
    return kernel_of(workload.text, table, replace(base, **options))


def tally(matches: FoundMatches) -> Tally:
    """What a set of matches comes to, written out."""
    if not isinstance(matches, MatchSet):
        return sum(map(tally, matches.batches()), Tally(0, 0, 0))
    values = [column.flatten().to_numpy() for column in matches.rows]
    return Tally(len(matches.start), sum(len(v) for v in values), int(sum(v.sum() for v in values)))


def run(kernel: EagerKernel, batches: Batches) -> tuple[RunState, Tally]:
    """One pass over the stream, with everything found; matches are counted and written out, which must agree."""
    state, found = kernel.start(), Tally(0, 0, 0)
    for batch, watermark in batches.parts:
        state, matches = kernel.step(state, batch, watermark)
        written = tally(matches)
        if written.matches != matches_in(matches):
            raise WrongAnswer(f"{written.matches} matches written out, {matches_in(matches)} counted")
        found += written
    return state, found


def timed_run(kernel: EagerKernel, batches: Batches, matches: int) -> Time:
    """The cost of one pass over the stream, provided that it finds so many matches."""
    wall, cpu, found = perf_counter(), thread_time(), 0
    state = kernel.start()
    for batch, watermark in batches.parts:
        state, reported = kernel.step(state, batch, watermark)
        found += matches_in(reported)
    spent = Time(perf_counter() - wall, thread_time() - cpu)
    if found != matches:
        raise WrongAnswer(f"{found} matches instead of {matches}")
    return spent


def check(kernel: EagerKernel, batches: Batches, answer: Tally) -> RunState:
    """Run once, compare with the answer in full; the state at the end. Also compiles what is not compiled yet."""
    state, found = run(kernel, batches)
    if found != answer:
        raise WrongAnswer(f"{found} instead of {answer}")
    return state


def alternate(variants: Mapping[Name, Callable[[], Time]], rounds: int) -> dict[Name, Time]:
    """The least time of each variant; they take turns, so that a noisy minute hurts all of them.

    Every other round goes backwards, so that none always comes first.
    """
    best: dict[Name, Time] = {}
    for k in range(rounds):
        for name in list(variants) if k % 2 == 0 else reversed(list(variants)):
            spent = variants[name]()
            best[name] = spent.least(best.get(name, spent))
    return {name: best[name] for name in variants}


class Stopwatch:
    """Stands before the entries of a kernel and keeps the CPU time spent in each."""

    def __init__(self, entries: Any) -> None:
        self._entries = entries
        self.spent: dict[str, float] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._entries, name)

    def __call__(self, entry: str, *arguments: Any) -> Any:
        return self._timed(entry, self._entries, entry, *arguments)

    def timed_call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        return self._timed(function.__name__, self._entries.timed_call, function, *arguments)

    def _timed(self, name: str, function: Callable[..., Any], *arguments: Any) -> Any:
        began = thread_time()
        result = function(*arguments)
        self.spent[name] = self.spent.get(name, 0.0) + thread_time() - began
        return result


def watched(kernel: EagerKernel) -> tuple[Stopwatch, Stopwatch]:
    """Put stopwatches before the query's own code and before the code that all queries share."""
    code, support = Stopwatch(kernel.code), Stopwatch(kernel.support)
    for user in (kernel, kernel.reporting):
        for name, watch in (("code", code), ("support", support)):
            setattr(user, name, watch)
    return code, support


def state_bytes(state: RunState) -> int:
    """The memory held by a state that is in use."""
    live = getattr(state.tables, "state")  # noqa: B009  only a live state has it
    arrays: Sequence[Any] = (*live.pool.values(), *live.events.arrays.values())
    return sum(int(a.nbytes) for a in arrays)
