"""The buckets of a stream find what the whole finds, whatever the batches, the watermark and the key."""

from __future__ import annotations

import random
from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import augury
from augury.engine.cut.by_key import shared_key
from augury.engine.job import Job, job_of
from augury.engine.state import event_segments as segments
from augury.engine.state.bucket import Bucket, advance, new_bucket
from augury.engine.state.bucket_cache import put, take
from augury.engine.state.checkpoint import load_bucket, read_head, save_bucket
from augury.options import Roles, make_options
from augury.plan.family import FamilyName
from augury.runtime.state import FOREVER, LONG_AGO
from augury.source import Source
from augury.testing.queries import queries
from augury.testing.streams import cuts, streams


class Shelf:
    """Where a bucket is saved to, and loaded from if it is not `kept`."""

    def __init__(self, job: Job, *, kept: bool) -> None:
        self.job, self.kept = job, kept
        self.head = b""
        self.segments: dict[int, bytes] = {}

    def save(self, bucket: Bucket) -> None:
        bucket, saved = save_bucket(bucket, self.job, 2)
        for number in saved.gone:
            del self.segments[number]
        self.segments |= saved.segments
        self.head = saved.head
        assert list(self.segments) == [segment.first for segment in bucket.segments]
        if self.kept:
            put(bucket, self.job.name, saved.mark)

    def load(self) -> Bucket:
        head = read_head(self.head, self.job, 2)
        kept = take(head.name, self.job.name, head.mark)
        assert isinstance(kept, Bucket) == self.kept
        return kept if isinstance(kept, Bucket) else load_bucket(head, self.segments.__getitem__, self.job)

    def __len__(self) -> int:
        return len(self.head) + sum(map(len, self.segments.values()))


def bucket_matches(job: Job, batches: list[pa.Table], delay: int, kept: list[bool]) -> Counter[str]:
    """The matches of one bucket whose watermark stays `delay` behind, with its state saved between batches.

    It is kept in memory too after the batches that `kept` says.
    """
    found: Counter[str] = Counter()
    bucket = new_bucket(job)
    shelf = Shelf(job, kept=False)
    latest = LONG_AGO
    for number, batch in enumerate([*batches, None]):
        watermark = FOREVER if batch is None else max(LONG_AGO, latest - delay)
        bucket, new = advance(bucket, job, batch, watermark)
        found.update(repr(row) for table in job.columns(new) for row in table.to_pylist())
        shelf.kept = kept[number % len(kept)]
        shelf.save(bucket)
        bucket = shelf.load()
        if batch is not None and len(batch):
            latest = max(latest, *batch["ts"].to_pylist())
    assert bucket.held.table.num_rows == 0
    return found


@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])
@given(queries(), streams(), st.data())
def test_buckets_find_what_the_whole_finds(text: str, events: pa.Table, data: st.DataObject) -> None:
    job = job_of(Source(text), events.schema, Roles(), make_options(jit=False), live=True)
    # Events come in order, so that a watermark at most as far as the latest of the batches before makes none late.
    delay = data.draw(st.integers(0, 4))
    number = 2 if shared_key(job.program) else 1
    # That a kernel is made anew, and how events are saved, must not be noticed.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(segments, "MAX_MERGED_EVENTS", data.draw(st.sampled_from([0, 3, segments.MAX_MERGED_EVENTS])))
        found = all_buckets(job, events, number, delay, data)
    expected = Counter(repr(row) for row in augury.match(events, text).to_arrow().to_pylist())
    assert found == expected


def all_buckets(job: Job, events: pa.Table, number: int, delay: int, data: st.DataObject) -> Counter[str]:
    owner = [0 if key is None else ord(key) % number for key in events["k"].to_pylist()]
    found: Counter[str] = Counter()
    for mine in range(number):
        own = [row for row, bucket in enumerate(owner) if bucket == mine]
        batches = data.draw(cuts(events.take(pa.array(own, pa.int64()))))
        found += bucket_matches(job, batches, delay, data.draw(st.lists(st.booleans(), min_size=3, max_size=3)))
    return found


