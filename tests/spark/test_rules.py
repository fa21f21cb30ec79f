"""Tables of rules over Spark frames find what the reference finds for each rule."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import DataFrame, SparkSession

import augury.spark
from augury import AuguryWarning, HostError
from augury.engine.rules.versions import published
from augury.hosts.spark.releases import collected
from tests.engine.rule_streams import ALONE, SHAPES, drawn_events, drawn_rules, found_alone
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


@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
def test_rules_of_many_shapes_find_what_they_find_in_this_process(spark: SparkSession) -> None:
    rng = Random(7)
    drawn = [(k, row) for k, shape in enumerate([*SHAPES, *ALONE]) for row in drawn_rules(rng, shape, 4)]
    rows: list[dict[str, Any]] = [{**row, "id": f"{k} {row['id']}", "labels": [str(k)]} for k, row in drawn]
    rows += [{"id": "unknown", "query": "PATTERN A a WHERE a.unknown > 1"}, {"id": "broken", "query": "PATTERN SEQ("}]
    rows += [{"id": n, "query": f"PATTERN SEQ(A a, B b) WHERE a.k > {n} WITHIN 2 seconds"} for n in (1, 2)]
    events = in_instants(rng, 120)
    table, told = matched(spark, events, rows, chunks=3)
    here = augury.Rules.read(rows).match(events, jit=False)
    assert table == sorted(here.table.to_pylist(), key=str)
    assert len({row["rule"].split()[0] for row in table}) > 15
    assert told == [row for row in here.diagnostics.to_pylist() if row["level"] == "error"]
    assert [row["rule"] for row in told] == ["unknown", "broken", "1", "2"]


@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
def test_rules_with_a_common_key_are_split_by_it(spark: SparkSession) -> None:
    rng = Random(8)
    shapes = [*(shape for shape in SHAPES if "[k]" in shape), "PATTERN SEQ({A} a, {B} b) WHERE [k] AND a.x > {n}"]
    rows = [{**row, "id": f"{k} {row['id']}"} for k, shape in enumerate(shapes) for row in drawn_rules(rng, shape, 3)]
    events = in_instants(rng, 120)
    table, _ = matched(spark, events, rows, partitions=3)
    assert table == sorted(augury.Rules.read(rows).match(events, jit=False).table.to_pylist(), key=str)
    assert table


@pytest.mark.filterwarnings("ignore:no event of type")
def test_rules_that_cannot_be_split_are_matched_by_one_task_with_a_warning(spark: SparkSession) -> None:
    pair = "PATTERN SEQ(A a, B b) WHERE a.x > {n} AND b.x = 3 RETURN a.x AS x"
    rows = [{"id": f"endless {n}", "query": pair.format(n=n)} for n in range(7)]
    rows += [{"id": f"within {n}", "query": f"{pair.format(n=n).split(' RETURN')[0]} WITHIN 9 s"} for n in range(7)]
    events = in_instants(Random(9), 120)
    with pytest.warns(AuguryWarning, match="one task matches all events for `endless 0`, .*`endless 4`, ...$"):
        table, _ = matched(spark, events, rows, chunks=2)
    assert table == sorted(augury.Rules.read(rows).match(events, jit=False).table.to_pylist(), key=str)
    assert {row["rule"].split()[0] for row in table} == {"endless", "within"}


@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
def test_more_rules_and_shapes_take_no_more_jobs_and_shuffles(spark: SparkSession) -> None:
    rng = Random(10)
    frame = as_frame(spark, in_instants(rng, 60))
    few = drawn_rules(rng, SHAPES[0], 2)
    drawn = [(k, row) for k, shape in enumerate([*SHAPES[:6], *ALONE]) for row in drawn_rules(rng, shape, 5)]
    many = [{**row, "id": f"{k} {row['id']}"} for k, row in drawn]
    taken = []
    for rows in (few, many):
        group = f"{len(rows)} rules"
        spark.sparkContext.setJobGroup(group, group)
        found = augury.spark.match_rules(frame, rows, jit=False, chunks=2)
        plan = str(found.table._jdf.queryExecution().executedPlan().toString())
        found.table.collect()
        jobs = len(spark.sparkContext.statusTracker().getJobIdsForGroup(group))
        taken.append((jobs, plan.count("Exchange")))
    assert taken[0] == taken[1]
    assert taken[0][1] == 1


def test_a_budget_is_that_of_a_rule_and_its_error_names_the_rule(spark: SparkSession) -> None:
    events = in_instants(Random(11), 60)
    pair = "PATTERN SEQ(A a, B b) WHERE a.x > {n} WITHIN 9 seconds"
    rows = [{"id": f"rule {n}", "query": pair.format(n=n)} for n in range(6)]
    wanted = augury.Rules.read(rows).match(events, jit=False).table.to_pylist()
    most = max(Counter(row["rule"] for row in wanted).values())
    assert len(wanted) > most + 1
    table, _ = matched(spark, events, rows, max_matches=most + 1)
    assert table == sorted(wanted, key=str)
    with pytest.raises(Exception, match=r"A567.*rule `rule 0`: max_matches=3 is reached"):
        matched(spark, events, rows, max_matches=3)


def in_instants(rng: Random, count: int) -> pa.Table:
    """Events at instants of which no two are the same, without NaN, which Spark's rows would not keep apart."""
    times = [1_700_000_000_000_000 + 500_000 * k for k in range(count)]
    events = drawn_events(rng, count).set_column(0, "ts", pa.array(times, pa.timestamp("us", "UTC")))
    return events.set_column(3, "y", pa.array([rng.choice([None, rng.uniform(0, 9)]) for _ in times]))


