"""Compiled kernels travel with a job."""

from __future__ import annotations

import os
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from augury.hosts.local import make_options
from augury.hosts.spark.group import one_group
from augury.hosts.spark.job import Job, Roles, job_of
from augury.hosts.spark.kernels import CompiledFile, compiled_kernels, unpack_kernels
from augury.hosts.spark.packing import PackTask, PlaceTask
from augury.hosts.spark.stream import match_stream
from augury.source import Source
from augury.testing.tables import parse_stream
from tests.spark.streaming import read_files, run_to_end, write_files

EVENTS = parse_stream("a1(k=p,x=1) b2(k=p,x=3) a3(k=q,x=2) b4(k=q,x=0) c5(k=p,x=9) b6(k=q,x=7)")
QUERY = "PATTERN SEQ(A a, B b) WHERE [k] AND a.x < b.x WITHIN 10 seconds RETURN a.id AS a, b.id AS b"


def packed(job: Job) -> list[pa.RecordBatch]:
    """The events as they reach the task that matches them."""
    table = EVENTS.select(job.arrow.names)
    return list(PackTask(job.schema, (), 1, None)(table.to_batches()))


@pytest.fixture
def job(tmp_path: Path) -> Job:
    """A job whose kernels the driver has compiled by running it once."""
    options = make_options(jit=True, cache_dir=tmp_path / "driver")
    compiled = job_of(Source(QUERY), EVENTS.schema, Roles(), options)
    assert pa.Table.from_batches(PlaceTask(one_group(compiled), None)(packed(compiled))).num_rows == 2
    return replace(compiled, kernels=compiled_kernels(compiled.program, options.cache_dir))


def test_an_executor_compiles_nothing_that_the_driver_compiled(job: Job, tmp_path: Path) -> None:
    assert job.kernels
    there = tmp_path / "executor"
    moved = replace(job, name="moved", options=replace(job.options, cache_dir=there))
    # Another process, as it is on another machine, whose cache is empty.
    script = (
        "import pickle, sys; task, events = pickle.load(sys.stdin.buffer); print(sum(len(b) for b in task(events)))"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script],
        input=pickle.dumps((PlaceTask(one_group(moved), None), packed(moved))),
        capture_output=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )
    assert ran.stdout.split() == [b"2"], ran.stderr
    assert {str(path.relative_to(there)) for path in there.rglob("*.bin")} == {file.place for file in job.kernels}


def test_a_cache_is_filled_once(job: Job, tmp_path: Path) -> None:
    assert unpack_kernels(job.kernels, tmp_path / "other") == len(job.kernels)
    assert unpack_kernels(job.kernels, tmp_path / "other") == 0


def test_a_cache_that_takes_nothing_is_no_error(job: Job, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    assert unpack_kernels(job.kernels, tmp_path / "file") == 0


@pytest.mark.needs("streams")
def test_kernels_of_a_stream_may_be_large(spark: SparkSession, job: Job, tmp_path: Path) -> None:
    """Spark broadcasts tasks of more than a MiB, and a worker with state cannot read what was broadcast."""
    there = tmp_path / "executor"
    large = CompiledFile("augury-large/kernel_large.bin", os.urandom(2 << 20))
    heavy = replace(job, kernels=(large,), options=replace(job.options, cache_dir=there), name="heavy")
    frame = read_files(spark, write_files([EVENTS], tmp_path / "events"), EVENTS.schema)
    found = match_stream(frame, one_group(heavy), watermark="0 seconds", buckets=2, late=None)
    run_to_end(found, tmp_path)
    matches = spark.read.schema(found.schema).parquet(str(tmp_path / "matches"))
    # The other match ends with the latest event, which the watermark has not passed.
    assert [(row.a, row.b) for row in matches.collect()] == [("a1", "b2")]
    assert (there / large.place).read_bytes() == large.content
