"""Pipelines: what a file may say, and what running it does."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from pyspark.sql import SparkSession
from typer.testing import CliRunner

import augury
import augury.spark
from augury.cli import app
from augury.engine.board import HEADER, RULE_HEADER, Board
from augury.engine.rules.versions import published
from augury.errors import HostError
from augury.hosts.spark.pipeline.rules import WatchedRules, prune_own_versions, signature
from augury.loss import Exponential, LossModel
from augury.options import MatchOptions, Roles, read_options
from tests.engine.streams import local_rows, table_rows
from tests.spark.comparing import rows_of
from tests.spark.processes import environment, module, running, wait_until
from tests.spark.streaming import write_files
from tests.spark.test_stream import EVENTS, cut, with_end

EXAMPLE = Path(__file__).parents[2] / "examples" / "shoplifting" / "pipeline.toml"

STREAM = """
[source]
format = "parquet"
path = "events"
columns = "ts LONG, type STRING, id STRING, k STRING, x LONG"
options = { maxFilesPerTrigger = "1" }

[events]
lateness = "10 seconds"

[streaming]
checkpoint = "checkpoint"
buckets = 2

[[query]]
name = "rises"
text = "PATTERN SEQ(A a, B b) WHERE [k] AND a.x < b.x - low WITHIN 5 seconds RETURN a.id AS a, b.id AS b"
parameters = { low = 0 }
sink = { format = "parquet", path = "rises" }

[[query]]
name = "quiet"
file = "quiet.augury"
sink = { format = "json", path = "quiet" }
"""
RISES = "PATTERN SEQ(A a, B b) WHERE [k] AND a.x < b.x WITHIN 5 seconds RETURN a.id AS a, b.id AS b"
QUIET = """
    PATTERN SEQ(A a, NOT(C c)) WHERE [k] WITHIN 4 seconds RETURN a.k AS k, a.id AS first INTO Quiet;
    PATTERN SEQ(Quiet q, B b) WHERE [k] WITHIN 9 seconds RETURN q.first AS a, b.id AS b
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "pipeline.toml"
    path.write_text(text)
    (folder / "quiet.augury").write_text(QUIET)
    return path


@pytest.mark.needs("streaming pipelines")
def test_a_stream_of_two_queries(spark: SparkSession, tmp_path: Path) -> None:
    write_files(cut(with_end(EVENTS), 7), tmp_path / "events")
    said: list[str] = []
    pipeline = augury.spark.read_pipeline(written(tmp_path, STREAM))
    board = Board()
    augury.spark.run_pipeline(pipeline, master=None, say=said.append, watch=board.tell)
    assert rows_of(spark.read.parquet(str(tmp_path / "rises"))) == local_rows(EVENTS, RISES)
    quiet = spark.read.schema("start LONG, end LONG, a STRING, b STRING").json(str(tmp_path / "quiet"))
    expected = local_rows(EVENTS, QUIET)
    assert rows_of(quiet) == expected
    assert expected
    lines = [line for line in said if line.startswith("rises: batch")]
    assert len(lines) >= 2
    assert "7 events" in lines[0]
    matches = sum(local_rows(EVENTS, RISES).values())
    assert sum(int(line.split(" matches")[0].split()[-1]) for line in lines) == matches
    # Whoever watches is told the same, and the latest match of each micro-batch.
    told = {row[0]: dict(zip(HEADER, row, strict=True)) for row in board.rows()}
    assert told["rises"]["matches"] == str(matches)
    assert told["rises"]["events"] == str(with_end(EVENTS).num_rows)
    latest = [json.loads(match) for query, match in board.matches() if query == "rises"]
    possible = {(row["a"], row["b"]) for row in augury.match(EVENTS, RISES).to_arrow().to_pylist()}
    assert latest
    assert {(row["a"], row["b"]) for row in latest} <= possible


def test_only_a_stream_can_be_watched(tmp_path: Path) -> None:
    ran = CliRunner().invoke(app, ["run", str(EXAMPLE), "--ui"])
    assert ran.exit_code == 1
    assert "error[A706]" in ran.output


SQL = """
SELECT id, other FROM events MATCH_RECOGNIZE (
  PARTITION BY k ORDER BY at
  MEASURES A.id AS id, B.id AS other
  PATTERN (A B) DEFINE A AS type = 'A', B AS type = 'B' AND x > A.x)
"""