def as_frame(spark: SparkSession, events: pa.Table) -> DataFrame:
    rows = [tuple(row.values()) for row in events.to_pylist()]
    return spark.createDataFrame(rows, "ts timestamp, type string, x long, y double, k string")


def matched(spark: SparkSession, events: pa.Table, rows: Any, **options: Any) -> tuple[list[Any], list[Any]]:
    """The rows of `table` in order, and those of `diagnostics`."""
    found = augury.spark.match_rules(as_frame(spark, events), rows, jit=False, **options)
    table = collected(found.table).to_pylist()
    return sorted(table, key=str), collected(found.diagnostics).to_pylist()


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
    seconds, costliest = 0.0, list[dict[str, Any]]()
    for k, rules in enumerate((first, second)):
        write_files([drawn_file(rng, k)], tmp_path / "events", first=k)
        found = rules_over_files(spark, tmp_path, rules)
        assert found.rows is not None
        for progress in run_all(found.rows, tmp_path):
            counted = progress["observedMetrics"].get("augury_rules", {})
            late, matches = late + counted.get("late_events", 0), matches + counted.get("matches", 0)
            seconds += counted.get("seconds", 0.0)
            costliest += [row for line in counted.get("costliest", "").splitlines() for row in json.loads(line)]
    rows = spark.read.parquet(str(tmp_path / "matches")).collect()
    told = [(row.rule, row.code) for row in rows if row.level is not None]
    assert told == [("broken", "A101")]
    wanted, late_events = history_asks_for(tmp_path)
    assert written(row for row in rows if row.match is not None) == wanted
    assert {"pair 2", "pair 5", "silent", "alone", "back"} == {row.rule for row in rows if row.match is not None}
    assert sum(row.late is not None for row in rows) == late == late_events > 0
    assert matches == sum(wanted.values())
    costs = [{"rule": row.rule, **row.cost.asDict()} for row in rows if row.cost is not None]
    assert all(row["events"] or row["matches"] for row in costs)
    assert {row["rule"] for row in costs} == {"pair 2", "pair 5", "silent", "alone", "back"}
    assert any(row["partial_matches"] for row in costs)
    assert sum(row["matches"] for row in costs) == matches
    assert sum(row["seconds"] for row in costs) == pytest.approx(seconds)
    shown = [{**row, "last_match": None if row["last_match"] is None else str(row["last_match"])} for row in costs]
    assert sorted(costliest, key=str) == sorted(shown, key=str)
    assert found.costs is not None
    assert found.costs.columns == list(costs[0])
    # Both versions have been read by micro-batches that have ended; the last one stays.
    versions, checkpoint = tmp_path / "versions", tmp_path / "checkpoint"
    assert augury.spark.prune_rules(versions, checkpoint) == []
    assert augury.spark.prune_rules(versions, [checkpoint], margin=0) == [1]
    assert augury.spark.prune_rules(versions, [checkpoint], margin=0) == []
    assert published(versions) == [2]
    assert augury.spark.publish_rules(first, versions) == 3
    assert augury.spark.prune_rules(versions, [checkpoint], margin=0) == [2]
    with pytest.raises(HostError, match="A685"):
        augury.spark.prune_rules(tmp_path / "others", [checkpoint], margin=0)


