"""One bucket of keys of a stream: its kernel states, held events and watermark."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import field, replace

import pyarrow as pa

from augury.budget import within
from augury.compiler import CompiledProgram, load
from augury.engine import progress
from augury.engine.arrivals import Arrivals, arrive, in_order
from augury.engine.job import Job
from augury.engine.progress import Progress
from augury.engine.replaying import ReplayedStep, replayed
from augury.engine.stages import Stage, StageResult
from augury.engine.state.event_segments import Segment
from augury.errors import TooManyMatches
from augury.ir.query import TimeWindow
from augury.nouns import per_batch
from augury.runtime.checks import MAX_COUNT
from augury.runtime.state import Kernel, RunState


@per_batch(kw_only=True)
class Bucket(Progress):
    """The progress of a program over one bucket of keys.

    Its events up to row number `saved` are written in `segments`. No other bucket has the same `name`.
    """

    segments: tuple[Segment, ...] = ()
    saved: int = 0
    name: str = field(default_factory=lambda: secrets.token_hex(16))

    @property
    def events(self) -> int:
        """The number of events held back, or kept for later matches."""
        return len(self.held) + sum(len(stage.held) + len(stage.log) for stage in self.stages)

    @property
    def idle(self) -> bool:
        """Whether the bucket holds no events."""
        return not self.events


def new_bucket(job: Job) -> Bucket:
    """The bucket before its first event."""
    return Bucket(stages=job.stages(), held=Arrivals.none(job.arrow))


def advance(bucket: Bucket, job: Job, events: pa.Table | None, watermark: int) -> tuple[Bucket, StageResult]:
    """Add events, none of them late, and match in order those that the watermark has passed."""
    held, next_row = bucket.held, bucket.next_row
    if events is not None:
        arrived = arrive(events.select(job.arrow.names), job.schema, next_row)
        held, next_row = held + arrived, next_row + len(arrived)
    bucket = replace(bucket, held=held, next_row=next_row, watermark=max(bucket.watermark, watermark))
    moved, found = progress.advance(bucket, *progress.due(bucket, job.schema), job.options)
    return moved, found[-1]


def replayable(program: CompiledProgram) -> bool:
    """Whether the state of the kernel can be rebuilt from the events that are kept."""
    query = program.last.bound
    if len(program.queries) > 1 or query.longest_silence is not None:
        return False
    return isinstance(query.window, TimeWindow) and query.one_by_one


def rebuilt(stage: Stage, job: Job, watermark: int) -> Stage:
    """The stage with the state of a kernel that has consumed its log again; matches in it were reported before."""
    with within(stage.budget):
        try:
            state = _replay(stage.kernel, stage, job, watermark)
        except TooManyMatches:
            # The limit was higher when the events came: it is for matches that are reported, and these have been.
            unlimited = load(stage.query, replace(job.options, max_matches=MAX_COUNT).watched(job.slots))
            state = RunState.from_bytes(_replay(unlimited, stage, job, watermark).to_bytes())
            state = stage.kernel.restore(state)
        return replace(stage, state=state)


def _replay(kernel: Kernel, stage: Stage, job: Job, watermark: int) -> RunState:
    events = in_order(stage.log.everything(), job.schema)

    def consume(steps: Iterator[ReplayedStep]) -> RunState:
        state = kernel.start()
        for start, stop, mark in steps:
            state, _ = kernel.step(state, events.slice(start, stop).batch(job.schema), mark)
        return state

    return replayed(events.time, watermark, consume)
