"""Events of a stream in order (SEMANTICS section 1)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from augury.ir.evaluate import Row
from augury.ir.predicate import Value
from augury.ir.query import BoundQuery
from augury.runtime.batch import time_ticks
from augury.runtime.values import to_values

Partition: TypeAlias = "tuple[Value, ...] | None"


@dataclass(frozen=True, slots=True, eq=False)
class StreamEvent:
    """One event of the stream.

    `key` orders the events, equal keys are concurrent; `index` is its position in the order of consumption, which
    breaks ties by arrival. `partition` holds the values of `[attr]`, or None when one of them is null: such an event is
    in no partition. `place` is the number of earlier events in the same partition.
    """

    index: int
    row: int
    key: tuple[Value, ...]
    time: int
    type: str | None
    values: Row
    partition: Partition
    place: int

    def precedes(self, other: StreamEvent) -> bool:
        return self.key < other.key


Bindings: TypeAlias = "dict[str, tuple[StreamEvent, ...]]"
"""The events of each bound variable."""


def stream(query: BoundQuery, table: pa.Table, rows: Iterable[int]) -> list[StreamEvent]:
    """The events of a sorted table; `rows` are their numbers in order of arrival."""
    schema = query.schema
    columns = {name: to_values(table.column(name)) for name in schema.names if name in table.column_names}
    time = time_ticks(table, schema).tolist()
    types = _types(table, schema.type if query.names_types else None)
    keys = [time, *(columns[name] for name in schema.order_by[1:])]
    counts: defaultdict[Partition, int] = defaultdict(int)
    events = []
    for i, row in enumerate(rows):
        values = {name: column[i] for name, column in columns.items()}
        attributes = tuple(values[name] for name in query.partition_by)
        partition = None if None in attributes else attributes
        event = StreamEvent(i, row, tuple(k[i] for k in keys), time[i], types[i], values, partition, counts[partition])
        counts[partition] += 1
        events.append(event)
    return events


def by_partition(events: Sequence[StreamEvent]) -> list[list[StreamEvent]]:
    """The sub-stream of each partition; events with a null in their key are in none."""
    parts: defaultdict[Partition, list[StreamEvent]] = defaultdict(list)
    for e in events:
        if e.partition is not None:
            parts[e.partition].append(e)
    return list(parts.values())


def _types(table: pa.Table, column: str | None) -> list[str | None]:
    if column is None:
        return [None] * table.num_rows
    return [None if v is None else str(v) for v in to_values(table.column(column))]
