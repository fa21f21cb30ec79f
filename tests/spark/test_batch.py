"""Finite frames: the same matches as the local engine, whatever the partitions and chunks."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

import augury
import augury.spark
from tests.engine.streams import KEYED, QUERIES, local_rows, stream
from tests.spark.comparing import frame_of, rows_of
from tests.thorough import quick

ONE_OF_A_KIND = ("by key", "without a key", "contiguous", "totals")
"""Queries that are cut by key, by time and not at all, and one with columns of its own."""


@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
@pytest.mark.parametrize("query", quick(QUERIES, *ONE_OF_A_KIND))
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
