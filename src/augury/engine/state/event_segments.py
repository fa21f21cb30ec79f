"""The saved events of a bucket, in segments, so that a micro-batch writes its new events and few others."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from augury.engine.arrivals import Arrivals, arrive
from augury.engine.exchange.blobs import from_blob, to_blob
from augury.engine.state.compression import compress, damaged, decompress
from augury.errors import HostError, names
from augury.runtime.checks import ArraySpec, read_arrays
from augury.schema import EventSchema

MAX_MERGED_EVENTS = 1 << 15  # events in a segment that smaller ones are merged into

ROW = "__augury_row"
"""The column of row numbers, delta-encoded."""


@dataclass(frozen=True, slots=True)
class Segment:
    """A saved segment: those of the rows from `first` up to `stop` that were kept when it was written."""

    first: int
    stop: int
    events: int


def next_segments(
    old: tuple[Segment, ...], kept: tuple[Arrivals, ...], saved: int, next_row: int
) -> tuple[tuple[Segment, ...], Arrivals | None]:
    """The segments for the events that are kept now, and the events of the last one if it has to be written.

    Events up to `saved` are in the `old` segments. A segment is dropped when none of its events is kept. Small ones are
    merged into the new one, like the levels of a log-structured merge tree: there are never many segments, and few
    events are written twice.
    """
    oldest = min((int(events.rows.min()) for events in kept if len(events)), default=next_row)
    left = [segment for segment in old if segment.stop > oldest]
    fresh = _since(kept, saved)
    if not len(fresh):
        return tuple(left), None
    first = saved
    while left and left[-1].events < 2 * len(fresh) and left[-1].events + len(fresh) <= MAX_MERGED_EVENTS:
        first = left.pop().first
        fresh = _since(kept, first)
    return (*left, Segment(first, next_row, len(fresh))), fresh


def _since(kept: Iterable[Arrivals], row: int) -> Arrivals:
    one, *others = (events.where(events.rows >= row) for events in kept)
    for other in others:
        one = one + other
    return one


def segment_bytes(events: Arrivals) -> bytes:
    """The events of a segment as a compressed frame."""
    steps = np.diff(events.rows, prepend=0)
    return compress(to_blob(events.table.append_column(ROW, pa.array(steps)).combine_chunks()))


def read_segments(blobs: Iterable[bytes], arrow: pa.Schema, schema: EventSchema) -> Arrivals:
    """The events that `segment_bytes` wrote, with the columns that the query needs now."""
    events = Arrivals.none(arrow)
    for blob in blobs:
        table = from_blob(decompress(blob))
        if table.column_names[-1:] != [ROW] or ROW in table.column_names[:-1]:
            raise damaged("its events are not numbered")
        steps = read_arrays({"events": table.select([ROW])}, "events", [ArraySpec(ROW)])[ROW]
        rows = np.cumsum(steps)
        if (rows < 0).any():
            raise damaged("its events are not numbered")
        fitting = fit(table.drop_columns([ROW]), arrow)
        events = events + replace(arrive(fitting, schema, 0), rows=rows, anchors=rows, consecutive=False)
    return events


def fit(table: pa.Table, arrow: pa.Schema) -> pa.Table:
    """Saved events with the columns that the query needs now."""
    there = table.schema
    missing = [field.name for field in arrow if field.name not in there.names]
    changed = [f.name for f in arrow if f.name in there.names and there.field(f.name).type != f.type]
    if missing or changed:
        what = [f"lack {names(missing)}"] if missing else []
        what += [f"have another type in {names(changed)}"] if changed else []
        raise HostError(
            "A572",
            f"the events kept in the checkpoint do not fit the query: they {' and '.join(what)}",
            "start with a new checkpoint: columns that nobody asked for before have not been kept",
        )
    return table.select(arrow.names)
