"""Budgets in tasks of Spark: the same errors, and a share of the memory for each slot."""

from __future__ import annotations

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from augury.hosts.spark.match import slots_of
from augury.spark import match


@pytest.mark.parametrize(
    "budget, code",
    [({"max_memory": "400 KB"}, "A565"), ({"max_matches": 100}, "A567"), ({"timeout": "1 ms"}, "A566")],
)
def test_a_budget_ends_a_task(spark: SparkSession, budget: dict[str, str | int], code: str) -> None:
    rows = [(i, "A", "k") for i in range(300)] + [(300 + i, "B", "k") for i in range(300)]
    events = spark.createDataFrame(rows, "ts long, type string, k string")
    found = match(events, "SEQ(A a, B b) WHERE [k]", jit=False, **budget)  # type: ignore[arg-type]
    with pytest.raises(PySparkException, match=rf"error\[{code}\]"):
        found.collect()


def test_slots_of_an_executor(spark: SparkSession) -> None:
    assert slots_of(spark) >= 1
