"""The state of one bucket as bytes, and back.

What the events tell by themselves is saved as events only, in segments. The head says which, and holds the rest.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from augury.errors import HostError
from augury.hosts.reorder import Arrivals, in_order, release
from augury.hosts.snapshot import get_arrivals, put_arrivals
from augury.hosts.spark.bucket import Bucket, replayable, replayed
from augury.hosts.spark.job import Job
from augury.hosts.spark.meaning import evaluators, meaning
from augury.hosts.spark.segments import Segment, damaged, fitting, next_segments, read_segments, segment_bytes
from augury.hosts.stages import Stage
from augury.runtime.state import RunState

FAMILY, VERSION = "spark-bucket", 2
CODEC = "lz4"


@dataclass(frozen=True, slots=True)
class Saved:
    """What is to be written: the head, segments by their number, and which numbers are gone.

    `mark` is in the head too, and in no other one that was ever written.
    """

    head: bytes
    segments: Mapping[int, bytes]
    gone: tuple[int, ...]
    mark: str


@dataclass(frozen=True, slots=True, eq=False)
class Head:
    """A head that was read, of the query that reads it."""

    tables: Mapping[str, pa.Table]
    facts: Mapping[str, Any]

    @property
    def mark(self) -> str:
        return str(self.facts["mark"])

    @property
    def name(self) -> str:
        """The same for all that was ever saved of one bucket."""
        return str(self.facts["name"])


def header(job: Job, buckets: int) -> bytes:
    """What a checkpoint was written by, without any events."""
    return _packed(RunState(FAMILY, VERSION, {}, {"meaning": meaning(job, buckets)}))


def check_header(data: bytes, job: Job, buckets: int) -> None:
    """Refuse a checkpoint that another query wrote."""
    _refuse_another(_unpacked(data).facts["meaning"], meaning(job, buckets))


def save_bucket(bucket: Bucket, job: Job, buckets: int) -> tuple[Bucket, Saved]:
    """The bucket as it is saved now, and what has to be written for that."""
    tables: dict[str, pa.Table] = {}
    segments: dict[int, bytes] = {}
    old = {segment.first for segment in bucket.segments}
    if replayable(job):
        kept = (bucket.stages[0].log, bucket.held)
        left, fresh = next_segments(bucket.segments, kept, bucket.saved, bucket.next_row)
        if fresh is not None:
            segments[left[-1].first] = segment_bytes(fresh)
        bucket = replace(bucket, segments=left, saved=bucket.next_row)
    else:
        put_arrivals(tables, "held", bucket.held)
        for k, stage in enumerate(bucket.stages):
            put_arrivals(tables, f"held{k}", stage.held)
            put_arrivals(tables, f"log{k}", stage.log)
            tables[f"state{k}"] = pa.table({"state": pa.array([stage.state.to_bytes()], pa.large_binary())})
    mark = secrets.token_hex(16)
    facts = {
        "meaning": meaning(job, buckets),
        "evaluators": evaluators(job),
        "name": bucket.name,
        "mark": mark,
        "next_row": bucket.next_row,
        "next_derived": bucket.next_derived,
        "watermark": bucket.watermark,
        "oldest_row": bucket.stages[0].state.oldest_row,
        "segments": [[s.first, s.stop, s.events] for s in bucket.segments],
    }
    gone = old - {segment.first for segment in bucket.segments}
    return bucket, Saved(_packed(RunState(FAMILY, VERSION, tables, facts)), segments, tuple(sorted(gone)), mark)


def read_head(data: bytes, job: Job, buckets: int) -> Head:
    """The head of a bucket; one that another query wrote is refused."""
    saved = _unpacked(data)
    _refuse_another(saved.facts["meaning"], meaning(job, buckets))
    return Head(saved.tables, saved.facts)


def load_bucket(head: Head, segment: Callable[[int], bytes], job: Job) -> Bucket:
    """Read what `save_bucket` wrote, perhaps for a query with another RETURN or another plan."""
    facts = head.facts
    counters = facts["next_row"], facts["next_derived"], facts["watermark"]
    if not replayable(job):
        held = fitting(get_arrivals(head.tables, "held"), job.arrow)
        return Bucket(_whole(head, job), held, *counters, name=head.name)
    segments = tuple(Segment(*numbers) for numbers in facts["segments"])
    events = read_segments((segment(s.first) for s in segments), job.arrow, job.schema)
    consumed, held = release(events, facts["watermark"])
    log = in_order(consumed.where(consumed.rows >= facts["oldest_row"]), job.schema)
    (stage,) = job.stages()
    stage = replayed(replace(stage, log=log), job, facts["watermark"])
    return Bucket((stage,), held, *counters, name=head.name, segments=segments, saved=facts["next_row"])


def _whole(head: Head, job: Job) -> tuple[Stage, ...]:
    """Stages that only their kernels' own states can continue."""
    if head.facts["evaluators"] != evaluators(job):
        raise HostError(
            "A571",
            "another plan cannot continue this checkpoint: a program of several queries, OUTPUT NONOVERLAP or COVER, "
            "and a window without a time depend on more than the events that are kept",
            "force the plan the checkpoint was written by with plan=..., or start with a new checkpoint",
        )

    def kept(name: str, arrow: pa.Schema) -> Arrivals:
        return fitting(get_arrivals(head.tables, name), arrow)

    return tuple(
        replace(
            stage,
            held=kept(f"held{k}", stage.arrow),
            log=kept(f"log{k}", stage.arrow),
            state=RunState.from_bytes(head.tables[f"state{k}"]["state"][0].as_py()),
        )
        for k, stage in enumerate(job.stages())
    )


def _refuse_another(saved: Mapping[str, str], now: Mapping[str, str]) -> None:
    for what, value in now.items():
        if saved.get(what) != value:
            raise HostError(
                "A570",
                f"the checkpoint was written by another query: its {what} is\n{_indented(saved.get(what))}\n"
                f"and now is\n{_indented(value)}",
                "give the query a checkpoint of its own, or go back to the one that wrote this checkpoint",
            )


def _indented(text: str | None) -> str:
    return "\n".join(f"    {line}" for line in (text or "not recorded").splitlines())


def _packed(state: RunState) -> bytes:
    data = state.to_bytes()
    compressed: bytes = pa.compress(data, codec=CODEC, asbytes=True)
    return len(data).to_bytes(8, "little") + compressed


def _unpacked(data: bytes) -> RunState:
    size = int.from_bytes(data[:8], "little")
    try:
        plain: Any = pa.decompress(data[8:], size, codec=CODEC, asbytes=True)
    except (pa.ArrowException, OSError) as e:
        raise damaged(e) from e
    state = RunState.from_bytes(plain)
    if (state.family, state.version) != (FAMILY, VERSION):
        raise HostError("A574", f"a checkpoint of version {state.version} cannot be continued by this release")
    return state
