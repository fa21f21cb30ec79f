"""What `augury.spark` refuses, and how it is told."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pandas as pd
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.types import CharType, LongType, StringType, StructField, StructType

import augury.spark
from augury import HostError
from augury.hosts.spark.schemas import arrow_schema

QUERY = "PATTERN SEQ(A a, B b) WITHIN 1 minute"


def test_other_frames_are_refused() -> None:
    for events in (pd.DataFrame({"ts": [1]}), None, [{"ts": 1}], "events.parquet"):
        for call in (augury.spark.match, lambda e, q: augury.spark.match_all(e, {"q": q})):
            with pytest.raises(HostError, match=r"error\[A610\]: the argument `events` is a DataFrame of Spark, not"):
                call(events, QUERY)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "options, code",
    [
        ({"time": 3}, "A610"),
        ({"order_by": 5}, "A610"),
        ({"max_matches": "5"}, "A522"),
        ({"partitions": "2"}, "A610"),
        ({"chunks": 0}, "A589"),
        ({"lateness": "soon"}, "A525"),
        ({"lateness": dt.timedelta(-1)}, "A525"),
        ({"late": 5}, "A610"),
        ({"functions": {"f": 1}}, "A610"),
        ({"plan": "fast"}, "A611"),
    ],
)
def test_arguments_of_the_wrong_kind(spark: SparkSession, options: dict[str, Any], code: str) -> None:
    frame = spark.createDataFrame([(1, "A")], "ts long, type string")
    with pytest.raises(HostError, match=rf"error\[{code}\]: "):
        augury.spark.match(frame, QUERY, **options)


def test_local_matching_points_to_spark(spark: SparkSession) -> None:
    frame = spark.createDataFrame([(1, "A")], "ts long, type string")
    with pytest.raises(HostError, match=r"use augury\.spark\.match for frames of Spark"):
        augury.match(frame, QUERY)


def test_schemas_that_cannot_be_read() -> None:
    twice = StructType([StructField("ts", LongType()), StructField("ts", LongType())])
    with pytest.raises(HostError, match=r"error\[A501\]"):
        arrow_schema(twice)
    with pytest.raises(HostError, match=r"error\[A610\]: the argument `schema` is a DataFrame of Spark, or its schema"):
        arrow_schema("ts long")  # type: ignore[arg-type]
    assert arrow_schema(StructType([StructField("s", StringType())])).names == ["s"]
    assert CharType(3) != StringType()
