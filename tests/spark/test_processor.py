"""What Spark runs for each bucket, without Spark: the same matches as the whole stream has, each of them once."""

from __future__ import annotations

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from pyspark.sql import Row

import augury
from augury.engine.cut.by_time import CutEvery
from augury.engine.exchange.blobs import BLOB, from_blob
from augury.engine.group import Group, one_group
from augury.engine.stream import BucketedStream
from augury.hosts.spark.jobs import spark_job
from augury.hosts.spark.releases import INSTALLED
from augury.hosts.spark.stream.packing import BUCKET, KIND, PackBucketsTask
from augury.hosts.spark.stream.processor import MATCHES, BucketProcessor, state_name
from augury.ir.query import TimeWindow
from augury.ir.terms import OutputMode
from augury.options import Roles, make_options
from augury.source import Source
from augury.testing.queries import queries
from augury.testing.streams import cuts, streams

if INSTALLED < (4, 2):
    pytest.skip("Spark brings a tester of processors since 4.2; `test_stream` runs them", allow_module_level=True)

from pyspark.sql.streaming.tws_tester import TwsTester

from tests.thorough import rounds

THE_END = 10**12
"""A watermark past everything, in milliseconds."""


class Stream:
    """A stream through the processor; the watermark stays `delay` seconds behind, and is a batch late."""

    def __init__(self, group: Group, buckets: int, delay: int, *, known: bool, cut: CutEvery | None = None) -> None:
        self.group, self.buckets, self.delay, self.cut = group, buckets, delay, cut
        self.processor = BucketProcessor(BucketedStream(group, buckets, cut), 1_000 * delay if known else None)
        self.tester = TwsTester(
            self.processor, timeMode="eventTime", outputMode="append", eventTimeExtractor=lambda row: 2 * THE_END
        )
        self.found: dict[int, list[pa.Table]] = {}
        self.latest = self.watermark = 0

    def feed(self, events: pa.Table) -> None:
        self.pass_time(1_000 * (self.latest - self.delay))
        self.processor.advanced.clear()
        owner = [0 if key is None else ord(key) % self.buckets for key in events["k"].to_pylist()]
        table = events.select(self.group.arrow.names).append_column(BUCKET, pa.array(owner, pa.int32()))
        pack = PackBucketsTask(self.group.schema, self.group.arrival_matters, self.cut)
        received: dict[int, list[Row]] = {}
        for batch in pack(table.to_batches()):
            for row in batch.to_pylist():
                received.setdefault(row[BUCKET], []).append(Row(**row))
        for bucket, rows in received.items():
            self._take(self.tester.test(bucket, rows))
        if len(events):
            self.latest = max(self.latest, *events["ts"].to_pylist())

    def pass_time(self, watermark: int) -> None:
        if watermark > self.watermark:
            self.watermark = watermark
            rows = self.tester.setWatermark(watermark)
            assert isinstance(rows, list)
            self._take(rows)

    def _take(self, rows: list[Row]) -> None:
        for row in rows:
            self.found.setdefault(row[KIND], []).append(from_blob(row[BLOB]))

    def rows(self, kind: int) -> Counter[str]:
        return Counter(repr(row) for table in self.found.get(kind, []) for row in table.to_pylist())

    def states(self) -> int:
        """How many buckets remember anything, besides the one of no events."""
        return len(self.tester.handle.value_states[state_name(None)].state) - 1


def group_of(text: str, events: pa.Table) -> Group:
    return one_group(spark_job(Source(text), events.schema, Roles(), make_options(jit=False), live=True))


def expected(events: pa.Table, text: str) -> Counter[str]:
    return Counter(repr(row) for row in augury.match(events, text).to_arrow().to_pylist())


def run(stream: Stream, batches: list[pa.Table]) -> Counter[str]:
    for batch in batches:
        if len(batch):
            stream.feed(batch)
    stream.pass_time(THE_END)
    return stream.rows(MATCHES)


def disordered(events: pa.Table, delay: int, data: st.DataObject) -> pa.Table:
    """The events as they may come when none is more than `delay` late."""
    jitter = st.lists(st.integers(0, delay), min_size=len(events), max_size=len(events))
    due = [time + more for time, more in zip(events["ts"].to_pylist(), data.draw(jitter), strict=True)]
    return events.take(pa.array(sorted(range(len(events)), key=due.__getitem__), pa.int64()))


SETTINGS = settings(
    max_examples=rounds(15, 400), suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much]
)


@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
@SETTINGS
@given(queries(), streams(), st.integers(0, 4), st.booleans(), st.data())
def test_buckets_of_keys(text: str, events: pa.Table, delay: int, known: bool, data: st.DataObject) -> None:
    group = group_of(text, events)
    # Only the end of a stream settles some matches without a time, and the chains of covers; these streams have no end.
    query = group.jobs[0].last.bound
    assume(isinstance(query.window, TimeWindow) and query.output is not OutputMode.COVER)
    came = disordered(events, delay, data)
    stream = Stream(group, 2 if group.key else 1, delay, known=known)
    assert run(stream, data.draw(cuts(came))) == expected(came, text)


@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
@SETTINGS
@given(queries(), streams(), st.integers(0, 4), st.booleans(), st.data())
def test_chunks_of_time(text: str, events: pa.Table, delay: int, known: bool, data: st.DataObject) -> None:
    group = group_of(text, events)
    assume(group.why_not_by_time is None)
    came = disordered(events, delay, data)
    stream = Stream(group, 2, delay, known=known, cut=CutEvery(data.draw(st.integers(2, 12)), group.halo))
    assert run(stream, data.draw(cuts(came))) == expected(came, text)
    assert stream.states() <= 0
