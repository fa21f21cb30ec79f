"""The buckets of a stream find what the whole finds, whatever the batches, the watermark and the key."""

from __future__ import annotations

import random
from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import augury
from augury.hosts.local import make_options
from augury.hosts.spark import saved
from augury.hosts.spark.bucket import advance, new_bucket
from augury.hosts.spark.job import Job, Roles, job_of
from augury.hosts.spark.keys import shared_key
from augury.runtime.state import FOREVER, LONG_AGO
from augury.source import Source
from augury.testing.queries import queries
from augury.testing.streams import cuts, streams


def bucket_matches(job: Job, batches: list[pa.Table], delay: int) -> Counter[str]:
    """The matches of one bucket whose watermark stays `delay` behind, with its state saved between batches."""
    found: Counter[str] = Counter()
    bucket = new_bucket(job)
    latest = LONG_AGO
    for batch in [*batches, None]:
        watermark = FOREVER if batch is None else max(LONG_AGO, latest - delay)
        bucket, new = advance(bucket, job, batch, watermark)
        found.update(repr(row) for table in job.columns(new) for row in table.to_pylist())
        bucket = saved.load_bucket(saved.save_bucket(bucket, job, 2), job, 2)
        if batch is not None and len(batch):
            latest = max(latest, *batch["ts"].to_pylist())
    assert bucket.held.table.num_rows == 0
    return found


@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(queries(), streams(), st.data())
def test_buckets_find_what_the_whole_finds(text: str, events: pa.Table, data: st.DataObject) -> None:
    job = job_of(Source(text), events.schema, Roles(), make_options(jit=False), live=True)
    # Events come in order, so that a watermark at most as far as the latest of the batches before makes none late.
    delay = data.draw(st.integers(0, 4))
    number = 2 if shared_key(job.program) else 1
    # A state is made anew from its events whenever that is possible, which must not be noticed.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(saved, "SPARE", data.draw(st.sampled_from([-(2**40), saved.SPARE])))
        found = all_buckets(job, events, number, delay, data)
    expected = Counter(repr(row) for row in augury.match(events, text).to_arrow().to_pylist())
    assert found == expected


def all_buckets(job: Job, events: pa.Table, number: int, delay: int, data: st.DataObject) -> Counter[str]:
    owner = [0 if key is None else ord(key) % number for key in events["k"].to_pylist()]
    found: Counter[str] = Counter()
    for mine in range(number):
        own = [row for row, bucket in enumerate(owner) if bucket == mine]
        found += bucket_matches(job, data.draw(cuts(events.take(pa.array(own, pa.int64())))), delay)
    return found


def test_state_stops_growing_though_keys_are_new_all_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saved, "SPARE", 1 << 12)
    query = "PATTERN SEQ(A a, B b) WHERE [k] AND a.x < b.x WITHIN 20 seconds RETURN a.k AS k"
    chance = random.Random(1)
    sizes, bucket, job = [], None, None
    for number in range(60):
        rows = [
            {"ts": 10 * number + n // 50, "type": chance.choice("AB"), "k": f"{number}-{n % 100}", "x": chance.random()}
            for n in range(500)
        ]
        events = pa.Table.from_pylist(rows)
        job = job or job_of(Source(query), events.schema, Roles(), make_options(jit=False), live=True)
        bucket, _ = advance(bucket or new_bucket(job), job, events, 10 * number)
        data = saved.save_bucket(bucket, job, 1)
        bucket = saved.load_bucket(data, job, 1)
        sizes.append(len(data))
    assert max(sizes[30:]) <= 1.1 * max(sizes[:30])
