"""Events that are packed for partitions, sent, merged and matched there."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest

import augury
from augury.engine.cut.by_time import CutAt
from augury.engine.exchange import shuffle
from augury.engine.exchange.blobs import from_blob
from augury.engine.exchange.shuffle import MatchTask, PackTask
from augury.engine.group import one_group
from augury.engine.host import THIS_PROCESS
from augury.engine.job import job_of
from augury.engine.merging import in_steps, ticks_of
from augury.options import Roles, make_options
from augury.schema import EventSchema
from augury.source import Source
from tests.engine.streams import BY_SKEWED_KEY, local_rows, skewed, stream, table_rows


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
    monkeypatch.setattr(shuffle, "MAX_BLOB_BYTES", held)
    monkeypatch.setattr(shuffle, "PACKED_EVENTS", 50)
    monkeypatch.setattr(shuffle, "EVENTS_PER_BLOB", 1)
    events = stream()
    query = "PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 9 seconds"
    job = job_of(Source(query), events.schema, Roles(), make_options(jit=False))
    cut = CutAt((100, 150, 220), one_group(job).halo)
    shared = events.select(job.arrow.names)
    packed = pa.Table.from_batches(list(PackTask(job.schema, (), 1, cut)(shared.to_batches(max_chunksize=20))))
    found = []
    for place in range(4):
        mine = packed.filter(pc.equal(packed[shuffle.PARTITION], place))
        found += pa.Table.from_batches(
            list(MatchTask(one_group(job), cut, THIS_PROCESS)(mine.to_batches(max_chunksize=2))), schema=job.result
        ).to_pylist()
    expected = augury.match(events, query).to_arrow().to_pylist()
    assert sorted(map(repr, found)) == sorted(map(repr, expected))


def test_strings_travel_as_codes_where_that_pays() -> None:
    """A blob brings the strings of its codes, so that few events for each string are better off without."""
    few, many = skewed(3_000, 0.0), skewed(3_000, 0.0)
    many = many.set_column(2, "k", pa.array([f"k{n}" for n in range(len(many))]))
    job = job_of(Source(BY_SKEWED_KEY), few.schema, Roles(), make_options(jit=False))
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
        for batch in MatchTask(group, None, THIS_PROCESS)(
            table.filter(pc.equal(table[shuffle.PARTITION], place)).to_batches()
        )
    ]
    assert table_rows(pa.Table.from_batches(found)) == local_rows(events, BY_SKEWED_KEY)
