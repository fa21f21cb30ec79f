"""Events that can be read once: those that a query may need are kept, with all of their columns."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace

import pyarrow as pa

from augury.engine.arrivals import Arrivals, in_order
from augury.engine.scan.narrow import narrowed, wanted_by
from augury.engine.scan.scan import ReadAsAWhole
from augury.engine.sources.readable import readable_table, unreadable
from augury.engine.warnings import types_of
from augury.ir.query import BoundQuery
from augury.schema import EventSchema

PIECE_EVENTS = 50_000  # filtered together: each piece costs a little, however small it is


class StreamScan(ReadAsAWhole):
    """A stream of batches that is read for one query, once that is known; `name` is what it is called in messages.

    What the query cannot need is forgotten at once, and so is missing from what matches show besides their own events.
    """

    def __init__(self, reader: pa.RecordBatchReader, name: str, arrow: pa.Schema, schema: EventSchema) -> None:
        self._reader, self._name, self.arrow, self.schema = reader, name, arrow, schema
        self._found: tuple[BoundQuery, Arrivals] | None = None
        self._types: frozenset[str] = frozenset()
        self._rows = 0
        self.log = Arrivals.none(arrow)
        """The events for matches to show: those that were kept, as they came."""

    @property
    def rows(self) -> int:
        """How many events have been read: all of them once a query has asked for its events, none before."""
        return self._rows

    @property
    def identity(self) -> Hashable:
        return self._name, id(self)

    def events(self, query: BoundQuery) -> Arrivals:
        """The events that the rewritten query reads, in order."""
        if self._found is None:
            self._found = query, self._read(query)
        assert self._found[0] is query, "a stream is read for one query"
        return self._found[1]

    def _read(self, query: BoundQuery) -> Arrivals:
        wanted = wanted_by(query, self.arrow.names)
        with_all = replace(wanted, columns=tuple(self.arrow.names))
        kept = []
        for table in self._pieces():
            self._types |= types_of(table, self.schema)
            kept.append(narrowed(table, self.schema, with_all, self._rows))
            self._rows += table.num_rows
        self.log = log = Arrivals.concat(kept, self.arrow)
        return in_order(Arrivals(log.table.select(list(wanted.columns)), log.rows, log.anchors, log.time), self.schema)

    def _pieces(self) -> Iterator[pa.Table]:
        """The stream in tables of some size."""
        batches: list[pa.RecordBatch] = []
        rows = 0
        try:
            for batch in self._reader:
                batches.append(batch)
                rows += batch.num_rows
                if rows >= PIECE_EVENTS:
                    yield self._table(batches)
                    batches, rows = [], 0
        except (pa.ArrowException, ValueError, OSError) as e:
            raise unreadable(self._name, e) from e
        if rows:
            yield self._table(batches)

    def _table(self, batches: list[pa.RecordBatch]) -> pa.Table:
        return readable_table(pa.Table.from_batches(batches, self._reader.schema)).replace_schema_metadata(None)

    def types(self) -> frozenset[str]:
        """The type names that occur."""
        return self._types

    @property
    def ordered(self) -> Arrivals:
        """Not all events: a program that needs all of them is given a table."""
        raise AssertionError("a stream is read for one query, not for a program")
