"""Heads and segments of a checkpoint, and blobs between tasks, with something changed: refused, or gone on with."""

from __future__ import annotations

import random
from dataclasses import replace
from functools import cache
from typing import Any

import pyarrow as pa
import pytest

from augury.engine.exchange.blobs import from_blob, to_blob
from augury.engine.job import Job, job_of
from augury.engine.state.bucket import advance, new_bucket
from augury.engine.state.checkpoint import FAMILY, SavedBucket, header, load_bucket, read_head, save_bucket
from augury.engine.state.compression import compress, decompress
from augury.errors import AuguryError, HostError
from augury.options import Roles, make_options
from augury.runtime.state import RunState
from augury.source import Source
from augury.testing.tables import parse_stream
from tests.fuzz.children import many
from tests.fuzz.corrupt_state import corrupted_facts, corrupted_raw, corrupted_tables
from tests.thorough import rounds

BEFORE = parse_stream("a1@100(k=p,x=1) a2@101(k=q,x=2) b3@102(k=p,x=4) a4@104(k=p,x=3) a5@104(k=q,x=0) b6@105(k=q,x=3)")
AFTER = parse_stream("b7@106(k=p,x=9) b8@107(k=q,x=1) a9@110(k=p,x=1) b10@111(k=p,x=7) b11@300(k=p,x=1)")
PATTERN = "PATTERN SEQ(A a, B b) WHERE [k] AND a.x < b.x WITHIN 20 seconds"
QUERIES = (PATTERN, PATTERN + " OUTPUT NONOVERLAP", f"{PATTERN} RETURN b.x AS x INTO P; PATTERN P p WHERE p.x > 1")


@cache
def half_way(number: int) -> tuple[Job, SavedBucket]:
    """A job, and what it saves in the middle of its stream."""
    job = job_of(Source(QUERIES[number]), BEFORE.schema, Roles(), make_options(jit=False))
    bucket = advance(new_bucket(job), job, BEFORE, 104)[0]
    return job, save_bucket(bucket, job, 4)[1]


def corrupted(saved: SavedBucket, one: random.Random) -> SavedBucket:
    if one.random() < 0.3 and saved.segments:
        segments = {k: compress(corrupted_raw(decompress(data), one)) for k, data in saved.segments.items()}
        return replace(saved, segments=segments)
    if one.random() < 0.2:
        return replace(saved, head=corrupted_raw(saved.head, one))
    state = RunState.from_bytes(decompress(saved.head))
    if one.random() < 0.5 or not state.tables:
        state = replace(state, facts={**state.facts, **corrupted_facts(_unlike(state.facts), one)})
    else:
        state = replace(state, tables=corrupted_tables(state.tables, one))
    return replace(saved, head=compress(state.to_bytes()))


def _unlike(facts: Any) -> dict[str, Any]:
    """The facts but for those of which the least change is that of another query."""
    return {name: value for name, value in facts.items() if name not in ("meaning", "evaluators")}


def run(number: int) -> str:
    one = random.Random(number)
    job, saved = half_way(one.randrange(len(QUERIES)))
    changed = corrupted(saved, one)
    try:
        bucket = load_bucket(read_head(changed.head, job, 4), changed.segments.__getitem__, job)
    except (AuguryError, KeyError) as e:
        # A segment that is not there is missing in the state store.
        return "refused" if isinstance(e, AuguryError) or isinstance(e.args[0], int) else repr(e)
    try:
        _, found = advance(bucket, job, AFTER, 300)
        for table in job.columns(found):
            table.validate(full=True)
    except AuguryError:
        return "stopped"
    return "ended"


def test_corrupted_checkpoints_are_refused_or_gone_on_with() -> None:
    for number in range(len(QUERIES)):
        half_way(number)
    outcomes, wrong = many(run, 0, 300)
    assert wrong == []
    assert min(outcomes["refused"], outcomes["ended"]) > 50
    assert outcomes.keys() <= {"refused", "ended", "stopped"}


@pytest.mark.slow
def test_many_corrupted_checkpoints() -> None:
    assert many(run, 1_000, 1_000 + rounds(4_000, 20_000))[1] == []


def blob(number: int) -> str:
    one = random.Random(number)
    try:
        from_blob(corrupted_raw(to_blob(BEFORE), one)).validate(full=True)
    except HostError as e:
        return e.code
    return "read"


def test_corrupted_blobs_are_refused_or_read() -> None:
    outcomes, wrong = many(blob, 0, 2_000)
    assert wrong == []
    assert min(outcomes["A573"], outcomes["read"]) > 100
    assert outcomes.keys() == {"A573", "read"}


def test_checkpoints_of_earlier_releases_are_refused() -> None:
    job, saved = half_way(0)
    state = RunState.from_bytes(decompress(saved.head))
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, BEFORE.schema) as writer:
        writer.write_table(BEFORE)
    for old in (replace(state, version=2).to_bytes(), bytes(sink.getvalue())):
        with pytest.raises(HostError, match="A574"):
            read_head(compress(old), job, 4)
    assert (state.family, state.version) == (FAMILY, 3)
    assert read_head(header(job, 4), job, 4).facts.part("meaning").stated


def test_a_head_that_says_it_is_huge_is_not_believed() -> None:
    job, saved = half_way(0)
    with pytest.raises(HostError, match="A573"):
        read_head((2**60).to_bytes(8, "little") + saved.head[8:], job, 4)
