"""What matching finite events on Spark costs: `python -m benchmarks.spark_batch`, a part of `make bench-spark`.

Events are minute bars of stocks where a file of them is given, else a made-up walk of prices, as often as needed, each
time of other stocks, in one file a day. Each figure is the least of some rounds, the variants taken in turns; answers
are compared. Processor time is that of the driver, the JVM and all Python workers.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

import augury.spark
from benchmarks.stock import stock_stream

FOLDER = Path(__file__).parent.parent / "build" / "bench" / "spark"
COLUMNS = ["ts", "type", "ticker", "close"]
SETTINGS = {"spark.sql.shuffle.partitions": "8", "spark.driver.memory": "4g"}
DAY = 86_400
HOUR = 3_600

SURGE = """
    PATTERN SEQ(Up a, Down b, Up c)
    WHERE   [ticker] AND b.close < a.close * {dip} AND c.close > a.close * {rise}
    WITHIN  60 minutes
    RETURN  a.ticker AS ticker, a.ts AS a_ts, b.ts AS b_ts, c.ts AS c_ts
"""
DIP, RISE = 0.998, 1.03
KEYED = SURGE.format(dip=DIP, rise=RISE)
"""A dip, and then a surge: every bar that rises may begin it, every one that falls may be the dip."""

KEYLESS = """
    PATTERN SEQ(Up a, Down b, Up c)
    WHERE   a.close > a.open * 1.015 AND b.close < b.open * 0.985 AND c.close > c.open * 1.015
    WITHIN  10 minutes
    RETURN  a.ts AS a_ts, b.ts AS b_ts, c.ts AS c_ts
"""
"""Three leaps of any stocks."""

MANY = {f"rise_{k}": SURGE.format(dip=DIP - k / 1_000, rise=RISE + k / 1_000) for k in range(10)}


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and write what was asked for."""
    parser = argparse.ArgumentParser(prog="benchmarks.spark_batch", description=__doc__)
    parser.add_argument("--bars", type=Path, help="a Parquet file of bars: ts, ticker, open, close, volume")
    parser.add_argument("--events", type=int, default=5_000_000, help="how many events, at least (default 5 million)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--parts", nargs="+", choices=list(PARTS), default=list(PARTS))
    parser.add_argument("--cores", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--json", type=Path, help="also write the results to this file")
    given = parser.parse_args(arguments)
    if given.cores is not None:
        print(json.dumps(on_cores(given.cores, given.bars, given.events, given.rounds)))
        return 0
    figures: dict[str, float] = {}
    for part in given.parts:
        figures |= PARTS[part](given.bars, given.events, given.rounds)
    for what, value in figures.items():
        print(f"{what:<60} {value:>12,.2f}")
    if given.json is not None:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps(figures, indent=1) + "\n")
    return 0


def keyed(file: Path | None, events: int, rounds: int) -> dict[str, float]:
    """A keyed pattern end to end, beside Spark's own work, a self-join that finds the same, and files read by range."""
    spark = _session(os.cpu_count() or 1)
    folder = bars(file, events)
    frame = spark.read.parquet(str(folder))
    own, ours, ranges, join = "read, shuffle, sort, write", "the same with matching", "files by range", "self-join"
    variants: dict[str, Callable[[], DataFrame]] = {
        own: lambda: frame.select(*COLUMNS).repartition("ticker").sortWithinPartitions("ts"),
        ours: lambda: augury.spark.match(frame, KEYED),
        ranges: lambda: augury.spark.match_files(spark, str(folder), KEYED),
        join: lambda: self_join(frame),
    }
    # The self-join takes longest and varies least: it has two rounds.
    seconds, work = _least(variants, rounds, {join: 2})
    for other in (ranges, join):
        _same(spark, ours, other)
    found = spark.read.parquet(str(_out(ours))).count()
    number = frame.count()
    spark.stop()
    return {
        "events": number,
        "matches": found,
        **{f"{what} (s)": seconds[what] for what in variants},
        **{f"{what} (s of processor time)": work[what] for what in variants},
        "matching to Spark's own (at most 1.5)": seconds[ours] / seconds[own],
        "self-join to matching (at least 5)": seconds[join] / seconds[ours],
        "processor time: matching to files by range (at least 3)": work[ours] / work[ranges],
        "processor time: Spark's own to files by range": work[own] / work[ranges],
    }


