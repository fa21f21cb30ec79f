"""Many queries at once."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import augury.spark
from tests.engine.streams import local_rows, stream
from tests.spark.comparing import frame_of, rows_of
from tests.spark.streaming import read_files, run_to_end, write_files
from tests.spark.test_stream import EVENTS, cut, with_end

QUERIES = {
    "rise": "PATTERN SEQ(A a, B b) WHERE [k] AND a.x < b.x WITHIN 5 seconds",
    "alone": "PATTERN SEQ(A a, NOT(C c)) WHERE [k] WITHIN 4 seconds RETURN a.x AS x, a.k AS k",
    "counted": "PATTERN SEQ(A a, C c) WHERE [k] WITHIN 9 seconds OUTPUT COUNT",
}
KEYLESS = {"any": "PATTERN SEQ(A a, B b, C c) WHERE a.x = c.x WITHIN 8 seconds RETURN a.x AS x"}


def own(found: DataFrame, name: str) -> DataFrame:
    """The matches of one query, with the columns they would have alone."""
    start = [] if name == "counted" else ["start"]
    return found.where(f"query = '{name}'").select(*start, "end", f"{name}.*")


def test_a_frame_is_read_and_shuffled_once_for_a_key(spark: SparkSession) -> None:
    events = stream()
    found = augury.spark.match_all(frame_of(spark, events), QUERIES | KEYLESS, chunks=3).cache()
    for name, query in (QUERIES | KEYLESS).items():
        expected = local_rows(events, query)
        assert rows_of(own(found, name)) == expected
        assert expected
    assert found.columns == ["query", "start", "end", "rise", "alone", "counted", "any"]
    plan = frame_of(spark, events).transform(augury.spark.match_all, QUERIES)
    assert plan._jdf.queryExecution().executedPlan().toString().count("Exchange") == 1


@pytest.mark.needs("streams")
def test_a_stream_is_shuffled_once_for_a_key(spark: SparkSession, tmp_path: Path) -> None:
    tables = cut(with_end(EVENTS), 7)
    files = write_files(tables, tmp_path / "events")
    found = augury.spark.match_all(read_files(spark, files, EVENTS.schema), QUERIES, lateness="10 seconds", buckets=2)
    run_to_end(found, tmp_path)
    written = spark.read.schema(found.schema).parquet(str(tmp_path / "matches"))
    for name, query in QUERIES.items():
        assert rows_of(own(written, name)) == local_rows(EVENTS, query)


@pytest.mark.slow
@pytest.mark.needs("streams")
def test_queries_without_a_key_are_cut_by_time_together(spark: SparkSession, tmp_path: Path) -> None:
    queries = {
        "near": "PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 2 seconds RETURN a.id AS a, b.id AS b",
        "far": "PATTERN SEQ(A a, B b, C c) WITHIN 5 seconds RETURN a.id AS a, b.id AS b, c.id AS c",
    }
    frame = read_files(spark, write_files(cut(with_end(EVENTS), 5), tmp_path / "events"), EVENTS.schema)
    with warnings.catch_warnings():
        warnings.simplefilter("error", augury.AuguryWarning)
        found = augury.spark.match_all(frame, queries, lateness="10 seconds", buckets=2)
    run_to_end(found, tmp_path)
    written = spark.read.schema(found.schema).parquet(str(tmp_path / "matches"))
    for name, query in queries.items():
        expected = local_rows(EVENTS, query)
        assert rows_of(own(written, name)) == expected
        assert expected


@pytest.mark.slow
@pytest.mark.needs("streams")
def test_queries_that_time_does_not_cut_keep_their_bucket(spark: SparkSession, tmp_path: Path) -> None:
    queries = {"apart": "PATTERN SEQ(A a, B b) WITHIN 4 seconds OUTPUT NONOVERLAP RETURN a.id AS a, b.id AS b"}
    frame = read_files(spark, write_files(cut(with_end(EVENTS), 5), tmp_path / "events"), EVENTS.schema)
    with pytest.warns(augury.AuguryWarning, match="no key"):
        found = augury.spark.match_all(frame, queries, lateness="10 seconds", buckets=2)
    run_to_end(found, tmp_path)
    written = spark.read.schema(found.schema).parquet(str(tmp_path / "matches"))
    assert rows_of(own(written, "apart")) == local_rows(EVENTS, queries["apart"])


def test_names_are_checked(spark: SparkSession) -> None:
    frame = frame_of(spark, EVENTS)
    with pytest.raises(augury.HostError, match="A580"):
        augury.spark.match_all(frame, {})
    with pytest.raises(augury.HostError, match=r"A581.*`end`"):
        augury.spark.match_all(frame, {"end": "PATTERN SEQ(A a)"})
