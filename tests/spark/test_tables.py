"""Patterns as table functions of SQL."""

from __future__ import annotations

import datetime as dt
import random

import pyarrow as pa
import pytest
from pyspark.errors import AnalysisException, PythonException
from pyspark.sql import SparkSession

import augury.spark
from augury.hosts.spark.releases import can, split_table
from tests.engine.streams import local_rows
from tests.spark.comparing import frame_of, rows_of

CHANCE = random.Random(3)
START = dt.datetime(2026, 3, 14, 9, tzinfo=dt.UTC)
EVENTS = pa.table(
    {
        "at": pa.array([START + dt.timedelta(seconds=7 * n % 60) for n in range(40)], pa.timestamp("us", "UTC")),
        "kind": [CHANCE.choice(["Buy", "Sell"]) for _ in range(40)],
        "symbol": [CHANCE.choice("xyz") for _ in range(40)],
        "price": [CHANCE.randrange(9) / 2 for _ in range(40)],
    }
)
QUERY = "PATTERN SEQ(Buy b, Sell s) WHERE [symbol] AND s.price > b.price WITHIN 15 seconds"
ROLES = {"time": "at", "type": "kind"}


def test_a_registered_pattern(spark: SparkSession) -> None:
    frame = frame_of(spark, EVENTS)
    frame.createOrReplaceTempView("trades")
    augury.spark.register(spark, "gain", QUERY, frame, **ROLES)  # type: ignore[arg-type]
    expected = local_rows(EVENTS, QUERY, **ROLES)
    split = split_table("trades", ["symbol"])
    for order in ("", " ORDER BY (at)") if can("PARTITION BY in a call") else ("",):
        assert rows_of(spark.sql(f"SELECT * FROM gain({split}{order})")) == expected
    assert sum(expected.values()) > 5


@pytest.mark.needs("register_any_query")
def test_the_text_of_a_query(spark: SparkSession) -> None:
    frame_of(spark, EVENTS).createOrReplaceTempView("trades")
    augury.spark.register_any_query(spark)
    for query in (QUERY, "PATTERN SEQ(Buy b, Sell s) WHERE s.price > b.price + 3 WITHIN 9 seconds RETURN b.price AS p"):
        call = f"augury_match(TABLE(trades), '{query}', time => 'at', type => 'kind')"
        assert rows_of(spark.sql(f"SELECT * FROM {call}")) == local_rows(EVENTS, query, **ROLES)
    with pytest.raises(AnalysisException, match=r"A201.*`x` is not bound"):
        spark.sql("SELECT * FROM augury_match(TABLE(trades), 'PATTERN SEQ(Buy b) WHERE x.price > 1', time => 'at')")
    with pytest.raises(AnalysisException, match=r"A579.*no argument `when`"):
        spark.sql(f"SELECT * FROM augury_match(TABLE(trades), '{QUERY}', when => 'at')")


@pytest.mark.needs("PARTITION BY in a call")
def test_a_partition_with_several_keys_is_refused_unless_it_is_allowed(spark: SparkSession) -> None:
    frame = frame_of(spark, EVENTS)
    frame.createOrReplaceTempView("trades")
    whole = "SELECT * FROM {}(TABLE(trades) WITH SINGLE PARTITION)"
    augury.spark.register(spark, "strict_gain", QUERY, frame, **ROLES)  # type: ignore[arg-type]
    with pytest.raises(PythonException, match=r"A618.*several values of `symbol`, the key of the query"):
        spark.sql(whole.format("strict_gain")).collect()
    augury.spark.register(spark, "loose_gain", QUERY, frame, several_keys=True, **ROLES)  # type: ignore[arg-type]
    assert rows_of(spark.sql(whole.format("loose_gain"))) == local_rows(EVENTS, QUERY, **ROLES)
