"""The experiments: each yields rows, figures with their targets, and what could not be measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import permutations

import pyarrow as pa

from augury.compiler import counted, load
from augury.runtime.state import Kernel
from benchmarks.lazy.bars import minute_bars
from benchmarks.lazy.count import expected, times_over
from benchmarks.lazy.figures import Finding, Skipped, gains
from benchmarks.lazy.limit import against_cpp
from benchmarks.lazy.loops import numpy_in_loops
from benchmarks.lazy.measure import (
    EAGER,
    TREE,
    Row,
    Setting,
    Unavailable,
    Variant,
    chain,
    check,
    compiled,
    kernel_of,
    measure,
    segment_times,
    timed,
    variants,
)
from benchmarks.lazy.queries import Condition, Correlated, Query, Rising, sequence
from benchmarks.lazy.streams import MINUTE, by_ratio, ratio_stream, region_stream, repeated, rotations, switching_stream
from benchmarks.lazy.workload import bar_queries, paper_queries, ratio_queries
from benchmarks.measure import Batches, WrongAnswer, alternate, cut
from benchmarks.targets import Figure

CORRELATED = Correlated(0.9)
RISING = Rising(4)
CONDITIONS: tuple[Condition, ...] = (CORRELATED, RISING)

BY_WINDOW = ("SEQ3", "SEQ5", "AND3", "NEG SEQ5", "ITER3", "OR2SEQ4")
"""The patterns that are measured with other windows than 20 minutes."""


def paper_workload(setting: Setting) -> Iterator[Finding]:
    """All patterns of the paper on a stream with the frequencies of the regions, by window."""
    table = region_stream(40_000 // setting.scale, per_minute=200)
    for condition in CONDITIONS:
        for query in paper_queries(condition, 20):
            yield from measure(query, table, "regions", variants(query, table), setting)
    for minutes in () if setting.scale > 1 else (5.0, 10.0, 30.0):
        for query in paper_queries(CORRELATED, minutes):
            # Every window is another kernel to compile, so only some of the patterns have all of them.
            if query.name in BY_WINDOW:
                yield from measure(query, table, "regions", variants(query, table)[:-1], setting)


def real_bars(setting: Setting) -> Iterator[Finding]:
    """Patterns of the paper on minute bars, one trading day."""
    table = minute_bars(391 if setting.scale == 1 else 90)
    if table is None:
        yield Skipped("bars", "minute bars of 2018", "there is no ../shared/data beside the repository")
        return
    for query in bar_queries(CORRELATED, 20):
        yield from measure(query, table, "bars", variants(query, table), setting)


def ratios(setting: Setting) -> Iterator[Finding]:
    """Rarest to most frequent type 1:3 to 1:700, in 20 minutes."""
    for ratio in (3, 30) if setting.scale > 1 else (3, 10, 30, 100, 300, 700):
        decisive = ratio in (3, 30)
        for condition in CONDITIONS if decisive else (CORRELATED,):
            queries = list(ratio_queries((3, 4, 5), condition))
            if decisive:
                queries += ratio_queries((3, 4), condition, rarest_first=True)
            for query in queries:
                yield from _at_ratio(query, ratio, setting)


def _at_ratio(query: Query, ratio: int, setting: Setting) -> Iterator[Finding]:
    types = len(query.branches[0].parts)
    # The closer the rates, the more matches an event has.
    events = (15_000 if ratio == 3 else 30_000) // setting.scale
    table = ratio_stream(types, ratio, events, per_minute=100)
    rows = measure(query, table, f"1:{ratio}", variants(query, table), setting)
    yield from rows
    if ratio == 3:
        yield from gains("ratios", rows, least=0.9)
    elif ratio == 30 and query.name in ("SEQ4", "SEQ5", "NEG SEQ3", "NEG SEQ5"):
        yield from gains("ratios", rows, least=10, fewer=10)
    else:
        yield from gains("ratios", rows)


def switching(setting: Setting) -> Iterator[Finding]:
    """The rarest of three types changes after each 100,000 events: the tree against every chain, by segment."""
    segments = rotations(by_ratio(3, 100))
    size, batch = 100_000 // setting.scale, 10_000 // setting.scale
    table = switching_stream(segments, size, per_minute=100)
    query = sequence("SEQ3", ["T1", "T2", "T3"], RISING, 10)
    answer = expected(query, table)
    batches = cut(table, batch)
    chains = [Variant(f"chain {' '.join(o)}", {"plan": "lazy-chain", "order": o}) for o in permutations("abc")]
    kernels: dict[str, Kernel] = {}
    for variant in (TREE, *chains, EAGER):
        try:
            kernel = kernel_of(query.text, table, variant, setting.cache)
        except Unavailable as e:
            yield Skipped("switching", variant.name, str(e))
            continue
        check(kernel, batches, answer)
        kernels[variant.name] = kernel
        yield from _computations(query, table, variant, batches, size // batch, setting)
    best: dict[str, list[float]] = {}
    for k in range(3 * setting.rounds):
        for name in list(kernels) if k % 2 == 0 else reversed(list(kernels)):
            spent = segment_times(kernels[name], batches, answer.matches, size // batch)
            best[name] = list(map(min, spent, best.get(name, spent)))
    for name, spent in best.items():
        for k, seconds in enumerate(spent):
            yield Figure("switching", f"... segment {k + 1}, {name}", seconds / size * 1e9, "ns/event")
    fixed = [best[variant.name] for variant in chains if variant.name in best]
    if fixed:
        for k, seconds in enumerate(best.get("tree", ())):
            least = min(spent[k] for spent in fixed)
            yield Figure("switching", f"tree against the best chain, segment {k + 1}", seconds / least, "x", 1.3)


def _computations(
    query: Query, table: pa.Table, variant: Variant, batches: Batches, size: int, setting: Setting
) -> Iterator[Figure]:
    """Predicates evaluated in each `size` batches, the measure of the paper's figure 18."""
    found, options = compiled(query.text, table, variant, setting.cache, counters=True)
    kernel = load(found, options)
    state, before = kernel.start(), 0
    for k, (batch, watermark) in enumerate(batches.parts, 1):
        state, _ = kernel.step(state, batch, watermark)
        counts = counted(kernel, state, options)
        if counts is not None and k % size == 0:
            what = f"... predicates, segment {k // size}, {variant.name}"
            per_event = (counts["predicates"] - before) * len(batches.parts) / batches.events / size
            yield Figure("switching", what, per_event, "/event")
            before = counts["predicates"]


