"""The speeds to reach, each a ratio or a difference within one run of the benchmark."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial, reduce
from pathlib import Path
from time import perf_counter

from rich.table import Table

from augury.kernels.eager.kernel import EagerKernel
from augury.options import Options
from benchmarks.first_result import FIRST, FIRST_SEED
from benchmarks.measure import (
    Batches,
    Time,
    WrongAnswer,
    alternate,
    check,
    cut,
    kernel_for,
    kernel_of,
    state_bytes,
    timed_run,
    watched,
)
from benchmarks.stock import repeated, stock_stream
from benchmarks.workload import ITERATORS, STRATEGIES, Tally, Workload, expected
from benchmarks.workload import Iterator as Predicate

NOTHING = "PATTERN SEQ(Stock a, Stock b) WHERE partition_contiguity { [symbol] AND a.price > 5000 } WITHIN "
"""A query that no tick can even start."""


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured figure; `target` is None where it only explains another."""

    section: str
    what: str
    value: float
    unit: str
    target: float | None = None
    at_least: bool = False
    void: str | None = None

    @property
    def reached(self) -> bool | None:
        if self.target is None:
            return None
        return self.void is None and (self.value >= self.target if self.at_least else self.value <= self.target)

    def to_json(self) -> dict[str, object]:
        return {**asdict(self), "reached": self.reached}


@dataclass(frozen=True, slots=True)
class Setting:
    """How long to measure, and where compiled kernels are kept."""

    cache: Path
    rounds: int
    scale: int
    """Streams are this many times shorter than they should be: 1 but for a smoke run."""


