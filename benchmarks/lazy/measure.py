"""One query on one stream, evaluated in several ways: what each costs, provided that its answer is right."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, fields, replace
from functools import partial, reduce
from pathlib import Path
from time import perf_counter, thread_time
from typing import Any

import numpy as np
import pyarrow as pa

from augury.compiler import CompiledQuery, compile_program, counted, load
from augury.engine.arrivals import Arrivals
from augury.engine.statistics import measure as statistics
from augury.errors import UnsupportedPlan
from augury.jit.tier import Tier
from augury.native.support import support_source
from augury.options import Options
from augury.runtime.batch import time_ticks
from augury.runtime.shared import matches_in
from augury.runtime.state import Kernel, RunState
from augury.schema import EventSchema
from augury.source import Source
from benchmarks.lazy.count import expected
from benchmarks.lazy.queries import Query
from benchmarks.measure import Batches, Time, WrongAnswer, alternate, cut, tally
from benchmarks.workload import Tally

FAST = 0.2
"""Seconds below which a run is measured several times in a row: a short one is disturbed more easily."""


LIVE = 1_000
"""Events in a batch where operations and memory are counted.

A lazy plan that has the whole stream before it looks ahead and keeps no partial match, so that one batch would show
nothing of what a stream costs.
"""


COUNTED = ("predicates", "bounds", "buffer_writes")
"""What is told of each event and each match."""


@dataclass(frozen=True, slots=True)
class Setting:
    """How long to measure, and where compiled kernels are kept."""

    cache: Path
    rounds: int
    scale: int
    """Streams are this many times shorter than they should be: 1 but for a smoke run."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A way to evaluate a query: a plan with its hints."""

    name: str
    options: Mapping[str, Any]


EAGER = Variant("eager", {"plan": "eager-nfa"})
TREE = Variant("tree", {"plan": "lazy-tree"})
PLANNED = Variant("planned", {})
"""Whatever the planner chooses, knowing the rates and selectivities of the stream."""


class Unavailable(Exception):
    """This release has no such plan or hint, or the plan cannot run the query."""


def chain(query: Query, table: pa.Table, negation: str | None = None) -> Variant:
    """The chain of the paper: ascending frequency, lists last."""
    counts = {str(row["values"]): int(row["counts"].as_py()) for row in table["type"].value_counts()}
    parts = sorted(query.positive, key=lambda p: (p.kind == "list", counts.get(p.type, 0)))
    hints: dict[str, Any] = {"plan": "lazy-chain", "order": tuple(p.variable for p in parts)}
    if negation is None:
        return Variant("chain", hints)
    return Variant(
        {"first-chance": "chain FC", "post-processing": "chain PP"}[negation], {**hints, "negation": negation}
    )


def variants(query: Query, table: pa.Table) -> list[Variant]:
    """Eager first where it can run the query, then the chain, with either kind of negation if there is one."""
    chains = [chain(query, table, n) for n in ("first-chance", "post-processing")] if query.negates else []
    return [*([EAGER] if query.runs_eagerly else []), *(chains or [chain(query, table)]), PLANNED]


def compiled(
    text: str, table: pa.Table, variant: Variant, cache: Path | None, **more: Any
) -> tuple[CompiledQuery, Options]:
    """The query taken through every stage; `Unavailable` says what is missing."""
    base = Options(jit=True, cache_dir=cache, max_matches=10**9, max_partial_matches=10**9)
    known = {f.name for f in fields(Options)}
    if missing := [name for name in variant.options if name not in known]:
        raise Unavailable(f"this release has no option `{missing[0]}`")
    options = replace(base, **variant.options, **more)
    schema = EventSchema.from_arrow(table.schema)
    rows = np.arange(table.num_rows)
    # What a host knows of a stream that it has in full.
    measured = partial(statistics.measure, Arrivals(table, rows, rows, time_ticks(table, schema)))
    try:
        return compile_program(Source(text), schema, options, measure=measured).last, options
    except UnsupportedPlan as e:
        raise Unavailable(str(e)) from e


def kernel_of(text: str, table: pa.Table, variant: Variant, cache: Path | None, **more: Any) -> Kernel:
    """The live kernel of a query."""
    return load(*compiled(text, table, variant, cache, **more))


def check(kernel: Kernel, batches: Batches, answer: Tally) -> RunState:
    """Run once and compare with the answer in full; also compiles what is not compiled yet."""
    state, found = kernel.start(), Tally(0, 0, 0)
    for batch, watermark in batches.parts:
        state, matches = kernel.step(state, batch, watermark)
        found += tally(matches)
    if found != answer:
        raise WrongAnswer(f"{found} instead of {answer}")
    return state


def timed(kernel: Kernel, batches: Batches, matches: int) -> Time:
    """The cost of one pass over the stream, the least of five if it is fast."""
    first = one_pass(kernel, batches, matches)
    return (
        reduce(Time.least, (one_pass(kernel, batches, matches) for _ in range(4)), first) if first.cpu < FAST else first
    )


