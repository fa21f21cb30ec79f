"""Sizes of batches of events and matches."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pyarrow as pa

TASK_STEP_EVENTS = 1 << 18
"""Events that a task of a cluster packs, merges or matches at once: enough to make the cost of a step small."""

RESULT_ROWS = 1 << 14  # matches in one Arrow batch that is returned to the host


def joined(batches: Iterable[pa.RecordBatch], rows: int, size: int | None = None) -> Iterator[pa.Table]:
    """Join batches into tables of at least `rows` rows or `size` bytes, except for the last one; none is empty."""
    waiting: list[pa.RecordBatch] = []
    have = taken = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        waiting.append(batch)
        have, taken = have + batch.num_rows, taken + batch.nbytes
        if have >= rows or (size is not None and taken >= size):
            yield pa.Table.from_batches(waiting)
            waiting, have, taken = [], 0, 0
    if waiting:
        yield pa.Table.from_batches(waiting)
