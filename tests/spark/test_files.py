"""Files that tasks read by range: the same matches as through a shuffle, or a reason why not."""

from __future__ import annotations

import random
import warnings
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import augury
import augury.spark
from augury.engine.scan.tasks import ScanPlan
from tests.engine.streams import QUERIES, local_rows, stream
from tests.engine.test_scan import BY_TIME, ORDER, plan_of, write
from tests.spark.comparing import rows_of


@pytest.mark.parametrize("name", BY_TIME)
def test_ranges_of_time_have_all_matches_once(spark: SparkSession, name: str, tmp_path: Path) -> None:
    events = stream()
    folder = write(events, tmp_path / "events", files=3, row_group=13)
    with warnings.catch_warnings():
        warnings.simplefilter("error", augury.AuguryWarning)
        found = augury.spark.match_files(spark, folder, QUERIES[name], order_by=ORDER, tasks=3)
    assert rows_of(found) == local_rows(events, QUERIES[name], order_by=ORDER)
    plan = plan_of(QUERIES[name], events, folder, 3)
    assert isinstance(plan, ScanPlan)
    assert plan.tasks[0].chunk is not None
    assert len(plan.tasks) > 1


def test_files_with_keys_of_their_own_are_matched_apart(spark: SparkSession, tmp_path: Path) -> None:
    events = stream().sort_by("ts")
    events = events.filter(pc.is_valid(events["k"]))
    folder = tmp_path / "events"
    folder.mkdir()
    for name in ("k0", "k1", "k2", "k3", "k4"):
        pq.write_table(events.filter(pc.equal(events["k"], name)), folder / f"{name}.parquet")
    query = "PATTERN SEQ(A a, B b) WHERE skip_till_next_match { [k] } WITHIN 30 seconds OUTPUT NONOVERLAP"
    with warnings.catch_warnings():
        warnings.simplefilter("error", augury.AuguryWarning)
        found = augury.spark.match_files(spark, str(folder), query, order_by=ORDER, tasks=2)
    expected = local_rows(events, query, order_by=ORDER)
    assert rows_of(found) == expected
    assert expected
    plan = plan_of(query, events, folder, 2)
    assert isinstance(plan, ScanPlan)
    assert all(task.chunk is None for task in plan.tasks)
    assert sorted(len({g.file for g in part.groups}) for part in plan.tasks) == [2, 3]


@pytest.mark.parametrize(
    "query, reason",
    [
        ("PATTERN SEQ(A a, B b) WHERE [k] AND a.x < b.x", "without WITHIN .* statistics do not show"),
        ("PATTERN SEQ(A a, B b) WHERE a.x + b.x = 9 AND a.x > 6 WITHIN 200 seconds", "WITHIN overlaps .* no key"),
    ],
)
def test_what_cannot_be_read_by_range_is_shuffled(spark: SparkSession, query: str, reason: str, tmp_path: Path) -> None:
    events = stream()
    folder = write(events, tmp_path / "events", files=3, row_group=10)
    with pytest.warns(augury.AuguryWarning, match=reason) as notes:
        found = augury.spark.match_files(spark, folder, query, order_by=ORDER, tasks=3)
    assert notes.pop(augury.AuguryWarning).filename == __file__
    assert rows_of(found) == local_rows(events, query, order_by=ORDER)


def test_events_without_a_time_are_an_error_as_ever(spark: SparkSession, tmp_path: Path) -> None:
    events = pa.table({"ts": pa.array([1, None, 3], pa.int64()), "type": ["A", "B", "B"]})
    pq.write_table(events, tmp_path / "events.parquet")
    query = "PATTERN SEQ(A a, B b) WITHIN 9 seconds"
    with pytest.warns(augury.AuguryWarning, match="without a time"):
        found = augury.spark.match_files(spark, tmp_path, query, statistics={})
    with pytest.raises(Exception, match="A509"):
        found.collect()
    with pytest.raises(augury.HostError, match="A509"):
        augury.spark.match_files(spark, tmp_path, query)


def test_timestamps_and_arrival(spark: SparkSession, tmp_path: Path) -> None:
    """Concurrent events are consumed as they stand in the files."""
    chance = random.Random(3)
    events = pa.table(
        {
            "ts": pa.array(sorted(chance.randrange(40) * 1_000_000 for _ in range(120)), pa.timestamp("us", "UTC")),
            "type": [chance.choice("ABC") for _ in range(120)],
            "n": range(120),
        }
    )
    pq.write_table(events, tmp_path / "events.parquet", row_group_size=7)
    query = "PATTERN SEQ(A a, B b) WHERE skip_till_next_match { b.n > a.n } WITHIN 2 seconds RETURN a.n AS a, b.n AS b"
    found = augury.spark.match_files(spark, tmp_path, query, tasks=3)
    with pytest.warns(augury.AuguryWarning, match="concurrent"):
        assert rows_of(found) == local_rows(events, query)


def test_less_than_one_task_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    with pytest.raises(augury.HostError, match="A589"):
        augury.spark.match_files(spark, tmp_path, "PATTERN SEQ(A a)", tasks=0)


def test_numbers_beyond_64_bits_are_left_to_spark(spark: SparkSession, tmp_path: Path) -> None:
    """Spark reads unsigned numbers of 64 bits as decimals; Arrow could not compare them with ours."""
    events = pa.table(
        {
            "ts": [1, 2, 3, 4],
            "type": ["A", "B", "A", "B"],
            "seq": range(4),
            "u": pa.array([5, 2**63 + 5, 2**64 - 1, 7], pa.uint64()),
        }
    )
    folder = tmp_path / "events"
    folder.mkdir()
    pq.write_table(events, folder / "events.parquet")
    query = "PATTERN SEQ(A a, B b) WHERE a.u > 6 WITHIN 5 seconds RETURN a.seq AS a, b.seq AS b"
    with pytest.warns(augury.AuguryWarning, match="`u` is of type uint64 in a file"):
        found = augury.spark.match_files(spark, folder, query)
    assert [(row.a, row.b) for row in found.collect()] == [(2, 3)]
