"""Everything once, in well under a minute: `make smoke-spark SPARK=3.5.9` runs it on a release of Spark."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

import augury.spark
from augury.cli import app
from augury.hosts.spark.releases import can, split_table
from augury.testing.tables import parse_stream
from tests.engine.streams import local_rows
from tests.spark.comparing import frame_of, rows_of
from tests.spark.streaming import matches_of, read_files, write_files

EXAMPLE = Path(__file__).parents[2] / "examples" / "shoplifting" / "pipeline.toml"
EVENTS = parse_stream(
    "a1@100(k=p,x=1) b2@101(k=q,x=2) a3@104(k=q,x=3) b4@105(k=p,x=5) c5@107(k=q,x=1) b6@108(k=q,x=7) b7@900(k=p,x=0)"
)
KEYED = "PATTERN SEQ(A a, B b) WHERE [k] AND a.x < b.x WITHIN 5 seconds"
KEYLESS = "PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 5 seconds RETURN a.id AS a, b.id AS b"


def test_match(spark: SparkSession) -> None:
    frame = frame_of(spark, EVENTS)
    assert rows_of(augury.spark.match(frame, KEYED, partitions=2)) == local_rows(EVENTS, KEYED)
    assert rows_of(augury.spark.match(frame, KEYLESS, chunks=3)) == local_rows(EVENTS, KEYLESS)
    assert local_rows(EVENTS, KEYED).total() == 2


def test_match_files(spark: SparkSession, tmp_path: Path) -> None:
    pa.parquet.write_table(EVENTS, tmp_path / "events.parquet", row_group_size=2)
    found = augury.spark.match_files(spark, tmp_path, KEYLESS, tasks=2)
    assert rows_of(found) == local_rows(EVENTS, KEYLESS)


def test_match_all(spark: SparkSession) -> None:
    found = augury.spark.match_all(frame_of(spark, EVENTS), {"near": KEYLESS, "rise": KEYED}, chunks=2)
    assert rows_of(found.where("query = 'near'").select("start", "end", "near.*")) == local_rows(EVENTS, KEYLESS)
    assert rows_of(found.where("query = 'rise'").select("start", "end", "rise.*")) == local_rows(EVENTS, KEYED)


def test_sql_functions(spark: SparkSession) -> None:
    frame = frame_of(spark, EVENTS)
    frame.createOrReplaceTempView("smoke")
    for query, key in ((KEYED, ("k",)), (KEYLESS, ())):
        augury.spark.register(spark, "rise", query, frame)
        assert rows_of(spark.sql(f"SELECT * FROM rise({split_table('smoke', key)})")) == local_rows(EVENTS, query)
    if can("register_any_query"):
        augury.spark.register_any_query(spark)
        call = f"augury_match(TABLE(smoke), '{KEYED}')"
        assert rows_of(spark.sql(f"SELECT * FROM {call}")) == local_rows(EVENTS, KEYED)
    else:
        with pytest.raises(augury.HostError, match=r"A599.*register_any_query on Spark 4\.0"):
            augury.spark.register_any_query(spark)


def test_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    tables = [EVENTS.slice(0, 4), EVENTS.slice(4)]
    if can("streams"):
        found = matches_of(spark, tables, KEYED, tmp_path, lateness="10 seconds", buckets=2)
        assert rows_of(found) == local_rows(EVENTS, KEYED)
    else:
        events = read_files(spark, write_files(tables, tmp_path / "events"), EVENTS.schema)
        with pytest.raises(augury.HostError, match=r"A599.*streams on Spark 4\.0"):
            augury.spark.match(events, KEYED, lateness="10 seconds")


def test_the_pipeline_of_the_demo(spark: SparkSession) -> None:
    ran = CliRunner().invoke(app, ["run", str(EXAMPLE)])
    assert ran.exit_code == 0, ran.stderr
    assert ran.stdout.splitlines()[0] == "thefts: 7 matches"