def stream_length(setting: Setting) -> Iterator[Finding]:
    """A stream ten times as long, window as before: what an event costs."""
    short = ratio_stream(4, 30, 100_000 // setting.scale, per_minute=100)
    long = repeated(short, 10, 60 * MINUTE)
    for condition in CONDITIONS:
        query = sequence("SEQ4", list(by_ratio(4, 30)), condition, 20)
        answer = expected(query, short)
        answers = {1: answer, 10: times_over(answer, 10, short.num_rows)}
        for size in (10_000, long.num_rows):
            cutting = "batches of 10,000" if size == 10_000 else "one batch"
            what = f"cost per event, 10 times the stream: chain SEQ4 {type(condition).__name__.lower()}, {cutting}"
            try:
                kernel = kernel_of(query.text, short, chain(query, short), setting.cache)
            except Unavailable as e:
                yield Skipped("length", what, str(e))
                continue
            batches = {1: cut(short, size), 10: cut(long, size)}
            for k, b in batches.items():
                check(kernel, b, answers[k])
            spent = alternate(
                {k: partial(timed, kernel, b, answers[k].matches) for k, b in batches.items()}, setting.rounds
            )
            yield Figure("length", what, spent[10].cpu / spent[1].cpu / 10, "x", 1.3)
            yield Figure(
                "length",
                f"... at {long.num_rows:,} events: {what.partition(': ')[2]}",
                spent[10].cpu / long.num_rows * 1e9,
                "ns/event",
            )


def inner_loops(setting: Setting) -> Iterator[Finding]:
    """NumPy called inside a loop of generated code."""
    table = ratio_stream(5, 30, 1_000, per_minute=100)
    for condition in CONDITIONS:
        for query in ratio_queries((3, 4, 5), condition):
            for variant in variants(query, table)[:-1]:
                what = f"NumPy calls inside loops: {variant.name} {query.name} {type(condition).__name__.lower()}"
                try:
                    found, _ = compiled(query.text, table, variant, setting.cache)
                except Unavailable as e:
                    yield Skipped("loops", what, str(e))
                    continue
                calls = numpy_in_loops(found)
                yield Figure("loops", what, len(calls), "", None if variant is EAGER else 0)


SECTIONS: Mapping[str, Callable[[Setting], Iterator[Finding]]] = {
    "workload": paper_workload,
    "bars": real_bars,
    "ratios": ratios,
    "switching": switching,
    "length": stream_length,
    "limit": against_cpp,
    "loops": inner_loops,
}


def measure_section(section: str, setting: Setting) -> Iterator[Finding]:
    """What a section finds, as it finds it; a wrong answer outside a row voids the rest of it."""
    try:
        yield from SECTIONS[section](setting)
    except WrongAnswer as e:
        yield Figure(section, SECTIONS[section].__name__.replace("_", " "), 0.0, "", 0.0, void=str(e))


def split(found: Sequence[Finding]) -> tuple[list[Row], list[Figure], list[Skipped]]:
    """Rows, figures and what was skipped, each in order."""
    return (
        [f for f in found if isinstance(f, Row)],
        [f for f in found if isinstance(f, Figure)],
        [f for f in found if isinstance(f, Skipped)],
    )