def test_sql_in_a_pipeline(spark: SparkSession, tmp_path: Path) -> None:
    events = EVENTS.append_column("at", EVENTS["ts"].cast(pa.timestamp("s")).cast(pa.timestamp("us")))
    write_files([events], tmp_path / "events")
    said: list[str] = []
    stated = FINITE.replace('text = "PATTERN SEQ(A a, B b) WHERE [k] WITHIN 5 seconds"', f'sql = """{SQL}"""')
    pipeline = augury.spark.read_pipeline(written(tmp_path, stated))
    augury.spark.run_pipeline(pipeline, master=None, say=said.append)
    expected = augury.sql(SQL, events=events).to_arrow()
    assert rows_of(spark.read.parquet(str(tmp_path / "rises"))) == table_rows(expected)
    assert expected.num_rows


@pytest.mark.parametrize(
    "stated, reason",
    [
        ('sql = "SELECT 1"\ntext = "PATTERN SEQ(A a)"', "or as `sql`"),
        ('sql = "SELECT 1"\nplan = "reference"', "`plan` is an option of the pattern language"),
    ],
)
def test_sql_stands_alone(tmp_path: Path, stated: str, reason: str) -> None:
    text = FINITE.replace('text = "PATTERN SEQ(A a, B b) WHERE [k] WITHIN 5 seconds"', stated)
    with pytest.raises(HostError, match=reason):
        augury.spark.read_pipeline(written(tmp_path, text))


FINITE = """
[source]
format = "parquet"
path = "events"

[[query]]
name = "rises"
text = "PATTERN SEQ(A a, B b) WHERE [k] WITHIN 5 seconds"
sink = { format = "parquet", path = "rises" }
"""


RULES = """
[[query]]
name = "alerts"
rules = "alerts"
write = "rows"
key = "k"
sink = { format = "parquet", path = "alerts.parquet" }
"""


@pytest.mark.slow
@pytest.mark.needs("streaming pipelines")
def test_rules_in_a_pipeline(spark: SparkSession, tmp_path: Path) -> None:
    write_files(cut(with_end(EVENTS), 3), tmp_path / "events")
    (tmp_path / "alerts").mkdir()
    (tmp_path / "alerts" / "rises.toml").write_text(f'query = "{RISES}"\nlabels = ["up"]')
    (tmp_path / "alerts" / "wrong.toml").write_text('query = "PATTERN SEQ("')
    stream, finite = STREAM[: STREAM.index("[[query]]")], STREAM[: STREAM.index("[streaming]")]
    said, board = list[str](), Board()
    pipeline = augury.spark.read_pipeline(written(tmp_path, stream + RULES))
    augury.spark.run_pipeline(pipeline, master=None, say=said.append, watch=board.tell)
    rows = spark.read.parquet(str(tmp_path / "alerts.parquet")).collect()
    alone = augury.match(EVENTS, RISES).to_arrow().to_pylist()
    wanted = [(m["start"], m["end"], {"a": m["a"], "b": m["b"]}) for m in alone]
    found = [(row.start, row.end, json.loads(row.match)) for row in rows if row.match is not None]
    assert sorted(found, key=str) == sorted(wanted, key=str)
    assert {tuple(row.labels) for row in rows if row.match is not None} == {("up",)}
    assert [(row.rule, row.code) for row in rows if row.level is not None] == [("wrong", "A101")]
    assert sum("1 diagnostic: rule wrong: error[A101]" in line for line in said) == 1
    (costs,) = (dict(zip(RULE_HEADER, row, strict=True)) for row in board.rules())
    assert (costs["query"], costs["rule"], costs["matches"], costs["share"]) == (
        "alerts",
        "rises",
        str(len(found)),
        "100.0%",
    )
    assert board.matches()
    assert (tmp_path / "checkpoint" / "alerts.rules" / "0000000001.parquet").exists()

    said.clear()
    text = finite + RULES.replace('write = "rows"', "").replace('key = "k"', "").replace("alerts.parquet", "finite")
    augury.spark.run_pipeline(augury.spark.read_pipeline(written(tmp_path, text)), master=None, say=said.append)
    again = spark.read.parquet(str(tmp_path / "finite"))
    found = [(row.start, row.end, json.loads(row.match)) for row in again.collect()]
    assert sorted(found, key=str) == sorted(wanted, key=str)
    assert said[0].startswith("alerts: rule wrong: error[A101]")


