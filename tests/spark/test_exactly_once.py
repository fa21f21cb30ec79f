"""A stream that is killed and started again has every match, and each of them once.

`test_kafka` has a quick test of the same kind.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.engine.streams import local_rows
from tests.spark.comparing import rows_of
from tests.spark.processes import environment, module, running, wait_until
from tests.spark.streaming import write_files
from tests.thorough import THOROUGH

QUERY = "PATTERN SEQ(A a, B b, NOT(C c)) WHERE [k] AND a.x < b.x WITHIN 20 seconds RETURN a.n AS a, b.n AS b, a.k AS k"
OPTIONS: dict[str, Any] = {"lateness": "5 seconds", "buckets": 3}
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


def fire_at(
    folder: Path, sink: str, kills: Sequence[tuple[str, Callable[[], bool]]], env: Mapping[str, str] | None = None
) -> None:
    """Run a stream as often as it is killed, each time when something has happened, and then to its end."""
    env = environment() if env is None else env
    step = -(-len(EVENTS) // FILES)
    write_files([EVENTS.slice(first, step) for first in range(0, len(EVENTS), step)], folder / "events")
    command, log = module("tests.spark.pipeline_under_fire", folder, sink), folder / "log"
    for what, happened in kills:
        with running(command, log, env) as stream:
            wait_until(happened, what, program=stream, log=log, every=0.01)
    with running(command, log, env) as stream:
        assert stream.wait(timeout=240) == 0, log.read_text()


def between(folder: Path, batches: int) -> tuple[str, Callable[[], bool]]:
    """So many micro-batches are done, and none is under way."""

    def happened() -> bool:
        done, begun = progress(folder)
        return done >= batches and begun == done

    return f"{batches} micro-batches were done", happened


def inside(folder: Path, batches: int) -> tuple[str, Callable[[], bool]]:
    """So many micro-batches are done, and one is under way."""

    def happened() -> bool:
        done, begun = progress(folder)
        return done >= batches and begun > done

    return f"one after {batches} micro-batches was under way", happened


def before_commit(folder: Path, batch: int) -> tuple[str, Callable[[], bool]]:
    """A micro-batch is written, and Spark does not know it yet."""
    written, committed = folder / "written" / f"{batch}.json", folder / "checkpoint" / "commits" / str(batch)
    return f"micro-batch {batch} was written", lambda: written.exists() and not committed.exists()


def progress(folder: Path) -> tuple[int, int]:
    """How many micro-batches are done, and how many have begun."""
    done, begun = (len(list((folder / "checkpoint" / name).glob("[0-9]*"))) for name in ("commits", "offsets"))
    return done, begun


def expected() -> Counter[str]:
    found = local_rows(EVENTS, QUERY)
    assert sum(found.values()) > 20
    return found


@pytest.mark.slow
@pytest.mark.needs("streams")
def test_killed_inside_a_micro_batch(spark: SparkSession, tmp_path: Path) -> None:
    fire_at(tmp_path, "files", [inside(tmp_path, 1)])
    assert rows_of(spark.read.parquet(str(tmp_path / "matches"))) == expected()


@pytest.mark.slow
@pytest.mark.needs("streams")
def test_killed_again_and_again(spark: SparkSession, tmp_path: Path) -> None:
    kills = [between(tmp_path, 1), inside(tmp_path, 2), inside(tmp_path, 3), between(tmp_path, 4)]
    fire_at(tmp_path, "files", kills if THOROUGH else kills[1::2])
    assert rows_of(spark.read.parquet(str(tmp_path / "matches"))) == expected()


@pytest.mark.slow
@pytest.mark.needs("streams")
def test_a_sink_that_knows_the_numbers_of_micro_batches(tmp_path: Path) -> None:
    kills = [between(tmp_path, 1), before_commit(tmp_path, 1), inside(tmp_path, 2), before_commit(tmp_path, 3)]
    fire_at(tmp_path, "foreach", kills if THOROUGH else kills[1::2])
    written = tmp_path / "written"
    found = sum((Counter(json.loads(path.read_text())) for path in written.glob("*.json")), Counter[str]())
    assert found == expected()
    times = Counter((written / "log").read_text().split())
    assert times["1"] >= 2, "nothing was written again"
    assert times["3"] >= 2, "nothing was written again"
