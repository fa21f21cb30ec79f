"""A cache of buckets in a worker process, so that it need not rebuild them for the next micro-batch.

The host's store decides whether an entry is valid: a bucket is taken from here only if the head in the store has the
mark that the bucket was saved with. If another worker has continued the bucket, or the host discarded the attempt, the
mark differs. The job is compared as well: another job, with other columns to return, may continue a checkpoint in a
worker that ran the first one.
"""

from __future__ import annotations

from typing import Protocol

MAX_CACHED_EVENTS = 1 << 24  # events in all cached buckets together


class CachedBucket(Protocol):
    """A bucket that can be cached, with a unique name and the number of its events."""

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