def test_rules_of_a_pipeline_are_published_again_when_their_file_changes(tmp_path: Path) -> None:
    source, versions, said = tmp_path / "rules.jsonl", tmp_path / "versions", list[str]()
    rule = {"id": "a", "query": "PATTERN A a"}
    watched = WatchedRules("alerts", source, versions, said.append, signature(source))
    watched.look()
    for text in (json.dumps(rule), json.dumps(rule), "{", json.dumps({**rule, "labels": ["x"]})):
        source.write_text(text + " " * len(said))
        watched.look()
        watched.look()
    source.unlink()
    watched.look()
    assert [re.search(r"version \d|A\d+", line)[0] for line in said] == [  # type: ignore[index]
        "version 1",
        "version 1",
        "A697",
        "version 2",
        "A687",
    ]


@pytest.mark.parametrize("named", ["", 'versions = "checkpoint/alerts.rules"'])
def test_old_versions_of_rules_are_removed_where_nobody_else_reads_them(tmp_path: Path, named: str) -> None:
    text = STREAM[: STREAM.index("[[query]]")] + RULES.replace('write = "rows"', named)
    pipeline, said = augury.spark.read_pipeline(written(tmp_path, text)), list[str]()
    versions, checkpoint = pipeline.versions(pipeline.query[0]), tmp_path / "checkpoint" / "alerts"
    prune_own_versions(pipeline, said.append)
    for n in range(3):
        augury.spark.publish_rules([{"id": n, "query": "PATTERN A a"}], versions)
    for name in ("offsets", "commits", "sources/0"):
        (checkpoint / name).mkdir(parents=True)
    entry = json.dumps({"path": (versions / "0000000001.parquet").as_uri(), "timestamp": 1, "batchId": 0})
    (checkpoint / "sources" / "0" / "0").write_text(f"v1\n{entry}")
    for batch in range(101):
        (checkpoint / "commits" / str(batch)).write_text("v1\n{}")
        (checkpoint / "offsets" / str(batch)).write_text('v1\n{}\n{"logOffset":0}')
    prune_own_versions(pipeline, said.append)
    assert published(versions) == ([1, 2, 3] if named else [2, 3])
    assert said == []


@pytest.mark.parametrize(
    "change, reason",
    [
        (('rules = "alerts"', ""), "or give `rules`"),
        (('rules = "alerts"', 'rules = "alerts"\ntext = "PATTERN A a"'), "or give `rules`"),
        (('rules = "alerts"', 'text = "PATTERN A a"'), "is an option of `rules`"),
        (('write = "rows"', 'write = "costs"'), "'matches' or 'rows'"),
        (("[streaming]", "[spark]"), "is about a stream: there is no [streaming]"),
    ],
)
def test_a_mistake_about_rules(tmp_path: Path, change: tuple[str, str], reason: str) -> None:
    text = (STREAM[: STREAM.index("[[query]]")] + RULES).replace(*change)
    text = text.replace('checkpoint = "checkpoint"\nbuckets = 2', "") if change[0] == "[streaming]" else text
    with pytest.raises(HostError, match="A584") as error:
        augury.spark.read_pipeline(written(tmp_path, text))
    assert reason in str(error.value)


def test_versions_of_rules_are_kept_where_this_program_can_write(tmp_path: Path) -> None:
    text = STREAM[: STREAM.index("[[query]]")].replace('"checkpoint"', '"s3a://bucket/checkpoint"') + RULES
    pipeline = augury.spark.read_pipeline(written(tmp_path, text))
    with pytest.raises(HostError, match="A686"):
        pipeline.versions(pipeline.query[0])


def test_what_spark_cannot_read_is_told_in_a_line(spark: SparkSession, tmp_path: Path) -> None:
    pipeline = augury.spark.read_pipeline(written(tmp_path, FINITE))
    with pytest.raises(HostError, match=r"A588.*does not exist") as raised:
        augury.spark.run_pipeline(pipeline, master=None, say=print)
    assert str(tmp_path / "events") in str(raised.value)
    assert "Traceback" not in str(raised.value)
    assert "\tat " not in str(raised.value)


