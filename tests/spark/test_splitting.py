"""How a finite frame is split, and what is looked at to decide it."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import augury
import augury.spark
from augury.hosts.spark.batch import match as batch
from augury.hosts.spark.batch.sample import SAMPLE_EVENTS, SampledFrame
from augury.hosts.spark.jobs import spark_job
from augury.hosts.spark.schemas import arrow_schema
from augury.options import Roles, make_options
from augury.source import Source
from tests.engine.streams import BY_SKEWED_KEY, local_rows, skewed
from tests.spark.comparing import frame_of, rows_of


def test_a_key_with_most_of_the_events_is_split_by_time(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "MIN_CHUNK_EVENTS", 500)
    events = skewed(3_000, 0.9)
    frame = frame_of(spark, events)
    with pytest.warns(augury.AuguryWarning, match=r"9\d% of the events have the key k='heavy'.*by time") as notes:
        found = augury.spark.match(frame, BY_SKEWED_KEY, partitions=4)
    assert notes.pop(augury.AuguryWarning).filename == __file__
    assert rows_of(found) == local_rows(events, BY_SKEWED_KEY)


@pytest.mark.parametrize("share, how", [(0.0, {}), (0.9, {"chunks": 1}), (0.9, {"partitions": 1})])
def test_other_events_are_split_by_key(
    spark: SparkSession, share: float, how: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "MIN_CHUNK_EVENTS", 500)
    events = skewed(3_000, share)
    with warnings.catch_warnings():
        warnings.simplefilter("error", augury.AuguryWarning)
        found = augury.spark.match(frame_of(spark, events), BY_SKEWED_KEY, **{"partitions": 4, **how})  # type: ignore[arg-type]
    assert rows_of(found) == local_rows(events, BY_SKEWED_KEY)


def test_a_key_that_comes_first_does_not_dominate(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first rows of a file that is sorted by key are all of one key."""
    monkeypatch.setattr(batch, "MIN_CHUNK_EVENTS", 500)
    events = skewed(30_000, 0.0).sort_by("k")
    pq.write_table(events, tmp_path / "events.parquet")
    with warnings.catch_warnings():
        warnings.simplefilter("error", augury.AuguryWarning)
        augury.spark.match(spark.read.parquet(str(tmp_path)), BY_SKEWED_KEY, partitions=4)
        augury.spark.match(frame_of(spark, events), BY_SKEWED_KEY, partitions=4)


def test_the_sample_is_spread_over_files(spark: SparkSession, tmp_path: Path) -> None:
    size = 200_000
    events = pa.table(
        {
            "ts": np.arange(size),
            "type": np.where(np.arange(size) < size // 2, "A", "B"),
            "x": np.arange(size),
        }
    )
    pq.write_table(events, tmp_path / "events.parquet")
    sampled = SampledFrame(spark.read.parquet(str(tmp_path)))
    seen = sampled.sample(["ts", "type"])
    assert len(seen) == pytest.approx(SAMPLE_EVENTS, rel=0.2)
    assert np.mean(seen["type"].to_numpy() == "A") == pytest.approx(0.5, abs=0.1)
    query = "PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 9 seconds"
    frame = sampled.frame
    job = spark_job(Source(query), arrow_schema(frame.schema), Roles(), make_options(), stream=sampled)
    statistics = job.program.last.choice.plan.statistics  # type: ignore[attr-defined]
    assert statistics.source == f"measured on {len(seen)} of {size} events"
    assert statistics.rates["a"] == pytest.approx(0.5, rel=0.2)
    assert statistics.rates["b"] == pytest.approx(0.5, rel=0.2)
