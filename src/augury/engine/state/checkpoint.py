"""Saves the state of one bucket as bytes, a head and segments of events, and loads it.

If the state of the kernel can be rebuilt from the events that are kept, only these are saved, in segments. The head
names the segments and holds everything else.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import pyarrow as pa

from augury.engine.arrivals import Arrivals, in_order, release
from augury.engine.job import Job
from augury.engine.kept import KeptEvents
from augury.engine.stages import LAST_DERIVED, Stage
from augury.engine.state.bucket import Bucket, rebuilt, replayable
from augury.engine.state.compatibility import evaluators, state_identity
from augury.engine.state.compression import compress, decompress
from augury.engine.state.event_segments import fit, next_segments, read_segments, segment_bytes
from augury.engine.state.facts import Facts
from augury.engine.state.head import Head, packed_header, refuse_another
from augury.engine.state.tables import get_arrivals, get_stages, put_arrivals, put_stages
from augury.errors import HostError
from augury.runtime.checks import MAX_COUNT
from augury.runtime.state import FOREVER, LONG_AGO, OLD_MARK, RunState

FAMILY, VERSION = "spark-bucket", 3

COUNTERS = {"next_row": (0, MAX_COUNT), "next_derived": (0, LAST_DERIVED), "watermark": (LONG_AGO, FOREVER)}
"""The numbers in the head of a bucket, with the least and the greatest value of each."""


@dataclass(frozen=True, slots=True)
class SavedBucket:
    """The bytes to write: the head, new segments by number, and the numbers of segments to remove.

    `mark` identifies this write: the head contains it, and no other head ever does.
    """

    head: bytes
    segments: Mapping[int, bytes]
    gone: tuple[int, ...]
    mark: str


def header(job: Job, buckets: int) -> bytes:
    """A head without events, which says which job writes the checkpoint."""
    return packed_header(FAMILY, VERSION, state_identity(job, buckets))


def check_header(data: bytes, job: Job, buckets: int) -> None:
    """Refuse a checkpoint that another query wrote."""
    read_head(data, job, buckets)


def save_bucket(bucket: Bucket, job: Job, buckets: int) -> tuple[Bucket, SavedBucket]:
    """The bytes to write of a bucket, and the bucket with its new list of segments."""
    tables: dict[str, pa.Table] = {}
    segments: dict[int, bytes] = {}
    old = {segment.first for segment in bucket.segments}
    if replayable(job.program):
        kept = (bucket.stages[0].log.everything(), bucket.held)
        left, fresh = next_segments(bucket.segments, kept, bucket.saved, bucket.next_row)
        if fresh is not None:
            segments[left[-1].first] = segment_bytes(fresh)
        bucket = replace(bucket, segments=left, saved=bucket.next_row)
    else:
        put_arrivals(tables, "held", bucket.held)
        put_stages(tables, bucket.stages)
    mark = secrets.token_hex(16)
    facts = {
        "meaning": state_identity(job, buckets),
        "evaluators": evaluators(job.program),
        "name": bucket.name,
        "mark": mark,
        "next_row": bucket.next_row,
        "next_derived": bucket.next_derived,
        "watermark": bucket.watermark,
        "oldest_row": bucket.stages[0].state.oldest_row,
        "segments": [[s.first, s.stop, s.events] for s in bucket.segments],
    }
    gone = old - {segment.first for segment in bucket.segments}
    return bucket, SavedBucket(_packed(RunState(FAMILY, VERSION, tables, facts)), segments, tuple(sorted(gone)), mark)


def read_head(data: bytes, job: Job, buckets: int) -> Head:
    """The head of a bucket; one that another query wrote is refused."""
    saved = _unpacked(data)
    facts = Facts(saved.facts, "the head")
    refuse_another(facts.part("meaning").stated, state_identity(job, buckets))
    return Head(saved.tables, facts, COUNTERS)


def load_bucket(head: Head, segment: Callable[[int], bytes], job: Job) -> Bucket:
    """Load what `save_bucket` wrote, perhaps for a query with another RETURN or another plan."""
    next_row, next_derived, watermark = map(head.counter, COUNTERS)

    def bucket(stages: tuple[Stage, ...], held: Arrivals) -> Bucket:
        return Bucket(
            stages=stages,
            held=held,
            next_row=next_row,
            next_derived=next_derived,
            watermark=watermark,
            name=head.name,
        )

    if not replayable(job.program):
        held = get_arrivals(head.tables, "held", job.schema, partial(fit, arrow=job.arrow))
        return bucket(_whole(head, job), held)
    oldest = head.facts.one("oldest_row", int)
    events = read_segments((segment(s.first) for s in head.segments), job.arrow, job.schema)
    consumed, held = release(events, watermark)
    log = in_order(consumed.where(consumed.rows >= oldest), job.schema)
    (stage,) = job.stages()
    stage = rebuilt(replace(stage, log=KeptEvents.of(log)), job, watermark)
    return replace(bucket((stage,), held), segments=head.segments, saved=next_row)


def _whole(head: Head, job: Job) -> tuple[Stage, ...]:
    """The stages with the kernel states saved in the head, which cannot be rebuilt from events."""
    if head.facts.stated.get("evaluators") != evaluators(job.program):
        raise HostError(
            "A571",
            "another plan cannot continue this checkpoint: a program of several queries, OUTPUT NONOVERLAP or COVER, "
            "and a window without a time depend on more than the events that are kept",
            "force the plan the checkpoint was written by with plan=..., or start with a new checkpoint",
        )
    return get_stages(head.tables, job.stages(), lambda arrow: partial(fit, arrow=arrow))


def _packed(state: RunState) -> bytes:
    return compress(state.to_bytes())


def _unpacked(data: bytes) -> RunState:
    plain = decompress(data)
    if plain[: len(OLD_MARK)] == OLD_MARK:
        raise HostError("A574", "a checkpoint of an earlier release cannot be continued by this one")
    state = RunState.from_bytes(plain)
    if (state.family, state.version) != (FAMILY, VERSION):
        raise HostError("A574", f"a checkpoint of version {state.version} cannot be continued by this release")
    return state
