"""What matching on Spark costs beside Spark's own work: `python -m benchmarks.spark_host`, or `make bench-spark`.

Events are minute bars of stocks where a file of them is given, else a made-up walk of prices. Each figure is the least
of some rounds, the variants taken in turns; ratios hold within one run.
"""

from __future__ import annotations

import argparse
import json
import os
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
WINDOW = 1_800
KEYED = """
    PATTERN SEQ(Up|Calm a, Down b, Up|Calm c)
    WHERE   [ticker] AND b.close < a.close * 0.99 AND c.close > a.close * 1.01
    WITHIN  30 minutes
    RETURN  a.ticker AS ticker, a.ts AS a_ts, b.ts AS b_ts, c.ts AS c_ts
"""
KEYLESS = """
    PATTERN SEQ(Up a, Down b, Up c)
    WHERE   a.close > b.close * 20 AND c.close > a.close
    WITHIN  10 minutes
    RETURN  a.ts AS a_ts, b.ts AS b_ts, c.ts AS c_ts
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and write what was asked for."""
    parser = argparse.ArgumentParser(prog="benchmarks.spark_host", description=__doc__)
    parser.add_argument("--bars", type=Path, help="a Parquet file of bars: ts, ticker, open, close, volume")
    parser.add_argument("--events", type=int, default=5_000_000, help="how many events, at least (default 5 million)")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", type=Path, help="also write the results to this file")
    given = parser.parse_args(arguments)
    settings = {"spark.sql.shuffle.partitions": "8", "spark.driver.memory": "4g"}
    spark = augury.spark.embedded_session(f"local[{os.cpu_count()}]", settings)
    figures = batch(spark, given.bars, given.events, given.rounds)
    for what, value in figures.items():
        print(f"{what:<60} {value:>12,.2f}")
    if given.json is not None:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps(figures, indent=1) + "\n")
    spark.stop()
    return 0


def batch(spark: SparkSession, bars: Path | None, events: int, rounds: int) -> dict[str, float]:
    """A keyed pattern end to end, beside Spark's own work and a self-join that finds the same."""
    frame = spark.read.parquet(str(_bars(bars, events)))
    variants: dict[str, Callable[[], DataFrame]] = {
        "read, shuffle, sort, write": lambda: frame.select(*COLUMNS).repartition("ticker").sortWithinPartitions("ts"),
        "the same with matching": lambda: augury.spark.match(frame, KEYED),
        "the same by a self-join": lambda: _self_join(frame),
        "without a key, in one task": lambda: augury.spark.match(frame, KEYLESS, chunks=1),
        "without a key, by time": lambda: augury.spark.match(frame, KEYLESS, chunks=8),
    }
    least = dict.fromkeys(variants, float("inf"))
    for _ in range(rounds):
        for what, plan in variants.items():
            began = time.perf_counter()
            plan().write.mode("overwrite").parquet(str(FOLDER / what.replace(" ", "_").replace(",", "")))
            least[what] = min(least[what], time.perf_counter() - began)
    _same(spark, "the_same_with_matching", "the_same_by_a_self-join")
    _same(spark, "without_a_key_in_one_task", "without_a_key_by_time")
    own, ours = least["read, shuffle, sort, write"], least["the same with matching"]
    return {
        "events": frame.count(),
        **{f"{what} (s)": seconds for what, seconds in least.items()},
        "matching to Spark's own (at most 1.5)": ours / own,
        "self-join to matching (at least 5)": least["the same by a self-join"] / ours,
        "one task to by time": least["without a key, in one task"] / least["without a key, by time"],
    }


def _same(spark: SparkSession, one: str, other: str) -> None:
    """A time means nothing unless the answer is right."""
    names = ["a_ts", "b_ts", "c_ts"]
    first, second = (spark.read.parquet(str(FOLDER / name)).select(*names) for name in (one, other))
    assert first.exceptAll(second).isEmpty(), (one, other)
    assert second.exceptAll(first).isEmpty(), (one, other)


def _self_join(frame: DataFrame) -> DataFrame:
    """What one writes without a matcher: a join for each step, on the key and on buckets of time."""
    near = f"explode(array(floor({{0}} / {WINDOW}), floor({{0}} / {WINDOW}) + 1)) AS bucket"
    a = frame.where("type IN ('Up', 'Calm')").selectExpr("ts AS a_ts", "ticker", "close AS a", near.format("ts"))
    b = frame.where("type = 'Down'").selectExpr("ts AS b_ts", "ticker", "close AS b", f"floor(ts / {WINDOW}) AS bucket")
    c = frame.where("type IN ('Up', 'Calm')").selectExpr(
        "ts AS c_ts", "ticker", "close AS c", f"floor(ts / {WINDOW}) AS bucket"
    )
    pairs = a.join(b, ["ticker", "bucket"]).where(f"b_ts > a_ts AND b < a * 0.99 AND b_ts - a_ts <= {WINDOW}")
    spread = pairs.selectExpr("ticker", "a_ts", "a", "b_ts", near.format("b_ts"))
    found = spread.join(c, ["ticker", "bucket"]).where(f"c_ts > b_ts AND c > a * 1.01 AND c_ts - a_ts <= {WINDOW}")
    return found.select("ticker", "a_ts", "b_ts", "c_ts")


def _bars(bars: Path | None, events: int) -> Path:
    """The bars as often as needed, each time of other stocks, in files of a part each."""
    folder = FOLDER / f"bars{events}"
    if folder.exists():
        return folder
    table = _made_up(min(events, 500_000)) if bars is None else pq.read_table(bars)
    change = (table["close"].to_numpy() - table["open"].to_numpy()) / table["open"].to_numpy()
    kind = np.where(change > 0.004, "Up", np.where(change < -0.004, "Down", "Calm"))
    folder.mkdir(parents=True)
    for copy in range(-(-events // len(table))):
        ticker = pc.binary_join_element_wise(table["ticker"], pa.scalar(str(copy)), "")
        part = pa.table({"ts": table["ts"], "type": pa.array(kind), "ticker": ticker, "close": table["close"]})
        pq.write_table(part, folder / f"{copy:04}.parquet")
    return folder


def _made_up(events: int) -> pa.Table:
    ticks = stock_stream(events, symbols=500)
    price = ticks["price"].to_numpy().astype(np.float64)
    step = np.random.default_rng(2).normal(0, 0.002, events)
    ticker = pc.cast(ticks["symbol"], pa.string())
    return pa.table({"ts": ticks["ts"], "ticker": ticker, "open": price, "close": price * (1 + step)})


if __name__ == "__main__":
    sys.exit(main())