@pytest.mark.needs("streaming pipelines")
def test_a_stream_that_cannot_start_ends_the_one_that_runs(spark: SparkSession, tmp_path: Path) -> None:
    write_files(cut(with_end(EVENTS), 7), tmp_path / "events")
    text = STREAM.replace('{ format = "json", path = "quiet" }', '{ format = "no such format", path = "quiet" }')
    pipeline = augury.spark.read_pipeline(written(tmp_path, text))
    with pytest.raises(HostError, match=r"A588.*no such format"):
        augury.spark.run_pipeline(pipeline, master=None, say=print)
    assert (tmp_path / "checkpoint" / "rises").exists()
    assert not (tmp_path / "checkpoint" / "quiet").exists()
    assert spark.streams.active == []


@pytest.mark.slow
@pytest.mark.needs("streaming pipelines")
def test_a_stream_that_fails_ends_the_others(spark: SparkSession, tmp_path: Path) -> None:
    write_files(cut(with_end(EVENTS), 7), tmp_path / "events")
    augury.spark.run_pipeline(augury.spark.read_pipeline(written(tmp_path, STREAM)), master=None, say=print)
    # Spark reads this when the stream has started already; the first one would go on for ever.
    for offsets in (tmp_path / "checkpoint" / "quiet" / "offsets").glob("[0-9]*"):
        offsets.write_text("nonsense")
        (offsets.parent / f".{offsets.name}.crc").unlink()
    endless = STREAM.replace("buckets = 2", 'buckets = 2\ntrigger = "1 second"')
    said: list[str] = []
    pipeline = augury.spark.read_pipeline(written(tmp_path, endless))
    with pytest.raises(HostError, match="A588") as raised:
        augury.spark.run_pipeline(pipeline, master=None, say=said.append)
    assert "\tat " not in str(raised.value)
    assert spark.streams.active == []
    assert "rises: started" in said


def test_a_finite_pipeline_on_the_command_line(spark: SparkSession) -> None:
    ran = CliRunner().invoke(app, ["run", str(EXAMPLE)])
    assert ran.exit_code == 0, ran.stderr
    assert ran.stdout.splitlines()[0] == "thefts: 7 matches"
    assert len(ran.stdout.splitlines()) == 3 + 7
    assert ran.stderr.startswith("thefts: done in")


