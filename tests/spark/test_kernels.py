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

from augury.engine.exchange.kernels import CompiledFile, compiled_kernels, fitting_stateful_task
from augury.engine.exchange.shuffle import MatchTask, PackTask
from augury.engine.group import one_group
from augury.engine.job import Job
from augury.hosts.spark.jobs import SparkHost, spark_job
from augury.hosts.spark.stream.match import match_stream
from augury.options import Roles, make_options
from augury.source import Source
from augury.testing.tables import parse_stream
from tests.spark.streaming import read_files, run_to_end, write_files

EVENTS = parse_stream("a1(k=p,x=1) b2(k=p,x=3) a3(k=q,x=2) b4(k=q,x=0) c5(k=p,x=9) b6(k=q,x=7)")
QUERY = "PATTERN SEQ(A a, B b) WHERE [k] AND a.x < b.x WITHIN 10 seconds RETURN a.id AS a, b.id AS b"


def packed(job: Job) -> list[pa.RecordBatch]:
    """The events as they reach the task that matches them."""
    table = EVENTS.select(job.arrow.names)
    return list(PackTask(job.schema, (), 1, None)(table.to_batches()))


@pytest.fixture(scope="module")
def job(tmp_path_factory: pytest.TempPathFactory) -> Job:
    """A job whose kernels the driver has compiled by running it once."""
    options = make_options(jit=True, cache_dir=tmp_path_factory.mktemp("driver"))
    compiled = spark_job(Source(QUERY), EVENTS.schema, Roles(), options)
    assert pa.Table.from_batches(MatchTask(one_group(compiled), None, SparkHost())(packed(compiled))).num_rows == 2
    return replace(compiled, kernels=compiled_kernels(compiled.program, options.cache_dir))


def run_elsewhere(job: Job, **environment: str) -> str:
    """The matches of a job in another process, as it is on another machine; what it logged."""
    script = (
        "import pickle, sys; task, events = pickle.load(sys.stdin.buffer); print(sum(len(b) for b in task(events)));"
        "from augury.jit.compile import _loaded;"
        "entries = [entry for entries in _loaded.values() for entry in entries.values() if hasattr(entry, 'stats')];"
        "print(sum(sum(e.stats.cache_hits.values()) for e in entries), 'loaded',"
        " sum(sum(e.stats.cache_misses.values()) for e in entries), 'compiled')"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script],
        input=pickle.dumps((MatchTask(one_group(job), None, SparkHost()), packed(job))),
        capture_output=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment},
        check=False,
    )
    assert ran.stdout.split()[:1] == [b"2"], ran.stderr
    return ran.stdout.decode().splitlines()[1]


def test_an_executor_compiles_nothing_that_the_driver_compiled(job: Job, tmp_path: Path) -> None:
    assert job.kernels
    there = tmp_path / "executor"
    moved = replace(job, name="moved", options=replace(job.options, cache_dir=there))
    assert run_elsewhere(moved).endswith("loaded 0 compiled")
    # They were loaded from memory: no folder was made.
    assert not there.exists()


def test_an_executor_that_may_write_nowhere_loads_them_all_the_same(job: Job, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    moved = replace(job, name="moved", options=replace(job.options, cache_dir=tmp_path / "file"))
    assert run_elsewhere(moved).endswith("loaded 0 compiled")


def test_an_executor_of_another_kind_compiles_in_memory(job: Job, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    foreign = tuple(replace(file, folder="augury-of-another-cpu") for file in job.kernels)
    options = replace(job.options, cache_dir=tmp_path / "file")
    assert run_elsewhere(replace(job, name="foreign", kernels=foreign, options=options)).startswith("0 loaded")


@pytest.mark.needs("streams")
def test_kernels_of_a_stream_may_be_large(spark: SparkSession, job: Job, tmp_path: Path) -> None:
    """Spark broadcasts tasks of more than a MiB, and a worker with state cannot read what was broadcast."""
    large = CompiledFile("augury-large", "kernel_large.bin", os.urandom(2 << 20))
    heavy = replace(job, kernels=(large, *job.kernels), name="heavy")
    assert fitting_stateful_task(heavy.kernels) == tuple(sorted(job.kernels, key=lambda file: len(file.content)))
    frame = read_files(spark, write_files([EVENTS], tmp_path / "events"), EVENTS.schema)
    found = match_stream(frame, one_group(heavy), watermark="0 seconds", buckets=2, late=None)
    run_to_end(found, tmp_path)
    matches = spark.read.schema(found.schema).parquet(str(tmp_path / "matches"))
    # The other match ends with the latest event, which the watermark has not passed.
    assert [(row.a, row.b) for row in matches.collect()] == [("a1", "b2")]
