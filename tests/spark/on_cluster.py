"""A job on a cluster, in a process of its own: `python -m tests.spark.on_cluster MASTER FOLDER JOB`.

What it found goes to `found.json` in the folder.
"""

from __future__ import annotations

import json
import os
import random
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql import DataFrame, SparkSession

import augury.spark
from tests.spark.cluster import SETTINGS
from tests.spark.comparing import rows_of
from tests.spark.streaming import read_files, run_to_end

PARTS = 6

QUERIES = {
    "by key": "PATTERN SEQ(A a, B b, C c) WHERE [k] AND a.x < b.x AND b.x < c.x WITHIN 90 seconds",
    "by time": "PATTERN SEQ(A a, NOT(C n), B b) WHERE a.x + b.x = 7 AND n.x > a.x WITHIN 12 seconds",
    "compiled": "PATTERN SEQ(A a, B b) WHERE [k] AND a.x < b.x WITHIN 20 seconds",
    "stream": (
        "PATTERN SEQ(A a, B b, NOT(C c)) WHERE [k] AND a.x < b.x WITHIN 20 seconds RETURN a.n AS a, b.n AS b, a.k AS k"
    ),
}


def events(size: int = 1_500, keys: int = 12) -> pa.Table:
    """Events a little out of order, and one that ends every window."""
    chance = random.Random(11)
    rows: list[dict[str, Any]] = [
        {
            "ts": 1_000 + n + chance.randrange(-2, 3),
            "n": n,
            "type": chance.choice("ABCD"),
            "k": f"k{chance.randrange(keys)}",
            "x": chance.randrange(9),
        }
        for n in range(size)
    ]
    return pa.Table.from_pylist([*rows, {"ts": 1_000_000, "n": -1, "type": "End", "k": "k0", "x": 0}])


@dataclass(frozen=True, slots=True)
class Slowly:
    """Passes rows on, each task after a while, and leaves a file for each attempt at one that says who made it."""

    folder: Path

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        task = TaskContext.get()
        assert task is not None
        attempt = self.folder / f"part-{task.partitionId()}-attempt-{task.taskAttemptId()}"
        # A worker of the cluster leads the session of all that it has started.
        attempt.with_suffix(".tmp").write_text(str(os.getsid(0)))
        attempt.with_suffix(".tmp").rename(attempt)
        time.sleep(0.7)
        yield from batches


def found_in(spark: SparkSession, folder: Path, job: str) -> DataFrame:
    """Run the job over the files in `events`; batches leave a trace of their tasks in `tasks`."""
    files, query = folder / "events", QUERIES[job]
    if job == "compiled":
        # Compiles the kernel; with it in the cache of the driver, executors have nothing to compile.
        augury.match(events(), query, order_by=("ts", "n"), jit=True)
        frame = spark.read.parquet(str(files))
        return augury.spark.match(frame, query, order_by=("ts", "n"), partitions=PARTS, jit=True)
    if job == "stream":
        frame = read_files(spark, files, events(0).schema)
        run_to_end(augury.spark.match(frame, query, order_by=("ts", "n"), lateness="5 seconds", buckets=4), folder)
        return spark.read.parquet(str(folder / "matches"))
    split = {"by key": {"partitions": PARTS}, "by time": {"chunks": PARTS}}[job]
    found = augury.spark.match(spark.read.parquet(str(files)), query, order_by=("ts", "n"), **split)  # type: ignore[arg-type]
    return found.mapInArrow(Slowly(folder / "tasks"), found.schema)


if __name__ == "__main__":
    master, place, job = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
    session = augury.spark.embedded_session(master, SETTINGS)
    (place / "found.json").write_text(json.dumps(rows_of(found_in(session, place, job))))
    session.stop()
