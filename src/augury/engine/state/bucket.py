"""One bucket of a stream: kernel states of some of its keys, events held back, and how far the watermark has come."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field, replace

import pyarrow as pa

from augury.budget import within
from augury.compiler import CompiledProgram
from augury.engine import progress
from augury.engine.arrivals import Arrivals, arrive, in_order
from augury.engine.job import Job
from augury.engine.progress import Progress
from augury.engine.stages import Stage, StageResult
from augury.engine.state.event_segments import Segment
from augury.errors import TooManyMatches
from augury.ir.query import TimeWindow
from augury.runtime.state import Kernel, RunState
from augury.schema import EventSchema


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Bucket(Progress):
    """How far some of the keys of a program have come.

    Its events up to row number `saved` are written in `segments`. No other bucket has the same `name`.
    """

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
    return Bucket(stages=job.stages(), held=Arrivals.none(job.arrow))


def advance(bucket: Bucket, job: Job, events: pa.Table | None, watermark: int) -> tuple[Bucket, StageResult]:
    """Take in events, none of them late, and match in order those that the watermark has passed."""
    held, next_row = bucket.held, bucket.next_row
    if events is not None:
        arrived = arrive(events.select(job.arrow.names), job.schema, next_row)
        held, next_row = held + arrived, next_row + len(arrived)
    bucket = replace(bucket, held=held, next_row=next_row, watermark=max(bucket.watermark, watermark))
    moved, found = progress.advance(bucket, *progress.due(bucket, job.schema), job.options)
    return moved, found[-1]


def replayable(program: CompiledProgram) -> bool:
    """Whether the state of the kernel follows from the events that are kept."""
    query = program.last.bound
    if len(program.queries) > 1 or query.longest_silence is not None:
        return False
    return isinstance(query.window, TimeWindow) and query.one_by_one


def replayed(stage: Stage, job: Job, watermark: int) -> Stage:
    """The stage with a new kernel that has consumed its log; matches in it have been reported before."""
    events = in_order(stage.log.everything(), job.schema)
    with within(stage.budget):
        return replace(stage, state=_rebuilt(stage.kernel, events, job.schema, watermark))


def _rebuilt(kernel: Kernel, events: Arrivals, schema: EventSchema, watermark: int) -> RunState:
    """The state of the kernel after the events.

    `max_matches` holds for a step, and the events came in several steps: where all at once have more matches than that,
    they are taken in smaller batches.
    """
    size = max(1, len(events))
    while True:
        state = kernel.start()
        try:
            for start in range(0, max(1, len(events)), size):
                stop = start + size
                # Whatever is still to come is not before the next event.
                mark = watermark if stop >= len(events) else min(watermark, int(events.time[stop]))
                state, _ = kernel.step(state, events.slice(start, min(stop, len(events))).batch(schema), mark)
        except TooManyMatches:
            if size == 1:
                raise
            size = (size + 1) // 2
        else:
            return state
