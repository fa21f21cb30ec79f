"""SQL with MATCH_RECOGNIZE over streams of Spark."""

from __future__ import annotations

import datetime as dt
import random
import warnings
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import StreamingQueryException
from pyspark.sql import SparkSession

import augury
import augury.spark
from augury.errors import AuguryWarning, QueryError
from tests.spark.processes import environment, module, running, wait_until
from tests.spark.row_patterns_under_fire import counted, random_case
from tests.spark.streaming import read_files, run_to_end, write_files
from tests.spark.test_exactly_once import between, inside
from tests.thorough import rounds

pytestmark = pytest.mark.needs("streams")

START = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)

FALL = """
SELECT m.name, m.since, m.low, m.days FROM ticks MATCH_RECOGNIZE (
  PARTITION BY name ORDER BY at
  MEASURES FIRST(at) AS since, LAST(DOWN.price) AS low, count(*) AS days
  PATTERN (S DOWN+) WITHIN INTERVAL '20' SECOND
  DEFINE DOWN AS price < PREV(price)) AS m WHERE m.low < 8
"""


def ticks(size: int, seed: int = 1) -> pa.Table:
    chance = random.Random(seed)
    rows = [
        {
            "name": chance.choice(["a", "b", "c", None]),
            "at": START + dt.timedelta(seconds=max(0, n + chance.randrange(-2, 3))),
            "price": chance.randrange(10),
        }
        for n in range(size)
    ]
    end = {"name": "end", "at": START + dt.timedelta(seconds=100_000), "price": 0}
    schema = pa.schema([("name", pa.string()), ("at", pa.timestamp("us", "UTC")), ("price", pa.int64())])
    return pa.Table.from_pylist([*rows, end], schema=schema)


