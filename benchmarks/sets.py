"""Event sets, covers and counting: `python -m benchmarks.sets`; the experiments of papers 002 and 003."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from time import perf_counter, thread_time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console

from augury.compiler import compile_program, load
from augury.kernels.sets.kernel import EventSetKernel
from augury.options import Options
from augury.plan import EventSetsPlan, FamilyName
from augury.runtime.shared import matches_in
from augury.runtime.state import Kernel
from augury.schema import EventSchema
from augury.source import Source
from benchmarks.chemotherapy import MEDICATIONS, brute_force_instances, chemotherapy_stream, set_query
from benchmarks.measure import Batches, Time, WrongAnswer, alternate, cut
from benchmarks.targets import Figure, figures_table

DATA = Path(__file__).parents[2] / "shared" / "data"
"""Where recorded streams are, if they are there."""

BATCH = 100
"""Events of a step where instances are counted: those that have expired are let go with each step."""


def instances(text: str, table: pa.Table, jit: bool = True) -> tuple[int, int]:
    """The most simultaneous instances of the SES automaton, and how many matches it finds."""
    options = Options(plan="event-sets", jit=jit, counters=True, max_matches=10**8)
    kernel = _kernel(text, table, options)
    assert isinstance(kernel, EventSetKernel)
    state, found = kernel.start(), 0
    for batch, watermark in cut(table, BATCH).parts:
        state, matches = kernel.step(state, batch, watermark)
        found += matches_in(matches)
    return kernel.counters(state)["peak_instances"], found


def _kernel(text: str, table: pa.Table, options: Options) -> Kernel:
    order = ("ts", "seq") if "seq" in table.column_names else ("ts",)
    schema = EventSchema.from_arrow(table.schema, order_by=order)
    return load(compile_program(Source(text), schema, options).last, options)


def run(kernel: Kernel, batches: Batches) -> tuple[Time, int]:
    """One pass over the stream, and how many matches it finds."""
    wall, cpu, found = perf_counter(), thread_time(), 0
    state = kernel.start()
    for batch, watermark in batches.parts:
        state, matches = kernel.step(state, batch, watermark)
        found += matches_in(matches)
    return Time(perf_counter() - wall, thread_time() - cpu), found


def compared(variants: dict[str, tuple[Kernel, Batches]], rounds: int) -> tuple[dict[str, Time], int]:
    """The least time of each kernel, all of which must find as many matches as one another."""
    counts = {name: run(*variant)[1] for name, variant in variants.items()}
    if len(set(counts.values())) > 1:
        raise WrongAnswer(f"matches: {counts}")
    calls: dict[str, Callable[[], Time]] = {name: partial(_time, *variant) for name, variant in variants.items()}
    return alternate(calls, rounds), next(iter(counts.values()))


def _time(kernel: Kernel, batches: Batches) -> Time:
    return run(kernel, batches)[0]


# -- paper 002 ---------------------------------------------------------------------------------------------------------


def against_brute_force(quick: bool) -> Iterator[Figure]:
    """(002-1) Simultaneous instances for |V1| = 2 to 6, the variables exclusive (P1) or all of one type (P2)."""
    table = chemotherapy_stream(6 if quick else 20, 2 if quick else 4)
    for size in range(2, 7):
        types = MEDICATIONS[:size]
        ours, _ = instances(set_query(types), table)
        theirs = brute_force_instances(table, types)
        yield Figure("002-1", f"P1, |V1| = {size}: instances", ours, "")
        yield Figure("002-1", f"P1, |V1| = {size}: of brute force", theirs, "")
        target = 100 if size == 6 else None
        yield Figure("002-1", f"P1, |V1| = {size}: times fewer", theirs / ours, "x", target, True)
    same = chemotherapy_stream(1 if quick else 3, 1, times=6)
    for size in range(2, 6 if quick else 7):
        types = ("C",) * size
        ours, _ = instances(set_query(types), same)
        yield Figure("002-1", f"P2, |V1| = {size}: times fewer", brute_force_instances(same, types) / ours, "x")


def growth(quick: bool) -> Iterator[Figure]:
    """(002-2) Instances by window size W to 5W: with a group variable (P3) and without (P4), all of one type."""
    for times in range(1, 4 if quick else 6):
        table = chemotherapy_stream(2 if quick else 3, 1, times=times)
        for name, group in (("P3", True), ("P4", False)):
            ours, _ = instances(set_query(("C", "C", "C"), group=group), table)
            yield Figure("002-2", f"{name}, {times}W: instances", ours, "")


def filtering(quick: bool) -> Iterator[Figure]:
    """(002-3) The filter, where nine of ten events are irrelevant: exclusive variables (P5) and of one type (P6)."""
    for name, types, patients, times in (("P5", ("C", "D", "P"), 1_000, 1), ("P6", ("C", "C", "C"), 300, 3)):
        table = chemotherapy_stream(patients // 10 if quick else patients, 1, times=times, irrelevant=0.9)
        on = _kernel(set_query(types, group=True), table, Options(plan="event-sets", jit=True, max_matches=10**8))
        assert isinstance(on, EventSetKernel)
        assert isinstance(on.plan, EventSetsPlan)
        off = EventSetKernel(replace(on.plan, filter=False), on.options)
        batches = cut(table, 10_000)
        spent, matches = compared({"on": (on, batches), "off": (off, batches)}, 1 if quick else 5)
        yield Figure("002-3", f"{name}: {table.num_rows} events, matches", matches, "")
        yield Figure(
            "002-3", f"{name}: with the filter, times faster", spent["off"].cpu / spent["on"].cpu, "x", 5, True
        )


# -- paper 003 ---------------------------------------------------------------------------------------------------------


def letters(size: int, *, run: int = 1, seed: int = 3) -> pa.Table:
    """The ABC stream of paper 003, section 4.1: types and an attribute at random, one event a second.

    Types come `run` times in a row, so that there are chains to link.
    """
    rng = np.random.default_rng(seed)
    types = np.repeat(rng.choice(list("ABCDE"), size // run), run)
    return pa.table({"ts": np.arange(len(types)), "type": types, "x": rng.integers(0, 100, len(types))})


def example() -> Iterator[Figure]:
    """(003-0) Section 3.2: temporary matches and copies on `a1 a2 b1 b2 a3 b3 c1 c2`."""
    linked, eager = example_counts()
    yield Figure("003-0", "temporary matches of linked chains", linked[0], "", 13)
    yield Figure("003-0", "copies of linked chains", linked[1], "", 10)
    yield Figure("003-0", "temporary matches of eager runs", eager[0], "", 24, True)
    yield Figure("003-0", "copies of eager runs", eager[1], "", 21, True)


def example_counts() -> tuple[tuple[int, int], tuple[int, int]]:
    """Temporary matches and copies, linked and eager; a temporary match that no run began is a copy of another.

    Combinations of chains are what covers need; for all matches linked chains make fewer temporary ones still.
    """
    table = pa.table({"ts": range(8), "type": list("AABBABCC")})
    found = []
    cases: tuple[tuple[FamilyName, str, int], ...] = (("linked", "COVER", 3), ("eager-nfa", "ALL", 14))
    for plan, output, expected in cases:
        text = f"PATTERN SEQ(A a, B b, C c) OUTPUT {output}"
        kernel = _kernel(text, table, Options(plan=plan, jit=False, merge=False, counters=True))
        [(batch, watermark)] = cut(table, 8).parts
        state, matches = kernel.step(kernel.start(), batch, watermark)
        if matches_in(matches) != expected:
            raise WrongAnswer(f"{matches_in(matches)} matches instead of {expected}")
        found.append(kernel.counters(state))  # type: ignore[attr-defined]
    linked, eager = found
    begun = table["type"].to_pylist().count("A")
    return (linked["temporary_matches"], linked["copies"]), (eager["buffer_writes"], eager["buffer_writes"] - begun)


QUERIES = ("ABC", "CDE", "BAD")
CONDITIONS = {"no predicates": "", "a.x < b.x": " WHERE a.x < b.x"}


def _sequence(types: str, where: str, window: int, output: str = "ALL") -> str:
    a, b, c = tuple(types)
    return f"PATTERN SEQ({a} a, {b} b, {c} c){where}\nWITHIN {window} seconds OUTPUT {output}"


def against_eager(quick: bool) -> Iterator[Figure]:
    """(003-1) All matches of SEQ3 by linked chains and by eager runs; windows of 50 to 300 seconds."""
    table = letters(5_000 if quick else 100_000)
    batches = cut(table, 10_000)
    windows = (50,) if quick else (50, 100, 150, 200, 300)
    for window in windows:
        for name, where in CONDITIONS.items():
            size = table.num_rows if window <= 100 else table.num_rows // 4
            part = batches if size == table.num_rows else cut(table.slice(0, size), 10_000)
            for types in QUERIES if window == 50 else QUERIES[:1]:
                text = _sequence(types, where, window)
                options = Options(jit=True, merge=False, max_matches=10**9, max_partial_matches=10**8)
                kernels = {
                    plan: (_kernel(text, table, replace(options, plan=plan)), part)
                    for plan in ("linked", "eager-nfa", "lazy-chain")
                }
                times, matches = compared(kernels, 1 if quick else 3)
                label = f"{types}, {name}, {window} s"
                yield Figure("003-1", f"{label}: matches", matches, "")
                for plan, time in times.items():
                    yield Figure("003-1", f"{label}: {plan}", 1000 * time.cpu, "ms")


def temporaries(quick: bool) -> Iterator[Figure]:
    """(003-2) Temporary matches of linked chains and of eager runs, by the length of the chains."""
    for length in (1, 5, 10):
        table = letters(2_000 if quick else 20_000, run=length)
        counts, found, spent = {}, set(), {}
        for plan in ("linked", "eager-nfa"):
            options = Options(plan=plan, jit=True, merge=False, counters=True, max_matches=10**9)
            kernel = _kernel(_sequence("ABC", "", 50), table, options)
            state, matches = kernel.start(), 0
            for batch, watermark in cut(table, 10_000).parts:
                state, reported = kernel.step(state, batch, watermark)
                matches += matches_in(reported)
            counts[plan] = kernel.counters(state)  # type: ignore[attr-defined]
            found.add(matches)
            spent[plan] = _time(kernel, cut(table, 10_000)).cpu
        if len(found) > 1:
            raise WrongAnswer(f"matches: {found}")
        yield Figure(
            "003-2", f"chains of {length}: linked, temporary matches", counts["linked"]["temporary_matches"], ""
        )
        yield Figure("003-2", f"chains of {length}: linked, copies", counts["linked"]["copies"], "")
        yield Figure("003-2", f"chains of {length}: eager, temporary matches", counts["eager-nfa"]["buffer_writes"], "")
        for plan, cpu in spent.items():
            yield Figure("003-2", f"chains of {length}: {plan}", 1000 * cpu, "ms")


def many_queries(quick: bool) -> Iterator[Figure]:
    """(003-3) Throughput of 50 to 250 queries at once: each the same pattern over other names for the types."""
    table = letters(2_000 if quick else 20_000)
    rng = np.random.default_rng(5)
    ways: tuple[tuple[str, FamilyName], ...] = (
        ("ALL", "eager-nfa"),
        ("ALL", "linked"),
        ("COVER", "linked"),
        ("LATEST", "linked"),
    )
    for output, plan in ways:
        options = Options(jit=True, plan=plan, merge=False, max_matches=10**9)
        kernel = _kernel(_sequence("ABC", "", 50, output), table, options)
        for queries in (50,) if quick else (50, 150, 250):
            streams = []
            for _ in range(queries):
                names = dict(zip("ABCDE", rng.permutation(list("ABCDE")), strict=True))
                types = pa.array([names[t] for t in table["type"].to_pylist()])
                streams.append(cut(table.set_column(1, "type", types), 10_000))
            run(kernel, streams[0])
            spent = sum(_time(kernel, stream).cpu for stream in streams)
            yield Figure("003-3", f"{queries} queries, {plan} {output}", table.num_rows / spent, "events/s")


def traffic(quick: bool, data: Path) -> Iterator[Figure]:
    """(003 on recorded traffic) Three reports of one sensor within half an hour: fast, crowded, slow."""
    file = data / "aarhus_traffic_2014.parquet"
    if not file.exists():
        yield Figure("003-t", "no recorded traffic: aarhus_traffic_2014.parquet is not in ../shared/data", 0, "")
        return
    table = pq.read_table(file).slice(0, 20_000 if quick else 500_000)
    text = (
        "PATTERN SEQ(a, b, c)\nWHERE [report_id] AND a.avg_speed > 60 AND b.vehicle_count > 10 AND c.avg_speed < 50\n"
        "WITHIN 30 minutes OUTPUT "
    )
    batches = cut(table, 10_000)
    options = Options(jit=True, merge=False, max_matches=10**9)
    both = {
        plan: (_kernel(text + "ALL", table, replace(options, plan=plan)), batches) for plan in ("linked", "eager-nfa")
    }
    times, matches = compared(both, 1 if quick else 3)
    yield Figure("003-t", f"{table.num_rows} events, matches", matches, "")
    for plan, time in times.items():
        yield Figure("003-t", f"ALL, {plan}", table.num_rows / time.cpu, "events/s")
    cover = _kernel(text + "COVER", table, replace(options, plan="linked"))
    run(cover, batches)
    yield Figure("003-t", "COVER, linked", table.num_rows / _time(cover, batches).cpu, "events/s")


# -- counting ----------------------------------------------------------------------------------------------------------


SIZES = {"10^6": (0.017, 5e5, 2e6), "10^12": (0.26, 1e12, 4e12)}
"""The share of the events that the predicates let through, and between which numbers their matches are."""


def counting(quick: bool) -> Iterator[Figure]:
    """(count) SEQ5 with unary predicates in a window of 10,000 events: 10^12 matches or more against about 10^6.

    Also with a sum over all matches of each completing event, which is checked against the number of them.
    """
    size = 20_000
    rng = np.random.default_rng(7)
    table = pa.table({"ts": np.arange(size), "type": rng.choice(list("ABCDE"), size), "x": rng.random(size)})
    parts = ", ".join(f"{t} {t.lower()}" for t in "ABCDE")
    batches = cut(table, size)
    kernels, totals = {}, {}
    for name, (share, least, most) in SIZES.items():
        where = " AND ".join(f"{t}.x < {share}" for t in "abcde")
        text = f"PATTERN SEQ({parts}) WHERE {where} WITHIN 9999 seconds OUTPUT COUNT"
        kernels[name] = _kernel(text, table, Options(jit=True))
        kernels[f"{name}, summed"] = _kernel(f"{text} RETURN sum(c.x) AS s, max(a.x) AS top", table, Options(jit=True))
        counted, summed = (_counted(kernels[k], batches) for k in (name, f"{name}, summed"))
        totals[name] = sum(counted)
        if not least <= totals[name] <= most or counted != summed:
            raise WrongAnswer(f"{name}: {totals[name]:.3g} matches, {sum(summed):.3g} with sums")
    times = alternate({name: partial(_time, kernel, batches) for name, kernel in kernels.items()}, 1 if quick else 5)
    for name, time in times.items():
        yield Figure("count", f"{name}: {totals[name.removesuffix(', summed')]:.2g} matches", 1000 * time.cpu, "ms")
    yield Figure("count", "10^12 against 10^6", times["10^12"].cpu / times["10^6"].cpu, "x", 10)
    ratio = times["10^12, summed"].cpu / times["10^6, summed"].cpu
    yield Figure("count", "10^12 against 10^6, with sums", ratio, "x", 10)


def _counted(kernel: Kernel, batches: Batches) -> list[int]:
    """The number of matches of each event that completes some."""
    state, counts = kernel.start(), []
    for batch, watermark in batches.parts:
        state, matches = kernel.step(state, batch, watermark)
        counts += [m.count for m in matches]
    return counts


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and write what was asked for; 1 if any answer was wrong."""
    parser = argparse.ArgumentParser(prog="benchmarks.sets", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run: short streams, one round")
    parser.add_argument("--json", type=Path, help="also write the results to this file")
    parser.add_argument("--data", type=Path, default=DATA, help="where recorded streams are")
    sections: dict[str, Callable[[bool], Iterator[Figure]]] = {
        "002-1": against_brute_force,
        "002-2": growth,
        "002-3": filtering,
        "003-0": lambda quick: example(),
        "003-1": against_eager,
        "003-2": temporaries,
        "003-3": many_queries,
        "003-t": lambda quick: traffic(quick, parser.parse_args(arguments).data),
        "count": counting,
    }
    parser.add_argument("sections", nargs="*", default=list(sections), help=f"of {', '.join(sections)} (default all)")
    given = parser.parse_args(arguments)
    if unknown := set(given.sections) - sections.keys():
        parser.error(f"no such section: {', '.join(sorted(unknown))}")
    figures: list[Figure] = []
    for name in given.sections:
        try:
            figures += sections[name](given.quick)
        except WrongAnswer as e:
            figures.append(Figure(name, "the answer", 0.0, "", 0.0, void=str(e)))
    console = Console(width=None if sys.stdout.isatty() else 140)
    console.print(figures_table(figures, verdicts=not given.quick))
    if given.json:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps([f.to_json() for f in figures], indent=1) + "\n")
    return 1 if any(f.void is not None for f in figures) else 0


if __name__ == "__main__":
    sys.exit(main())
