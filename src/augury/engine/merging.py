"""Merging pieces of a stream, each sorted by time, into steps of events in the order of the stream."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from augury.engine.arrivals import Arrivals, arrive, in_order
from augury.engine.batches import TASK_STEP_EVENTS
from augury.engine.exchange.blobs import ARRIVAL
from augury.engine.exchange.codes import with_codes
from augury.engine.sources.column_types import engine_table
from augury.runtime.batch import Integers, time_ticks
from augury.schema import EventSchema


def ticks_of(table: pa.Table, schema: EventSchema) -> Integers:
    """The times of events, in ticks."""
    return time_ticks(engine_table(table.select([schema.time]), None), schema)


def by_time(table: pa.Table, time: Integers) -> tuple[pa.Table, Integers]:
    """The events and their times in a stable sort by time."""
    if (time[1:] >= time[:-1]).all():
        return table, time
    order = np.argsort(time, kind="stable")
    return table.take(pa.array(order)), time[order]


def in_steps(
    pieces: Sequence[tuple[pa.Table, Integers]],
    schema: EventSchema,
    size: int = TASK_STEP_EVENTS,
    coded: Sequence[str] = (),
) -> Iterator[tuple[Arrivals, bool]]:
    """Merge pieces into steps of about `size` events, and say of each whether it is the last; ties share a step.

    Pieces come with their times, by which they are sorted. Only the events of one step are ever concatenated; strings
    of the columns `coded` become dictionary codes.
    """
    if not sum(len(time) for _, time in pieces):
        return
    # The stable sort is fast here, since each piece is sorted already.
    every = np.sort(np.concatenate([time for _, time in pieces]), kind="stable")
    ends = [end for end in np.unique(every[size - 1 :: size]).tolist() if end < every[-1]]
    last = int(every[-1])
    del every
    at = [0] * len(pieces)
    next_row = 0
    for end in [*ends, last]:
        to = [int(np.searchsorted(time, end, "right")) for _, time in pieces]
        found = [
            (with_codes(table.slice(a, b - a), coded), time[a:b])
            for (table, time), a, b in zip(pieces, at, to, strict=True)
            if b > a
        ]
        at = to
        yield _ordered(found, schema, next_row), end == last
        next_row += sum(len(time) for _, time in found)


def _ordered(found: Sequence[tuple[pa.Table, Integers]], schema: EventSchema, first_row: int) -> Arrivals:
    """The events sorted by their order key, then by arrival, and numbered in this order."""
    table = pa.concat_tables([table for table, _ in found])
    time = np.concatenate([time for _, time in found])
    rows = np.arange(first_row, first_row + len(time), dtype=np.int64)
    if len(schema.order_by) == 1 and ARRIVAL not in table.column_names:
        table, time = by_time(table, time)
        return Arrivals(table, rows, rows, time)
    came = rows
    if ARRIVAL in table.column_names:
        came = table[ARRIVAL].to_numpy()
        table = table.drop_columns([ARRIVAL])
    events = in_order(replace(arrive(table, schema, first_row), rows=came, anchors=came, consecutive=False), schema)
    return replace(events, rows=rows, anchors=rows)