def cores(file: Path | None, events: int, rounds: int) -> dict[str, float]:
    """A pattern without a key, split by time, on one core and on two."""
    bars(file, events)
    command = [sys.executable, "-m", "benchmarks.spark_batch", "--events", str(events), "--rounds", str(rounds)]
    command += [] if file is None else ["--bars", str(file)]
    one, two = (
        json.loads(subprocess.run([*command, "--cores", str(n)], capture_output=True, check=True).stdout)
        for n in (1, 2)
    )
    assert one.pop("matches") == two.pop("matches")
    return {
        **{f"without a key, {what}, on {n} core (s)": each[what] for n, each in ((1, one), (2, two)) for what in each},
        **{f"without a key, {what}: 2 to 1 core (at least 1.54)": one[what] / two[what] for what in one},
    }


def on_cores(number: int, file: Path | None, events: int, rounds: int) -> dict[str, float]:
    """Seconds on so many cores, and none besides."""
    os.sched_setaffinity(0, range(number))
    spark = _session(number)
    folder = bars(file, events)
    frame = spark.read.parquet(str(folder))
    variants: dict[str, Callable[[], DataFrame]] = {
        "by time": lambda: augury.spark.match(frame, KEYLESS, chunks=8),
        "files by range": lambda: augury.spark.match_files(spark, str(folder), KEYLESS, tasks=8),
    }
    seconds, _ = _least(variants, rounds + 1)
    _same(spark, *variants)
    return {**seconds, "matches": spark.read.parquet(str(_out("by time"))).count()}


def many(file: Path | None, events: int, rounds: int) -> dict[str, float]:
    """Ten queries at once, beside ten one after the other."""
    spark = _session(os.cpu_count() or 1)
    frame = spark.read.parquet(str(bars(file, events)))
    at_once, first = "ten queries at once", "one of them"
    variants: dict[str, Callable[[], DataFrame]] = {
        at_once: lambda: augury.spark.match_all(frame, MANY),
        first: lambda: augury.spark.match_all(frame, {"rise_0": MANY["rise_0"]}),
        **{name: lambda name=name: augury.spark.match(frame, MANY[name]) for name in MANY},  # type: ignore[misc]
    }
    seconds, _ = _least(variants, rounds)
    together = spark.read.parquet(str(_out(at_once))).groupBy("query").count().collect()
    assert {row["query"]: row["count"] for row in together} == {
        name: number for name in MANY if (number := spark.read.parquet(str(_out(name))).count())
    }
    spark.stop()
    each = sum(seconds[name] for name in MANY)
    return {
        f"{at_once} (s)": seconds[at_once],
        "ten queries one after the other (s)": each,
        "one after the other to at once": each / seconds[at_once],
        "ten at once to one": seconds[at_once] / seconds[first],
    }


PARTS = {"keyed": keyed, "cores": cores, "many": many}


def self_join(frame: DataFrame) -> DataFrame:
    """What one writes without a matcher: a join for each step, on the key and on buckets of time."""
    near = f"explode(array(floor({{0}} / {HOUR}), floor({{0}} / {HOUR}) + 1)) AS bucket"
    here = f"floor(ts / {HOUR}) AS bucket"
    a = frame.where("type = 'Up'").selectExpr("ts AS a_ts", "ticker", "close AS a", near.format("ts"))
    b = frame.where("type = 'Down'").selectExpr("ts AS b_ts", "ticker", "close AS b", here)
    c = frame.where("type = 'Up'").selectExpr("ts AS c_ts", "ticker", "close AS c", here)
    pairs = a.join(b, ["ticker", "bucket"]).where(f"b_ts > a_ts AND b < a * {DIP} AND b_ts - a_ts <= {HOUR}")
    spread = pairs.selectExpr("ticker", "a_ts", "a", "b_ts", near.format("b_ts"))
    found = spread.join(c, ["ticker", "bucket"]).where(f"c_ts > b_ts AND c > a * {RISE} AND c_ts - a_ts <= {HOUR}")
    return found.select("ticker", "a_ts", "b_ts", "c_ts")


