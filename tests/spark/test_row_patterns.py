"""SQL with MATCH_RECOGNIZE on Spark: the rows of `augury.sql`, whatever the frame's partitions are."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import Phase, given, seed, settings
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import augury
import augury.spark
from augury.errors import AuguryError, AuguryWarning, HostError
from augury.hosts.spark.releases import collected
from augury.testing.row_pattern_clauses import clauses, tables
from augury.testing.row_patterns import comparable
from tests.spark.comparing import frame_of

TICKS = pa.table(
    {
        "name": pa.array(["a", "b", None, "a", "b", None, "a", "b", "a", "b"]),
        "day": pa.array(range(10), pa.int64()),
        "price": pa.array([5.0, 1.0, 7.0, 3.0, 2.0, 6.0, 4.0, None, 6.0, 3.0]),
    }
)

FALL = """
SELECT m.name, m.low, m.days FROM ticks MATCH_RECOGNIZE (
  PARTITION BY name ORDER BY day
  MEASURES LAST(DOWN.price) AS low, count(*) AS days
  PATTERN (S DOWN+ UP*)
  DEFINE DOWN AS price < PREV(price), UP AS price > LAST(DOWN.price)) AS m
"""


def both(spark: SparkSession, query: str, **given: pa.Table) -> tuple[Counter[Any], Counter[Any]]:
    """The rows of a query on Spark and locally; an error is the code of it."""
    out = []
    for on_spark in (True, False):
        try:
            if on_spark:
                for name, table in given.items():
                    order = "day" if "day" in table.column_names else "id"
                    # Several partitions, in the order of the table.
                    split = frame_of(spark, table).repartitionByRange(3, order).sortWithinPartitions(order)
                    split.createOrReplaceTempView(name)
                found = collected(augury.spark.sql(spark, query))
            else:
                found = augury.sql(query, **given).to_arrow()
        except (AuguryError, PySparkException) as e:
            code = next(word for word in str(e).split() if word.startswith("error[A"))
            out.append(Counter([code.strip(":")]))
            continue
        rows = zip(*(c.to_pylist() for c in found.columns), strict=True)
        out.append(Counter(repr([plain(v) for v in row]) for row in rows))
    return out[0], out[1]


def plain(value: Any) -> Any:
    """A value without what the engines around the pattern add to it: a zone, or another type of number."""
    if isinstance(value, dt.datetime):
        return value.replace(tzinfo=None)
    if isinstance(value, int | Decimal) and not isinstance(value, bool):
        return float(value)
    return comparable([plain(v) for v in value] if isinstance(value, list) else value)


@pytest.mark.parametrize(
    "query",
    [
        FALL,
        f"WITH falls AS ({FALL}) SELECT count(*) AS n, max(low) AS m, sum(days) / 2 AS half FROM falls",
        "SELECT t.name, f.days FROM (SELECT DISTINCT name FROM ticks) AS t JOIN ("
        + FALL
        + ") AS f ON t.name = f.name ORDER BY 1",
        "SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY name ORDER BY day MEASURES CLASSIFIER() AS who "
        "ALL ROWS PER MATCH WITH UNMATCHED ROWS PATTERN (A B) DEFINE B AS B.price > avg(A.price))",
        "SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY name ORDER BY day MEASURES count(*) AS n "
        "PATTERN (A+) DEFINE A AS price > (SELECT avg(price) FROM ticks)) AS t(who, how_many)",
        "SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY name ORDER BY day MEASURES count(*) AS n "
        "PATTERN (A+) DEFINE A AS day / (day - 3) > 0)",
    ],
)
def test_spark_writes_the_rows_of_the_local_door(spark: SparkSession, query: str) -> None:
    on_spark, locally = both(spark, query, ticks=TICKS)
    assert on_spark == locally
    assert on_spark


def test_explain_says_how_the_input_is_cut(spark: SparkSession) -> None:
    frame_of(spark, TICKS).createOrReplaceTempView("ticks")
    told = augury.spark.explain_sql(spark, FALL)
    assert told.endswith("split\n  shuffled by name, a task matches all of its keys in one pass")
    assert "UP    tested during the search: price > LAST(DOWN.price)" in told
    alone = FALL.replace("PARTITION BY name ", "").replace("m.name, ", "")
    both = f"SELECT * FROM ({alone}) AS a CROSS JOIN ({alone}) AS b"
    assert augury.spark.explain_sql(spark, both).count("not at all: there is no PARTITION BY") == 2


def test_without_partition_by_one_task_matches_and_a_warning_says_so(spark: SparkSession) -> None:
    query = (
        "SELECT * FROM ticks MATCH_RECOGNIZE (ORDER BY day MEASURES count(*) AS n PATTERN (A+) DEFINE A AS price > 1)"
    )
    with pytest.warns(AuguryWarning, match="no PARTITION BY"):
        on_spark, locally = both(spark, query, ticks=TICKS)
    assert on_spark == locally


def test_an_error_in_the_rows_is_told_with_its_place(spark: SparkSession) -> None:
    frame_of(spark, TICKS).createOrReplaceTempView("ticks")
    found = augury.spark.sql(
        spark,
        "SELECT * FROM ticks MATCH_RECOGNIZE (PARTITION BY name ORDER BY day MEASURES count(*) AS n PATTERN (A) "
        "DEFINE A AS day / (day - 3) > 0)",
    )
    with pytest.raises(
        HostError, match=r"A740\]: division by zero\n +--> query:1:116\n(.*\n)+ +\| +\^+ for some row"
    ) as error:
        collected(found)
    assert error.value.code == "A740"


def test_what_spark_does_not_know_has_a_code(spark: SparkSession) -> None:
    with pytest.raises(HostError, match="A694"):
        augury.spark.sql(spark, FALL.replace("ticks", "no_such_table"))
    frame_of(spark, TICKS).createOrReplaceTempView("ticks")
    with pytest.raises(augury.QueryError, match="A711"):
        augury.spark.sql(spark, FALL.replace("PREV(price)", "PREV(prize)"))


@pytest.mark.filterwarnings("ignore:the row pattern has no PARTITION BY")
@pytest.mark.parametrize("number, quick", [(0, 8), pytest.param(1, 500, marks=pytest.mark.slow)])
def test_random_clauses_on_spark_agree_with_the_local_door(spark: SparkSession, number: int, quick: int) -> None:
    @seed(number)
    @settings(max_examples=quick, deadline=None, database=None, phases=[Phase.generate])
    @given(clauses(), tables())
    def agree(clause: str, table: pa.Table) -> None:
        on_spark, locally = both(spark, f"SELECT * FROM t MATCH_RECOGNIZE ({clause})", t=table)
        assert on_spark == locally

    agree()