def one_pass(kernel: Kernel, batches: Batches, matches: int) -> Time:
    """The cost of one pass over the stream, provided that it finds so many matches."""
    state, found = kernel.start(), 0
    wall, cpu = perf_counter(), thread_time()
    for batch, watermark in batches.parts:
        state, reported = kernel.step(state, batch, watermark)
        found += matches_in(reported)
    spent = Time(perf_counter() - wall, thread_time() - cpu)
    if found != matches:
        raise WrongAnswer(f"{found} matches instead of {matches}")
    return spent


def segment_times(kernel: Kernel, batches: Batches, matches: int, size: int) -> list[float]:
    """The CPU time of each `size` batches of a pass over the stream."""
    state, found = kernel.start(), 0
    spent = [0.0] * (len(batches.parts) // size)
    for k, (batch, watermark) in enumerate(batches.parts):
        began = thread_time()
        state, reported = kernel.step(state, batch, watermark)
        spent[k // size] += thread_time() - began
        found += matches_in(reported)
    if found != matches:
        raise WrongAnswer(f"{found} matches instead of {matches}")
    return spent


def peak_bytes(kernel: Kernel, batches: Batches) -> int:
    """The most memory that buffers, partial matches and one batch took at a time; NumPy reports what it allocates."""
    tracemalloc.start()
    try:
        state = kernel.start()
        for batch, watermark in batches.parts:
            state, _ = kernel.step(state, batch, watermark)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@contextmanager
def generated_code() -> Iterator[list[float]]:
    """While it lasts, the CPU time of all calls into code generated for a query is put into the list.

    What is the same for every query (numbering partitions, putting matches in order) is not part of it.
    """
    spent: list[float] = []
    plain, alike = Tier.__call__, set(support_source().entries)

    def watched(self: Tier, entry: str, *arguments: Any) -> Any:
        began = thread_time()
        result = plain(self, entry, *arguments)
        if entry not in alike:
            spent.append(thread_time() - began)
        return result

    setattr(Tier, "__call__", watched)  # noqa: B010  a plain assignment to a method does not type-check
    try:
        yield spent
    finally:
        setattr(Tier, "__call__", plain)  # noqa: B010


@dataclass(frozen=True, slots=True)
class Row:
    """One query on one stream by one variant; `void` says what is wrong with it, `missing` why it was not run."""

    stream: str
    query: str
    condition: str
    minutes: float
    variant: str
    events: int
    matches: int
    wall_seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_bytes: int = 0
    counters: Mapping[str, int] = field(default_factory=dict)
    void: str | None = None
    missing: str | None = None

    @property
    def measured(self) -> bool:
        return self.void is None and self.missing is None

    @property
    def events_per_second(self) -> float:
        return self.events / self.cpu_seconds if self.cpu_seconds else 0.0

    @property
    def peak_instances(self) -> int:
        """Runs of an eager automaton, partial matches of a lazy one."""
        return self.counters.get("peak_partial_matches", self.counters.get("peak_runs", 0))

    def per_event(self, counter: str) -> float:
        return self.counters.get(counter, 0) / self.events

    def per_match(self, counter: str) -> float:
        return self.counters.get(counter, 0) / self.matches if self.matches else 0.0

    def to_json(self) -> dict[str, object]:
        derived = {"events_per_second": self.events_per_second, "peak_instances": self.peak_instances}
        for counter in COUNTED:
            derived |= {
                f"{counter}_per_event": self.per_event(counter),
                f"{counter}_per_match": self.per_match(counter),
            }
        return {**asdict(self), **derived}


def measure(query: Query, table: pa.Table, stream: str, given: Sequence[Variant], setting: Setting) -> list[Row]:
    """A row for each variant, checked against an answer found without Augury."""
    return measure_against(expected(query, table), query, table, stream, given, setting)


def measure_against(
    answer: Tally, query: Query, table: pa.Table, stream: str, given: Sequence[Variant], setting: Setting
) -> list[Row]:
    """A row for each variant. All are timed on the whole stream as one batch, in turns."""
    whole, live = cut(table, table.num_rows), cut(table, LIVE)
    empty = Row(
        stream, query.name, type(query.condition).__name__.lower(), query.minutes, "", table.num_rows, answer.matches
    )
    rows: dict[str, Row] = {}
    kernels: dict[str, Kernel] = {}
    for variant in given:
        row = replace(empty, variant=variant.name)
        try:
            counting, options = compiled(query.text, table, variant, setting.cache, counters=True)
            kernel = load(counting, options)
            counters = counted(kernel, check(kernel, live, answer), options) or {}
            kernel = kernel_of(query.text, table, variant, setting.cache)
            check(kernel, whole, answer)
            kernels[variant.name] = kernel
            rows[variant.name] = replace(row, counters=counters, peak_bytes=peak_bytes(kernel, live))
        except Unavailable as e:
            rows[variant.name] = replace(row, missing=str(e))
        except WrongAnswer as e:
            rows[variant.name] = replace(row, void=str(e))
    try:
        times = alternate({n: partial(timed, k, whole, answer.matches) for n, k in kernels.items()}, setting.rounds)
    except WrongAnswer as e:
        # Right before and wrong now: whichever it was, none of these times is to be trusted.
        return [replace(rows[variant.name], void=rows[variant.name].void or str(e)) for variant in given]
    for name, time in times.items():
        rows[name] = replace(rows[name], wall_seconds=time.wall, cpu_seconds=time.cpu)
    return [rows[variant.name] for variant in given]
