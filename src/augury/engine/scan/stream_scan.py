"""A scan of events that can be read only once: those that a query may need are kept, with all of their columns."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import replace

import pyarrow as pa

from augury.engine.arrivals import Arrivals, in_order
from augury.engine.scan.narrow import narrowed, pushdown_of
from augury.engine.scan.scan import SinglePieceScan
from augury.engine.sources.readable import readable_table, unreadable
from augury.engine.warnings import types_of
from augury.ir.query import BoundQuery
from augury.schema import EventSchema

PIECE_EVENTS = 50_000  # events filtered at a time: smaller pieces cost more per event


class StreamScan(SinglePieceScan):
    """A stream of batches that is read for a single query, once that is known; `name` is used in messages.

    Events that the query cannot need are dropped at once, so matches can show only events that were kept.
    """

    def __init__(self, reader: pa.RecordBatchReader, name: str, arrow: pa.Schema, schema: EventSchema) -> None:
        self._reader, self._name, self.arrow, self.schema = reader, name, arrow, schema
        self._found: tuple[BoundQuery, Arrivals] | None = None
        self._types: frozenset[str] = frozenset()
        self._rows = 0
        self.log = Arrivals.none(arrow)
        """The events for matches to show: those that were kept, in arrival order."""

    @property
    def rows(self) -> int:
        """The number of events read: none before a query asks for its events, then all."""
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
        pushdown = pushdown_of(query, self.arrow.names)
        with_all = replace(pushdown, columns=tuple(self.arrow.names))
        kept = []
        for table in self._pieces():
            self._types |= types_of(table, self.schema)
            kept.append(narrowed(table, self.schema, with_all, self._rows))
            self._rows += table.num_rows
        self.log = log = Arrivals.concat(kept, self.arrow)
        return in_order(
            Arrivals(log.table.select(list(pushdown.columns)), log.rows, log.anchors, log.time), self.schema
        )

    def _pieces(self) -> Iterator[pa.Table]:
        """The stream as tables of at least `PIECE_EVENTS` rows."""
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
        """Raise: not all events are kept, and a program that needs all of them is given a table."""
        raise AssertionError("a stream is read for one query, not for a program")
