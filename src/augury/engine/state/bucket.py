"""One bucket of a stream: kernel states of some of its keys, events held back, and how far the watermark has come."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field, replace

import pyarrow as pa

from augury.budget import within
from augury.engine.arrivals import Arrivals, arrive, in_order, release
from augury.engine.job import Job
from augury.engine.stages import FIRST_DERIVED, Stage, StageResult, step
from augury.engine.state.event_segments import Segment
from augury.ir.query import TimeWindow
from augury.ir.terms import OutputMode
from augury.runtime.state import LONG_AGO


@dataclass(frozen=True, slots=True, eq=False)
class Bucket:
    """The stages of one program over some of the keys, and the events `held` back until the watermark passes them.

    Its events up to row number `saved` are written in `segments`. No other bucket has the same `name`.
    """

    stages: tuple[Stage, ...]
    held: Arrivals
    next_row: int = 0
    next_derived: int = FIRST_DERIVED
    watermark: int = LONG_AGO
    segments: tuple[Segment, ...] = ()
    saved: int = 0
    name: str = field(default_factory=lambda: secrets.token_hex(16))

    @property
    def events(self) -> int:
        """How many events are held back or kept for matches to come."""
        return len(self.held) + sum(len(stage.held) + len(stage.log) for stage in self.stages)

    @property
    def idle(self) -> bool:
        """Whether there is no event in it."""
        return not self.events


def new_bucket(job: Job) -> Bucket:
    """The bucket before its first event."""
    return Bucket(job.stages(), Arrivals.none(job.arrow))


def advance(bucket: Bucket, job: Job, events: pa.Table | None, watermark: int) -> tuple[Bucket, StageResult]:
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
    )
    return moved, found[-1]


def replayable(job: Job) -> bool:
    """Whether the state of the kernel follows from the events that are kept."""
    query = job.last.bound
    return (
        len(job.program.queries) == 1
        and isinstance(query.window, TimeWindow)
        and query.output not in (OutputMode.NONOVERLAP, OutputMode.COVER)
    )


def replayed(stage: Stage, job: Job, watermark: int) -> Stage:
    """The stage with a new kernel that has consumed its log; matches in it have been reported before."""
    events = in_order(stage.log, job.schema)
    with within(stage.budget):
        state, _ = stage.kernel.step(stage.kernel.start(), events.batch(job.schema), watermark)
    return replace(stage, state=state)
