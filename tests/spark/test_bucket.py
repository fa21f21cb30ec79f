"""The buckets of a stream find what the whole finds, whatever the batches, the watermark and the key."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import augury
from augury.hosts.local import make_options
from augury.hosts.spark.bucket import advance, new_bucket
from augury.hosts.spark.job import Job, Roles, job_of
from augury.hosts.spark.keys import shared_key
from augury.hosts.spark.saved import load_bucket, save_bucket
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
        bucket = load_bucket(save_bucket(bucket, job, 2), job, 2)
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
    owner = [0 if key is None else ord(key) % number for key in events["k"].to_pylist()]
    found: Counter[str] = Counter()
    for mine in range(number):
        own = [row for row, bucket in enumerate(owner) if bucket == mine]
        found += bucket_matches(job, data.draw(cuts(events.take(pa.array(own, pa.int64())))), delay)
    expected = Counter(repr(row) for row in augury.match(events, text).to_arrow().to_pylist())
    assert found == expected
