"""Rows of the tables in docs/language on Spark: finite frames, split by key and time; many rows to a job."""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict
from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import augury.spark
from augury.testing.tables import Case, cases, describe, loss_model, parse_stream
from tests.spark.comparing import frame_of

PAGES = sorted((Path(__file__).parents[2] / "docs" / "language").glob("*.md"))
LOSS = {page.name: loss_model(page) for page in PAGES}
CASES = sorted(
    (case for page in PAGES for case in cases(page)),
    key=lambda case: hashlib.sha256(f"{case.query} {case.stream}".encode()).digest(),
)
SAMPLE, AT_ONCE = 12, 24
KEEP_NULLS = {"ignoreNullFields": "false"}


def found(spark: SparkSession, case: Case, number: int) -> DataFrame:
    """The matches of one row as JSON, with the number of the row."""
    frame = frame_of(spark, parse_stream(case.stream)).repartition(2)
    # Half of them are cut by time as well, where the pattern allows it.
    matches = augury.spark.match(
        frame, case.query, loss=LOSS[case.file], jit=False, statistics={}, chunks=3 if number % 2 else None
    )
    return matches.select(F.lit(number).alias("case"), F.to_json(F.struct("*"), KEEP_NULLS).alias("match"))


def as_match(row: dict[str, Any]) -> augury.Match:
    # What is no event is a column about the match itself, such as the names of its missing components.
    events = {
        name: value
        for name, value in row.items()
        if isinstance(value, dict) or (isinstance(value, list) and value and isinstance(value[0], dict))
    }
    # Beside a count stand the items of RETURN.
    values = {name: value for name, value in row.items() if name not in ("end", "count")} if "count" in row else None
    complete = row.get("complete", "reached" not in row)
    scores = row.get("probability"), row.get("count")
    rows: dict[str, int | list[int] | None] = dict.fromkeys(events, 0)
    return augury.Match(rows, row.get("start"), row["end"], *scores, events, values, complete=complete)


def check(spark: SparkSession, rows: Sequence[Case]) -> None:
    frames = [found(spark, case, number) for number, case in enumerate(rows)]
    by_case: dict[int, list[augury.Match]] = defaultdict(list)
    for row in reduce(lambda one, other: one.unionAll(other), frames).collect():
        by_case[row["case"]].append(as_match(json.loads(row["match"])))
    got = [describe(by_case[n], parse_stream(case.stream), case.decimals) for n, case in enumerate(rows)]
    wrong = [(str(c), c.query, c.stream, c.expected, g) for c, g in zip(rows, got, strict=True) if g != c.expected]
    assert wrong == []


@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
def test_a_sample_of_the_rows(spark: SparkSession) -> None:
    check(spark, CASES[:SAMPLE])


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
@pytest.mark.parametrize("first", range(SAMPLE, len(CASES), AT_ONCE))
def test_the_other_rows(spark: SparkSession, first: int) -> None:
    check(spark, CASES[first : first + AT_ONCE])