@pytest.mark.slow
def test_the_embedded_engine_says_nothing_of_its_own() -> None:
    ran = subprocess.run(
        [sys.executable, "-m", "augury.cli", "run", str(EXAMPLE), "--master", "local[2]", "--quiet"],
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr == ""
    assert len(ran.stdout.splitlines()) == 3 + 7


@pytest.mark.slow
@pytest.mark.needs("streaming pipelines")
def test_ctrl_c_ends_a_stream_after_its_micro_batch(spark: SparkSession, tmp_path: Path) -> None:
    write_files(cut(with_end(EVENTS), 7), tmp_path / "events")
    # Micro-batches begin at multiples of this: far enough from the next not to begin before the end.
    path = written(tmp_path, STREAM.replace("buckets = 2", 'buckets = 2\ntrigger = "24 hours"'))
    log, names = tmp_path / "log", ("rises", "quiet")
    with running(module("augury.cli", "run", path, "--master", "local[2]"), log, environment()) as ran:
        wait_until(
            lambda: all(batches(tmp_path / "checkpoint" / name, "offsets") for name in names),
            "both queries began",
            program=ran,
            log=log,
            every=0.01,
        )
        assert any(not batches(tmp_path / "checkpoint" / name, "commits") for name in names)
        # A terminal sends it to the JVM as well.
        os.killpg(ran.pid, signal.SIGINT)
        assert ran.wait(timeout=120) == 0, log.read_text()
    said = log.read_text()
    assert "stopping after the micro-batch under way" in said
    assert "Traceback" not in said
    assert "ERROR" not in said
    for name in names:
        assert batches(tmp_path / "checkpoint" / name, "commits") == {"0"}
        assert batches(tmp_path / "checkpoint" / name, "offsets") == {"0"}
    augury.spark.run_pipeline(augury.spark.read_pipeline(written(tmp_path, STREAM)), master=None, say=lambda text: None)
    assert rows_of(spark.read.parquet(str(tmp_path / "rises"))) == local_rows(EVENTS, RISES)


def batches(checkpoint: Path, what: str) -> set[str]:
    return {path.name for path in (checkpoint / what).glob("[0-9]*")}


@pytest.mark.parametrize(
    "change, reason",
    [
        (("[source]", "[sauce]"), "source: Field required"),
        (('format = "parquet"\npath', 'fromat = "parquet"\npath'), "source.fromat: unknown key"),
        (('lateness = "10 seconds"', ""), "a stream needs `lateness`"),
        (('name = "quiet"', 'name = "rises"'), "two queries are named rises"),
        (('file = "quiet.augury"', ""), r"query\[2\]: give the query in `text` or in a `file`"),
        (('sink = { format = "json", path = "quiet" }', ""), r"query\[2\].sink: Field required"),
        (("buckets = 2", "buckets = 0"), "streaming.buckets: Input should be greater than or equal to 1"),
        (('format = "parquet"\npath = "events"\ncolumns =', 'format = "kafka"\n# columns ='), "say which `columns`"),
        (("[streaming]", "[streaming"), "A583"),
        (("parameters = {", "max_match = 5\nparameters = {"), r"query\[1\]: unknown key `max_match`"),
        (("parameters = {", "functions = {}\nparameters = {"), r"query\[1\]: unknown key `functions`"),
        (("parameters = {", "max_matches = 0\nparameters = {"), r"query\[1\]: max_matches is a positive integer"),
        (('lateness = "10', 'plan = "linked"\nlateness = "10'), "events: unknown key `plan`"),
        (('lateness = "10', 'time = 3\nlateness = "10'), "events: the argument `time` is the name of a column"),
    ],
)
def test_a_file_with_a_mistake(tmp_path: Path, change: tuple[str, str], reason: str) -> None:
    assert change[0] in STREAM
    with pytest.raises(HostError, match=reason):
        augury.spark.read_pipeline(written(tmp_path, STREAM.replace(*change)))


EVERY_OPTION = """
plan = "lazy-chain"
order = ["b", "a"]
negation = "first-chance"
statistics = { rates = { A = 3.0 } }
loss = { rate = 0.1, delays = { a = { exponential = { mean = 5.0 } } } }
max_matches = 10
max_partial_matches = 11
max_memory = "1 GB"
timeout = "1 minute"
jit = false
cache_dir = "cache"
threads = 2
merge = false
counters = true
compressed = true
parameters = {"""


def test_a_file_may_state_every_option_but_functions(tmp_path: Path) -> None:
    file = written(tmp_path, STREAM.replace("parameters = {", EVERY_OPTION, 1).replace("[events]", EVENT_OPTIONS, 1))
    pipeline = augury.spark.read_pipeline(file)
    given = pipeline.events.options_given | pipeline.query[0].options_given
    assert set(given) == set(MatchOptions.__annotations__) - {"functions", "progress"}
    roles, options = read_options(given)
    assert roles == Roles("ts", "type", ("ts", "x"), "ms")
    assert options.loss == LossModel(rate=0.1, delays={"a": Exponential(mean=5.0)})
    assert (options.max_matches, options.timeout, options.parameters) == (10, 60.0, {"low": 0})


EVENT_OPTIONS = """[events]
time = "ts"
type = "type"
order_by = ["ts", "x"]
time_unit = "ms"
"""


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(HostError, match="A582"):
        augury.spark.read_pipeline(tmp_path / "nowhere.toml")


def test_an_error_in_a_task_is_told_without_its_traces(spark: SparkSession, tmp_path: Path) -> None:
    table = pa.table({"ts": pa.array([1, None], pa.int64()), "type": ["A", "A"]})
    pa.parquet.write_table(table, tmp_path / "events.parquet")
    text = """
        source = { format = "parquet", path = "events.parquet" }
        [[query]]
        name = "all"
        text = "SEQ(A a) WHERE skip_till_next_match {} WITHIN 1 second"
        sink = { format = "console" }
    """
    with pytest.raises(HostError, match=r"A587.*A509.*events have no time") as raised:
        augury.spark.run_pipeline(augury.spark.read_pipeline(written(tmp_path, text)), master=None, say=print)
    assert "Traceback" not in str(raised.value)
