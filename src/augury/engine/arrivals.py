"""Events as they arrive: numbers and sorts them, holds them back for the watermark, and sets late ones aside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Any, Protocol, Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from augury.engine.sources.column_types import EngineColumns, engine_columns, engine_table
from augury.errors import HostError
from augury.nouns import per_batch
from augury.runtime.arrow_numbers import to_arrow
from augury.runtime.batch import EventBatch, Integers, ascends, ticks_and_order, time_ticks
from augury.runtime.checks import require
from augury.runtime.memory import joined
from augury.runtime.state import FOREVER
from augury.schema import EventSchema

NOT_KEPT = "a match binds an event that is not kept"

MAX_TABLE_CHUNKS = 32  # chunks of a table of events before they are combined: each slows down every operation


class EventLog(Protocol):
    """The events that matches bind, by their rows in the stream; columns are read when they are asked for."""

    @property
    def arrow(self) -> pa.Schema:
        """The columns of the events."""

    def fetch(self, rows: Integers, names: Sequence[str] | None = None) -> pa.Table:
        """The events of these rows, in that order, with these columns or all."""

    def everything(self) -> Arrivals:
        """Every event, with every column."""


@per_batch
class Arrivals:
    """Events as they came, in any order.

    `rows` are their positions in the stream. `anchors` are those of the events they arrived with: an event derived from
    a match arrives right after the last event of the match, every other one is its own anchor. `time` is in ticks.
    `texts` caches encoded string columns for all kernels that read these events. `ascending` says that the times are
    known to ascend, `consecutive` that the rows are known to be consecutive numbers.
    """

    table: pa.Table
    rows: Integers
    anchors: Integers
    time: Integers
    texts: dict[str, Any] = field(default_factory=dict)
    ascending: bool = False
    consecutive: bool = False

    @classmethod
    def none(cls, arrow: pa.Schema) -> Self:
        """An empty table of events of this schema."""
        nothing = np.empty(0, dtype=np.int64)
        return cls(arrow.empty_table(), nothing, nothing, nothing)

    @classmethod
    def of(cls, table: pa.Table, schema: EventSchema) -> Self:
        """The events of a table, numbered by their rows; they have been checked already."""
        rows = np.arange(table.num_rows, dtype=np.int64)
        time = time_ticks(engine_table(table.select([schema.time]), None), schema)
        return cls(table, rows, rows, time, consecutive=True)

    @classmethod
    def concat(cls, parts: Sequence[Arrivals], arrow: pa.Schema) -> Self:
        """The events of all parts, one after the other; without parts an empty table with the columns `arrow`."""
        if not parts:
            return cls.none(arrow)
        if len(parts) == 1:
            [part] = parts
            known = part.texts, part.ascending, part.consecutive
            return cls(part.table, part.rows, part.anchors, part.time, *known)
        rows = np.concatenate([part.rows for part in parts])
        own = all(part.rows is part.anchors for part in parts)
        anchors = rows if own else np.concatenate([part.anchors for part in parts])
        table = pa.concat_tables([part.table for part in parts])
        return cls(table, rows, anchors, np.concatenate([part.time for part in parts]))

    def __len__(self) -> int:
        return len(self.rows)

    def __add__(self, other: Arrivals) -> Arrivals:
        if not len(other):
            return self
        if not len(self):
            return other
        table = pa.concat_tables([self.table, other.table])
        rows = joined([self.rows, other.rows])
        own = self.rows is self.anchors and other.rows is other.anchors
        return Arrivals(
            table.combine_chunks() if table.column(0).num_chunks > MAX_TABLE_CHUNKS else table,
            rows,
            rows if own else joined([self.anchors, other.anchors]),
            joined([self.time, other.time]),
        )

    def take(self, positions: Integers) -> Arrivals:
        """The events at `positions`, in that order."""
        rows = self.rows[positions]
        anchors = rows if self.rows is self.anchors else self.anchors[positions]
        return Arrivals(self.table.take(to_arrow(positions)), rows, anchors, self.time[positions])

    def where(self, mask: npt.NDArray[np.bool_]) -> Arrivals:
        """The events for which `mask` holds."""
        kept = np.flatnonzero(mask)
        if len(kept) == len(mask):
            return self
        if len(kept) and kept[-1] - kept[0] == len(kept) - 1:
            # Most often only the oldest events are dropped, and a slice needs no copy.
            return self.slice(int(kept[0]), int(kept[-1]) + 1)
        return self.take(kept)

    def slice(self, start: int, stop: int) -> Arrivals:
        """The events from `start` up to `stop`."""
        part = slice(start, stop)
        rows = self.rows[part]
        anchors = rows if self.rows is self.anchors else self.anchors[part]
        table = self.table.slice(start, stop - start)
        return Arrivals(table, rows, anchors, self.time[part], ascending=self.ascending, consecutive=self.consecutive)

    @property
    def earliest(self) -> int:
        """The least time; there must be an event."""
        return self.time.item(0) if self.ascending else int(self.time.min())

    @property
    def latest(self) -> int:
        """The greatest time; there must be an event."""
        return self.time.item(-1) if self.ascending else int(self.time.max())

    def positions(self, rows: Integers) -> Integers:
        """The positions of the events of these rows."""
        if not len(rows):
            return np.empty(0, dtype=np.int64)
        first = int(self.rows[0]) if len(self.rows) else 0
        if self.consecutive or (self.rows == np.arange(first, first + len(self.rows))).all():
            # Most often they are numbered one after the other.
            there = rows - first
            require((there >= 0) & (there < len(self.rows)), NOT_KEPT)
            return there
        sorter = np.argsort(self.rows, kind="stable")
        at = np.searchsorted(self.rows, rows, sorter=sorter)
        require(at < len(sorter), NOT_KEPT)
        found = sorter[at]
        require(self.rows[found] == rows, NOT_KEPT)
        return found.astype(np.int64)

    @property
    def arrow(self) -> pa.Schema:
        return self.table.schema

    def fetch(self, rows: Integers, names: Sequence[str] | None = None) -> pa.Table:
        """The events of these rows, in that order, with these columns or all."""
        table = self.table if names is None else self.table.select(list(names))
        return table.take(to_arrow(self.positions(rows)))

    def everything(self) -> Arrivals:
        return self

    def batch(self, schema: EventSchema, columns: EngineColumns | None = None) -> EventBatch:
        """The events as a batch for a kernel; they must be in order.

        `columns` are the casts to the engine's types, if they are known already.
        """
        columns = columns or engine_columns(self.table.schema, schema.type, coded=True)
        return EventBatch(columns.read(self.table), self.rows, self.time, self.texts, self.consecutive)


def arrive(table: pa.Table, schema: EventSchema, first_row: int, columns: EngineColumns | None = None) -> Arrivals:
    """Number and check new events: each needs a time and a value in every column of `order_by`.

    `columns` are the casts to the engine's types, if they are known already.
    """
    columns = columns or engine_columns(table.schema, schema.type, coded=True)
    readable = columns.read(table, first_row)
    time, ascending = ticks_and_order(readable, schema, first_row)
    for name in schema.order_by[1:]:
        column = readable[name]
        if pa.types.is_dictionary(column.type):
            # A null may also be one of the values that are encoded.
            column = column.cast(column.type.value_type)
        elif not column.null_count and not pa.types.is_floating(column.type):
            continue
        bad = column.is_null(nan_is_null=True)
        if pc.any(bad).as_py():
            row = pc.index(bad, True).as_py()
            raise HostError(
                "A536",
                f"row {first_row + row} has no value in `{name}`, which the events are ascending by",
                "drop or repair such rows, or leave the column out of order_by",
            )
    rows = np.arange(first_row, first_row + len(time), dtype=np.int64)
    return Arrivals(table, rows, rows, time, ascending=ascending, consecutive=True)


def order_ranks(events: Arrivals, schema: EventSchema) -> Integers:
    """A number for each event that orders them as their order keys do; concurrent events share one.

    >>> from augury.schema import EventSchema
    >>> table = pa.table({"ts": [5, 3, 5, 5], "seq": ["b", "z", "a", "b"]})
    >>> schema = EventSchema.from_arrow(table.schema, order_by=("ts", "seq"))
    >>> order_ranks(arrive(table, schema, 0), schema).tolist()
    [2, 0, 1, 2]
    """
    keys = [events.time]
    if len(schema.order_by) > 1:
        readable = engine_table(events.table.select(list(schema.order_by[1:])), schema.type)
        for name in schema.order_by[1:]:
            try:
                rank = pc.rank(readable[name], tiebreaker="dense")
            except (pa.ArrowNotImplementedError, pa.ArrowInvalid, pa.ArrowTypeError) as e:
                raise HostError(
                    "A537", f"events cannot be ordered by `{name}`, a column of type {readable[name].type}"
                ) from e
            keys.append(rank.to_numpy(zero_copy_only=False).astype(np.int64))
    order = np.lexsort(keys[::-1])
    new = np.zeros(len(order), dtype=np.int64)
    for key in keys:
        new[1:] |= key[order][1:] != key[order][:-1]
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = np.cumsum(new)
    return ranks


def in_order(events: Arrivals, schema: EventSchema) -> Arrivals:
    """The events sorted by their order key, concurrent ones by arrival."""
    if len(schema.order_by) == 1 and _came_in_order(events):
        return events
    order = np.lexsort([events.rows, events.anchors, order_ranks(events, schema)])
    if (order[1:] > order[:-1]).all():
        return events
    return events.take(order)


def _came_in_order(events: Arrivals) -> bool:
    in_time = events.ascending or ascends(events.time)
    return in_time and events.rows is events.anchors and (events.consecutive or ascends(events.rows))


def ties(events: Arrivals, schema: EventSchema, key: Sequence[str] = ()) -> int:
    """Count the events that are concurrent with an earlier one, among events that agree on `key`.

    The events are in order, so that only events with the time of a neighbour have to be compared.

    >>> table = pa.table({"ts": [1, 1, 1, 2], "k": ["x", "y", "x", "x"]})
    >>> schema = EventSchema.from_arrow(table.schema)
    >>> events = arrive(table, schema, 0)
    >>> ties(events, schema), ties(events, schema, ["k"])
    (2, 1)
    """
    same = events.time[1:] == events.time[:-1]
    if not same.any():
        return 0
    if len(schema.order_by) == 1 and not key:
        return int(same.sum())
    together = np.zeros(len(events), dtype=bool)
    together[1:] |= same
    together[:-1] |= same
    some = events.where(together)
    groups = [order_ranks(some, schema)]
    if key:
        # Null equals nothing, so that such an event is in no partition at all.
        known = np.ones(len(some), dtype=bool)
        for codes in _key_codes(some, schema, key):
            known &= codes >= 0
            groups.append(codes)
        groups = [group[known] for group in groups]
    _, again = _repeated(groups)
    return int(again.sum())


def last_concurrent(events: Arrivals, schema: EventSchema, key: Sequence[str] = ()) -> Arrivals:
    """The events concurrent with the last one, in order: the first one of each value of `key`.

    >>> table = pa.table({"ts": [1, 2, 2, 2, 2], "k": ["x", "x", "y", "x", "y"]})
    >>> schema = EventSchema.from_arrow(table.schema)
    >>> events = arrive(table, schema, 0)
    >>> last_concurrent(events, schema).rows.tolist(), last_concurrent(events, schema, ["k"]).rows.tolist()
    ([1], [1, 2])
    """
    if not len(events):
        return events
    last = events.slice(int(np.searchsorted(events.time, events.time[-1])), len(events))
    if len(last) > 1 and len(schema.order_by) > 1:
        ranks = order_ranks(last, schema)
        last = last.where(ranks == ranks[-1])
    if len(last) == 1 or not key:
        return last.slice(0, 1)
    order, again = _repeated(_key_codes(last, schema, key))
    first = np.ones(len(last), dtype=bool)
    first[order[1:][again]] = False
    return last.where(first)


def _key_codes(events: Arrivals, schema: EventSchema, key: Sequence[str]) -> list[Integers]:
    """For each column of a key a number for each event, equal for equal values; -1 for null."""
    readable = engine_table(events.table.select(list(key)), schema.type)
    found = []
    for name in key:
        column = readable[name].combine_chunks()
        known = ~column.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)
        codes = np.full(len(events), -1, dtype=np.int64)
        if known.any():
            ranks = pc.rank(column, tiebreaker="dense").to_numpy(zero_copy_only=False)
            codes[known] = ranks[known].astype(np.int64)
        found.append(codes)
    return found


def _repeated(groups: Sequence[Integers]) -> tuple[Integers, npt.NDArray[np.bool_]]:
    """An order in which equal events are neighbours, and whether each but the first equals the one before it."""
    order = np.lexsort(groups)
    again = np.ones(max(len(order) - 1, 0), dtype=bool)
    for group in groups:
        again &= group[order][1:] == group[order][:-1]
    return order, again


def split_late(
    events: Arrivals, last: Arrivals, watermark: int, schema: EventSchema, *, by_key: bool
) -> tuple[Arrivals, Arrivals | None]:
    """Split events into those in time and those that are late; None if none are.

    An event is late if it is earlier than the watermark or, with `by_key`, precedes the last event consumed, which is
    one of `last`.
    """
    if not len(events):
        return events, None
    earliest = events.earliest
    before_last = False
    if by_key and len(last):
        # Events of the same time are ordered by the other columns of the order, if there are any.
        before_last = earliest < last.latest or (earliest == last.latest and len(schema.order_by) > 1)
    if earliest >= watermark and not before_last:
        return events, None
    late = events.time < watermark
    if before_last:
        ranks = order_ranks(last + events, schema)
        late |= ranks[len(last) :] < ranks[: len(last)].max()
    return (events.where(~late), events.where(late)) if late.any() else (events, None)


def release(held: Arrivals, watermark: int) -> tuple[Arrivals, Arrivals]:
    """Split held events into those earlier than the watermark, which are due, and the rest."""
    if not len(held):
        return held, held
    if watermark == FOREVER:
        return held, held.slice(0, 0)
    ready = held.time < watermark
    return held.where(ready), held.where(~ready)
