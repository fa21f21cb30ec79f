"""What is told about how Spark will match."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import augury.spark
from augury import HostError
from augury.hosts.spark.releases import can, split_table
from tests.spark.comparing import frame_of
from tests.spark.streaming import read_files, write_files
from tests.spark.test_stream import EVENTS

BY_KEY = "PATTERN SEQ(A a, B b) WHERE [k] AND b.x > 3 AND a.x < b.x WITHIN 5 seconds RETURN a.x AS x"

PATH = "the Arrow path" if can("Arrow table functions") else "the row path"
ANY = "the row path, 5 to 6 times as expensive; it finds its partitions by itself"


def told(spark: SparkSession, query: str) -> dict[str, str]:
    text = augury.spark.explain(query, frame_of(spark, EVENTS))
    return dict(line.split(maxsplit=1) for line in text.splitlines())


def test_a_query_with_a_key(spark: SparkSession) -> None:
    assert told(spark, BY_KEY) == {
        "plan": "lazy-chain",
        "columns": "ts, type, k, x (4 of 5)",
        "rows": "A; B and b.x > 3",
        "split": "by key: k",
        "skipped": "times of a key with no A a or no B b, or with no values for b.x > 3 and a.x < b.x",
        "match_files": "no shuffle where row groups tell their times",
        "register": f"{PATH}; call it with {split_table('...', ['k'])}",
        **({"augury_match": ANY} if can("register_any_query") else {}),
    }


@pytest.mark.parametrize(
    "query, part, text",
    [
        ("PATTERN SEQ(A a, B b) WITHIN 5 seconds", "split", "by time, for there is no key: each piece with one window"),
        ("PATTERN SEQ(A a, B b)", "split", "not at all: there is no key, and without WITHIN a match may span"),
        ("PATTERN SEQ(A a, B b) WHERE strict_contiguity { a.x > 1 } WITHIN 5 seconds", "rows", "all"),
        ("PATTERN SEQ(A a, B b) WITHIN 5 seconds", "columns", "ts, type, id, k, x (5 of 5)"),
        ("PATTERN SEQ(A a, B b)", "match_files", "a shuffle: without WITHIN a match may span"),
        ("PATTERN SEQ(A a, B b) WHERE [k]", "match_files", "no shuffle where no key is in two files"),
        ("PATTERN SEQ(A a, B b) WITHIN 5 seconds", "register", f"{PATH}; call it with {split_table('...', [])}"),
    ],
)
def test_other_queries(spark: SparkSession, query: str, part: str, text: str) -> None:
    assert told(spark, query)[part].startswith(text)


def test_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    frame = read_files(spark, write_files([EVENTS], tmp_path / "events"), EVENTS.schema)
    lines = augury.spark.explain("PATTERN SEQ(A a, B b) WITHIN 5 seconds", frame).splitlines()
    assert [line.split()[0] for line in lines] == ["plan", "columns", "rows", "split"]
    assert lines[-1].endswith("not at all: there is no key; buckets=8 would split it by time")


def test_a_schema_will_do(spark: SparkSession) -> None:
    frame = frame_of(spark, EVENTS)
    assert augury.spark.explain(BY_KEY, frame.schema, plan="eager-nfa") == augury.spark.explain(
        BY_KEY, frame, plan="eager-nfa"
    )
    with pytest.raises(HostError, match="A610"):
        augury.spark.explain(frame, BY_KEY)  # type: ignore[arg-type]
