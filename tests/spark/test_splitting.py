"""How a finite frame is split, and what is looked at to decide it."""

from __future__ import annotations

import warnings
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import augury
import augury.spark
from augury.engine.cut.by_time import CutAt
from augury.engine.exchange import shuffle as packing
from augury.engine.exchange.blobs import from_blob
from augury.engine.exchange.shuffle import MatchTask, PackTask
from augury.engine.group import one_group
from augury.engine.job import Roles
from augury.engine.merging import in_steps, ticks_of
from augury.hosts.spark.batch import match as batch
from augury.hosts.spark.batch.sample import SAMPLE_EVENTS, SampledFrame
from augury.hosts.spark.jobs import SparkHost, spark_job
from augury.hosts.spark.schemas import arrow_schema
from augury.options import make_options
from augury.schema import EventSchema
from augury.source import Source
from tests.spark.comparing import frame_of, local_rows, rows_of, table_rows
from tests.spark.test_batch import stream

QUERY = "PATTERN SEQ(A a, B b) WHERE [k] AND a.x + b.x = 9 WITHIN 3 seconds RETURN a.n AS a, b.n AS b"


def skewed(size: int, share: float) -> pa.Table:
    """Events most of which have one key."""
    rng = np.random.default_rng(5)
    return pa.table(
        {
            "ts": np.arange(size) // 3,
            "type": rng.choice(["A", "B", "C"], size),
            "k": np.where(rng.random(size) < share, "heavy", rng.choice(["p", "q", "r", "s", "t", "u"], size)),
            "x": rng.integers(0, 10, size),
            "n": np.arange(size),
        }
    )


def test_a_key_with_most_of_the_events_is_split_by_time(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "MIN_CHUNK_EVENTS", 500)
    events = skewed(3_000, 0.9)
    frame = frame_of(spark, events)
    with pytest.warns(augury.AuguryWarning, match=r"9\d% of the events have the key k='heavy'.*by time") as notes:
        found = augury.spark.match(frame, QUERY, partitions=4)
    assert notes.pop(augury.AuguryWarning).filename == __file__
    assert rows_of(found) == local_rows(events, QUERY)


@pytest.mark.parametrize("share, how", [(0.0, {}), (0.9, {"chunks": 1}), (0.9, {"partitions": 1})])
def test_other_events_are_split_by_key(
    spark: SparkSession, share: float, how: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batch, "MIN_CHUNK_EVENTS", 500)
    events = skewed(3_000, share)
    with warnings.catch_warnings():
        warnings.simplefilter("error", augury.AuguryWarning)
        found = augury.spark.match(frame_of(spark, events), QUERY, **{"partitions": 4, **how})  # type: ignore[arg-type]
    assert rows_of(found) == local_rows(events, QUERY)


