"""Reads events from whatever holds them (tables, frames, files, dicts) into one Arrow table."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from augury.arguments import shown, text
from augury.engine.sources.column_types import is_text
from augury.engine.sources.columnar import column_source
from augury.engine.sources.files import read_path
from augury.engine.sources.frames import pandas_table
from augury.engine.sources.iso_times import parse_times
from augury.engine.sources.paths import named_paths
from augury.engine.sources.readable import readable_table, unreadable
from augury.engine.sources.rows import rows_to_table
from augury.errors import HostError

Events: TypeAlias = (
    pa.Table | pa.RecordBatch | pa.RecordBatchReader | str | os.PathLike[str] | Iterable[Mapping[str, Any]] | Any
)
"""An Arrow table, batch, reader or data set, a pandas or polars frame, a DuckDB relation, a path or glob, a list of
paths, or an iterable of dicts."""


def read_events(events: Events, time: str, required: Collection[str | None] = ()) -> pa.Table:
    """Read events into one table, in the order they came; a time column of ISO 8601 strings becomes timestamps.

    Dicts may leave out attributes, but of the time and of `required` columns either all dicts have a value or none.

    A time that is no column of a pandas frame may be a level of its index, named or, as "index", without a name.

    An input without events but with columns is a table of no rows. One without columns (an empty iterable, an empty
    file) gives a table without columns: nothing is known of such events, so a host only checks the query's syntax.

    >>> read_events([{"ts": "2026-03-14T09:00:00"}], "ts").schema.field("ts").type
    TimestampType(timestamp[us])
    """
    time = text("time", time, wanted="the name of a column")
    table = readable_table(_table(events, time, {time, *(name for name in required if name is not None)}))
    if table.schema.names.count(time) == 1 and is_text(table.schema.field(time).type):
        table = table.set_column(table.schema.names.index(time), time, parse_times(table[time], time))
    return table


def is_rows(events: Events) -> bool:
    """Whether the events are mappings, in which a missing column is null and not an error."""
    if isinstance(events, str | os.PathLike | pa.Table | pa.RecordBatch | pa.RecordBatchReader):
        return False
    if _is_frame(events, "pandas") or column_source(events) is not None:
        return False
    return not (isinstance(events, list | tuple) and events and isinstance(events[0], str | os.PathLike))


def _table(events: Events, time: str, required: Collection[str]) -> pa.Table:
    match events:
        case pa.Table():
            return events
        case pa.RecordBatch():
            return pa.Table.from_batches([events])
    paths = named_paths(events)
    if paths is not None:
        return _of_files(paths)
    if _is_frame(events, "pandas"):
        return pandas_table(events, time)
    source = column_source(events)
    if source is not None:
        return source.read(source.columns().names)
    if is_stream(events):
        stream = stream_of(events)
        try:
            return stream.reader.read_all()
        except (pa.ArrowException, ValueError, OSError) as e:
            raise unreadable(stream.name, e) from e
    on_spark = _is_frame(events, "pyspark")
    if isinstance(events, Mapping | bytes | type) or on_spark or not isinstance(events, Iterable):
        raise HostError(
            "A539",
            f"events cannot be read from {shown(events)}",
            "use augury.spark.match for frames of Spark"
            if on_spark
            else "give an Arrow table, a pandas or polars frame, a path, or an iterable of dicts",
        )
    items = list(events)
    # An iterator may also give paths.
    paths = named_paths(items)
    if paths is not None:
        return _of_files(paths)
    if items and all(isinstance(item, pa.RecordBatch | pa.Table) for item in items):
        return _one_schema(items)
    return rows_to_table(items, required=required)


@dataclass(frozen=True, slots=True, eq=False)
class EventStream:
    """Batches that can be read once, and their name for messages."""

    reader: pa.RecordBatchReader
    name: str


def is_stream(events: Events) -> bool:
    """Whether the events are a reader, or an Arrow stream that may be readable only once."""
    if isinstance(events, type | pa.Table | pa.RecordBatch) or not hasattr(events, "__arrow_c_stream__"):
        return False
    # Some releases of Spark would hand over the whole frame, wherever it lies.
    return not any(_is_frame(events, m) for m in ("pandas", "pyspark")) and column_source(events) is None


def stream_of(events: Events) -> EventStream:
    """The batches of events for which `is_stream` is true."""
    if isinstance(events, pa.RecordBatchReader):
        return EventStream(events, "the reader of the events")
    name = f"the stream of a {type(events).__name__}"
    try:
        return EventStream(pa.RecordBatchReader.from_stream(events), name)
    except (pa.ArrowException, TypeError, ValueError) as e:
        raise unreadable(name, e) from e


def _is_frame(events: object, module: str) -> bool:
    """Whether this is a data frame of `module`, which is not imported."""
    kind = type(events)
    return any(
        base.__module__.split(".")[0] == module and base.__name__ in ("DataFrame", "LazyFrame") for base in kind.__mro__
    )


def _of_files(paths: Sequence[Path]) -> pa.Table:
    """The events of files, one after the other."""
    tables = [read_path(path) for path in paths]
    return tables[0] if len(tables) == 1 else _one_schema(tables, [f"`{path}`" for path in paths], "file")


def _one_schema(items: list[Any], named: Sequence[str] | None = None, noun: str = "batch") -> pa.Table:
    first = items[0].schema
    called = [f"batch {k}" for k in range(len(items))] if named is None else named
    for position, item in enumerate(items):
        if not item.schema.equals(first):
            different = sorted({*_fields(first)} ^ {*_fields(item.schema)})
            raise HostError(
                "A514",
                f"{called[position]} has another schema than {called[0]}: they differ in "
                + (", ".join(different) or "the order of their columns"),
                f"give every {noun} the same columns",
            )
    return pa.concat_tables([pa.Table.from_batches([i]) if isinstance(i, pa.RecordBatch) else i for i in items])


def _fields(schema: pa.Schema) -> list[str]:
    return [f"`{f.name}` ({f.type})" for f in schema]
