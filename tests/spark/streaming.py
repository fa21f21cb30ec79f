"""A stream of files, one a micro-batch."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
from pyspark.sql import DataFrame, SparkSession

import augury.spark
from augury.hosts.spark.schemas import spark_schema


def write_files(tables: Sequence[pa.Table], folder: Path, *, first: int = 0) -> Path:
    """Each table as a file; their order is that of their times of modification."""
    folder.mkdir(exist_ok=True)
    for number, table in enumerate(tables, start=first):
        path = folder / f"{number:05}.parquet"
        pa.parquet.write_table(table, path)
        os.utime(path, (1_700_000_000 + number,) * 2)
    return folder


def read_files(spark: SparkSession, folder: Path, schema: pa.Schema) -> DataFrame:
    """One micro-batch a file."""
    reader = spark.readStream.schema(spark_schema(schema)).option("maxFilesPerTrigger", 1)
    return reader.parquet(str(folder))


def run_to_end(found: DataFrame, folder: Path) -> list[dict[str, Any]]:
    """Take in all files there are, write the matches to files, and tell the progress of each micro-batch."""
    query = (
        found.writeStream.format("parquet")
        .option("checkpointLocation", str(folder / "checkpoint"))
        .option("path", str(folder / "matches"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return [json.loads(progress.json) for progress in query.recentProgress]


def matches_of(spark: SparkSession, tables: Sequence[pa.Table], query: str, folder: Path, **options: Any) -> DataFrame:
    """The matches of a stream of tables."""
    files = write_files(tables, folder / "events")
    found = augury.spark.match(read_files(spark, files, tables[0].schema), query, **options)
    run_to_end(found, folder)
    return spark.read.schema(found.schema).parquet(str(folder / "matches"))
