"""Spark agrees with the local engine on random queries over random streams, however they are split."""

from __future__ import annotations

import json
from collections import Counter
from functools import reduce
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import augury.spark
from augury.engine.cut.by_time import CutAt
from augury.engine.group import Group, one_group
from augury.hosts.spark.batch.match import match_batch, match_split, prepared
from augury.hosts.spark.batch.sample import SampledFrame
from augury.hosts.spark.jobs import spark_job
from augury.hosts.spark.schemas import arrow_schema
from augury.options import Roles, make_options
from augury.source import Source
from augury.testing.queries import queries
from augury.testing.streams import streams
from tests.agreement.cases import cases
from tests.spark.comparing import frame_of
from tests.thorough import rounds

KEEP_NULLS = {"ignoreNullFields": "false"}
AT_ONCE = 8
"""Queries in one job of Spark."""


def split(frame: DataFrame, group: Group, cuts: list[int], partitions: int) -> DataFrame:
    """Matched in ranges of time that end anywhere, if the query may be, else by key."""
    if group.why_not_by_time is not None:
        return match_batch(SampledFrame(frame), group, partitions=partitions, chunks=None)
    chunks = CutAt(tuple(sorted(set(cuts))), group.halo) if cuts else None
    return match_split(prepared(frame, group), group, chunks, partitions)


def agree(spark: SparkSession, examples: list[tuple[str, pa.Table, list[int], int]]) -> None:
    frames = []
    for number, (text, events, cuts, partitions) in enumerate(examples):
        frame = frame_of(spark, events)
        group = one_group(spark_job(Source(text), arrow_schema(frame.schema), Roles(), make_options(jit=False)))
        found = split(frame, group, cuts, partitions)
        frames.append(found.select(F.lit(number).alias("n"), F.to_json(F.struct("*"), KEEP_NULLS).alias("match")))
    got: list[Counter[str]] = [Counter() for _ in examples]
    for row in reduce(lambda one, other: one.unionAll(other), frames).collect():
        got[row["n"]][_text(json.loads(row["match"]))] += 1
    for (text, events, *how), found_rows in zip(examples, got, strict=True):
        expected = Counter(_text(row) for row in augury.match(events, text).to_arrow().to_pylist())
        assert found_rows == expected, (text, events.to_pylist(), how)


def _text(row: dict[str, Any]) -> str:
    return json.dumps(row, sort_keys=True)


HOW = st.lists(st.integers(-1, 9), max_size=3), st.integers(1, 3)
EXAMPLES = st.lists(st.tuples(queries(), streams(), *HOW), min_size=AT_ONCE, max_size=AT_ONCE)
NEW_CONSTRUCTS = st.lists(
    st.tuples(cases(), *HOW).map(lambda drawn: (*drawn[0], *drawn[1:])), min_size=AT_ONCE, max_size=AT_ONCE
)
SETTINGS = settings(
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.large_base_example, HealthCheck.data_too_large],
)


@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
@settings(SETTINGS, max_examples=2)
@given(EXAMPLES)
def test_spark_agrees_with_local(spark: SparkSession, examples: list[tuple[str, pa.Table, list[int], int]]) -> None:
    agree(spark, examples)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
@settings(SETTINGS, max_examples=rounds(6, 40))
@given(EXAMPLES)
def test_spark_agrees_with_local_often(
    spark: SparkSession, examples: list[tuple[str, pa.Table, list[int], int]]
) -> None:
    agree(spark, examples)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
@settings(SETTINGS, max_examples=rounds(6, 125))
@given(NEW_CONSTRUCTS)
def test_spark_agrees_with_local_about_rare_constructs(
    spark: SparkSession, examples: list[tuple[str, pa.Table, list[int], int]]
) -> None:
    """With `--thorough` 1,000 queries."""
    agree(spark, examples)
