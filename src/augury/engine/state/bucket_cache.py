"""Buckets that a worker process keeps in memory from one micro-batch to the next, so that it need not rebuild them.

What the host's store holds decides. A bucket is taken from here only if the head in the store has the mark that the
bucket was saved with: a bucket that another worker has continued, or that belongs to an attempt which the host threw
away, does not. The job is compared as well: a checkpoint may be continued by another job, with other columns to
return, in a worker that ran the first one.
"""

from __future__ import annotations

from typing import Protocol

MAX_CACHED_EVENTS = 1 << 24  # in all cached buckets together


class CachedBucket(Protocol):
    """A bucket with a name of its own, which holds so many events."""

    @property
    def name(self) -> str: ...

    @property
    def events(self) -> int: ...


_cached: dict[str, tuple[tuple[str, str], CachedBucket]] = {}


def put(bucket: CachedBucket, job: str, mark: str) -> None:
    """Cache a bucket that a job saved under a mark, in place of an earlier one of the same name."""
    _cached.pop(bucket.name, None)
    _cached[bucket.name] = (job, mark), bucket
    total = sum(other.events for _, other in _cached.values())
    while total > MAX_CACHED_EVENTS and len(_cached) > 1:
        _, oldest = _cached.pop(next(iter(_cached)))
        total -= oldest.events


def take(name: str, job: str, mark: str) -> CachedBucket | None:
    """Remove and return the bucket that the job saved under this mark; kernels work on their state in place."""
    known, bucket = _cached.pop(name, (None, None))
    return bucket if known == (job, mark) else None
