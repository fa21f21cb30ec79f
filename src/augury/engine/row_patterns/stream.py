"""One micro-batch of a stream under a row pattern, in buckets of keys.

Rows are held back until the watermark has passed them. A match is written once no later row can make another one
preferred, every earlier candidate is decided, and the rows that its measures read are known. The state is written to
the host's store before the matches are handed out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pyarrow as pa

from augury.engine.cut.by_time import CutEvery
from augury.engine.host import BucketStore
from augury.engine.merging import ticks_of
from augury.engine.row_patterns.bucket import advance, new_bucket, next_decision, row_times, take_in
from augury.engine.row_patterns.planned import PlannedRowPattern
from augury.engine.row_patterns.saved import bucket_bytes, check_meaning, header_bytes, read_bucket
from augury.engine.state.checkpoint import SavedBucket
from augury.engine.state.head import claim
from augury.engine.stream import LateEvents, MatchedRows, StreamOutput
from augury.ir.row_pattern import BoundRowPattern, Rows
from augury.options import Options
from augury.schema import EventSchema
from augury.source import Span


def stream_column(number: int) -> str:
    """The name of an input column within a stream."""
    return f"c{number}"


def needed_columns(bound: BoundRowPattern) -> tuple[int, ...]:
    """Columns of the input that the clause reads or writes."""
    if bound.rows is not Rows.ONE_ROW:
        return tuple(range(len(bound.schema)))
    used = {*bound.used_columns, *bound.partition_by, *(o.column for o in bound.order_by)}
    return tuple(sorted(used))


@dataclass(frozen=True, slots=True, eq=False)
class RowPatternStream:
    """A row pattern over a number of `buckets` of keys; `clause` is its place in the query text.

    `result` are the types in which the host takes what is written.
    """

    planned: PlannedRowPattern
    clause: Span
    result: pa.Schema
    buckets: int
    max_steps: int
    options: Options
    cut: CutEvery | None = None
    names: tuple[str | None, ...] = (None,)

    @property
    def bound(self) -> BoundRowPattern:
        return self.planned.bound

    @property
    def arrow(self) -> pa.Schema:
        """The columns of incoming rows."""
        return pa.schema([(stream_column(c), self.bound.schema.field(c).type) for c in needed_columns(self.bound)])

    @property
    def schema(self) -> EventSchema:
        """The schema of these columns, which says which of them is the time."""
        return EventSchema.from_arrow(self.arrow, time=stream_column(self.bound.order_by[0].column), type=None)

    @property
    def meaning(self) -> dict[str, str]:
        """Facts that must be equal to continue a saved state, by their names in messages."""
        text = self.bound.source.text[self.clause.start : self.clause.end]
        fields = [self.bound.schema.field(c) for c in needed_columns(self.bound)]
        columns = ", ".join(f"{field.name} {field.type}" for field in fields)
        return {"query": " ".join(text.split()), "input": columns, "buckets": str(self.buckets)}

    def check(self, stores: Sequence[BucketStore]) -> None:
        """Refuse to continue a checkpoint that another query wrote; in a new one, note which query writes it."""
        (store,) = stores
        claim(store, header_bytes(self.meaning), lambda saved: check_meaning(saved, self.meaning))

    def advance(
        self, number: int, events: pa.Table | None, stores: Sequence[BucketStore], passed: int, watermark: int
    ) -> Iterator[StreamOutput]:
        """Add rows to bucket `number`, and search those that the watermark passes.

        The watermark is at `passed` (ticks) when the rows come, which decides what is late, and then moves on to
        `watermark`.
        """
        (store,) = stores
        bound, saved = self.bound, store.head()
        bucket = new_bucket(bound) if saved is None else read_bucket(saved, bound, self.meaning)
        if events is not None:
            late = ticks_of(events, self.schema) < max(passed, bucket.watermark)
            if late.any():
                yield LateEvents(events.filter(pa.array(late)))
                events = events.filter(pa.array(~late))
            bucket = take_in(bucket, self._rows(events))
        bucket, written = advance(bucket, self.planned, watermark, self.max_steps, self.options)
        if bucket.idle:
            store.clear()
        else:
            store.write(SavedBucket(bucket_bytes(bucket, self.meaning), {}, (), ""))
            if bucket.held.num_rows:
                store.wake(int(row_times(bound, bucket.held).min()))
            decision = next_decision(bound, bucket)
            if decision is not None:
                store.wake(decision)
        if written.num_rows:
            columns = [c.cast(f.type) for c, f in zip(written.columns, self.result, strict=True)]
            yield MatchedRows(pa.table(columns, schema=self.result))

    def _rows(self, events: pa.Table) -> pa.Table:
        """The rows with all columns of the input; columns that are never read are null."""
        there = {c: events.column(stream_column(c)) for c in needed_columns(self.bound)}
        columns = [there.get(c, pa.nulls(events.num_rows, f.type)) for c, f in enumerate(self.bound.schema)]
        return pa.table(columns, schema=self.bound.schema)
