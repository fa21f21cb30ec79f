"""What an event costs on Spark, by stage, and whether a linear model holds: `python -m benchmarks.scale_spark`.

The query and the random events are those of `benchmarks.scale`. They are matched in a session with one core, in one
with two, and on a standalone cluster of two workers on this machine, each in a process of its own. The model, a cost
of the job and one of each event, is the line through the smallest and the largest stream in the session with one core;
everything else is compared with it. Processor time is that of the driver, the JVMs and all Python workers.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from rich.console import Console
from rich.table import Table

import augury.spark
from benchmarks.scale import COLUMNS, QUERY, TIME, UNIT, Cost, write_stream
from benchmarks.spark_batch import processor_time
from tests.spark.cluster import cluster

EVENTS = (1_000_000, 3_000_000, 10_000_000)
PLACES = ("1 core", "2 cores", "cluster of 2 workers")
STAGES = ("read", "read and shuffle", "match by key", "match files by range")
SETTINGS = {"spark.sql.shuffle.partitions": "8", "spark.driver.memory": "4g"}
ON_CLUSTER = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.executor.memory": "2g",
    "spark.executor.cores": "1",
    "spark.cores.max": "2",
    "spark.scheduler.minRegisteredResourcesRatio": "1.0",
}


@contextmanager
def session(place: str, folder: Path) -> Iterator[SparkSession]:
    """A session with the cores that the name of the place tells, and no more."""
    match place:
        case "1 core" | "2 cores":
            cores = int(place[0])
            os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:cores])
            spark = augury.spark.embedded_session(f"local[{cores}]", SETTINGS)
            yield spark
            spark.stop()
        case _:
            with cluster(folder, memory="3g") as started:
                spark = augury.spark.embedded_session(started.master, SETTINGS | ON_CLUSTER)
                yield spark
                spark.stop()


def stages(spark: SparkSession, path: Path) -> dict[str, Callable[[], DataFrame]]:
    """What is measured, each as a frame that is computed and thrown away."""
    frame = spark.read.parquet(str(path)).select(*COLUMNS)
    return {
        "read": lambda: frame,
        "read and shuffle": lambda: frame.repartition(8, "k"),
        "match by key": lambda: augury.spark.match(frame, QUERY, time=TIME, time_unit=UNIT, partitions=8, chunks=1),
        "match files by range": lambda: augury.spark.match_files(
            spark, str(path), QUERY, time=TIME, time_unit=UNIT, tasks=8
        ),
    }


def measure(place: str, events: Sequence[int], rounds: int, streams: Path, folder: Path) -> dict[str, dict[str, float]]:
    """Processor and wall-clock seconds of each stage for each number of events, the least of several rounds."""
    found: dict[str, dict[str, float]] = {}
    with session(place, folder) as spark:
        # The JVM compiles what it runs often: without a warm-up the first streams would seem dearer than the last.
        for plan in stages(spark, streams / f"{max(events)}.parquet").values():
            _computed(plan)
        for number in events:
            work = stages(spark, streams / f"{number}.parquet")
            counts = {what: work[what]().count() for what in STAGES if what.startswith("match")}
            assert len(set(counts.values())) == 1, counts
            for what, plan in work.items():
                used, took = [], []
                for _ in range(rounds):
                    before, began = processor_time(), time.perf_counter()
                    _computed(plan)
                    took.append(time.perf_counter() - began)
                    used.append(processor_time() - before)
                found[f"{what} {number}"] = {"cpu": min(used), "seconds": min(took)}
    return found


def _computed(plan: Callable[[], DataFrame]) -> None:
    plan().write.format("noop").mode("overwrite").save()


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale_spark", description=__doc__)
    parser.add_argument("--events", type=int, nargs="+", default=list(EVENTS), help="sizes of the streams, two or more")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--places", nargs="+", choices=PLACES, default=list(PLACES))
    parser.add_argument("--child", help=argparse.SUPPRESS)
    parser.add_argument("--streams", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    warnings.simplefilter("ignore", augury.AuguryWarning)
    events = sorted(given.events)
    with tempfile.TemporaryDirectory() as folder:
        if given.child:
            print(json.dumps(measure(given.child, events, given.rounds, given.streams, Path(folder))))
            return 0
        for number in events:
            write_stream(Path(folder) / f"{number}.parquet", number)
        found = {place: _in_child(place, events, given.rounds, Path(folder)) for place in given.places}
    Console(width=None if sys.stdout.isatty() else 140).print(_table(found, events))
    return 0


def _in_child(place: str, events: Sequence[int], rounds: int, streams: Path) -> dict[str, dict[str, float]]:
    command = [sys.executable, "-m", "benchmarks.scale_spark", "--child", place, "--streams", str(streams)]
    command += ["--rounds", str(rounds), "--events", *map(str, events)]
    said = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
    found: dict[str, dict[str, float]] = json.loads(said.splitlines()[-1])
    return found


def _table(found: dict[str, dict[str, dict[str, float]]], events: Sequence[int]) -> Table:
    first, *_ = found
    table = Table(
        title=f"CPU seconds by stage: measured / model, the line through {first}'s smallest and largest stream"
    )
    for column in ("stage", "events", "job, s", "event, ns", *found, *(f"{place}, clock" for place in found)):
        table.add_column(column, justify="right")
    for what in STAGES:
        cost = Cost.fitted({number: found[first][f"{what} {number}"]["cpu"] for number in events})
        for number in events:
            here = [found[place][f"{what} {number}"] for place in found]
            compared = [f"{one['cpu']:.2f} / {cost.of(number):.2f}" for one in here]
            clocks = [f"{one['seconds']:.2f} s" for one in here]
            table.add_row(what, f"{number:,}", f"{cost.fixed:.2f}", f"{cost.event * 1e9:.0f}", *compared, *clocks)
    return table


if __name__ == "__main__":
    sys.exit(main())
