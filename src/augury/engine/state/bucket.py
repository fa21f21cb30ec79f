"""Some of the keys of a stream, on their way through it."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field, replace

import pyarrow as pa

from augury.budget import within
from augury.engine.arrivals import Arrivals, arrive, in_order, release
from augury.engine.batches import FIRST_DERIVED
from augury.engine.job import Job
from augury.engine.stages import Found, Stage, step
from augury.engine.state.event_segments import Segment
from augury.ir.query import TimeWindow
from augury.ir.terms import OutputMode
from augury.runtime.state import LONG_AGO

WORN = 8
"""How many times the events that are kept a kernel consumes before it is made anew."""

SPARE = 1 << 16
"""Events that it consumes before that in any case."""


@dataclass(frozen=True, slots=True, eq=False)
class Bucket:
    """The stages of one program over some of the keys, and the events that wait for the watermark.

    `segments` are those that its events are saved in, up to the row `saved`. `fed` is how many events the kernel has
    consumed since it was made anew. No other bucket has the same `name`.
    """

    stages: tuple[Stage, ...]
    held: Arrivals
    next_row: int = 0
    next_derived: int = FIRST_DERIVED
    watermark: int = LONG_AGO
    segments: tuple[Segment, ...] = ()
    saved: int = 0
    fed: int = 0
    name: str = field(default_factory=lambda: secrets.token_hex(16))

    @property
    def idle(self) -> bool:
        """Whether no event is kept."""
        return not len(self.held) and not any(len(s.held) or len(s.log) for s in self.stages)


def new_bucket(job: Job) -> Bucket:
    """The bucket before its first event."""
    return Bucket(job.stages(), Arrivals.none(job.arrow))


def advance(bucket: Bucket, job: Job, events: pa.Table | None, watermark: int) -> tuple[Bucket, Found]:
    """Take in events, none of them late, and match in order those that the watermark has passed."""
    held, next_row = bucket.held, bucket.next_row
    if events is not None:
        arrived = arrive(events.select(job.arrow.names), job.schema, next_row)
        held, next_row = held + arrived, next_row + len(arrived)
    watermark = max(bucket.watermark, watermark)
    ready, held = release(held, watermark)
    chain, found, next_derived = step(
        bucket.stages, in_order(ready, job.schema), watermark, bucket.next_derived, job.options
    )
    moved = replace(
        bucket,
        stages=chain,
        held=held,
        next_row=next_row,
        next_derived=next_derived,
        watermark=watermark,
        fed=bucket.fed + len(ready),
    )
    return _unworn(moved, job), found[-1]


def _unworn(bucket: Bucket, job: Job) -> Bucket:
    """The bucket with a new kernel every now and then: a kernel forgets events, but not the keys it has seen."""
    if bucket.fed <= SPARE or not replayable(job) or bucket.fed <= WORN * len(bucket.stages[0].log):
        return bucket
    return replace(bucket, stages=(replayed(bucket.stages[0], job, bucket.watermark),), fed=0)


def replayable(job: Job) -> bool:
    """Whether the events that are kept tell all that is needed to go on."""
    query = job.last.bound
    return (
        len(job.program.queries) == 1
        and isinstance(query.window, TimeWindow)
        and query.output not in (OutputMode.NONOVERLAP, OutputMode.COVER)
    )


def replayed(stage: Stage, job: Job, watermark: int) -> Stage:
    """The stage after the events that are kept, and no others; what it finds has been reported before."""
    events = in_order(stage.log, job.schema)
    with within(stage.budget):
        state, _ = stage.kernel.step(stage.kernel.start(), events.batch(job.schema), watermark)
    return replace(stage, state=state)
