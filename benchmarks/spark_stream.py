"""What a stream costs on Spark: `python -m benchmarks.spark_stream`, or `make bench-stream`.

A file a micro-batch, all there before the query starts, so that it runs as fast as it can. Figures are of the later
micro-batches, by the clock on the wall, gaps between them included; a wrong number of matches voids them.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyspark.sql import SparkSession

import augury.spark
from augury.hosts.spark.stream.processor import state_name

FOLDER = Path(__file__).parent.parent / "build" / "bench" / "spark"

DELAY = 1_000_000
"""How late events may come, in microseconds."""


@dataclass(frozen=True, slots=True)
class Workload:
    """A stream of events `tick` microseconds apart, and a query whose values are `gap` apart: the more, the fewer."""

    name: str
    keys: int
    tick: int
    gap: float
    within: str = "20 seconds"
    keyed: bool = True
    buckets: int | None = None

    @property
    def query(self) -> str:
        return f"""
            PATTERN SEQ(A a, B b, C c)
            WHERE   {"[k] AND " if self.keyed else ""}b.x > a.x + {self.gap} AND c.x > b.x + {self.gap}
            WITHIN  {self.within}
            RETURN  a.k AS k, a.x AS first, c.x AS last
        """


WORKLOADS = (
    Workload("1,000 keys, 200,000 events in a window", 1_000, 100, 0.45),
    Workload("100,000 keys, 200,000 events in a window", 100_000, 100, 0.0),
    Workload("100,000 keys, 2 million events in a window", 100_000, 10, 0.3),
    Workload("no key, 2,000 events in a window, one bucket", 1_000, 100, 0.49, "200 milliseconds", keyed=False),
    Workload("no key, 2,000 events in a window, by time", 1_000, 100, 0.49, "200 milliseconds", False, 16),
    Workload("1,000 keys, 200,000 events in a window, more matches", 1_000, 100, 0.36),
)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and write what was asked for."""
    parser = argparse.ArgumentParser(prog="benchmarks.spark_stream", description=__doc__)
    parser.add_argument("--rows", type=int, default=500_000, help="events of a micro-batch (default 500,000)")
    parser.add_argument("--batches", type=int, default=16, help="micro-batches with events (default 16)")
    parser.add_argument("--only", type=int, nargs="*", choices=range(len(WORKLOADS)), help="some of the workloads")
    parser.add_argument("--json", type=Path, help="also write the results to this file")
    given = parser.parse_args(arguments)
    spark = augury.spark.embedded_session(f"local[{os.cpu_count()}]", {"spark.driver.memory": "4g"})
    figures: dict[str, dict[str, float]] = {}
    for k, workload in enumerate(WORKLOADS):
        if given.only is None or k in given.only:
            figures[workload.name] = stream(spark, workload, given.rows, given.batches)
            print(workload.name)
            for what, value in figures[workload.name].items():
                print(f"  {what:<58} {value:>12,.2f}")
    if given.json is not None:
        given.json.parent.mkdir(parents=True, exist_ok=True)
        given.json.write_text(json.dumps(figures, indent=1) + "\n")
    spark.stop()
    return 0


def stream(spark: SparkSession, workload: Workload, rows: int, batches: int) -> dict[str, float]:
    """Events a second once the workers are warm, what stays as state, and what a batch without events costs."""
    source, out = FOLDER / f"stream{workload.keys}-{workload.tick}-{rows}-{batches}", FOLDER / "stream-matches"
    write_events(source, workload, rows, batches)
    shutil.rmtree(out, ignore_errors=True)
    schema = spark.read.parquet(str(source)).schema
    events = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1).parquet(str(source))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", augury.AuguryWarning)
        found = augury.spark.match(events, workload.query, lateness=f"{DELAY} microseconds", buckets=workload.buckets)
    query = (
        found.writeStream.option("checkpointLocation", str(out / "checkpoint"))
        .trigger(availableNow=True)
        .start(str(out / "matches"))
    )
    query.awaitTermination()
    progress = [json.loads(p.json) for p in query.recentProgress]
    matches = check(spark, source, out / "matches", workload)
    full = [p for p in progress if p["numInputRows"]]
    warm = full[len(full) // 2 :]
    empty = [p["batchDuration"] / 1_000 for p in progress if not p["numInputRows"]]
    return {
        "events a second (at least 150,000)": rows * len(warm) / seconds(warm),
        "seconds of a micro-batch, longest": max(p["batchDuration"] for p in warm) / 1_000,
        "seconds of a micro-batch without events (below 1)": min(empty, default=float("nan")),
        "matches for each event": matches / (rows * batches),
        "MiB of events in the state, half way": state_mib(spark, out / "checkpoint", full[len(full) // 2 - 1]),
        "MiB of events in the state, at the end": state_mib(spark, out / "checkpoint", full[-1]),
    }


def write_events(folder: Path, workload: Workload, rows: int, batches: int) -> None:
    """A file for each micro-batch, in order of their times of modification."""
    if folder.exists():
        return
    partial = folder.with_name(folder.name + ".partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    chance = np.random.default_rng(1)
    for file in range(batches):
        columns = {
            "ts": pa.array(np.arange(file * rows, (file + 1) * rows) * workload.tick, pa.timestamp("us", "UTC")),
            "type": pa.array(np.array(["A", "B", "C", "D"])[chance.integers(0, 4, rows)]),
            "k": chance.integers(0, workload.keys, rows),
            "x": chance.random(rows),
        }
        path = partial / f"{file:04}.parquet"
        pq.write_table(pa.table(columns), path)
        os.utime(path, (1_700_000_000 + file,) * 2)
    partial.rename(folder)


def check(spark: SparkSession, source: Path, matches: Path, workload: Workload) -> int:
    """How many matches there are before the last watermark; a time means nothing unless the answer is right."""
    events = pq.read_table(source)
    # Spark's watermark is in milliseconds.
    last = (pc.max(events["ts"]).cast(pa.int64()).as_py() - DELAY) // 1_000 * 1_000
    expected = augury.match(events, workload.query, max_matches=10**9).to_arrow()
    certain = expected.filter(pc.less(expected["end"].cast(pa.int64()), last))
    row = spark.read.parquet(str(matches)).selectExpr("count(*)", "sum(k)", "sum(first)", "sum(last)").collect()[0]
    sums = [len(certain), *(pc.sum(certain[name]).as_py() for name in ("k", "first", "last"))]
    assert np.allclose(list(row), sums, rtol=1e-9), (list(row), sums)
    assert len(certain), "no matches"
    return len(certain)


def seconds(progress: Sequence[dict[str, Any]]) -> float:
    """From the start of the first micro-batch to the end of the last."""
    first, last = (datetime.fromisoformat(p["timestamp"]) for p in (progress[0], progress[-1]))
    return (last - first).total_seconds() + float(progress[-1]["batchDuration"]) / 1_000


def state_mib(spark: SparkSession, checkpoint: Path, progress: dict[str, Any]) -> float:
    """What the state held after a micro-batch, in MiB."""
    reader = spark.read.format("statestore").option("stateVarName", f"{state_name(None)}_events")
    states = reader.option("batchId", progress["batchId"]).load(str(checkpoint))
    return float(states.selectExpr("coalesce(sum(length(user_map_value.events)), 0)").collect()[0][0]) / 2**20


if __name__ == "__main__":
    sys.exit(main())
