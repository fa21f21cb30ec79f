"""One micro-batch of a stream that is matched in buckets: of keys, or of time where the queries have no key.

A bucket holds events back until the watermark has passed them, matches them in order, and keeps what may still be part
of a match. Its state is written to the host's store before the matches are handed out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Protocol, TypeAlias

import pyarrow as pa

from augury.engine.cut.by_time import CutEvery, owned
from augury.engine.group import Group
from augury.engine.host import BucketStore
from augury.engine.merging import ticks_of
from augury.engine.state import bucket_cache
from augury.engine.state.bucket import Bucket, advance, new_bucket
from augury.engine.state.checkpoint import check_header, header, load_bucket, read_head, save_bucket
from augury.engine.state.expiry import forgotten_when_idle, needs_timer
from augury.engine.state.head import claim
from augury.schema import EventSchema


@dataclass(frozen=True, slots=True, eq=False)
class LateEvents:
    """Events that came after the watermark had passed them, and are not matched."""

    table: pa.Table


@dataclass(frozen=True, slots=True, eq=False)
class MatchedRows:
    """Matches that have become certain, as rows of the result."""

    table: pa.Table


StreamOutput: TypeAlias = "LateEvents | MatchedRows"


class Buckets(Protocol):
    """Queries over a stream that is cut into buckets, as a host runs them.

    `names` are those of the queries, each of which has a store of its own; `arrow` are the columns of incoming events,
    `schema` says which of them is the time. With a `cut`, buckets are its chunks of time.
    """

    @property
    def names(self) -> tuple[str | None, ...]: ...

    @property
    def arrow(self) -> pa.Schema: ...

    @property
    def schema(self) -> EventSchema: ...

    @property
    def cut(self) -> CutEvery | None: ...

    def check(self, stores: Sequence[BucketStore]) -> None:
        """Refuse to continue a checkpoint that other queries wrote; in a new one, note which queries write it."""

    def advance(
        self, number: int, events: pa.Table | None, stores: Sequence[BucketStore], passed: int, watermark: int
    ) -> Iterator[StreamOutput]:
        """Add events to a bucket, and match those that the watermark passes as it moves from `passed`."""


@dataclass(frozen=True, slots=True, eq=False)
class BucketedStream:
    """The queries of a group over a number of `buckets` of keys, or with a `cut` over its chunks of time.

    Every method is given one store for each query of the group.
    """

    group: Group
    buckets: int
    cut: CutEvery | None = None

    @property
    def names(self) -> tuple[str | None, ...]:
        return self.group.names

    @property
    def arrow(self) -> pa.Schema:
        return self.group.arrow

    @property
    def schema(self) -> EventSchema:
        return self.group.schema

    def check(self, stores: Sequence[BucketStore]) -> None:
        """Refuse to continue a checkpoint that other queries wrote; in a new one, note which queries write it."""
        for job, store in zip(self.group.jobs, stores, strict=True):
            claim(store, header(job, self.buckets), partial(check_header, job=job, buckets=self.buckets))

    def advance(
        self, number: int, events: pa.Table | None, stores: Sequence[BucketStore], passed: int, watermark: int
    ) -> Iterator[StreamOutput]:
        """Add events to bucket `number`, and match those that the watermark passes.

        The watermark is at `passed` (ticks) when the events come, which decides what is late, and then moves on to
        `watermark`.
        """
        jobs = self.group.jobs
        states = [self._load(k, store) for k, store in enumerate(stores)]
        if events is not None:
            passed = max(passed, *(state.watermark for state in states))
            time = ticks_of(events, self.group.schema)
            late = time < passed
            # A late event that several chunks see is reported by the one it lies in.
            reported = late if self.cut is None else late & (self.cut.home(time) == number)
            if reported.any():
                yield LateEvents(events.filter(pa.array(reported)))
            if late.any():
                events = events.filter(pa.array(~late))
        for k, (job, state, store) in enumerate(zip(jobs, states, stores, strict=True)):
            moved, found = advance(state, job, events, watermark)
            self._save(moved, k, number, store)
            if self.cut is not None:
                found = owned(found, self.cut.chunk(number), by_end=self.group.owned_by_end(k))
            for table in self.group.rows(k, found):
                if table.num_rows:
                    yield MatchedRows(table)

    def _load(self, k: int, store: BucketStore) -> Bucket:
        job, saved = self.group.jobs[k], store.head()
        if saved is None:
            return new_bucket(job)
        head = read_head(saved, job, self.buckets)
        cached = bucket_cache.take(head.name, job.name, head.mark)
        return cached if isinstance(cached, Bucket) else load_bucket(head, store.segment, job)

    def _save(self, bucket: Bucket, k: int, number: int, store: BucketStore) -> None:
        """Write the bucket, or clear it if it is empty, and set a timer if the watermark alone can change it."""
        job = self.group.jobs[k]
        end = None if self.cut is None else self.cut.chunk(number).seen_until
        if (bucket.idle and forgotten_when_idle(job.program)) or (end is not None and bucket.watermark > end):
            store.clear()
            return
        bucket, saved = save_bucket(bucket, job, self.buckets)
        store.write(saved)
        bucket_cache.put(bucket, job.name, saved.mark)
        if end is not None:
            store.wake(end)
        if needs_timer(job.program) and not bucket.idle:
            store.wake(None)
        elif len(bucket.held):
            store.wake(int(bucket.held.time.min()))
