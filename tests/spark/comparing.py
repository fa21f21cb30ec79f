"""Frames of matches beside the matches of the local engine."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

import augury
from augury.hosts.spark.releases import RUNNING, collected
from augury.hosts.spark.schemas import spark_schema


def frame_of(spark: SparkSession, table: pa.Table) -> DataFrame:
    """A frame of the rows of a table."""
    if RUNNING >= (4, 0):
        return spark.createDataFrame(table)
    return spark.createDataFrame([tuple(row.values()) for row in table.to_pylist()], spark_schema(table.schema))


def rows_of(frame: DataFrame) -> Counter[str]:
    """What a frame holds, in no order."""
    return table_rows(collected(frame))


def table_rows(table: pa.Table) -> Counter[str]:
    """What a table holds, in no order."""
    return Counter(_text(row) for row in table.to_pylist())


def local_rows(events: pa.Table, query: str, **options: Any) -> Counter[str]:
    """What the local engine finds, likewise."""
    return table_rows(augury.match(events, query, **options).to_arrow())


def _text(row: dict[str, Any]) -> str:
    return repr(sorted(row.items()))