@pytest.mark.parametrize("checkpoints", [[], ["nowhere"]])
def test_no_version_is_removed_without_a_checkpoint(checkpoints: list[str], tmp_path: Path) -> None:
    for n in range(3):
        augury.spark.publish_rules([{"id": n, "query": "PATTERN A a"}], tmp_path)
    with pytest.raises(HostError, match="A685"):
        augury.spark.prune_rules(tmp_path, [tmp_path / name for name in checkpoints])
    assert published(tmp_path) == [1, 2, 3]


def test_a_checkpoint_of_an_unknown_format_removes_nothing(tmp_path: Path) -> None:
    for n in range(3):
        augury.spark.publish_rules([{"id": n, "query": "PATTERN A a"}], tmp_path / "versions")
    for name in ("offsets", "commits", "sources/0"):
        (tmp_path / "checkpoint" / name).mkdir(parents=True)
    (tmp_path / "checkpoint" / "commits" / "0").write_text("v1\n{}")
    entry = json.dumps({"path": (tmp_path / "versions" / "0000000001.parquet").as_uri(), "timestamp": 1, "batchId": 0})
    (tmp_path / "checkpoint" / "sources" / "0" / "0").write_text(f"v1\n{entry}")
    for text in ("v9\n{}\n{}", "v1\n{}\n{", "v1", 'v1\n{}\n{"logOffset":[]}', 'v1\n{}\n{"logOffset":0}\n'):
        (tmp_path / "checkpoint" / "offsets" / "0").write_text(text)
        if text.endswith("\n"):
            assert augury.spark.prune_rules(tmp_path / "versions", tmp_path / "checkpoint", margin=0) == [1]
            continue
        with pytest.raises(HostError, match="A685"):
            augury.spark.prune_rules(tmp_path / "versions", tmp_path / "checkpoint", margin=0)
        assert published(tmp_path / "versions") == [1, 2, 3]


def test_a_key_is_a_column_of_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    stream = spark.readStream.format("rate").load().withColumnRenamed("timestamp", "ts")
    finite = spark.createDataFrame([(1, "A")], "ts long, type string")
    for frame, key in ((stream, "card"), (finite, "type")):
        with pytest.raises(HostError, match="A683"):
            augury.spark.match_rules(frame, [], versions=tmp_path, key=key)


@pytest.mark.slow
@pytest.mark.needs("streams")
@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
@pytest.mark.parametrize("keyed", [False, True])
def test_rules_that_are_edited_while_their_stream_is_killed(tmp_path: Path, keyed: bool) -> None:
    edits, kills = (50, 10) if THOROUGH else (10, 2)
    outcome = under_fire(tmp_path, edits, kills, seed=2, keyed=keyed)
    assert outcome.written == outcome.wanted
    assert outcome.late == outcome.late_wanted
    assert outcome.spent == outcome.found
    assert sum(outcome.wanted.values()) > edits
    assert outcome.versions == edits
    assert outcome.removed
    # With a key a budget holds in each of the two buckets.
    assert 1 <= outcome.told["explodes A567"] <= 1 + keyed
