"""Finite frames: the same matches as the local engine, whatever the partitions and chunks."""

from __future__ import annotations

import random

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import augury
import augury.spark
from tests.spark.comparing import frame_of, local_rows, rows_of

KEYED = "PATTERN SEQ(A a, B b, C c) WHERE [k] AND a.x < b.x AND b.x < c.x WITHIN 40 seconds"
KEYLESS = "PATTERN SEQ(A a, NOT(C n), B b) WHERE a.x + b.x = 7 AND n.x > a.x WITHIN 12 seconds"
QUERIES = {
    "by key": KEYED,
    "by a derived key": "PATTERN SEQ(A a, B b) WHERE a.k = b.k AND a.x < b.x WITHIN 9 seconds RETURN b.x - a.x AS d",
    "without a key": KEYLESS,
    "leading and trailing NOT": (
        "PATTERN SEQ(NOT(C m), A a, B b, NOT(C n)) WHERE a.x = b.x AND m.x = a.x AND n.x = b.x WITHIN 8 seconds"
    ),
    "next match": "PATTERN SEQ(A a, B+ b[], C c) WHERE skip_till_next_match { b[i].x > 2 } WITHIN 10 seconds",
    "contiguous": "PATTERN SEQ(A a, B+ b[]) WHERE strict_contiguity { a.x > 3 } WITHIN 10 seconds",
    "contiguous by key": "PATTERN SEQ(A a, B b) WHERE partition_contiguity { [k] } WITHIN 20 seconds",
    "lists": "PATTERN SEQ(A a, B{1,2} b[], C c) WHERE [k] AND b[i].x > a.x WITHIN 15 seconds",
    "latest": "PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 10 seconds OUTPUT LATEST",
    "counted": "PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 10 seconds OUTPUT COUNT",
    "totals": (
        "PATTERN SEQ(A a, B b) WITHIN 10 seconds OUTPUT COUNT RETURN sum(a.x) AS s, avg(a.x) AS m, b.k, max(a.ts) AS t"
    ),
    "a set": "PATTERN AND(A a, B b) WHERE a.x = b.x AND a.x > 5 WITHIN 6 seconds",
    "optional": "PATTERN SEQ(A a, B? b, C c) WHERE a.x = c.x AND b.x = a.x WITHIN 9 seconds",
}


def stream(size: int = 300, keys: int = 5) -> pa.Table:
    """Events in no order of time, some of them concurrent."""
    chance = random.Random(7)
    return pa.table(
        {
            "ts": [chance.randrange(size) for _ in range(size)],
            "seq": list(range(size)),
            "type": [chance.choice("ABCD") for _ in range(size)],
            "k": [chance.choice([*(f"k{n}" for n in range(keys)), None]) for _ in range(size)],
            "x": pa.array([chance.choice([*range(9), None]) for _ in range(size)], pa.int64()),
            "y": [chance.random() for _ in range(size)],
        }
    )


@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
@pytest.mark.parametrize("query", QUERIES.values(), ids=list(QUERIES))
def test_spark_finds_what_the_local_engine_finds(spark: SparkSession, query: str) -> None:
    events = stream()
    expected = local_rows(events, query, order_by=("ts", "seq"))
    frame = frame_of(spark, events).repartition(3)
    assert rows_of(augury.spark.match(frame, query, order_by=("ts", "seq"))) == expected
    assert rows_of(augury.spark.match(frame, query, order_by=("ts", "seq"), chunks=7, partitions=3)) == expected
    assert sum(expected.values()) > 1


@pytest.mark.parametrize("part", ["partitions", "chunks", "buckets"])
def test_less_than_one_part_is_an_error(spark: SparkSession, part: str) -> None:
    with pytest.raises(augury.HostError, match="A589"):
        augury.spark.match(frame_of(spark, stream(5)), KEYED, **{part: 0})  # type: ignore[arg-type]


def test_one_task_for_all_events_comes_with_a_warning(spark: SparkSession) -> None:
    with pytest.warns(augury.AuguryWarning, match="without WITHIN a match may span the whole stream") as notes:
        augury.spark.match(frame_of(spark, stream(5)), "PATTERN SEQ(A a, B b)")
    assert notes.pop(augury.AuguryWarning).filename == __file__