@pytest.mark.parametrize("plan", [None, "eager-nfa", "lazy-tree", "linked"])
def test_state_stops_growing_though_keys_are_new_all_the_time(plan: FamilyName | None) -> None:
    query = "PATTERN SEQ(A a, B b) WHERE [k] AND a.x < b.x WITHIN 20 seconds RETURN a.k AS k"
    chance = random.Random(1)
    events = [
        pa.Table.from_pylist(
            [
                {"ts": 10 * number + n // 25, "type": chance.choice("AB"), "k": f"{number}-{n % 50}", "x": n % 7}
                for n in range(250)
            ]
        )
        for number in range(40)
    ]
    job = job_of(Source(query), events[0].schema, Roles(), make_options(jit=False, plan=plan), live=True)
    for kept in (True, False):
        bucket, shelf = new_bucket(job), Shelf(job, kept=kept)
        on_disk, in_memory = [], []
        for number, table in enumerate(events):
            bucket, _ = advance(bucket, job, table, 10 * number)
            in_memory.append(len(bucket.stages[0].state.to_bytes()))
            shelf.save(bucket)
            on_disk.append(len(shelf))
            bucket = shelf.load()
        for sizes in (on_disk, in_memory):
            assert max(sizes[20:]) <= 1.1 * max(sizes[:20])


def test_a_batch_writes_what_is_new_and_little_else(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(segments, "MAX_MERGED_EVENTS", 1 << 12)
    query = "PATTERN SEQ(A a, B b) WHERE [k] AND a.x < b.x WITHIN 300 seconds"
    rows = [{"ts": n // 10, "type": "AB"[n % 2], "k": str(n % 5), "x": -n} for n in range(10_000)]
    events = pa.Table.from_pylist(rows)
    job = job_of(Source(query), events.schema, Roles(), make_options(jit=False), live=True)
    bucket, written, most = new_bucket(job), 0, 0
    for first in range(0, len(events), 100):
        bucket, _ = advance(bucket, job, events.slice(first, 100), first // 10)
        bucket, saved = save_bucket(bucket, job, 1)
        written += sum(segment.events for segment in bucket.segments if segment.first in saved.segments)
        most = max(most, len(bucket.segments))
    assert most <= 12
    assert len(events) <= written <= 8 * len(events)
    assert sum(segment.events for segment in bucket.segments) <= 2 * 3_000


def test_what_an_attempt_left_behind_is_not_taken() -> None:
    events = pa.table({"ts": [1, 2], "type": ["A", "B"], "k": ["p", "p"]})
    job = job_of(Source("PATTERN SEQ(A a, B b) WHERE [k] WITHIN 9 seconds"), events.schema, Roles(), make_options())
    bucket, first = save_bucket(advance(new_bucket(job), job, events, 1)[0], job, 1)
    put(bucket, job.name, first.mark)
    lost, second = save_bucket(advance(bucket, job, None, 2)[0], job, 1)
    put(lost, job.name, second.mark)
    head = read_head(first.head, job, 1)
    assert take(head.name, job.name, head.mark) is None
    put(bucket, job.name, first.mark)
    assert take(head.name, job.name, head.mark) is bucket
    assert take(head.name, job.name, head.mark) is None


def test_what_another_job_kept_is_built_up_again() -> None:
    """A checkpoint is continued with another column to return, by a worker that has kept the bucket."""
    events = pa.table({"ts": [1, 2], "type": ["A", "B"], "k": ["p", "p"]})
    query = "PATTERN SEQ(A a, B b) WHERE [k] WITHIN 9 seconds RETURN a.k AS k"
    before, after = (
        job_of(Source(text), events.schema, Roles(), make_options()) for text in (query, f"{query}, b.ts AS later")
    )
    bucket, saved = save_bucket(advance(new_bucket(before), before, events.slice(0, 1), 1)[0], before, 1)
    put(bucket, before.name, saved.mark)
    head = read_head(saved.head, after, 1)
    assert take(head.name, after.name, head.mark) is None
    again = load_bucket(head, saved.segments.__getitem__, after)
    _, found = advance(again, after, events.slice(1), FOREVER)
    assert [table.to_pylist() for table in after.columns(found)] == [[{"start": 1, "end": 2, "k": "p", "later": 2}]]


@pytest.mark.parametrize("plan", ["eager-nfa", "lazy-chain", "linked"])
def test_the_limit_of_a_step_is_none_of_all_steps_that_are_kept(plan: FamilyName) -> None:
    events = pa.table({"ts": range(7), "type": ["A", "A", "A", "A", "B", "B", "B"]})
    options = make_options(plan=plan, jit=False, max_matches=4)
    job = job_of(Source("PATTERN SEQ(A a, B b) WITHIN 9 seconds"), events.schema, Roles(), options, live=True)
    shelf, bucket = Shelf(job, kept=False), new_bucket(job)
    found = 0
    for k in range(len(events)):
        bucket, new = advance(bucket, job, events.slice(k, 1), k + 1)
        found += sum(table.num_rows for table in job.columns(new))
        shelf.save(bucket)
        bucket = shelf.load()
    assert found == 12


@pytest.mark.parametrize("plan", ["eager-nfa", "lazy-chain", "linked"])
def test_a_lower_limit_is_not_for_matches_that_have_been_reported(plan: FamilyName) -> None:
    events = pa.table({"ts": [0, 1, 2, 3, 4, 5, 6, 12], "type": ["A"] * 6 + ["B"] * 2})
    query = Source("PATTERN SEQ(A a, B b) WITHIN 9 seconds")
    before, after = (
        job_of(query, events.schema, Roles(), make_options(plan=plan, jit=False, max_matches=limit), live=True)
        for limit in (6, 4)
    )
    shelf = Shelf(before, kept=False)
    shelf.save(advance(new_bucket(before), before, events.slice(0, 7), 7)[0])
    shelf.job = after
    _, found = advance(shelf.load(), after, events.slice(7), FOREVER)
    assert sum(table.num_rows for table in after.columns(found)) == 3


@pytest.mark.parametrize("plan", ["eager-nfa", "lazy-chain", "linked"])
def test_the_memory_of_a_step_is_enough_to_continue(plan: FamilyName) -> None:
    """All matches of the last window together would need several times as much."""
    events = pa.table({"ts": range(161), "type": ["A"] * 80 + ["B"] * 81})
    options = make_options(plan=plan, jit=False, max_memory="450 KB")
    job = job_of(Source("PATTERN SEQ(A a, B b) WITHIN 900 seconds"), events.schema, Roles(), options, live=True)
    shelf, bucket = Shelf(job, kept=False), new_bucket(job)
    for k in range(0, 160, 8):
        bucket, _ = advance(bucket, job, events.slice(k, 8), k + 8)
    shelf.save(bucket)
    _, found = advance(shelf.load(), job, events.slice(160), FOREVER)
    assert sum(table.num_rows for table in job.columns(found)) == 80
