"""Tables of rules over Spark frames find what the reference finds for each rule."""

from __future__ import annotations

import json
from random import Random

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import augury.spark
from augury import HostError
from tests.engine.rule_streams import SHAPES, drawn_events, drawn_rules, found_alone


@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
def test_rules_of_a_frame_find_what_the_reference_finds_for_each(spark: SparkSession) -> None:
    rng = Random(3)
    rows = [{**row, "id": f"{k} {row['id']}"} for k in (0, 6) for row in drawn_rules(rng, SHAPES[k], 3)]
    rows.append({"id": "alone", "query": "PATTERN SEQ(A a, B b) WHERE a.x > 1 WITHIN 9 seconds OUTPUT NONOVERLAP"})
    rows = [{**row, "labels": [row["id"][0]], "enabled": True} for row in rows]
    off = {"id": "off", "query": "PATTERN A a", "labels": [], "enabled": False}
    broken = {"id": "broken", "query": "PATTERN SEQ(", "labels": [], "enabled": True}
    # No two events of the same time, whose order of arrival partitions would not keep, and no NaN, which JSON has not.
    events = drawn_events(rng, 60).set_column(0, "ts", pa.array(range(60)))
    events = events.set_column(3, "y", pa.array([rng.uniform(0, 9) for _ in range(60)]))
    frame = spark.createDataFrame(
        [tuple(row.values()) for row in events.to_pylist()], "ts long, type string, x long, y double, k string"
    )
    table = spark.createDataFrame(
        [*rows, off, broken], "id string, query string, labels array<string>, enabled boolean"
    )
    found = augury.spark.match_rules(frame, table, jit=False, partitions=2)
    told = found.table.collect()
    wanted = [(rule, start, end, json.loads(match)) for rule, start, end, match in found_alone(rows, events)]
    given = [(row.rule, row.start, row.end, json.loads(row.match)) for row in told]
    assert sorted(given, key=str) == sorted(wanted, key=str)
    assert {row.rule.split()[0] for row in told} == {"0", "6", "alone"}
    assert {(row.rule, *row.labels) for row in told} == {(m[0], m[0][0]) for m in wanted}
    assert [(row.rule, row.code) for row in found.diagnostics.collect()] == [("broken", "A101")]


def test_no_rules_find_nothing(spark: SparkSession) -> None:
    found = augury.spark.match_rules(spark.createDataFrame([(1, "A")], "ts long, type string"), [])
    assert found.table.columns == ["rule", "labels", "start", "end", "match"]
    assert found.table.count() == found.diagnostics.count() == 0


def test_streams_are_refused(spark: SparkSession) -> None:
    stream = spark.readStream.format("rate").load().withColumnRenamed("timestamp", "ts")
    with pytest.raises(HostError) as error:
        augury.spark.match_rules(stream, [])
    assert error.value.code == "A689"
