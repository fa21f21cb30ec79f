"""Buckets that a worker keeps from one micro-batch to the next, so that it need not build them up again.

What the state store holds decides. A bucket is taken from here only if the store's head has the mark that the bucket
was saved with: one that another worker has continued, or that an attempt left behind which Spark threw away, has not.
A checkpoint may be continued by another job, with other columns to return, and by a worker that ran the first.
"""

from __future__ import annotations

from augury.engine.state.bucket import Bucket

MOST = 1 << 24
"""Events in the buckets that are kept, all together."""

_kept: dict[str, tuple[tuple[str, str], Bucket]] = {}


def keep(bucket: Bucket, job: str, mark: str) -> None:
    """Remember a bucket as a job saved it under a mark, in place of what was known of it."""
    _kept.pop(bucket.name, None)
    _kept[bucket.name] = (job, mark), bucket
    total = sum(events(other) for _, other in _kept.values())
    while total > MOST and len(_kept) > 1:
        _, oldest = _kept.pop(next(iter(_kept)))
        total -= events(oldest)


def take(name: str, job: str, mark: str) -> Bucket | None:
    """The bucket that the job saved under a mark; a step uses it up, so that it is not kept any longer."""
    known, bucket = _kept.pop(name, (None, None))
    return bucket if known == (job, mark) else None


def events(bucket: Bucket) -> int:
    """How many events it keeps."""
    return len(bucket.held) + sum(len(stage.held) + len(stage.log) for stage in bucket.stages)
