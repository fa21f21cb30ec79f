"""The benchmark of lossy streams: `python -m benchmarks.lossy`, or `make bench-lossy`."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from time import perf_counter, thread_time

import pyarrow as pa
from rich.console import Console

from augury.compiler import compile_program, load
from augury.kernels.eager.kernel import EagerKernel
from augury.kernels.lossy.kernel import LossyKernel
from augury.loss import Exponential, Gamma, LossModel
from augury.options import Options
from augury.runtime.shared import matches_in
from augury.runtime.state import RunState
from augury.schema import EventSchema
from augury.source import Source
from benchmarks.measure import Batches, Time, WrongAnswer, alternate, cut, state_bytes
from benchmarks.supply_chain import MEANS, QUERY, SHAPE, complete_chains, dropped, supply_chain
from benchmarks.targets import Figure, figures_table

CACHE = Path(__file__).parent.parent / "build" / "bench"

TIMES_EXACT = 3.0
"""How many times the exact automaton the cost of an event may be."""

STATES = (3, 6, 12)
WINDOWS = (48, 96, 192, 384)


def chain_model(scoring: str = "paper") -> LossModel:
    """The supply chain as its generator makes it: a tenth is lost."""
    hours = dict(zip("wts", MEANS, strict=True)) | {"f": MEANS[0]}
    delays = {v: Gamma(SHAPE, mean * 3600 / SHAPE) for v, mean in hours.items() if v != "s"}
    return LossModel(0.1, {}, delays, scoring=scoring)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print and write what was found; 1 if any answer was wrong."""
    given = _parser().parse_args(arguments)
    scale, rounds = (20, 1) if given.quick else (1, given.rounds)
    figures: list[Figure] = []
    for section in (cost_of_an_event, cost_of_a_state, memory):
        try:
            figures += section(100_000 // scale, rounds, given.cache)
        except WrongAnswer as e:
            figures.append(Figure("lossy", section.__name__.replace("_", " "), 0.0, "", 0.0, void=str(e)))
    Console(width=None if sys.stdout.isatty() else 140).print(figures_table(figures, verdicts=not given.quick))
    if given.json:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        report = {"quick": given.quick, "matrix": [], "figures": [f.to_json() for f in figures]}
        given.json.write_text(json.dumps(report, indent=1) + "\n")
    return 1 if any(f.void is not None for f in figures) else 0


def kernel_of(text: str, table: pa.Table, options: Options) -> EagerKernel | LossyKernel:
    query = compile_program(Source(text), EventSchema.from_arrow(table.schema), options).last
    kernel = load(query, options)
    assert isinstance(kernel, EagerKernel | LossyKernel), query.choice
    return kernel


def timed(kernel: EagerKernel | LossyKernel, batches: Batches, matches: int) -> Time:
    """The cost of one pass over the stream, provided that it finds so many matches."""
    return _pass(kernel, batches, matches)[0]


def _pass(kernel: EagerKernel | LossyKernel, batches: Batches, matches: int) -> tuple[Time, RunState]:
    wall, cpu, found = perf_counter(), thread_time(), 0
    state = kernel.start()
    for batch, watermark in batches.parts:
        state, reported = kernel.step(state, batch, watermark)
        found += matches_in(reported)
    spent = Time(perf_counter() - wall, thread_time() - cpu)
    if found != matches:
        raise WrongAnswer(f"{found} matches instead of {matches}")
    return spent, state


def cost_of_an_event(items: int, rounds: int, cache: Path) -> Iterator[Figure]:
    """Against the exact automaton on the same readings, a tenth of which was dropped."""
    table = dropped(supply_chain(items), 0.1)
    batches = cut(table, 10_000)
    chains = complete_chains(table)
    exact = QUERY.split("THRESHOLD")[0]
    scored = QUERY.format(threshold=0.8)
    kernels = {
        "exact": kernel_of(exact, table, Options(plan="eager-nfa", jit=True, cache_dir=cache)),
        # At 0.8, only a chain that is complete reaches the threshold: what is missing scores a tenth at most.
        "paper": kernel_of(scored, table, Options(jit=True, cache_dir=cache, loss=chain_model())),
    }
    variants: dict[str, Callable[[], Time]] = {}
    for name, kernel in kernels.items():
        _pass(kernel, batches, chains)
        variants[name] = partial(timed, kernel, batches, chains)
    best = alternate(variants, rounds)
    yield Figure("lossy", "... complete chains found", chains, "matches")
    for name, time in best.items():
        yield Figure("lossy", f"... {name}", time.cpu / batches.events * 1e9, "ns/event")
    ratio = best["paper"].cpu / best["exact"].cpu
    yield Figure("lossy", "cost of an event at threshold 0.8 against exact matching", ratio, "x", TIMES_EXACT)
    likely = kernel_of(
        QUERY.format(threshold=0.5), table, Options(jit=True, cache_dir=cache, loss=chain_model("posterior"))
    )
    # What the posterior finds is checked against the reference by the tests; here two passes must agree.
    found = _count(likely, batches)
    spent = alternate({"posterior": partial(timed, likely, batches, found)}, rounds)["posterior"]
    yield Figure("lossy", "... posterior at 0.5, with what is missing", spent.cpu / batches.events * 1e9, "ns/event")
    yield Figure("lossy", "... of these matches found", found, "matches")


def _count(kernel: EagerKernel | LossyKernel, batches: Batches) -> int:
    state, found = kernel.start(), 0
    for batch, watermark in batches.parts:
        state, reported = kernel.step(state, batch, watermark)
        found += matches_in(reported)
    return found


def cost_of_a_state(items: int, rounds: int, cache: Path) -> Iterator[Figure]:
    """Patterns of ever more components, every one of which fits each event: bounds, and time, for each of them."""
    events = items // 10
    table = pa.table({"ts": list(range(events)), "reader": ["r"] * events})
    batches = cut(table, 10_000)
    bounds = {}
    for states in STATES:
        names = [f"v{k}" for k in range(states)]
        where = " AND ".join([*(f"{v}.reader = 'r'" for v in names), "z.reader = 'none'"])
        text = f"SEQ({', '.join(names)}, z) WHERE {where} WITHIN 100 seconds THRESHOLD 0.05"
        model = LossModel(0.1, {}, {v: Exponential(10.0) for v in names})
        options = Options(jit=True, cache_dir=cache, loss=model)
        kernel = kernel_of(text, table, options)
        counting = kernel_of(text, table, Options(jit=True, cache_dir=cache, loss=model, counters=True))
        _, state = _pass(counting, batches, 0)
        bounds[states] = counting.counters(state)["bounds"] / events / states
        _pass(kernel, batches, 0)
        spent = alternate({"": partial(timed, kernel, batches, 0)}, rounds)[""]
        yield Figure("lossy", f"... {states} components", spent.cpu / events / states * 1e9, "ns/event/component")
        yield Figure("lossy", f"... {states} components", bounds[states], "bounds/event/component")
    growth = bounds[STATES[-1]] / bounds[STATES[0]]
    yield Figure("lossy", f"bounds for each of {STATES[-1]} components against {STATES[0]}", growth, "x", 2.0)


def memory(items: int, rounds: int, cache: Path) -> Iterator[Figure]:
    """What the queues hold in the middle of a stream, for windows that are all much shorter than it."""
    del items, rounds
    table = dropped(supply_chain(20_000), 0.1)
    table = table.slice(0, len(table) * 4 // 5)
    batches = cut(table, 1_000)
    entries = {}
    for hours in WINDOWS:
        text = QUERY.replace("48 hours", f"{hours} hours").format(threshold=0.8)
        kernel = kernel_of(text, table, Options(jit=True, cache_dir=cache, loss=chain_model()))
        _, state = _pass(kernel, batches, complete_chains(table, hours))
        held = state_bytes(state)
        # A state that is saved has been rid of what expired in partitions that get no more events.
        size = len(state.to_bytes())
        entries[hours] = int(getattr(state.tables, "state").used)  # noqa: B009  only a live state has it
        yield Figure("lossy", f"... window of {hours} hours", entries[hours], "entries")
        yield Figure("lossy", f"... window of {hours} hours", held / 1e6, "MB in use")
        yield Figure("lossy", f"... window of {hours} hours", size / 1e6, "MB saved")
    per_hour = {hours: count / hours for hours, count in entries.items()}
    growth = max(per_hour.values()) / min(per_hour.values())
    yield Figure("lossy", f"entries an hour, windows of {WINDOWS[0]} to {WINDOWS[-1]} hours", growth, "x", 1.5)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="benchmarks.lossy", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a smoke run: short streams, one round; times mean little")
    parser.add_argument("--json", type=Path, help="also write the results to this file")
    parser.add_argument("--rounds", type=int, default=3, help="how often each variant is measured (default 3)")
    parser.add_argument("--cache", type=Path, default=CACHE, help="where compiled kernels are kept")
    return parser


if __name__ == "__main__":
    sys.exit(main())
