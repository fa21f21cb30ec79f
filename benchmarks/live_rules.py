"""Many rules over stock ticks: `python -m benchmarks.live_rules`; part of `make bench-live`.

Twenty shapes, of which thresholds and types are drawn at random; rules of one shape are matched together. Beside them
are the twenty shapes alone, a rule of each, and some of the rules one by one, whose matches have to be the same.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

import augury
from benchmarks.call.workloads import TICKS
from benchmarks.measure import WrongAnswer

OPTIONS: dict[str, Any] = {"time": "ts_us", "type": "name", "time_unit": "us"}

RETURNED = " RETURN a.price AS first, b.price AS last"

SEED = 20

SIZES = (10, 100, 1_000, 10_000)
QUICK_SIZES = (10, 40)

CHECKED_RULES = 20  # of a table, that are also run one by one

SHAPES = (
    ("SEQ({A} a, {B} b) WHERE a.volume > {a} AND b.volume > {b} WITHIN 10 seconds", 450),
    ("SEQ({A} a, {B} b) WHERE a.volume > {a} AND b.volume > {b} AND a.side = '{side}' WITHIN 1 minute", 280),
    ("SEQ({A} a, {B} b) WHERE skip_till_next_match {{ a.volume > {a} AND b.volume > {b} }} WITHIN 20 seconds", 500),
    ("SEQ({A} a, {A} b) WHERE [side] AND a.volume > {a} AND b.price > a.price * {up} WITHIN 5 seconds", 100),
    ("SEQ({A} a, {A} b) WHERE a.volume > {a} AND b.price < a.price * {down} AND b.volume > {b} WITHIN 20 seconds", 450),
    ("SEQ({A} a, {C} c, {B} b) WHERE a.volume > {a} AND c.volume > {c} AND b.volume > {b} WITHIN 20 seconds", 500),
    (
        "SEQ({A} a, NOT({C} c), {B} b) WHERE a.volume > {a} AND c.volume > {c} AND b.volume > {b} WITHIN 20 seconds",
        380,
    ),
    ("SEQ({A} a, {B} b, NOT({C} c)) WHERE a.volume > {a} AND b.volume > {b} AND c.volume > {c} WITHIN 9 seconds", 520),
    ("SEQ({A} a, {B} b) WHERE a.volume > {a} AND b.volume > {b} AND b.side = '{side}' WITHIN 30 seconds", 380),
    ("SEQ({A} a, {B}|{C} b) WHERE a.volume > {a} AND b.volume > {b} WITHIN 8 seconds", 260),
    ("AND({A} a, {B} b) WHERE a.volume > {a} AND b.volume > {b} WITHIN 6 seconds", 400),
    (
        "SEQ({A}+ c[], {B} b, {A} a) WHERE skip_till_next_match "
        "{{ c[i].volume > {a} AND b.volume > {b} AND a.volume > {a} }} WITHIN 30 seconds",
        500,
    ),
    ("SEQ({A} a, {B} b) WHERE a.volume BETWEEN {a} AND {most} AND b.volume > {b} WITHIN 15 seconds", 330),
    ("SEQ({A} a, {B} b) WHERE a.volume > {a} AND b.volume - a.volume > {c} WITHIN 20 seconds", 300),
    ("SEQ({A} a, {B} b) WHERE a.side != b.side AND a.volume > {a} AND b.volume > {b} WITHIN 15 seconds", 550),
    (
        "SEQ({A} a, {C} c, {B} b) WHERE skip_till_next_match "
        "{{ a.volume > {a} AND c.volume > {c} AND b.volume > {b} }} WITHIN 20 seconds",
        700,
    ),
    ("SEQ(a, b) WHERE [name] AND [side] AND a.volume > {all} AND b.volume > {all} WITHIN 1 minute", 160),
    ("SEQ({A} a, {B} b) WHERE a.volume > {a} AND a.price > {price} AND b.volume > {b} WITHIN 20 seconds", 380),
    ("SEQ({A} a, {B} b) WHERE a.volume > {a} AND (b.volume > {b} OR b.volume = {odd}) WITHIN 10 seconds", 400),
    (
        "SEQ({A} a, {A} c, {A} b) WHERE skip_till_next_match "
        "{{ [side] AND a.volume > {a} AND c.volume > {c} AND b.price > c.price * {up} }} WITHIN 20 seconds",
        300,
    ),
)
"""Patterns, and how many ticks about the threshold of a component lets through."""


@dataclass(frozen=True, slots=True)
class Figure:
    """What a table of rules took: seconds by the clock and of all processors, and how often the shapes alone."""

    rules: int
    seconds: float
    cpu: float
    matches: int
    times_the_shapes: float
    one_by_one: float
    """Seconds that all of them would take one by one, at the rate of those that were checked."""


def drawn_rules(ticks: pa.Table, count: int, seed: int = SEED) -> list[dict[str, Any]]:
    """Rules whose types and thresholds are drawn at random, the shapes in turn."""
    random = np.random.default_rng(seed)
    names, volume = ticks["name"].to_numpy(zero_copy_only=False), ticks["volume"].to_numpy()
    price = ticks["price"].to_numpy()
    symbols = sorted(set(names))
    volumes = {name: np.sort(volume[names == name])[::-1] for name in symbols}
    prices = {name: np.sort(price[names == name]) for name in symbols}
    of_all = np.sort(volume)[::-1]
    rows = []
    for k in range(count):
        pattern, passing = SHAPES[k % len(SHAPES)]
        types = dict(zip("ABC", random.choice(symbols, 3, replace=False).tolist(), strict=True))
        share = random.uniform(0.7, 1.4, 3)
        bounds = {
            name.lower(): int(volumes[type][int(passing * part)])
            for (name, type), part in zip(types.items(), share, strict=True)
        }
        text = pattern.format(
            **types,
            **bounds,
            most=int(random.integers(20_000, 100_000)),
            odd=int(random.integers(1, 99)),
            all=int(of_all[int(passing * share[0])]),
            price=float(prices[types["A"]][int(random.uniform(0, 0.3) * len(prices[types["A"]]))]),
            side=str(random.choice(["BUY", "SELL"])),
            up=round(float(random.uniform(1.0005, 1.002)), 5),
            down=round(float(random.uniform(0.998, 0.9995)), 5),
        )
        rows.append({"id": f"rule {k}", "query": f"PATTERN {text}{RETURNED}"})
    return rows


def taken(rules: augury.Rules, ticks: pa.Table) -> tuple[float, float, augury.RuleMatches]:
    """Seconds by the clock and of all processors, and what was found."""
    began, cpu = perf_counter(), process_time()
    found = rules.match(ticks, **OPTIONS, max_matches=10_000_000)
    if found.diagnostics.filter(pc.equal(found.diagnostics["level"], "error")).num_rows:
        raise WrongAnswer(str(found.diagnostics.to_pylist()[:3]))
    return perf_counter() - began, process_time() - cpu, found


def check(rows: Sequence[dict[str, Any]], found: augury.RuleMatches, ticks: pa.Table) -> float:
    """Compare some rules with what each finds by itself; the seconds that one of them takes so."""
    chosen = rows[:: max(1, len(rows) // CHECKED_RULES)][:CHECKED_RULES]
    began = perf_counter()
    alone = {row["id"]: augury.Rules.read([row]).match(ticks, **OPTIONS).table for row in chosen}
    seconds = (perf_counter() - began) / len(chosen)
    for id, table in alone.items():
        together = found.table.filter(pc.equal(found.table["rule"], id))
        if together.sort_by([("end", "ascending"), ("match", "ascending")]) != table.sort_by(
            [("end", "ascending"), ("match", "ascending")]
        ):
            raise WrongAnswer(f"{id}: {together.num_rows} matches together, {table.num_rows} alone")
    return seconds


def figures(ticks: pa.Table, sizes: Sequence[int]) -> list[Figure]:
    """What tables of these sizes take, once their kernels are compiled."""
    shapes = augury.Rules.read(drawn_rules(ticks, len(SHAPES)))
    taken(shapes, ticks)
    alone = min(taken(shapes, ticks)[1] for _ in range(2))
    found = []
    for size in sizes:
        rows = drawn_rules(ticks, size)
        rules = augury.Rules.read(rows)
        taken(rules, ticks)
        seconds, cpu, matches = taken(rules, ticks)
        one = check(rows, matches, ticks)
        found.append(Figure(size, seconds, cpu, len(matches), cpu / alone, one * size))
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.live_rules", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few rules over the first ticks only")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="how many rules")
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    options = parser.parse_args(arguments)
    ticks = pq.read_table(TICKS)
    if options.quick:
        ticks = ticks.slice(0, 20_000)
    try:
        taken_by = figures(ticks, QUICK_SIZES if options.quick else options.sizes)
    except WrongAnswer as wrong:
        print(wrong, file=sys.stderr)
        return 1
    told = Table("rules", "s", "CPU s", "matches", "times the 20 shapes", "one by one, s", title="rules over ticks")
    for one in taken_by:
        row = (f"{one.seconds:,.2f}", f"{one.cpu:,.2f}", f"{one.matches:,}", f"{one.times_the_shapes:.1f}")
        told.add_row(f"{one.rules:,}", *row, f"{one.one_by_one:,.1f}")
    Console().print(told)
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps([asdict(one) for one in taken_by], indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
