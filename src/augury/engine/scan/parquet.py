"""Reads Parquet files without help of the host: footers, statistics, and single row groups."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.fs as fs
import pyarrow.parquet as pq

from augury.engine.merging import ticks_of
from augury.engine.sources.column_types import conform, engine_type
from augury.engine.sources.footers import column_places, open_footer, statistics
from augury.schema import EventSchema, Kind

FOOTER_THREADS = 16  # threads that read footers

INT96_UNIT = "us"
"""The unit that INT96 times are read in."""


@dataclass(frozen=True, slots=True)
class RowGroup:
    """One row group of a file: its number, its rows, and the ticks of its first and last event."""

    file: int
    number: int
    rows: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class CannotSplit:
    """The reason why files cannot be split among tasks that read them on their own."""

    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class Footers:
    """The footers of the files that hold any events."""

    files: tuple[str, ...]
    footers: tuple[pq.FileMetaData, ...]

    @property
    def rows(self) -> int:
        return sum(footer.num_rows for footer in self.footers)


def file_system(uri: str) -> tuple[fs.FileSystem, str]:
    """The file system of a file that is named by a path or a URI, and its path there."""
    parts = urlsplit(uri)
    if parts.scheme in ("", "file"):
        return fs.LocalFileSystem(), unquote(parts.path)
    found: tuple[fs.FileSystem, str] = fs.FileSystem.from_uri(uri.replace("s3a://", "s3://", 1))
    return found


def fragment(uri: str, groups: Sequence[int] | None = None, coded: tuple[str, ...] = ()) -> ds.ParquetFileFragment:
    """A file, or some of its row groups; string columns that are `coded` are read as dictionary codes."""
    system, path = file_system(uri)
    return _format(coded).make_fragment(path, system, row_groups=None if groups is None else list(groups))


def first_rows(uri: str, group: int, rows: int, columns: Sequence[str]) -> pa.Table:
    """The first rows of a row group, without decoding more."""
    system, path = file_system(uri)
    with pq.ParquetFile(path, filesystem=system, coerce_int96_timestamp_unit=INT96_UNIT) as file:
        batches = file.iter_batches(rows, row_groups=[group], columns=list(columns), use_threads=False)
        nothing = file.schema_arrow.empty_table().select(list(columns))
        return next((pa.Table.from_batches([first]) for first in batches), nothing)


@cache
def _format(coded: tuple[str, ...]) -> ds.ParquetFileFormat:
    return ds.ParquetFileFormat(
        read_options=ds.ParquetReadOptions(coerce_int96_timestamp_unit=INT96_UNIT, dictionary_columns=list(coded))
    )


def read_footers(files: Sequence[str]) -> Footers | CannotSplit:
    """Read the footers of files, which are named as the host names them."""
    with ThreadPoolExecutor(FOOTER_THREADS) as pool:
        try:
            footers = list(pool.map(_footer, files))
        except (OSError, pa.ArrowException) as e:
            return CannotSplit(f"a file cannot be read without Spark: {e}")
    known = [(file, footer) for file, footer in zip(files, footers, strict=True) if footer.num_rows]
    return Footers(tuple(file for file, _ in known), tuple(footer for _, footer in known))


def why_other_columns(footers: Footers, arrow: pa.Schema) -> str | None:
    """Why the files do not have these columns, as the host reads them; None if they do."""
    for footer in footers.footers:
        schema = footer.schema.to_arrow_schema()
        for column in arrow:
            if column.name not in schema.names:
                return f"column `{column.name}` is not in every file"
            there = schema.field(column.name).type
            both_times = pa.types.is_timestamp(there) and pa.types.is_timestamp(column.type)
            if engine_type(there) != engine_type(column.type) and not both_times:
                return f"column `{column.name}` is of type {there} in a file, and {column.type} to Spark"
    return None


def row_groups(footers: Footers, column: pa.Field, schema: EventSchema) -> tuple[RowGroup, ...] | CannotSplit:
    """The row groups, with the ticks of their first and last events; `column` is the time as the host reads it."""
    if schema[schema.time].kind is Kind.FLOAT:
        return CannotSplit("times are floating-point numbers, of which statistics leave out what is not a number")
    found: list[RowGroup] = []
    for number, footer in enumerate(footers.footers):
        places = [k for k in range(footer.num_row_groups) if footer.row_group(k).num_rows]
        times = [time for k in places if (time := _statistics(footer, k, schema.time)) is not None]
        if len(times) < len(places):
            return CannotSplit("a row group has no statistics of its times, or events without a time")
        values = pa.array(
            [time for both in times for time in both], footer.schema.to_arrow_schema().field(column.name).type
        )
        ticks = ticks_of(conform(pa.table({column.name: values}), pa.schema([column])), schema).tolist()
        found += [
            RowGroup(number, k, footer.row_group(k).num_rows, first, last)
            for k, first, last in zip(places, ticks[::2], ticks[1::2], strict=True)
        ]
    return tuple(found)


def _footer(uri: str) -> pq.FileMetaData:
    system, path = file_system(uri)
    return open_footer(path, system)


def _statistics(footer: pq.FileMetaData, number: int, name: str, *, nulls: bool = False) -> tuple[Any, Any] | None:
    """The least and greatest value of a column in a row group."""
    place = column_places(footer).get(name)
    found = None if place is None else statistics(footer, number, place)
    if found is None or not found.has_min_max or (not nulls and (not found.has_null_count or found.null_count)):
        return None
    return found.min, found.max


def key_range(footer: pq.FileMetaData, name: str) -> tuple[Any, Any] | None:
    """The least and greatest value of a column in a file; None without statistics."""
    found = [_statistics(footer, k, name, nulls=True) for k in range(footer.num_row_groups)]
    known = [r for r in found if r is not None]
    if len(known) < len(found):
        return None
    return min(low for low, _ in known), max(high for _, high in known)
