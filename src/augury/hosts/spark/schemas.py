"""Conversions between Spark schemas and the Arrow schemas of the engine."""

from __future__ import annotations

import pyarrow as pa
from pyspark.errors import PySparkTypeError
from pyspark.sql.types import StructType

from augury.arguments import unusable
from augury.engine.sources.readable import two_columns
from augury.errors import HostError
from augury.hosts.spark.releases import arrow_schema_of, spark_schema_of


def is_frame(given: object) -> bool:
    """Whether this is a data frame of classic Spark or of Spark Connect, which in some releases share no class."""
    bases = type(given).__mro__
    return any(base.__name__ == "DataFrame" and base.__module__.split(".")[0] == "pyspark" for base in bases)


def arrow_schema(spark: StructType) -> pa.Schema:
    """The Arrow schema in which the rows of a frame reach the engine.

    >>> arrow_schema(StructType().add("ts", "timestamp").add("x", "integer")).field("ts").type
    TimestampType(timestamp[us, tz=UTC])
    """
    if not isinstance(spark, StructType):
        raise unusable("schema", "a DataFrame of Spark, or its schema", spark)
    seen = set()
    for name in spark.names:
        if name in seen:
            raise two_columns(name)
        seen.add(name)
    try:
        return arrow_schema_of(spark)
    except PySparkTypeError as e:
        raise HostError(
            "A617",
            f"a column of the frame is of a type that Python cannot be given: {e}",
            "select the others, or cast it",
        ) from e


def spark_schema(arrow: pa.Schema) -> StructType:
    """The schema of a frame that holds these columns."""
    return spark_schema_of(arrow)


def result_schema(arrow: pa.Schema) -> pa.Schema:
    """The Arrow types in which results with these columns are returned to Spark."""
    return arrow_schema_of(spark_schema(arrow))