def bars(file: Path | None, events: int) -> Path:
    """The bars as often as needed, each time of other stocks, in a file for each day."""
    folder = FOLDER / f"bars{events}{'' if file is None else '-' + file.stem}"
    if folder.exists():
        return folder
    table = _made_up(min(events, 500_000)) if file is None else pq.read_table(file)
    rise = table["close"].to_numpy() - table["open"].to_numpy()
    kind = pa.array(np.where(rise > 0, "Up", np.where(rise < 0, "Down", "Flat")))
    copies = [
        pa.table(
            {
                "ts": table["ts"],
                "type": kind,
                "ticker": pc.binary_join_element_wise(table["ticker"], pa.scalar(str(copy)), ""),
                "open": table["open"],
                "close": table["close"],
            }
        )
        for copy in range(-(-events // len(table)))
    ]
    every = pa.concat_tables(copies).sort_by("ts")
    day = every["ts"].to_numpy() // DAY
    folder.mkdir(parents=True)
    for number in np.unique(day):
        pq.write_table(every.filter(pa.array(day == number)), folder / f"{number}.parquet", row_group_size=1 << 17)
    return folder


def _made_up(events: int) -> pa.Table:
    ticks = stock_stream(events, symbols=500)
    price = ticks["price"].to_numpy().astype(np.float64)
    step = np.random.default_rng(2).normal(0, 0.002, events)
    ticker = pc.cast(ticks["symbol"], pa.string())
    return pa.table({"ts": ticks["ts"], "ticker": ticker, "open": price, "close": price * (1 + step)})


def _session(number: int) -> SparkSession:
    return augury.spark.embedded_session(f"local[{number}]", SETTINGS)


def _least(
    variants: dict[str, Callable[[], DataFrame]], rounds: int, fewer: dict[str, int] | None = None
) -> tuple[dict[str, float], dict[str, float]]:
    """The least time of each variant, and the least processor time."""
    seconds, work = dict.fromkeys(variants, float("inf")), dict.fromkeys(variants, float("inf"))
    for turn in range(rounds):
        for what, plan in variants.items():
            if turn >= (fewer or {}).get(what, rounds):
                continue
            began, used = time.perf_counter(), processor_time()
            plan().write.mode("overwrite").parquet(str(_out(what)))
            seconds[what] = min(seconds[what], time.perf_counter() - began)
            work[what] = min(work[what], processor_time() - used)
    return seconds, work


_used: dict[int, int] = {}
"""The processor time of each process that has been seen, in clock ticks: workers that have ended count as well."""


def processor_time() -> float:
    """Seconds that this process and all that it has started have spent, the JVM and its Python workers among them."""
    parents: dict[int, int] = {}
    ticks: dict[int, int] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            text = (folder / "stat").read_text()
        except OSError:
            # It has ended since.
            continue
        fields = text[text.rindex(")") + 2 :].split()
        parents[int(folder.name)] = int(fields[1])
        ticks[int(folder.name)] = sum(map(int, fields[11:13]))
    mine = {os.getpid()}
    while more := {p for p, parent in parents.items() if parent in mine} - mine:
        mine |= more
    _used.update({p: ticks[p] for p in mine})
    return sum(_used.values()) / os.sysconf("SC_CLK_TCK")


def _out(what: str) -> Path:
    return FOLDER / what.replace(" ", "_").replace(",", "")


def _same(spark: SparkSession, one: str, other: str) -> None:
    """A time means nothing unless the answer is right."""
    names = ["a_ts", "b_ts", "c_ts"]
    first, second = (spark.read.parquet(str(_out(name))).select(*names) for name in (one, other))
    assert first.exceptAll(second).isEmpty(), (one, other)
    assert second.exceptAll(first).isEmpty(), (one, other)


if __name__ == "__main__":
    sys.exit(main())
