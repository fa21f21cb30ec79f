"""Micro-batches on a host that keeps state in dictionaries: the same matches as the whole stream has, each once."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import augury
from augury.engine.cut.by_time import CutEvery, copies
from augury.engine.group import Group, groups, one_group
from augury.engine.job import job_of
from augury.engine.state import bucket_cache
from augury.engine.state.checkpoint import SavedBucket
from augury.engine.stream import BucketedStream, LateEvents, MatchedRows
from augury.ir.branches import branches
from augury.ir.query import TimeWindow
from augury.ir.terms import OutputMode
from augury.options import Roles, make_options
from augury.source import Source
from augury.testing.queries import queries, timeout_queries
from augury.testing.streams import cuts, dense_streams, streams
from tests.thorough import rounds

AT_THE_END = 1 << 40
"""A watermark past everything."""

SETTINGS = settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much])


@dataclass
class Dictionaries:
    """The state of one query in one bucket, in memory."""

    saved: bytes | None = None
    segments: dict[int, bytes] = field(default_factory=dict)
    due: list[int | None] = field(default_factory=list)

    def head(self) -> bytes | None:
        return self.saved

    def segment(self, number: int) -> bytes:
        return self.segments[number]

    def write_header(self, head: bytes) -> None:
        self.saved = head

    def write(self, saved: SavedBucket) -> None:
        for number in saved.gone:
            del self.segments[number]
        self.segments |= saved.segments
        self.saved = saved.head

    def clear(self) -> None:
        self.saved = None
        self.segments.clear()

    def wake(self, after: int | None) -> None:
        self.due.append(after)


class Host:
    """Runs a stream whose watermark stays `delay` behind the latest event; state may be forgotten by the process."""

    def __init__(self, group: Group, buckets: int, delay: int, cut: CutEvery | None = None) -> None:
        self.stream, self.delay = BucketedStream(group, buckets, cut), delay
        self.stores: dict[int, list[Dictionaries]] = {}
        self.watermark = -AT_THE_END
        self.matches: list[pa.Table] = []
        self.late: list[pa.Table] = []

    def feed(self, events: pa.Table) -> None:
        time = events["ts"].to_numpy()
        before, latest = self.watermark, int(time.max()) if len(time) else self.watermark
        self.watermark = max(before, latest - self.delay)
        rows, bucket = self._routed(events)
        for number in np.unique(bucket).tolist():
            mine = events.take(pa.array(rows[bucket == number])).select(self.stream.group.arrow.names)
            self._advance(number, mine, before)
        self._wake(set(bucket.tolist()))

    def finish(self) -> None:
        self.watermark = AT_THE_END
        self._wake(set())

    def _routed(self, events: pa.Table) -> tuple[np.ndarray, np.ndarray]:
        if self.stream.cut is not None:
            return copies(self.stream.cut, events["ts"].to_numpy())
        key = [0 if k is None else ord(k) % self.stream.buckets for k in events["k"].to_pylist()]
        return np.arange(len(events)), np.array(key, dtype=np.int64)

    def _wake(self, already: set[int]) -> None:
        for number in sorted(set(self.stores) - already):
            due = [tick for store in self.stores[number] for tick in store.due]
            if any(tick is None or tick < self.watermark for tick in due):
                self._advance(number, None, self.watermark)

    def _advance(self, number: int, events: pa.Table | None, passed: int) -> None:
        stores = self.stores.setdefault(number, [Dictionaries() for _ in self.stream.group.jobs])
        for store in stores:
            store.due.clear()
        for output in self.stream.advance(number, events, stores, passed, self.watermark):
            match output:
                case LateEvents(table):
                    self.late.append(table)
                case MatchedRows(table):
                    self.matches.append(table)

    def rows(self) -> Counter[str]:
        return Counter(repr(row) for table in self.matches for row in table.to_pylist())

    def remembered(self) -> int:
        return sum(store.saved is not None for stores in self.stores.values() for store in stores)


def group_of(text: str, events: pa.Table) -> Group:
    return one_group(job_of(Source(text), events.schema, Roles(), make_options(jit=False), live=True))


def expected(events: pa.Table, text: str) -> Counter[str]:
    return Counter(repr(row) for row in augury.match(events, text).to_arrow().to_pylist())


def run(host: Host, batches: list[pa.Table], lost: list[bool]) -> Counter[str]:
    """The matches of a stream; where `lost` says so, another process goes on with what is saved."""
    for batch, restart in zip(batches, lost, strict=False):
        if len(batch):
            host.feed(batch)
        if restart:
            bucket_cache._cached.clear()
    host.finish()
    return host.rows()


LOST = st.lists(st.booleans(), min_size=100, max_size=100)


@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
@SETTINGS
@given(queries(paces=True), streams(), LOST, st.data())
def test_buckets_of_keys(text: str, events: pa.Table, lost: list[bool], data: st.DataObject) -> None:
    group = group_of(text, events)
    # Only the end of a stream settles some matches without a time, and the chains of covers; these streams have no end.
    query = group.jobs[0].last.bound
    assume(isinstance(query.window, TimeWindow) and query.output is not OutputMode.COVER)
    host = Host(group, 2 if group.key else 1, delay=0)
    assert run(host, data.draw(cuts(events)), lost) == expected(events, text)


@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
@SETTINGS
@given(timeout_queries(), dense_streams(max_size=8), LOST, st.data())
def test_buckets_with_timeouts(text: str, events: pa.Table, lost: list[bool], data: st.DataObject) -> None:
    group = group_of(text, events)
    query = group.jobs[0].last.bound
    # Without a window only the end of a stream settles what a NOT at the end asks for; these streams have no end.
    endless = any(not part.before and part.silence is None for b in branches(query.pattern) for part in b.absent)
    assume(isinstance(query.window, TimeWindow) or (query.window is None and not endless))
    host = Host(group, 2 if group.key else 1, delay=0)
    assert run(host, data.draw(cuts(events)), lost) == expected(events, text)


def test_a_timeout_is_written_when_its_window_has_passed_although_no_event_comes() -> None:
    text = "SEQ(A a, B b) WHERE [k] AND a.x < b.x WITHIN 9 seconds OUTPUT ALL WITH TIMEOUTS RETURN a.x AS x"
    host = Host(group_of(text, EVENTS), 1, delay=0)
    host.feed(EVENTS.slice(2, 1))
    assert not host.matches
    host.feed(EVENTS.slice(0, 0))
    host.watermark = 40
    host._wake(set())
    assert [row for table in host.matches for row in table.to_pylist()] == [
        {"start": 30, "end": 30, "x": 3, "reached": "a", "complete": False}
    ]


@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
# Of random queries most cannot be cut by time: each example stands for several that were drawn.
@settings(SETTINGS, max_examples=rounds(15, 400))
@given(queries(), streams(), LOST, st.integers(2, 12), st.data())
def test_chunks_of_time(text: str, events: pa.Table, lost: list[bool], length: int, data: st.DataObject) -> None:
    group = group_of(text, events)
    assume(group.why_not_by_time is None)
    host = Host(group, 2, delay=0, cut=CutEvery(length, group.halo))
    assert run(host, data.draw(cuts(events)), lost) == expected(events, text)
    assert host.remembered() == 0


EVENTS = pa.table({"ts": [1, 5, 30, 2, 31], "type": ["A", "B", "A", "A", "B"], "k": ["p"] * 5, "x": [1, 2, 3, 4, 5]})
QUERY = "PATTERN SEQ(A a, B b) WHERE [k] AND a.x < b.x WITHIN 9 seconds"


@pytest.mark.parametrize("cut", [None, CutEvery(20, 9)])
def test_an_event_that_is_late_is_told_once_and_takes_no_part(cut: CutEvery | None) -> None:
    host = Host(group_of(QUERY, EVENTS), 1, delay=2, cut=cut)
    for row in range(len(EVENTS)):
        host.feed(EVENTS.slice(row, 1))
    host.finish()
    assert [table["x"].to_pylist() for table in host.late] == [[4]]
    assert sorted((m["a"]["x"], m["b"]["x"]) for table in host.matches for m in table.to_pylist()) == [(1, 2), (3, 5)]


def test_queries_of_a_group_share_a_bucket_and_have_their_own_state() -> None:
    texts = {"pair": QUERY, "lone": "PATTERN SEQ(A a, NOT(B b)) WHERE [k] WITHIN 9 seconds"}
    jobs = [
        (name, job_of(Source(text), EVENTS.schema, Roles(), make_options(jit=False), live=True))
        for name, text in texts.items()
    ]
    (group,) = groups(jobs, EVENTS.schema)
    host = Host(group, 1, delay=100)
    host.feed(EVENTS)
    host.finish()
    found = Counter(row["query"] for table in host.matches for row in table.to_pylist())
    whole = augury.match(EVENTS, texts["pair"]), augury.match(EVENTS, texts["lone"])
    assert found == Counter(pair=len(whole[0]), lone=len(whole[1]))