def pieces(table: pa.Table, count: int) -> list[pa.Table]:
    step = -(-len(table) // count)
    return [table.slice(first, step) for first in range(0, len(table), step)]


def streamed(
    spark: SparkSession, query: str, folder: Path, tables: list[pa.Table], **options: Any
) -> tuple[pa.Table, list[dict[str, Any]]]:
    """The rows of a query over a stream of tables, and the progress of its micro-batches."""
    files = write_files(tables, folder / "events")
    read_files(spark, files, tables[0].schema).createOrReplaceTempView("ticks")
    found = augury.spark.sql(spark, query, **options)
    assert found.isStreaming
    progress = run_to_end(found, folder)
    return spark.read.schema(found.schema).parquet(str(folder / "matches")).toArrow(), progress


def test_a_stream_has_the_rows_of_the_table(spark: SparkSession, tmp_path: Path) -> None:
    table = ticks(120)
    found, _ = streamed(spark, FALL, tmp_path, pieces(table, 4), lateness="10 seconds", buckets=3)
    expected = augury.sql(FALL, ticks=table).to_arrow()
    assert counted(found) == counted(expected.cast(found.schema))
    assert expected.num_rows > 5


@pytest.mark.slow
def test_late_rows_are_counted_and_take_no_part(spark: SparkSession, tmp_path: Path) -> None:
    table = ticks(20)
    late = pa.Table.from_pylist([{"name": "a", "at": START, "price": 1}], schema=table.schema)
    query = (
        "SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY name ORDER BY at MEASURES A.price AS p PATTERN (A) "
        "DEFINE A AS price >= 0)"
    )
    found, progress = streamed(spark, query, tmp_path, [table, late, late], lateness="1 second", buckets=2)
    told = [row for p in progress for row in p.get("observedMetrics", {}).values()]
    assert sum(row["late_events"] for row in told) == 2
    # The last row is not passed by the watermark.
    assert found.num_rows == 20


@pytest.mark.slow
def test_a_watermark_of_the_view_will_do(spark: SparkSession, tmp_path: Path) -> None:
    table = ticks(60)
    files = write_files([*pieces(table, 2), ticks(0)], tmp_path / "events")
    frame = read_files(spark, files, table.schema).withWatermark("at", "10 seconds")
    frame.createOrReplaceTempView("ticks")
    found = augury.spark.sql(spark, FALL)
    run_to_end(found, tmp_path)
    rows = spark.read.schema(found.schema).parquet(str(tmp_path / "matches")).toArrow()
    assert counted(rows) == counted(augury.sql(FALL, ticks=table).to_arrow().cast(rows.schema))


@pytest.mark.slow
def test_another_query_cannot_continue_a_checkpoint(spark: SparkSession, tmp_path: Path) -> None:
    table = ticks(30)
    streamed(spark, FALL, tmp_path, pieces(table, 2), lateness="10 seconds")
    write_files([table], tmp_path / "events", first=9)
    changed = augury.spark.sql(spark, FALL.replace("'20'", "'30'"), lateness="10 seconds")
    with pytest.raises(StreamingQueryException, match="A570"):
        run_to_end(changed, tmp_path)


def refused(spark: SparkSession, query: str, **options: Any) -> str:
    with pytest.raises(QueryError) as error:
        augury.spark.sql(spark, query, **options)
    return str(error.value)


def test_what_no_watermark_decides_is_refused_at_its_place(spark: SparkSession, tmp_path: Path) -> None:
    read_files(spark, tmp_path, ticks(0).schema).createOrReplaceTempView("ticks")
    query = (
        "SELECT * FROM ticks MATCH_RECOGNIZE (ORDER BY at MEASURES count(*) AS n PATTERN (A B) DEFINE B AS price > 1)"
    )
    assert (
        refused(spark, query.replace("A B)", "A B$)"), lateness="1 second")
        == """\
error[A750]: `$` asks for the last row of the partition, and on a stream there is none
 --> query:1:85
1 | SELECT * FROM ticks MATCH_RECOGNIZE (ORDER BY at MEASURES count(*) AS n PATTERN (A B$) DEFINE B AS price > 1)
  |                                                                                     ^ never decided
  = help: leave it out, or bound the pattern by WITHIN"""
    )
    for changed, word in (
        (query.replace("ORDER BY at", ""), "no ORDER BY"),
        (query.replace("ORDER BY at", "ORDER BY price, at"), "not a time"),
        (query.replace("ORDER BY at", "ORDER BY at DESC"), "descending"),
    ):
        said = refused(spark, changed, lateness="1 second")
        assert "A751" in said
        assert f"^ {word}" in said
    said = refused(spark, query)
    assert "A752" in said
    assert "the stream has no watermark" in said
    marked = (
        read_files(spark, tmp_path, ticks(0).schema).selectExpr("*", "at AS other").withWatermark("other", "1 second")
    )
    marked.createOrReplaceTempView("ticks")
    assert "the stream has its watermark on `other`" in refused(spark, query)


def test_a_row_pattern_over_another_one_is_refused_on_streams(spark: SparkSession, tmp_path: Path) -> None:
    read_files(spark, tmp_path, ticks(0).schema).createOrReplaceTempView("ticks")
    outer = "MATCH_RECOGNIZE (ORDER BY since MEASURES count(*) AS n PATTERN (A) DEFINE A AS days > 1)"
    query = f"WITH falls AS ({FALL}) SELECT * FROM (SELECT * FROM falls) {outer}"
    said = refused(spark, query, lateness="1 second")
    assert "A753" in said
    assert "^ reads a row pattern" in said


@pytest.mark.parametrize(
    "clause, message",
    [
        ("PARTITION BY name ORDER BY at MEASURES MATCH_NUMBER() AS n PATTERN (A)", "MATCH_NUMBER is"),
        ("PARTITION BY name ORDER BY at MEASURES count(*) AS n PATTERN (^ A)", "`^` is remembered"),
        ("PARTITION BY name ORDER BY at MEASURES count(*) AS n PATTERN (A+ B)", "nothing bounds `A+`"),
        ("ORDER BY at MEASURES count(*) AS n PATTERN (A B)", "no PARTITION BY"),
    ],
)
def test_what_is_remembered_for_ever_is_told(spark: SparkSession, tmp_path: Path, clause: str, message: str) -> None:
    read_files(spark, tmp_path, ticks(0).schema).createOrReplaceTempView("ticks")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        query = f"SELECT * FROM ticks MATCH_RECOGNIZE ({clause} DEFINE A AS price > 1)"
        augury.spark.sql(spark, query, lateness="1 second")
    said = [str(w.message) for w in told if issubclass(w.category, AuguryWarning)]
    assert len(said) == 1
    assert message in said[0]
    assert told[0].filename == __file__


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::augury.errors.AuguryWarning")
@pytest.mark.parametrize("number", range(rounds(4, 100)))
def test_random_clauses_on_a_stream_cut_at_random_agree_with_the_reference(
    spark: SparkSession, tmp_path: Path, number: int
) -> None:
    """Those whose matches are all decided: the stream goes on with rows that belong to no match."""
    case = random_case(number)
    if case.expected is None:
        return
    query = f"SELECT * FROM ticks MATCH_RECOGNIZE ({case.clause})"
    found, _ = streamed(spark, query, tmp_path, list(case.parts), lateness="0 seconds", buckets=2)
    assert counted(found) == case.expected


@pytest.mark.slow
def test_a_stream_killed_in_the_middle_has_every_row_once(spark: SparkSession, tmp_path: Path) -> None:
    table = ticks(200)
    write_files(pieces(table, 5), tmp_path / "events")
    (tmp_path / "query.sql").write_text(FALL)
    command, log = module("tests.spark.sql_under_fire", tmp_path), tmp_path / "log"
    for what, happened in (inside(tmp_path, 1), between(tmp_path, 3)):
        with running(command, log, environment()) as stream:
            wait_until(happened, what, program=stream, log=log, every=0.01)
    with running(command, log, environment()) as stream:
        assert stream.wait(timeout=240) == 0, log.read_text()
    found = spark.read.parquet(str(tmp_path / "matches")).toArrow()
    assert counted(found) == counted(augury.sql(FALL, ticks=table).to_arrow().cast(found.schema))
