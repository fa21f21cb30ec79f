"""Every example on Spark: its pipeline reads the events, and finds what the local engine finds."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import augury.spark
from augury.engine.sources.events import read_events
from augury.hosts.spark.pipeline.connectors import read_source
from tests.engine.streams import local_rows
from tests.examples.bundled import FOLDERS
from tests.spark.comparing import rows_of


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_example(spark: SparkSession, folder: Path) -> None:
    pipeline = augury.spark.read_pipeline(folder / "pipeline.toml")
    frame = read_source(spark, pipeline)
    events = read_events(folder / (pipeline.source.path or ""), "ts")
    assert {query.file for query in pipeline.query} == {query.name for query in folder.glob("*.augury")}
    for query in pipeline.query:
        text = (folder / (query.file or "")).read_text(encoding="utf-8")
        found = rows_of(augury.spark.match(frame, text, statistics={}))
        assert found == local_rows(events, text)
        assert found.total() > 0
