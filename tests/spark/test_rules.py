"""Tables of rules over Spark frames find what the reference finds for each rule."""

from __future__ import annotations

import json
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

import augury.spark
from augury import HostError
from tests.engine.rule_streams import SHAPES, drawn_events, drawn_rules, found_alone
from tests.spark.rule_streams import drawn_file, history_asks_for, rules_over_files, run_all, written
from tests.spark.rules_under_fire import under_fire
from tests.spark.streaming import write_files
from tests.thorough import THOROUGH


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


def test_a_stream_needs_a_folder_for_versions(spark: SparkSession) -> None:
    stream = spark.readStream.format("rate").load().withColumnRenamed("timestamp", "ts")
    with pytest.raises(HostError) as error:
        augury.spark.match_rules(stream, [])
    assert error.value.code == "A689"


@pytest.mark.needs("streams")
@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
def test_rules_of_a_stream_change_between_its_runs(spark: SparkSession, tmp_path: Path) -> None:
    rng = Random(4)
    pair = "PATTERN SEQ(A a, B b) WHERE a.x > {n} WITHIN 9 seconds RETURN a.x AS x, b.y AS y"
    silent = "PATTERN SEQ(A a, NOT(C c)) WHERE [k] AND a.x > {n} WITHIN 2 seconds"
    alone: dict[str, Any] = {
        "id": "alone",
        "query": "PATTERN SEQ(A a, B b) WHERE a.x > 1 WITHIN 9 seconds OUTPUT NONOVERLAP",
    }
    first: list[dict[str, Any]] = [{"id": f"pair {n}", "query": pair.format(n=n), "labels": ["one"]} for n in (2, 5)]
    first += [{"id": "silent", "query": silent.format(n=3)}, {"id": "broken", "query": "PATTERN SEQ("}, alone]
    second = [{**first[0], "labels": ["two"]}, {**first[1], "query": pair.format(n=7)}, alone]
    second += [{"id": "back", "query": silent.format(n=1), "backfill": True}]
    late = matches = 0
    for k, rules in enumerate((first, second)):
        write_files([drawn_file(rng, k)], tmp_path / "events", first=k)
        found = rules_over_files(spark, tmp_path, rules)
        assert found.rows is not None
        for progress in run_all(found.rows, tmp_path):
            counted = progress["observedMetrics"].get("augury_rules", {})
            late, matches = late + counted.get("late_events", 0), matches + counted.get("matches", 0)
    rows = spark.read.parquet(str(tmp_path / "matches")).collect()
    told = [(row.rule, row.code) for row in rows if row.level is not None]
    assert told == [("broken", "A101")]
    wanted, late_events = history_asks_for(tmp_path)
    assert written(row for row in rows if row.match is not None) == wanted
    assert {"pair 2", "pair 5", "silent", "alone", "back"} == {row.rule for row in rows if row.match is not None}
    assert sum(row.late is not None for row in rows) == late == late_events > 0
    assert matches == sum(wanted.values())


@pytest.mark.slow
@pytest.mark.needs("streams")
@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
def test_rules_that_are_edited_while_their_stream_is_killed(tmp_path: Path) -> None:
    edits, kills = (50, 10) if THOROUGH else (10, 3)
    outcome = under_fire(tmp_path, edits, kills, seed=2)
    assert outcome.written == outcome.wanted
    assert outcome.late == outcome.late_wanted
    assert sum(outcome.wanted.values()) > 20
    assert outcome.versions == edits
    assert outcome.told["explodes A567"] == 1
