"""Spark with names and values that would break SQL, generated code or a plan if they became text of it."""

from __future__ import annotations

import builtins
import json
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from pyspark.sql import SparkSession

import augury.spark
from augury.testing.ugly import EXECUTED_MARKER, UglyCase, literal, quoted, ugly_cases
from tests.engine.streams import local_rows
from tests.spark.comparing import frame_of, rows_of

COLUMNS = ("a.b", "low-speed", "`", "x'; DROP TABLE events --", "*", "{0}", "速度", "__init__")
VALUE = f"bob\r                __builtins__.update({EXECUTED_MARKER}=True)#' OR 1=1 --"


def table(column: str) -> pa.Table:
    n = 12
    names = [VALUE if i % 3 else "ann" for i in range(n)]
    return pa.table({"ts": list(range(n)), "type": ["A" if i % 2 == 0 else "B" for i in range(n)], column: names})


def query(column: str) -> str:
    tests = f"a.{quoted(column)} != {literal(VALUE)} AND b.{quoted(column)} IN ({literal(VALUE)}, who)"
    return f"PATTERN SEQ(A a, B b) WHERE {tests} WITHIN 4 seconds"


def found_locally(column: str) -> Counter[str]:
    expected = local_rows(table(column), query(column), parameters={"who": "`${x}"}, plan="reference")
    assert expected
    return expected


@pytest.mark.parametrize("column", COLUMNS[:4])
def test_a_frame(spark: SparkSession, column: str) -> None:
    frame = frame_of(spark, table(column))
    matches = augury.spark.match(frame, query(column), parameters={"who": "`${x}"})
    assert rows_of(matches) == found_locally(column)
    assert EXECUTED_MARKER not in vars(builtins)


def test_files(spark: SparkSession, tmp_path: Path) -> None:
    column = COLUMNS[3]
    pa.parquet.write_table(table(column), tmp_path / "events.parquet")
    frame = spark.read.parquet(str(tmp_path / "events.parquet"))
    assert rows_of(augury.spark.match(frame, query(column), parameters={"who": "`${x}"})) == found_locally(column)


@pytest.mark.needs("PARTITION BY in a call")
@pytest.mark.parametrize("column", COLUMNS[:2])
def test_a_table_function(spark: SparkSession, column: str) -> None:
    frame = frame_of(spark, table(column))
    frame.createOrReplaceTempView("ugly")
    augury.spark.register(spark, "ugly_pairs", query(column), frame, parameters={"who": "`${x}"})
    assert rows_of(spark.sql("SELECT * FROM ugly_pairs(TABLE(ugly))")) == found_locally(column)


@pytest.mark.slow
def test_a_list_too_long_for_a_plan_of_comparisons(spark: SparkSession) -> None:
    names = ", ".join([literal(VALUE), *(literal(f"n{i}") for i in range(5_000))])
    text = f"PATTERN SEQ(A a, B b) WHERE b.name IN ({names}) AND a.name NOT IN ({names}) WITHIN 4 seconds"
    expected = local_rows(table("name"), text, plan="reference")
    assert expected
    assert rows_of(augury.spark.match(frame_of(spark, table("name")), text)) == expected


def piped(spark: SparkSession, folder: Path, events: pa.Table, query: str, options: dict[str, Any]) -> Counter[str]:
    """What a pipeline file with this query and these options writes."""
    pa.parquet.write_table(events, folder / "events.parquet")
    roles, others = ({k: v for k, v in options.items() if (k in ("time", "type")) == role} for role in (True, False))
    sink = {"format": "parquet", "path": "matches", "mode": "overwrite"}
    sections = {
        "[source]": {"format": "parquet", "path": "events.parquet"},
        "[events]": roles,
        "[[query]]": {"name": "ugly", "text": query, "sink": sink, **others},
    }
    lines = [
        [head, *(f"{name} = {toml(value)}" for name, value in stated.items())] for head, stated in sections.items()
    ]
    (folder / "pipeline.toml").write_text("\n".join(line for some in lines for line in some), encoding="utf-8")
    pipeline = augury.spark.read_pipeline(folder / "pipeline.toml")
    augury.spark.run_pipeline(pipeline, master=None, say=lambda _: None)
    return rows_of(spark.read.parquet(str(folder / "matches")))


def toml(value: Any) -> str:
    """A value as TOML, whose strings are those of JSON but for surrogates and DEL."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{toml(name)} = {toml(v)}" for name, v in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def test_a_pipeline(spark: SparkSession, tmp_path: Path) -> None:
    for column in COLUMNS[:2]:
        found = piped(spark, tmp_path, table(column), query(column), {"parameters": {"who": "`${x}"}})
        assert found == found_locally(column)
    assert EXECUTED_MARKER not in vars(builtins)


@pytest.mark.slow
@settings(
    max_examples=6,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
)
@given(ugly_cases(["lazy-chain", "eager-nfa", "event-sets"]))
def test_any_names(spark: SparkSession, case: UglyCase) -> None:
    found = rows_of(augury.spark.match(frame_of(spark, case.events), case.query, **case.options))
    expected = local_rows(case.events, case.query, plan="reference", **case.options)
    assert found == expected
    if not case.functions:
        options = {name: value for name, value in case.options.items() if name != "functions"}
        with TemporaryDirectory() as folder:
            assert piped(spark, Path(folder), case.events, case.query, options) == expected
    assert EXECUTED_MARKER not in vars(builtins)
