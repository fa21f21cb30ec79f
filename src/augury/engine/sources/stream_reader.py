"""Converts what is fed to a stream of known columns to a table of exactly these columns."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from augury.engine.sources.column_types import conform, is_text
from augury.engine.sources.events import Events, is_rows, read_events
from augury.engine.sources.readable import has_null_entries, readable_schema
from augury.schema import EventSchema


@dataclass(frozen=True, slots=True, eq=False)
class StreamReader:
    """Reads what is fed to a stream with the columns `arrow`.

    With `settled`, a table of this schema is used as it is, unless a dictionary of the columns `encoded` has nulls.
    Else its values have to be checked or converted.
    """

    arrow: pa.Schema
    time: str
    required: tuple[str | None, ...]
    settled: bool
    encoded: tuple[int, ...]

    def read(self, events: Events) -> pa.Table:
        """The events with the columns of the stream, in their order and of their types."""
        if self.settled and isinstance(events, pa.RecordBatch | pa.Table) and self._fits(events.schema):
            table = events if isinstance(events, pa.Table) else pa.Table.from_batches([events])
            if not any(has_null_entries(table.column(k)) for k in self.encoded):
                return table
        table = read_events(events, self.time, self.required)
        if not table.num_columns:
            # Events without any column, such as an empty list.
            return self.arrow.empty_table()
        return conform(table, self.arrow, fill=is_rows(events), required=self.required)

    def _fits(self, schema: pa.Schema) -> bool:
        return bool(schema.equals(self.arrow, check_metadata=True))


def stream_reader(arrow: pa.Schema, schema: EventSchema) -> StreamReader:
    """The reader for events of a stream.

    >>> columns = pa.schema([("ts", pa.int64()), ("x", pa.int64())])
    >>> reader = stream_reader(columns, EventSchema.from_arrow(columns))
    >>> reader.read([{"ts": 1}, {"ts": 2, "x": 3}]).to_pydict()
    {'ts': [1, 2], 'x': [None, 3]}
    """
    settled = readable_schema(arrow).equals(arrow) and not any(
        # Dates in milliseconds have to be whole days, and times that are written out are parsed.
        pa.types.is_date64(field.type) or (field.name == schema.time and is_text(field.type))
        for field in arrow
    )
    encoded = tuple(k for k, field in enumerate(arrow) if pa.types.is_dictionary(field.type))
    return StreamReader(arrow, schema.time, (schema.type, *schema.order_by), settled, encoded)
