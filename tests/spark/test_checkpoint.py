"""A streaming query of Spark continues the checkpoint of its own query, and of no other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import augury.spark
from tests.engine.test_checkpoint import AFTER, BEFORE, PATTERN, RETURN
from tests.spark.streaming import read_files, run_to_end, write_files


@pytest.mark.slow
@pytest.mark.needs("streams")
def test_spark_refuses_and_continues_likewise(spark: SparkSession, tmp_path: Path) -> None:
    def found(query: str, **options: Any) -> DataFrame:
        events = read_files(spark, tmp_path / "events", BEFORE.schema)
        return augury.spark.match(events, query, lateness="1 second", buckets=2, **options)

    write_files([BEFORE], tmp_path / "events")
    run_to_end(found(PATTERN + RETURN), tmp_path)
    write_files([AFTER], tmp_path / "events", first=1)
    with pytest.raises(StreamingQueryException, match=r"(?s)A570.*its query is"):
        run_to_end(found(PATTERN.replace("20", "30") + RETURN), tmp_path)
    again = found(PATTERN + RETURN + ", b.x - a.x AS rise", plan="reference")
    run_to_end(again, tmp_path)
    rows = spark.read.schema(again.schema).parquet(str(tmp_path / "matches")).collect()
    assert sorted((r.a, r.b) for r in rows if r.rise is None) == [("a1", "b3")]
    assert sorted((r.a, r.b, r.rise) for r in rows if r.rise is not None) == [("a1", "b5", 8), ("a4", "b5", 6)]
