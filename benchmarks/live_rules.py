"""Many rules over stock ticks: `python -m benchmarks.live_rules`; part of `make bench-live`.

Twenty shapes, of which thresholds and types are drawn at random; rules of one shape are matched together. Beside them
are the twenty shapes alone, a rule of each, and some of the rules one by one, whose matches have to be the same. A loop
of Polars runs rules that are pairs of events one by one, as joins, and has to count the same matches. The largest table
is also matched in a process that has an empty cache of kernels, and runs over a stream to which rules are added. With
`--spark` all of them are matched on Spark, over a finite frame and over a stream, which have to find as many.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import zip_longest
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from rich.console import Console
from rich.table import Table

import augury
from benchmarks.call.workloads import DAY, TICKS
from benchmarks.measure import WrongAnswer
from benchmarks.rule_pairs import PAIRS

OPTIONS: dict[str, Any] = {"time": "ts_us", "type": "name", "time_unit": "us"}

RETURNED = " RETURN a.price AS first, b.price AS last"

SEED = 20

SIZES = (10, 100, 1_000, 10_000)
QUICK_SIZES = (10, 40)

WIDTH = 130  # of the table, also where the output is no terminal

CHECKED_RULES = 20  # of a table, that are also run one by one

ADDED_RULES = 50  # to a running stream, one after the other

STREAM_FILES = 8  # of ticks, each of them a micro-batch on Spark

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
    polars: float
    """Seconds that a loop of Polars would take for all of them, at the rate of the pairs that were checked."""


@dataclass(frozen=True, slots=True)
class Started:
    """What a table of rules takes from nothing, kernels compiled, and adding a rule to a stream of them."""

    rules: int
    seconds: float
    cpu: float
    added: float
    """Median of the seconds that it takes to add a rule of a known shape to a stream."""
    added_longest: float


@dataclass(frozen=True, slots=True)
class OnSpark:
    """Seconds that a table of rules took on Spark, sessions and kernels being there."""

    rules: int
    frame: float
    stream: float
    matches: int


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
            name.lower(): int(volumes[type][min(int(passing * part), len(volumes[type]) - 1)])
            for (name, type), part in zip(types.items(), share, strict=True)
        }
        values = {
            **types,
            **bounds,
            "most": int(random.integers(20_000, 100_000)),
            "odd": int(random.integers(1, 99)),
            "all": int(of_all[int(passing * share[0])]),
            "price": float(prices[types["A"]][int(random.uniform(0, 0.3) * len(prices[types["A"]]))]),
            "side": str(random.choice(["BUY", "SELL"])),
            "up": round(float(random.uniform(1.0005, 1.002)), 5),
            "down": round(float(random.uniform(0.998, 0.9995)), 5),
        }
        # The other columns of a rule mean nothing to it: the loop of Polars reads them.
        text = f"PATTERN {pattern.format(**values)}{RETURNED}"
        rows.append({"id": f"rule {k}", "query": text, "shape": k % len(SHAPES), "values": values})
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


def check_polars(rows: Sequence[dict[str, Any]], found: augury.RuleMatches, ticks: pa.Table) -> float:
    """Count the matches of some of the pairs with Polars; the seconds that one of them takes."""
    pairs = [row for row in rows if row["shape"] in PAIRS]
    chosen = pairs[:: max(1, len(pairs) // CHECKED_RULES)][:CHECKED_RULES]
    frame = pl.from_arrow(ticks)
    assert isinstance(frame, pl.DataFrame)
    began = perf_counter()
    counted = {row["id"]: PAIRS[row["shape"]].count(frame, row["values"]) for row in chosen}
    seconds = (perf_counter() - began) / max(1, len(chosen))
    for id, count in counted.items():
        own = pc.sum(pc.equal(found.table["rule"], id)).as_py() or 0
        if own != count:
            raise WrongAnswer(f"{id}: {own} matches, and {count} by Polars")
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
        one, polars = check(rows, matches, ticks), check_polars(rows, matches, ticks)
        found.append(Figure(size, seconds, cpu, len(matches), cpu / alone, one * size, polars * size))
    return found


def started(ticks: pa.Table, size: int, expected: int) -> Started:
    """Match a table of rules in a new process with an empty cache, and add rules to a running stream of them."""
    with TemporaryDirectory() as folder:
        environment = {**os.environ, "XDG_CACHE_HOME": folder}
        events = Path(folder) / "ticks.parquet"
        pq.write_table(ticks, events)
        command = [sys.executable, "-m", "benchmarks.live_rules", "--from-nothing", str(size), "--ticks", str(events)]
        told = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True).stdout
    seconds, cpu, matches = json.loads(told)
    if matches != expected:
        raise WrongAnswer(f"{size}: {matches} matches from nothing instead of {expected}")
    rows = drawn_rules(ticks, size + ADDED_RULES)
    stream = augury.Rules.read(rows[:size]).stream(ticks.schema, **OPTIONS)
    stream.feed(ticks.slice(0, 1_000))
    adding = []
    for k, rule in enumerate(augury.Rules.read(rows[size:]).rules):
        began = perf_counter()
        stream.put(rule)
        adding.append(perf_counter() - began)
        stream.feed(ticks.slice(1_000 + 100 * k, 100))
    if len(stream.running) != size + ADDED_RULES:
        raise WrongAnswer(f"{len(stream.running)} rules are running instead of {size + ADDED_RULES}")
    return Started(size, seconds, cpu, statistics.median(adding), max(adding))


def spark_figures(ticks: pa.Table, found: Sequence[Figure]) -> list[OnSpark]:
    """What the same tables take on Spark, which has to find as many matches."""
    import augury.spark

    spark = augury.spark.embedded_session("local[*]", {"spark.sql.shuffle.partitions": "4"})
    told = []
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", augury.AuguryWarning)
        events = Path(folder) / "events"
        events.mkdir()
        # The last tick comes once more, long after, so that all others are before the watermark.
        last, at = ticks.slice(len(ticks) - 1), ticks.column_names.index("ts_us")
        end = last.set_column(at, "ts_us", pc.add(last["ts_us"], DAY))
        for k, first in enumerate(range(0, len(ticks), -(-len(ticks) // STREAM_FILES))):
            pq.write_table(ticks.slice(first, -(-len(ticks) // STREAM_FILES)), events / f"{k}.parquet")
        frame = spark.read.parquet(str(events))
        pq.write_table(end, events / f"{STREAM_FILES}.parquet")
        for one in found:
            rows = [{"id": row["id"], "query": row["query"]} for row in drawn_rules(ticks, one.rules)]
            # The first call compiles the kernels of the plans that this table has.
            augury.spark.match_rules(frame, rows, **OPTIONS).table.count()
            began = perf_counter()
            counted = augury.spark.match_rules(frame, rows, **OPTIONS).table.count()
            in_frame = perf_counter() - began
            began = perf_counter()
            streamed = _streamed(spark, events, Path(folder) / str(one.rules), rows)
            if not counted == streamed == one.matches:
                raise WrongAnswer(f"{one.rules}: {counted} and {streamed} matches on Spark instead of {one.matches}")
            told.append(OnSpark(one.rules, in_frame, perf_counter() - began, counted))
    spark.stop()
    return told


def _streamed(spark: Any, events: Path, folder: Path, rows: Sequence[dict[str, Any]]) -> int:
    """How many matches rules find in files that are a micro-batch each."""
    import augury.spark

    schema = spark.read.parquet(str(events)).schema
    stream = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(events))
    given: dict[str, Any] = {**OPTIONS, "lateness": "1 second", "max_matches": 10_000_000}
    found = augury.spark.match_rules(stream, rows, versions=folder / "versions", **given)
    writer = found.table.writeStream.format("parquet").option("checkpointLocation", str(folder / "checkpoint"))
    writer.trigger(availableNow=True).start(str(folder / "matches")).awaitTermination()
    return int(spark.read.parquet(str(folder / "matches")).count())


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="benchmarks.live_rules", description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="few rules over the first ticks only")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="how many rules")
    parser.add_argument("--ticks", type=Path, default=TICKS, help="the ticks, in Parquet")
    parser.add_argument("--spark", action="store_true", help="on Spark too")
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    parser.add_argument("--from-nothing", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    ticks = pq.read_table(options.ticks)
    if options.from_nothing is not None:
        seconds, cpu, matches = taken(augury.Rules.read(drawn_rules(ticks, options.from_nothing)), ticks)
        print(json.dumps([seconds, cpu, len(matches)]))
        return 0
    if options.quick:
        ticks = ticks.slice(0, 20_000)
    try:
        taken_by = figures(ticks, QUICK_SIZES if options.quick else options.sizes)
        start = started(ticks, taken_by[-1].rules, taken_by[-1].matches)
        on_spark = spark_figures(ticks, taken_by) if options.spark else []
    except WrongAnswer as wrong:
        print(wrong, file=sys.stderr)
        return 1
    names = ("rules", "s", "CPU s", "matches", "times the 20 shapes", "one by one, s", "Polars loop, s")
    told = Table(*names, "Spark frame, s", "Spark stream, s", title="rules over ticks")
    for one, spark in zip_longest(taken_by, on_spark):
        row = (f"{one.seconds:,.2f}", f"{one.cpu:,.2f}", f"{one.matches:,}", f"{one.times_the_shapes:.1f}")
        there = ("", "") if spark is None else (f"{spark.frame:,.1f}", f"{spark.stream:,.1f}")
        told.add_row(f"{one.rules:,}", *row, f"{one.one_by_one:,.1f}", f"{one.polars:,.1f}", *there)
    Console(width=WIDTH).print(told)
    print(
        f"{start.rules:,} rules from an empty cache: {start.seconds:.1f} s, {start.cpu:.1f} s of the processor; "
        f"a rule added to a stream of them: {1e3 * start.added:.2f} ms, at most {1e3 * start.added_longest:.2f} ms"
    )
    if options.json is not None:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(
            json.dumps(
                {
                    "local": [asdict(o) for o in taken_by],
                    "started": asdict(start),
                    "spark": [asdict(o) for o in on_spark],
                },
                indent=1,
            )
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
