"""A stream that is killed and started again has every match, and each of them once."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.spark.comparing import local_rows, rows_of
from tests.spark.streaming import write_files

ROOT = Path(__file__).parents[2]
QUERY = "PATTERN SEQ(A a, B b, NOT(C c)) WHERE [k] AND a.x < b.x WITHIN 20 seconds RETURN a.n AS a, b.n AS b, a.k AS k"
OPTIONS: dict[str, Any] = {"watermark": "5 seconds", "buckets": 3}
FILES = 5


def events(size: int) -> pa.Table:
    chance = random.Random(1)
    rows = [
        {
            "ts": 1_000 + n + chance.randrange(-2, 3),
            "type": chance.choice("ABC"),
            "k": chance.choice("pqr"),
            "x": chance.randrange(9),
            "n": n,
        }
        for n in range(size)
    ]
    return pa.Table.from_pylist([*rows, {"ts": 100_000, "type": "End", "k": "p", "x": 0, "n": -1}])


EVENTS = events(250)


def start(folder: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.spark.pipeline_under_fire", str(folder)],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT)])},
        start_new_session=True,
    )


def kill_when(running: subprocess.Popen[bytes], folder: Path, batches: int, *, inside: bool) -> None:
    """Kill -9 once so many micro-batches are done, while one is under way or when none is."""
    deadline = time.monotonic() + 120
    while True:
        done, begun = (len(list((folder / "checkpoint" / name).glob("[0-9]*"))) for name in ("commits", "offsets"))
        if done >= batches and (begun > done) == inside:
            break
        assert running.poll() is None, "the stream was over before it could be killed"
        assert time.monotonic() < deadline, "the stream made no progress"
        time.sleep(0.01)
    os.killpg(running.pid, signal.SIGKILL)
    running.wait()


def survived(spark: SparkSession, folder: Path, kills: list[tuple[int, bool]]) -> None:
    step = -(-len(EVENTS) // FILES)
    write_files([EVENTS.slice(first, step) for first in range(0, len(EVENTS), step)], folder / "events")
    for batches, inside in kills:
        kill_when(start(folder), folder, batches, inside=inside)
    assert start(folder).wait(timeout=240) == 0
    expected = local_rows(EVENTS, QUERY)
    assert rows_of(spark.read.parquet(str(folder / "matches"))) == expected
    assert sum(expected.values()) > 20


def test_killed_inside_a_micro_batch(spark: SparkSession, tmp_path: Path) -> None:
    survived(spark, tmp_path, [(1, True)])


@pytest.mark.slow
def test_killed_again_and_again(spark: SparkSession, tmp_path: Path) -> None:
    survived(spark, tmp_path, [(1, False), (2, True), (3, True), (4, False)])
