"""Whatever holds events -> an Arrow table that the engine can read."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Collection, Iterable, Mapping
from typing import Any, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from augury.arguments import path, shown, text
from augury.engine.sources.files import read_path, unreadable
from augury.engine.sources.frames import pandas_table, polars_table
from augury.engine.sources.readable import readable_table
from augury.engine.sources.rows import rows_to_table, too_large
from augury.errors import HostError, names
from augury.runtime.dictionary import codable

Events: TypeAlias = (
    pa.Table | pa.RecordBatch | pa.RecordBatchReader | str | os.PathLike[str] | Iterable[Mapping[str, Any]] | Any
)
"""An Arrow table, batch or reader, a pandas or polars frame, a path, or an iterable of dicts."""


def read_events(events: Events, time: str, required: Collection[str | None] = ()) -> pa.Table:
    """The events as they came, in one table; a time column of ISO 8601 strings becomes timestamps.

    Dicts may leave out attributes, but not the time and the columns that are `required`: all of them have one, or none.

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
    """Whether the events are mappings, so that a column none of them has is merely null."""
    return not isinstance(events, str | os.PathLike | pa.Table | pa.RecordBatch | pa.RecordBatchReader) and not any(
        _is_frame(events, module) for module in ("pandas", "polars")
    )


def _table(events: Events, time: str, required: Collection[str]) -> pa.Table:
    match events:
        case pa.Table():
            return events
        case pa.RecordBatch():
            return pa.Table.from_batches([events])
        case pa.RecordBatchReader():
            try:
                return events.read_all()
            except pa.ArrowException as e:
                raise unreadable("the reader of the events", e) from e
        case str() | os.PathLike():
            return read_path(path("events", events))
    if _is_frame(events, "pandas"):
        return pandas_table(events, time)
    if _is_frame(events, "polars"):
        return polars_table(events)
    # Some releases of Spark would hand over the whole frame, wherever it lies.
    on_spark = _is_frame(events, "pyspark")
    if hasattr(events, "__arrow_c_stream__") and not on_spark and not isinstance(events, type):
        try:
            return pa.RecordBatchReader.from_stream(events).read_all()
        except (pa.ArrowException, TypeError, ValueError) as e:
            raise unreadable(f"the stream of a {type(events).__name__}", e) from e
    if isinstance(events, Mapping | bytes | type) or on_spark or not isinstance(events, Iterable):
        raise HostError(
            "A539",
            f"events cannot be read from {shown(events)}",
            "use augury.spark.match for frames of Spark"
            if on_spark
            else "give an Arrow table, a pandas or polars frame, a path, or an iterable of dicts",
        )
    items = list(events)
    if items and all(isinstance(item, pa.RecordBatch | pa.Table) for item in items):
        return _one_schema(items)
    return rows_to_table(items, required=required)


def _is_frame(events: object, module: str) -> bool:
    """Whether this is a data frame of `module`, found out without importing it."""
    kind = type(events)
    return any(
        base.__module__.split(".")[0] == module and base.__name__ in ("DataFrame", "LazyFrame") for base in kind.__mro__
    )


def _one_schema(items: list[Any]) -> pa.Table:
    first = items[0].schema
    for position, item in enumerate(items):
        if not item.schema.equals(first):
            different = sorted({*_fields(first)} ^ {*_fields(item.schema)})
            raise HostError(
                "A514",
                f"batch {position} has another schema than batch 0: they differ in "
                + (", ".join(different) or "the order of their columns"),
                "give every batch the same columns",
            )
    return pa.concat_tables([pa.Table.from_batches([i]) if isinstance(i, pa.RecordBatch) else i for i in items])


def _fields(schema: pa.Schema) -> list[str]:
    return [f"`{f.name}` ({f.type})" for f in schema]


def is_text(arrow: pa.DataType) -> bool:
    """Whether a column holds strings, encoded or not."""
    if pa.types.is_dictionary(arrow):
        return is_text(arrow.value_type)
    return bool(pa.types.is_string(arrow) or pa.types.is_large_string(arrow) or pa.types.is_string_view(arrow))


