"""What a checkpoint may be continued by."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import DataFrame, SparkSession

import augury.spark
from augury.testing.tables import parse_stream
from tests.spark.streaming import read_files, run_to_end, write_files

BEFORE = parse_stream("a1@100(k=p,x=1) a2@101(k=q,x=2) b3@103(k=p,x=4) a4@104(k=p,x=3)")
AFTER = parse_stream("b5@106(k=p,x=9) b6@107(k=q,x=1) b7@300(k=p,x=1)")
PATTERN = "PATTERN SEQ(A a, B b) WHERE [k] AND a.x < b.x WITHIN 20 seconds"


def found(spark: SparkSession, folder: Path, query: str, **options: object) -> DataFrame:
    return augury.spark.match(
        read_files(spark, folder / "events", BEFORE.schema),
        query,
        watermark="1 second",
        **{"buckets": 2, **options},  # type: ignore[arg-type]
    )


def test_a_checkpoint_is_continued_or_refused(spark: SparkSession, tmp_path: Path) -> None:
    write_files([BEFORE], tmp_path / "events")
    run_to_end(found(spark, tmp_path, PATTERN + " RETURN a.id AS a, b.id AS b"), tmp_path)

    write_files([AFTER], tmp_path / "events", first=1)
    for changed, options, reason in (
        (PATTERN.replace("20", "30") + " RETURN a.id AS a, b.id AS b", {}, "A570.*its query is"),
        (PATTERN + " RETURN a.id AS a, b.id AS b", {"buckets": 3}, "A570.*its buckets is"),
        (PATTERN + " RETURN a.id AS a, b.id AS b", {"order_by": ("ts", "x")}, "A570.*its order_by is"),
    ):
        with pytest.raises(StreamingQueryException, match=f"(?s){reason}"):
            run_to_end(found(spark, tmp_path, changed, **options), tmp_path)

    # Another RETURN and another evaluator go on where the first one stopped.
    again = found(spark, tmp_path, PATTERN + " RETURN a.id AS a, b.id AS b, b.x - a.x AS rise", plan="reference")
    run_to_end(again, tmp_path)
    rows = spark.read.schema(again.schema).parquet(str(tmp_path / "matches")).collect()
    assert sorted((r.a, r.b, r.rise) for r in rows if r.rise is not None) == [("a1", "b5", 8), ("a4", "b5", 6)]
    assert [(r.a, r.b) for r in rows if r.rise is None] == []


def test_a_checkpoint_without_a_wanted_column_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    write_files([BEFORE], tmp_path / "events")
    run_to_end(found(spark, tmp_path, PATTERN + " RETURN a.k AS k"), tmp_path)
    write_files([AFTER], tmp_path / "events", first=1)
    with pytest.raises(StreamingQueryException, match="A572.*lack `id`"):
        run_to_end(found(spark, tmp_path, PATTERN + " RETURN a.id AS k"), tmp_path)