def test_a_key_that_comes_first_does_not_dominate(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The first rows of a file that is sorted by key are all of one key."""
    monkeypatch.setattr(batch, "MIN_CHUNK_EVENTS", 500)
    events = skewed(30_000, 0.0).sort_by("k")
    pq.write_table(events, tmp_path / "events.parquet")
    with warnings.catch_warnings():
        warnings.simplefilter("error", augury.AuguryWarning)
        augury.spark.match(spark.read.parquet(str(tmp_path)), QUERY, partitions=4)
        augury.spark.match(frame_of(spark, events), QUERY, partitions=4)


def test_the_sample_is_spread_over_files(spark: SparkSession, tmp_path: Path) -> None:
    size = 200_000
    events = pa.table(
        {
            "ts": np.arange(size),
            "type": np.where(np.arange(size) < size // 2, "A", "B"),
            "x": np.arange(size),
        }
    )
    pq.write_table(events, tmp_path / "events.parquet")
    sampled = SampledFrame(spark.read.parquet(str(tmp_path)))
    seen = sampled.sample(["ts", "type"])
    assert len(seen) == pytest.approx(SAMPLE_EVENTS, rel=0.2)
    assert np.mean(seen["type"].to_numpy() == "A") == pytest.approx(0.5, abs=0.1)
    query = "PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 9 seconds"
    frame = sampled.frame
    job = spark_job(Source(query), arrow_schema(frame.schema), Roles(), make_options(), stream=sampled)
    statistics = job.program.last.choice.plan.statistics  # type: ignore[attr-defined]
    assert statistics.source == f"measured on {len(seen)} of {size} events"
    assert statistics.rates["a"] == pytest.approx(0.5, rel=0.2)
    assert statistics.rates["b"] == pytest.approx(0.5, rel=0.2)


def test_steps_are_in_order_whatever_the_pieces() -> None:
    events = stream(500)
    schema = EventSchema.from_arrow(events.schema, order_by=("ts", "seq"))
    pieces = [events.slice(at, 90).sort_by("ts") for at in range(0, 500, 90)]
    steps = list(in_steps([(piece, ticks_of(piece, schema)) for piece in pieces], schema, 64))
    assert [last for _, last in steps] == [False] * (len(steps) - 1) + [True]
    together = pa.concat_tables([step.table for step, _ in steps])
    assert together["seq"].to_pylist() == events.sort_by([("ts", "ascending"), ("seq", "ascending")])["seq"].to_pylist()
    assert np.concatenate([step.rows for step, _ in steps]).tolist() == list(range(500))
    # Concurrent events are never apart.
    assert all(a.time[-1] < b.time[0] for (a, _), (b, _) in pairwise(steps))


@pytest.mark.parametrize("held", [0, 1 << 28])
def test_blobs_beyond_what_is_held_wait_in_a_file(held: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packing, "MAX_BLOB_BYTES", held)
    monkeypatch.setattr(packing, "PACKED_EVENTS", 50)
    monkeypatch.setattr(packing, "EVENTS_PER_BLOB", 1)
    events = stream()
    query = "PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 9 seconds"
    job = spark_job(Source(query), events.schema, Roles(), make_options(jit=False))
    cut = CutAt((100, 150, 220), one_group(job).halo)
    shared = events.select(job.arrow.names)
    packed = pa.Table.from_batches(list(PackTask(job.schema, (), 1, cut)(shared.to_batches(max_chunksize=20))))
    found = []
    for place in range(4):
        mine = packed.filter(pc.equal(packed[packing.PARTITION], place))
        found += pa.Table.from_batches(
            list(MatchTask(one_group(job), cut, SparkHost())(mine.to_batches(max_chunksize=2))), schema=job.result
        ).to_pylist()
    expected = augury.match(events, query).to_arrow().to_pylist()
    assert sorted(map(repr, found)) == sorted(map(repr, expected))


def test_strings_travel_as_codes_where_that_pays() -> None:
    """A blob brings the strings of its codes, so that few events for each string are better off without."""
    few, many = skewed(3_000, 0.0), skewed(3_000, 0.0)
    many = many.set_column(2, "k", pa.array([f"k{n}" for n in range(len(many))]))
    job = spark_job(Source(QUERY), few.schema, Roles(), make_options(jit=False))
    group = one_group(job)
    assert set(group.coded) == {"type", "k"}
    pack = PackTask(group.schema, group.key, 2, None, group.coded)
    packed = [*pack(few.select(group.arrow.names).to_batches()), *pack(many.select(group.arrow.names).to_batches())]
    blobs = [blob.as_buffer() for batch in packed for blob in batch["blob"]]
    kinds = [from_blob(blob).schema.field("k").type for blob in blobs]
    assert [pa.types.is_dictionary(kind) for kind in kinds] == [True, True, False, False]
    events = pa.concat_tables([few, many])
    table = pa.Table.from_batches(packed)
    found = [
        batch
        for place in range(2)
        for batch in MatchTask(group, None, SparkHost())(
            table.filter(pc.equal(table[packing.PARTITION], place)).to_batches()
        )
    ]
    assert table_rows(pa.Table.from_batches(found)) == local_rows(events, QUERY)
