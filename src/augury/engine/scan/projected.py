"""A scan of a column source: the columns of a query are read at once, those that matches show on demand."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import pyarrow as pa

from augury.engine.arrivals import Arrivals, arrive, in_order
from augury.engine.scan.exact_times import times_are_exact
from augury.engine.scan.narrow import Pushdown, narrowed, pushdown_of
from augury.engine.scan.scan import SinglePieceScan
from augury.engine.sources.columnar import ColumnSource, PickedEvents
from augury.engine.sources.readable import readable_table
from augury.engine.warnings import types_of
from augury.errors import HostError
from augury.ir.query import BoundQuery
from augury.runtime.batch import Integers
from augury.schema import EventSchema


@dataclass(slots=True, eq=False)
class ColumnReader:
    """Reads columns of a source, and raises if the number of its events changes between reads.

    `read_names` are the columns read so far, `picked_rows` counts the events that the source picked by type; `rows` is
    the number of all events, None before the first read.
    """

    source: ColumnSource
    rows: int | None = None
    read_names: set[str] = field(default_factory=set)
    picked_rows: int = 0

    def read(self, columns: Sequence[str]) -> pa.Table:
        table = readable_table(self.source.read(columns))
        self.read_names |= {*columns}
        if self.rows is not None and table.num_rows != self.rows:
            raise self.changed(f"{table.num_rows} events instead of {self.rows}")
        self.rows = table.num_rows
        return table

    def read_types(self, columns: Sequence[str], kind: str, types: Collection[str], time: str) -> PickedEvents | None:
        some = self.source.read_types(columns, kind, types, time)
        if some is None:
            return None
        self.read_names |= {*columns}
        self.picked_rows += len(some.rows)
        if self.rows is not None and some.count != self.rows:
            raise self.changed(f"{some.count} events instead of {self.rows}")
        self.rows = some.count
        return replace(some, table=readable_table(some.table))

    def changed(self, how: str) -> HostError:
        return HostError(
            "A671",
            f"{self.source.name} gave {how} when it was read again",
            "sort it by a column that no two events share, collect it first, or match it again",
        )


class ProjectedScan(SinglePieceScan):
    """A scan of a source that is read column by column, which caches the part that each query reads."""

    def __init__(self, source: ColumnSource, arrow: pa.Schema, schema: EventSchema) -> None:
        self.reader = ColumnReader(source)
        self.arrow, self.schema = arrow, schema
        self._found: dict[int, tuple[BoundQuery, Arrivals]] = {}
        self._last: Arrivals | None = None

    @property
    def rows(self) -> int:
        if self.reader.rows is None:
            self.reader.rows = self.reader.source.count()
        return self.reader.rows

    @property
    def identity(self) -> Hashable:
        return self.reader.source.identity

    def events(self, query: BoundQuery) -> Arrivals:
        """The events that a rewritten query reads, in order."""
        known = self._found.get(id(query))
        if known is None:
            pushdown = pushdown_of(query, self.arrow.names)
            found = self._picked(pushdown)
            if found is None:
                found = narrowed(self.reader.read(pushdown.columns), self.schema, pushdown)
            known = self._found[id(query)] = (query, in_order(found, self.schema))
        self._last = known[1]
        return known[1]

    def _picked(self, pushdown: Pushdown) -> Arrivals | None:
        """The events that the pushdown keeps, filtered by type in the source; None if the source cannot do that."""
        schema = self.schema
        if pushdown.types is None or schema.type is None or not self._may_drop_events(pushdown):
            return None
        some = self.reader.read_types(pushdown.columns, schema.type, pushdown.types, schema.time)
        if some is None or not some.have_times:
            return None
        found = narrowed(some.table, schema, replace(pushdown, types=None))
        rows = some.rows[found.rows]
        return Arrivals(found.table, rows, rows, found.time)

    def _may_drop_events(self, pushdown: Pushdown) -> bool:
        """Whether a missing time is the only error that a dropped event can have."""
        doubtful = any(pa.types.is_uint64(self.arrow.field(name).type) for name in pushdown.columns)
        return not doubtful and times_are_exact(self.arrow.field(self.schema.time).type, self.schema)

    def types(self) -> frozenset[str]:
        """The type names that occur."""
        if self.schema.type is None:
            return frozenset()
        return types_of(self.reader.read([self.schema.type]), self.schema)

    @cached_property
    def ordered(self) -> Arrivals:
        """All events with all columns, in order."""
        return in_order(arrive(self.reader.read(self.arrow.names), self.schema, 0), self.schema)

    @property
    def log(self) -> ProjectedLog:
        """The events for matches to show."""
        return ProjectedLog(self.reader, self.arrow, self.schema, self._last)


@dataclass(frozen=True, slots=True, eq=False)
class ProjectedLog:
    """An `EventLog` over a column source, read when a match shows events; `seen` are those that a query has read."""

    reader: ColumnReader
    arrow: pa.Schema
    schema: EventSchema
    seen: Arrivals | None

    def fetch(self, rows: Integers, names: Sequence[str] | None = None) -> pa.Table:
        """The events of these rows, in that order, with these columns or all."""
        columns = self.arrow.names if names is None else list(names)
        if not len(rows):
            return pa.schema([self.arrow.field(name) for name in columns]).empty_table()
        if self.seen is None:
            return self.reader.read(columns).take(pa.array(rows))
        before = self.seen.fetch(rows)
        # Columns read before are read again, to check that the source still gives the same events.
        again = [name for name in before.column_names if name not in columns]
        table = self.reader.read([*columns, *again]).take(pa.array(rows))
        for name in before.column_names:
            if not _equal(before[name], table[name]):
                raise self.reader.changed(f"other values of `{name}`")
        return table.select(columns)

    def everything(self) -> Arrivals:
        """Every event, with every column."""
        return Arrivals.of(self.reader.read(self.arrow.names), self.schema)


def _equal(left: pa.ChunkedArray, right: pa.ChunkedArray) -> bool:
    """Whether two columns hold the same values, in any encoding; NaN equals NaN."""
    left, right = (x.cast(x.type.value_type) if pa.types.is_dictionary(x.type) else x for x in (left, right))
    right = right if right.type == left.type else right.cast(left.type)
    if pa.types.is_float32(left.type) or pa.types.is_float64(left.type):
        bits = pa.int64() if pa.types.is_float64(left.type) else pa.int32()
        left, right = (pa.chunked_array([c.view(bits) for c in x.chunks], bits) for x in (left, right))
    return bool(left.equals(right))
