"""A pipeline that is killed and started again, from Kafka to Kafka and from files to files."""

from __future__ import annotations

import json
import os
import random
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import augury
from augury.hosts.spark.releases import collected
from tests.spark.kafka import Broker, Unreachable, broker, connector
from tests.spark.processes import environment, kill, module, running, wait_until

QUERY = "PATTERN SEQ(A a, B b, NOT(C c)) WHERE [k] AND a.x < b.x WITHIN 20 seconds RETURN a.n AS a, b.n AS b"
COLUMNS = "ts LONG, n LONG, type STRING, k STRING, x LONG"

PIPELINE = """
[spark]
master = "local[2]"

[spark.settings]
"spark.driver.extraJavaOptions" = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"
{settings}

[source]
columns = "{columns}"
{source}

[events]
lateness = "60 seconds"

[streaming]
checkpoint = "checkpoint"
buckets = 2

[[query]]
name = "found"
text = "{query}"
sink = {sink}
"""


def events(size: int = 300) -> list[dict[str, Any]]:
    chance = random.Random(5)
    rows = [
        {
            "ts": 1_000 + n,
            "n": n,
            "type": chance.choice("ABABC"),
            "k": chance.choice("pqrstu"),
            "x": chance.randrange(9),
        }
        for n in range(size)
    ]
    return [*rows, {"ts": 1_000_000, "n": -1, "type": "End", "k": "p", "x": 0}]


EVENTS = events()


def expected() -> Counter[tuple[int, int]]:
    found = augury.match(pa.Table.from_pylist(EVENTS), QUERY).to_arrow().to_pylist()
    assert len(found) > 30
    return pairs(found)


def pairs(rows: list[dict[str, Any]]) -> Counter[tuple[int, int]]:
    return Counter((row["a"], row["b"]) for row in rows)


def killed_and_started_again(folder: Path, *, source: str, sink: str, settings: str = "") -> None:
    """Run a pipeline, kill -9 it inside of its third micro-batch, and run it to its end."""
    path = folder / "pipeline.toml"
    path.write_text(PIPELINE.format(columns=COLUMNS, query=QUERY, source=source, sink=sink, settings=settings))
    command = module("augury.cli", "run", path)
    with running(command, folder / "first.log", environment()) as first:
        wait_until(
            lambda: under_way(folder) == 2, "its third micro-batch", program=first, log=folder / "first.log", every=0.01
        )
        kill(first)
    with running(command, folder / "second.log", environment()) as second:
        assert second.wait(timeout=240) == 0, (folder / "second.log").read_text()


def under_way(folder: Path) -> int | None:
    """The number of the micro-batch that is under way."""
    checkpoint = folder / "checkpoint" / "found"
    done, begun = (len(list((checkpoint / name).glob("[0-9]*"))) for name in ("commits", "offsets"))
    return done if begun > done else None


@pytest.fixture
def kafka(tmp_path: Path) -> Iterator[Broker]:
    place = tmp_path / "kafka"
    place.mkdir()
    try:
        with broker(place) as there:
            yield there
    except Unreachable as e:
        pytest.skip(f"Kafka comes from Maven Central, which cannot be reached: {e}")


@pytest.mark.slow
@pytest.mark.needs("streaming pipelines")
def test_from_kafka_to_kafka(kafka: Broker, tmp_path: Path) -> None:
    kafka.produce("readings", [(row["k"], json.dumps(row)) for row in EVENTS])
    servers = f'"kafka.bootstrap.servers" = "{kafka.server}"'
    killed_and_started_again(
        tmp_path,
        source=f"""
            format = "kafka"
            options = {{ subscribe = "readings", startingOffsets = "earliest", maxOffsetsPerTrigger = "60", {servers} }}
        """,
        sink=f'{{ format = "kafka", options = {{ topic = "found", {servers} }} }}',
        settings=f'"spark.jars" = "{",".join(str(jar) for jar in connector(tmp_path / "connector"))}"',
    )
    found = pairs([json.loads(value) for value in kafka.consume("found")])
    # Spark writes to Kafka at least once: messages of the micro-batch that was killed may be there twice.
    assert found.keys() == expected().keys()
    assert max(found.values()) <= 2


@pytest.mark.slow
@pytest.mark.needs("streaming pipelines")
def test_from_files_to_files(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "events").mkdir()
    for number in range(0, len(EVENTS), 60):
        path = tmp_path / "events" / f"{number:04}.json"
        path.write_text("\n".join(json.dumps(row) for row in EVENTS[number : number + 60]))
        os.utime(path, (1_700_000_000 + number,) * 2)
    killed_and_started_again(
        tmp_path,
        source='format = "json"\npath = "events"\noptions = { maxFilesPerTrigger = "1" }',
        sink='{ format = "json", path = "found" }',
    )
    found = spark.read.schema("a LONG, b LONG").json(str(tmp_path / "found"))
    assert pairs(collected(found).to_pylist()) == expected()
