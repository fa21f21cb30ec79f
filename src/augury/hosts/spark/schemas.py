"""Spark schemas as the Arrow schemas the engine reads, and results as Spark schemas."""

from __future__ import annotations

import pyarrow as pa
from pyspark.sql.types import StructType

from augury.errors import HostError
from augury.hosts.spark.releases import arrow_schema_of, spark_schema_of


def arrow_schema(spark: StructType) -> pa.Schema:
    """The Arrow schema in which the rows of a frame reach the engine.

    >>> arrow_schema(StructType().add("ts", "timestamp").add("x", "integer")).field("ts").type
    TimestampType(timestamp[us, tz=UTC])
    """
    repeated = sorted({name for name in spark.names if spark.names.count(name) > 1})
    if repeated:
        raise HostError("A501", f"the events have two columns named `{repeated[0]}`", "rename one of them")
    return arrow_schema_of(spark)


def spark_schema(arrow: pa.Schema) -> StructType:
    """The schema of a frame that holds these columns."""
    return spark_schema_of(arrow)


def sendable(table: pa.Table, arrow: pa.Schema) -> pa.Table:
    """The table with the types in which Spark takes it back: it knows durations and times in microseconds only."""
    columns = [
        column if column.type == field.type else column.cast(field.type)
        for column, field in zip(table.columns, arrow, strict=True)
    ]
    return pa.table(columns, schema=arrow)


def result_schema(arrow: pa.Schema) -> pa.Schema:
    """The Arrow types in which results of these columns are handed to Spark."""
    return arrow_schema_of(spark_schema(arrow))