def compiled_against_plain(setting: Setting) -> Iterator[Figure]:
    """(a) The same kernel, compiled and as the plain Python it is written in."""
    table = stock_stream(20_000 // setting.scale)
    batches = cut(table, 10_000)
    for strategy in STRATEGIES:
        for iterator in ITERATORS:
            workload = Workload(strategy, iterator, 500)
            answer = expected(workload, table)
            costs: dict[bool, _Split] = {}
            for jit in (True, False):
                kernel = kernel_for(workload, table, setting.cache, jit=jit)
                check(kernel, batches, answer)
                costs[jit] = _Split(kernel)
            # After a second of plain Python a run of milliseconds meets cold caches: the fastest of several counts.
            alternate(
                {
                    False: partial(costs[False].run, batches, answer.matches),
                    True: partial(_least_of, 5, partial(costs[True].run, batches, answer.matches)),
                },
                setting.rounds,
            )
            # In a smoke run a part may take no time that can be measured.
            gain = {part: seconds / max(costs[True].least[part], 1e-9) for part, seconds in costs[False].least.items()}
            yield Figure("a", f"compiled against plain: {workload.name}", gain["in all"], "x", 50, True)
            yield Figure("a", f"... generated code alone: {workload.name}", gain["generated code"], "x")
            share = costs[True].least["the rest"] / costs[True].least["in all"]
            yield Figure("a", f"... of compiled, outside generated code: {workload.name}", 100 * share, "%")


def flat_in_the_stream(setting: Setting) -> Iterator[Figure]:
    """(b) Cost per event and memory, as the stream grows 100-fold by repetition of its first part."""
    short = stock_stream(10_000 // setting.scale)
    long = repeated(short, 100)
    for workload in (
        Workload("skip_till_next_match", "p2", 500),
        Workload("skip_till_next_match", "p2", 1000, timed=True),
    ):
        kernel = kernel_for(workload, short, setting.cache)
        small, large = cut(short, 1000), cut(long, 1000)
        answers = expected(workload, short), expected(workload, long)
        memory = [state_bytes(check(kernel, b, a)) for b, a in zip((small, large), answers, strict=True)]
        times = alternate(
            {
                # A hundred short streams against one long one: the same number of events, the same share of noise.
                "short": partial(_times_over, 100, partial(timed_run, kernel, small, answers[0].matches)),
                "long": partial(timed_run, kernel, large, answers[1].matches),
            },
            setting.rounds,
        )
        yield Figure(
            "b", f"cost per event, 1M against 10k: {workload.name}", times["long"].cpu / times["short"].cpu, "x", 1.5
        )
        yield Figure("b", f"... at 1M: {workload.name}", times["long"].cpu / large.events * 1e9, "ns/event")
        yield Figure("b", f"memory of the state, 1M against 10k: {workload.name}", memory[1] / memory[0], "x", 2)
        yield Figure("b", f"... at 1M: {workload.name}", memory[1] / 1024, "KiB")


def _least_of(count: int, measure: Callable[[], Time]) -> Time:
    return reduce(Time.least, (measure() for _ in range(count)))


def _times_over(count: int, measure: Callable[[], Time]) -> Time:
    return sum((measure() for _ in range(count)), Time(0.0, 0.0))


def merging(setting: Setting) -> Iterator[Figure]:
    """(c) Merging equivalent runs against not merging, at the largest window of the paper."""
    table = stock_stream(40_000 // setting.scale)
    batches = cut(table, 10_000)
    predicates: Sequence[Predicate] = ("p1", "p2")
    for iterator in predicates:
        workload = Workload("skip_till_next_match", iterator, 2000)
        answer = expected(workload, table)
        for written in (True, False):
            costs: dict[bool, _Split] = {}
            for merge in (False, True):
                kernel = kernel_for(workload, table, setting.cache, merge=merge, compressed=not written)
                check(kernel, batches, answer)
                costs[merge] = _Split(kernel)
            # Counting is cheap, and its parts take so little time that only the least of many runs says something.
            alternate(
                {merge: partial(split.run, batches, answer.matches) for merge, split in costs.items()},
                setting.rounds if written else 20 * setting.rounds,
            )
            yield from _merging_figures(workload.name, costs, written=written)


def _merging_figures(workload: str, costs: Mapping[bool, _Split], *, written: bool) -> Iterator[Figure]:
    name = f"{workload}, matches {'written out' if written else 'counted'}"
    for part in ("in all", "matching"):
        gain = costs[False].least[part] / costs[True].least[part]
        # The paper compares with sequence construction turned off, since both variants share that cost.
        target = 2 if part == "matching" and not written else None
        yield Figure("c", f"gain of merging, {part}: {name}", gain, "x", target, True)
    for merge, split in costs.items():
        for part, seconds in split.least.items():
            yield Figure("c", f"... {'merged' if merge else 'unmerged'}, {part}: {name}", seconds * 1e3, "ms")


class _Split:
    """The least CPU time of a kernel's parts over several runs."""

    def __init__(self, kernel: EagerKernel) -> None:
        self._kernel = kernel
        self._code, self._support = watched(kernel)
        self.least: dict[str, float] = {}

    def run(self, batches: Batches, matches: int) -> Time:
        self._code.spent.clear()
        self._support.spent.clear()
        spent = timed_run(self._kernel, batches, matches)
        code, support = self._code.spent, self._support.spent
        parts = {
            "in all": spent.cpu,
            "matching": code["advance"] + support.get("collect", 0.0),
            "construction": support.get("expand", 0.0) + support.get("count", 0.0),
        }
        parts["generated code"] = sum(code.values()) + sum(support.values())
        parts["the rest"] = spent.cpu - parts["generated code"]
        self.least = {part: min(seconds, self.least.get(part, seconds)) for part, seconds in parts.items()}
        return spent


def overhead_of_a_step(setting: Setting) -> Iterator[Figure]:
    """(d) What cutting a stream into batches of 1,000 events costs a batch."""
    table = stock_stream(1_000_000 // setting.scale)
    steps = table.num_rows // 1000
    whole, pieces = cut(table, table.num_rows), cut(table, 1000)
    for window, parameters in (("500 EVENTS", {}), ("W", {"W": 500})):
        workload = Workload("partition_contiguity", "p2", 500, timed=bool(parameters))
        unit = "ticks" if parameters else "events"
        for name, text, answer in (
            (workload.name, workload.text, expected(workload, table)),
            (f"no match w=500 {unit}", NOTHING + window, Tally(0, 0, 0)),
        ):
            kernel = kernel_of(text, table, Options(jit=True, cache_dir=setting.cache, parameters=parameters))
            for batches in (whole, pieces):
                check(kernel, batches, answer)
            one, many = alternate(
                {len(b.parts): partial(timed_run, kernel, b, answer.matches) for b in (whole, pieces)}, setting.rounds
            ).values()
            yield Figure("d", f"overhead of a step: {name}", (many.cpu - one.cpu) / steps * 1e6, "us/step", 100)
            yield Figure("d", f"... a step of 1,000 events in all: {name}", many.cpu / steps * 1e6, "us/step")


def first_result(setting: Setting) -> Iterator[Figure]:
    """(e) From the start of a process to its first result, with an empty and with a filled cache."""
    new, cached = [], []
    for _ in range(setting.rounds):
        with tempfile.TemporaryDirectory() as folder:
            new.append(_process(folder))
            cached.append(_process(folder))
    for what, times, target in (("of a new query", new, 5.0), ("from a filled cache", cached, 1.5)):
        yield Figure("e", f"first result {what}", min(t.wall for t in times), "s", target)
        yield Figure("e", f"... CPU time {what}", min(t.cpu for t in times), "s")


def _process(folder: str) -> Time:
    began = perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.first_result", folder],
        cwd=Path(__file__).parent.parent,
        env={**os.environ, "PYTHONPATH": "src"},
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    wall = perf_counter() - began
    matches, cpu = done.stdout.split()
    answer = expected(FIRST, stock_stream(1000, seed=FIRST_SEED)).matches
    if int(matches) != answer:
        raise WrongAnswer(f"{matches} matches instead of {answer}")
    return Time(wall, float(cpu))


def many_keys(setting: Setting) -> Iterator[Figure]:
    """(f) The same number of events, spread over ever more partitions.

    The more keys, the fewer events of one fall into the stream, and the fewer matches there are; the query that matches
    nothing does the same work whatever the number of keys, but for finding the partition.
    """
    events = 1_000_000 // setting.scale
    tables = {keys: stock_stream(events, symbols=keys) for keys in (1, 100, 10_000, 100_000)}
    workload = Workload("skip_till_next_match", "p2", 100)
    for name, text in ((workload.name, workload.text), ("no match w=100", NOTHING + "100 EVENTS")):
        kernel = kernel_of(text, tables[1], Options(jit=True, cache_dir=setting.cache))
        variants: dict[int, Callable[[], Time]] = {}
        for keys, table in tables.items():
            batches = cut(table, 10_000)
            answer = expected(workload, table) if text == workload.text else Tally(0, 0, 0)
            check(kernel, batches, answer)
            variants[keys] = partial(timed_run, kernel, batches, answer.matches)
            if answer.matches:
                yield Figure("f", f"... {keys:,} keys, matches: {name}", answer.matches, "")
        times = alternate(variants, setting.rounds)
        for keys, time in times.items():
            yield Figure("f", f"... {keys:,} keys: {name}", time.cpu / events * 1e9, "ns/event")
        for keys in (100, 10_000, 100_000):
            yield Figure("f", f"{keys:,} keys against 1: {name}", times[keys].cpu / times[1].cpu, "x", 3)


SECTIONS: dict[str, Callable[[Setting], Iterator[Figure]]] = {
    "a": compiled_against_plain,
    "b": flat_in_the_stream,
    "c": merging,
    "d": overhead_of_a_step,
    "e": first_result,
    "f": many_keys,
}


def measure_section(section: str, setting: Setting) -> list[Figure]:
    """The figures of a section; a wrong answer voids all of it."""
    try:
        return list(SECTIONS[section](setting))
    except WrongAnswer as e:
        return [Figure(section, SECTIONS[section].__name__.replace("_", " "), 0.0, "", 0.0, void=str(e))]


def figures_table(figures: Sequence[Figure], *, verdicts: bool) -> Table:
    """The figures for people; without verdicts after a smoke run, which decides nothing."""
    table = Table(title="Speeds to reach" if verdicts else "Speeds to reach (smoke run)")
    for heading in ("", "figure"):
        table.add_column(heading)
    for heading in ("measured", "target", ""):
        table.add_column(heading, justify="right")
    for f in figures:
        target = "" if f.target is None else f"{'>=' if f.at_least else '<='} {f.target:g} {f.unit}"
        verdict = {None: "", True: "reached", False: "NOT REACHED"}[f.reached] if verdicts else ""
        measured = f"VOID: {f.void}" if f.void else f"{f.value:,.2f} {f.unit}"
        table.add_row(f.section, f.what, measured, target, verdict)
    return table
