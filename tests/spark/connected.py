"""Everything once over Spark Connect, in a process of its own: a process has classic sessions or remote ones."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

os.environ.update(PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")

from pyspark.sql import SparkSession

import augury.spark
from augury.hosts.spark.releases import can, split_table
from augury.hosts.spark.session import ROCKSDB
from tests.engine.streams import local_rows
from tests.spark.comparing import frame_of, rows_of
from tests.spark.streaming import matches_of
from tests.spark.test_stream import EVENTS, QUERIES, cut, with_end

if __name__ == "__main__":
    builder = SparkSession.builder.remote("local[2]")
    for name, value in {
        "spark.sql.streaming.stateStore.providerClass": ROCKSDB,
        "spark.sql.shuffle.partitions": "2",
        "spark.ui.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
    }.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    assert "connect" in type(spark).__module__
    frame = frame_of(spark, EVENTS)
    for text in QUERIES.values():
        assert rows_of(augury.spark.match(frame, text)) == local_rows(EVENTS, text)
    keyless = "PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 5 seconds"
    assert rows_of(augury.spark.match(frame, keyless, chunks=3)) == local_rows(EVENTS, keyless)
    augury.spark.install()
    with_methods: Any = frame
    assert rows_of(with_methods.augury.match(keyless, chunks=2)) == local_rows(EVENTS, keyless)
    assert "by time" in augury.spark.explain(keyless, frame)
    frame.createOrReplaceTempView("events")
    augury.spark.register(spark, "rise", QUERIES["by key"], frame)
    assert rows_of(spark.sql(f"SELECT * FROM rise({split_table('events', ['k'])})")) == local_rows(
        EVENTS, QUERIES["by key"]
    )
    if not can("streams"):
        print("connected")
        sys.exit()
    with tempfile.TemporaryDirectory() as folder:
        text = QUERIES["trailing NOT"]
        found = matches_of(spark, cut(with_end(EVENTS), 7), text, Path(folder), lateness="10 seconds", buckets=2)
        assert rows_of(found) == local_rows(EVENTS, text)
    print("connected")
