"""Conditions that Spark tests for us: what it drops could never have matched."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import augury.spark
from augury.engine.group import one_group
from augury.engine.sources.column_types import engine_schema, engine_table
from augury.hosts.spark.batch.match import prepared
from augury.hosts.spark.expressions import ticks
from augury.hosts.spark.jobs import spark_job
from augury.hosts.spark.schemas import arrow_schema
from augury.options import Roles, make_options
from augury.runtime.batch import time_ticks
from augury.schema import EventSchema
from augury.source import Source
from tests.engine.streams import local_rows
from tests.spark.comparing import frame_of, rows_of

NAN = float("nan")
EVENTS = pa.table(
    {
        "ts": list(range(10)),
        "type": ["A", "B", "A", "B", "A", "B", "A", "C", "A", None],
        "k.y": ["p", "p", None, "q", "q", "", "p", "p", "q", "p"],
        "y": [1.0, NAN, None, -0.0, 2.5, 0.0, NAN, 9.0, 1e300, 3.0],
        "n": pa.array([1, 2, None, 2**53 + 1, -5, 0, 7, 8, 9, 10], pa.int64()),
        "b": [True, False, None, True, True, False, None, True, False, True],
        "unused": ["-"] * 10,
    }
)

KEPT = {
    "PATTERN SEQ(A a, B b) RETURN a.ts AS t": 8,
    "PATTERN SEQ(A a) WHERE a.y > 1 RETURN a.ts AS t": 2,
    "PATTERN SEQ(A a) WHERE NOT (a.y > 1) RETURN a.ts AS t": 1,
    "PATTERN SEQ(A a) WHERE a.y IS NULL RETURN a.ts AS t": 2,
    "PATTERN SEQ(A a) WHERE a.y IS NOT NULL OR a.b = TRUE RETURN a.ts AS t": 3,
    "PATTERN SEQ(A a) WHERE a.n IN (1, 7, 9) RETURN a.ts AS t": 3,
    "PATTERN SEQ(B b) WHERE b.y = 0 RETURN b.ts AS t": 2,
    "PATTERN SEQ(B b) WHERE b.n > 9007199254740992 RETURN b.ts AS t": 1,
    # Spark would raise where we say null, so it is not asked.
    "PATTERN SEQ(A a) WHERE 1 / (a.n - 1) < 1 RETURN a.ts AS t": 5,
    "PATTERN SEQ(A a, x) WHERE x.n = 10 RETURN a.ts AS t": 6,
    # Any event ends a run.
    "PATTERN SEQ(A a, B b) WHERE strict_contiguity {} RETURN a.ts AS t": 10,
    "PATTERN SEQ(A a, B b) WITHIN 3 EVENTS RETURN a.ts AS t": 10,
}


@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
def test_rows_and_columns_that_reach_python(spark: SparkSession) -> None:
    frame = frame_of(spark, EVENTS)
    schema = arrow_schema(frame.schema)
    kept = {}
    for query in KEPT:
        group = one_group(spark_job(Source(query), schema, Roles(), make_options()))
        events = prepared(frame, group)
        kept[query] = events.count()
        assert "unused" not in events.columns
    assert kept == KEPT


TIMES = {
    "with a zone": pa.array([0, 1_700_000_000_123_456, -5], pa.timestamp("us", "UTC")),
    "without": pa.array([0, 1_700_000_000_123_456, -5], pa.timestamp("us")),
    "dates": pa.array([0, 20_000, -1], pa.date32()),
    "seconds": pa.array([0.0, 1_700_000_000.123, -0.5]),
    "integers": pa.array([0, 17, -3], pa.int32()),
}


@pytest.mark.parametrize("times", TIMES.values(), ids=list(TIMES))
def test_spark_counts_ticks_as_the_engine_does(spark: SparkSession, times: pa.Array) -> None:
    events = pa.table({"ts": times})
    frame = frame_of(spark, events)
    schema = EventSchema.from_arrow(engine_schema(arrow_schema(frame.schema), None))
    expected = time_ticks(engine_table(events, None), schema).tolist()
    assert [row[0] for row in frame.select(ticks(schema, "ts")).collect()] == expected


@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
def test_the_matches_are_the_same(spark: SparkSession) -> None:
    frame = frame_of(spark, EVENTS)
    for query in list(KEPT)[1:9:2]:
        assert rows_of(augury.spark.match(frame, query)) == local_rows(EVENTS, query)
