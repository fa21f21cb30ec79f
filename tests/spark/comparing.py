"""Frames of Spark, made of tables and compared with them."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from augury.hosts.spark.releases import INSTALLED, collected
from augury.hosts.spark.schemas import spark_schema
from tests.engine.streams import table_rows


def frame_of(spark: SparkSession, table: pa.Table) -> DataFrame:
    """A frame of the rows of a table."""
    if INSTALLED >= (4, 0):
        return spark.createDataFrame(table)
    return spark.createDataFrame([tuple(row.values()) for row in table.to_pylist()], spark_schema(table.schema))


def rows_of(frame: DataFrame) -> Counter[str]:
    """What a frame holds, in no order."""
    return table_rows(collected(frame))
