"""What differs between releases of Spark: what is lacking is refused in one way, and the page tells what runs where."""

from __future__ import annotations

import datetime as dt
import random
import re
import tomllib
from collections.abc import Callable
from importlib.metadata import metadata
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import augury.spark
from augury.hosts.spark.releases import (
    INSTALLED,
    RELEASES,
    SINCE,
    can,
    collected,
    partitioned_by_id,
    release_name,
    release_of,
    require,
    split_table,
)
from tests.spark.comparing import frame_of
from tests.spark.streaming import read_files, write_files
from tests.spark.test_stream import EVENTS, QUERIES

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "spark-releases.md"

STREAM = """
source = { format = "parquet", path = "events", columns = "ts LONG, type STRING, id STRING, k STRING, x LONG" }
events = { lateness = "10 seconds" }
streaming = { checkpoint = "checkpoint" }
[[query]]
name = "rises"
text = "PATTERN SEQ(A a, B b) WHERE [k] WITHIN 5 seconds"
sink = { format = "parquet", path = "rises" }
"""


def match_a_stream(spark: SparkSession, folder: Path) -> None:
    events = read_files(spark, write_files([EVENTS], folder / "events"), EVENTS.schema)
    augury.spark.match(events, QUERIES["by key"], lateness="10 seconds")


def match_all_of_a_stream(spark: SparkSession, folder: Path) -> None:
    events = read_files(spark, write_files([EVENTS], folder / "events"), EVENTS.schema)
    augury.spark.match_all(events, {"rise": QUERIES["by key"]}, lateness="10 seconds")


def run_a_streaming_pipeline(spark: SparkSession, folder: Path) -> None:
    write_files([EVENTS], folder / "events")
    (folder / "pipeline.toml").write_text(STREAM)
    pipeline = augury.spark.read_pipeline(folder / "pipeline.toml")
    augury.spark.run_pipeline(pipeline, master=None, say=lambda text: None)


def register_any_query(spark: SparkSession, folder: Path) -> None:
    augury.spark.register_any_query(spark)


DOORS = {
    "streams": (match_a_stream, match_all_of_a_stream),
    "streaming pipelines": (run_a_streaming_pipeline,),
    "register_any_query": (register_any_query,),
}


@pytest.mark.parametrize(
    "what, call",
    [
        # `test_pipeline` runs one where there are any.
        pytest.param(what, call, marks=[pytest.mark.slow] if call is run_a_streaming_pipeline and can(what) else [])
        for what, calls in DOORS.items()
        for call in calls
    ],
)
def test_what_a_release_lacks_is_refused(
    spark: SparkSession, tmp_path: Path, what: str, call: Callable[[SparkSession, Path], None]
) -> None:
    if can(what):
        call(spark, tmp_path)
    else:
        first, installed = release_name(SINCE[what]), release_name(INSTALLED)
        told = rf"error\[A599\]: Augury has {what} on Spark {first} .* {installed}\n = help: \w"
        with pytest.raises(augury.HostError, match=told):
            call(spark, tmp_path)


def test_the_error_says_which_release_is_needed_and_what_to_do() -> None:
    with pytest.raises(augury.HostError) as raised:
        require("streams", "match finite frames", (3, 5))
    assert str(raised.value) == (
        "error[A599]: Augury has streams on Spark 4.0 or later, and this is 3.5\n = help: match finite frames"
    )


def test_a_release_that_is_too_old() -> None:
    with pytest.raises(augury.HostError, match=r"A598.*Spark 3\.4.*3\.5"):
        release_of("3.4.4")


def test_a_row_goes_to_the_partition_that_it_names(spark: SparkSession) -> None:
    chance = random.Random(2)
    for number in (1, 2, 7, 40):
        rows = pa.table({"place": pa.array([chance.randrange(number) for _ in range(200)], pa.int32())})
        placed = partitioned_by_id(frame_of(spark, rows), number, "place")
        assert placed.rdd.getNumPartitions() == number
        found = collected(placed.select("place", F.spark_partition_id().alias("partition")))
        assert found["place"].to_pylist() == found["partition"].to_pylist()
        assert sorted(found["place"].to_pylist()) == sorted(rows["place"].to_pylist())


def test_rows_come_back_in_the_types_they_have(spark: SparkSession) -> None:
    at = dt.datetime(2026, 3, 14, 9, tzinfo=dt.UTC)
    rows = pa.table(
        {
            "instant": pa.array([at, None], pa.timestamp("us", "UTC")),
            "local": pa.array([at.replace(tzinfo=None), None], pa.timestamp("us")),
            "list": [[1, 2], []],
            "struct": [{"x": 1.5, "y": "a"}, None],
        }
    )
    frame = frame_of(spark, rows)
    assert collected(frame).cast(rows.schema) == rows
    assert collected(frame.where("false")).schema == collected(frame).schema


def test_how_a_table_is_split(spark: SparkSession) -> None:
    spark.range(30).selectExpr("id", "id % 3 AS k").createOrReplaceTempView("numbers")
    if INSTALLED >= (4, 0):
        assert split_table("numbers", ["k", "id"]) == "TABLE(numbers) PARTITION BY (k, id)"
        assert split_table("numbers", []) == "TABLE(numbers) WITH SINGLE PARTITION"
    else:
        assert split_table("numbers", ["k", "id"]) == "TABLE(SELECT * FROM numbers DISTRIBUTE BY k, id)"
        assert split_table("numbers", []) == "TABLE(SELECT /*+ REPARTITION(1) */ * FROM numbers)"


def test_the_page_tells_what_runs_where() -> None:
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table_of(PAGE)]
    head, _, *body = rows
    assert head == ["", *map(str, RELEASES)]
    told = {name: cells for name, *cells in body}
    assert told.pop("Python") == [release.python for release in RELEASES]
    assert told.pop("Java") == [release.java for release in RELEASES]
    expected = {
        what: ["yes" if release.version >= first else "no" for release in RELEASES] for what, first in SINCE.items()
    }
    assert {name.replace("`", ""): cells for name, cells in told.items()} == expected


def test_the_page_tells_the_pythons_that_spark_is_made_for() -> None:
    declared = metadata("pyspark").get_all("Classifier") or []
    minors = [int(found[1]) for one in declared if (found := re.fullmatch(r"Programming.* :: 3\.(\d+)", one))]
    (release,) = (release for release in RELEASES if release.version == INSTALLED)
    assert release.python == ("3.11" if max(minors) == 11 else f"3.11 to 3.{max(minors)}")


def table_of(page: Path) -> list[str]:
    """The lines of the first table of a page."""
    found = re.search(r"(?:^\|.*\|\n)+", page.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert found is not None
    return found[0].splitlines()


def test_the_extra_takes_the_releases_of_the_page() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]["spark"]
    (wanted,) = (one for one in extras if one.startswith("pyspark"))
    major, minor = RELEASES[-1].version
    assert wanted == f"pyspark>={RELEASES[0]},<{major}.{minor + 1}"