def parse_times(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """ISO 8601 strings as timestamps in microseconds, or nanoseconds where their digits need them.

    With a time zone or offset they become UTC; some with and some without is an error.
    """
    text = column.cast(pa.string())
    for unit, zone in (("us", None), ("us", "UTC"), ("ns", None), ("ns", "UTC")):
        try:
            return text.cast(pa.timestamp(unit, zone))
        except pa.ArrowInvalid:
            continue  # The next form is tried; what fits none is found below.
    values: list[dt.datetime | None] = []
    zoned: int | None = None
    naive: int | None = None
    for row, value in enumerate(text.to_pylist()):
        try:
            time = None if value is None else dt.datetime.fromisoformat(value.strip())
        except ValueError:
            raise HostError(
                "A535",
                f"the time `{value}` of column `{name}` in row {row} is not an ISO 8601 time",
                "write it as 2026-03-14T09:00:02.120, or as a number of ticks",
            ) from None
        if time is not None and time.tzinfo is None:
            naive = row if naive is None else naive
        elif time is not None:
            zoned = row if zoned is None else zoned
            time = time.astimezone(dt.UTC)
        if zoned is not None and naive is not None:
            raise HostError(
                "A538",
                f"times of column `{name}` have a time zone in row {zoned} and none in row {naive}",
                "give all of them a zone, or none",
            )
        values.append(time)
    return pa.chunked_array([pa.array(values, pa.timestamp("us", None if zoned is None else "UTC"))])


def engine_schema(arrow: pa.Schema, type: str | None) -> pa.Schema:
    """The column types the engine computes with: 64-bit numbers, no dictionaries, and a type column of strings."""
    return pa.schema(
        [
            pa.field(f.name, pa.string() if f.name == type and not is_text(f.type) else engine_type(f.type))
            for f in arrow
        ]
    )


def engine_type(arrow: pa.DataType) -> pa.DataType:
    """The type the engine reads a column as.

    >>> engine_type(pa.list_(pa.uint8())), engine_type(pa.decimal128(10, 2))
    (ListType(list<item: int64>), DataType(double))
    """
    types = pa.types
    if types.is_dictionary(arrow):
        return engine_type(arrow.value_type)
    if types.is_integer(arrow):
        return pa.int64()
    if types.is_floating(arrow) or types.is_decimal(arrow):
        return pa.float64()
    if types.is_list(arrow) or types.is_large_list(arrow) or types.is_fixed_size_list(arrow):
        return pa.list_(engine_type(arrow.value_type))
    return arrow


def engine_table(table: pa.Table, type: str | None, first_row: int = 0, *, coded: bool = False) -> pa.Table:
    """The events as the engine reads them; a value that does not fit is an error with its row and column.

    With `coded`, strings that are encoded stay so: kernels tell them apart by their codes.
    """
    wanted = engine_schema(table.schema, type)
    if coded:
        wanted = pa.schema([there if _coded(there.type) else f for there, f in zip(table.schema, wanted, strict=True)])
    columns = []
    for field, column in zip(wanted, table.columns, strict=True):
        try:
            columns.append(column if column.type == field.type else column.cast(field.type))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as e:
            if pa.types.is_uint64(column.type):
                bad = pc.index(pc.greater(column, pa.scalar(2**63 - 1, pa.uint64())), True).as_py()
                raise too_large(field.name, f"row {first_row + bad}", column[bad].as_py()) from e
            role = "used as the type column" if field.name == type else f"read as {field.type}"
            raise HostError("A513", f"column `{field.name}` of type {column.type} cannot be {role}: {e}") from e
    return pa.table(columns, schema=wanted)


def _coded(arrow: pa.DataType) -> bool:
    return bool(pa.types.is_dictionary(arrow) and codable(arrow))


def conform(
    table: pa.Table, schema: pa.Schema, *, fill: bool = False, required: Collection[str | None] = ()
) -> pa.Table:
    """`table` with exactly the columns of `schema`, in its order and of its types.

    `fill` allows missing ones, save those that are `required`.
    """
    missing = [n for n in schema.names if n not in table.schema.names]
    extra = [n for n in table.schema.names if n not in schema.names]
    lacking = [n for n in missing if not fill or n in required]
    if extra or lacking:
        what = [f"lack {names(lacking)}"] if lacking else []
        what += [f"have {names(extra)} besides"] if extra else []
        raise HostError(
            "A540",
            f"these events do not fit the schema: they {' and '.join(what)}",
            f"columns of the schema are {names(schema.names)}",
        )
    columns = []
    for field in schema:
        if field.name in missing:
            columns.append(pa.nulls(table.num_rows, field.type))
            continue
        column = table[field.name]
        try:
            columns.append(column if column.type == field.type else column.cast(field.type))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as e:
            raise HostError(
                "A540",
                f"these events do not fit the schema: column `{field.name}` is of type {column.type}, "
                f"but the schema has it as {field.type}: {e}",
            ) from e
    return pa.table(columns, schema=schema)
