"""Row groups of Parquet files: what their statistics tell, and how tasks share them out."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.fs as fs
import pyarrow.parquet as pq

from augury.engine.cut.chunks import Chunks, cut
from augury.engine.group import Group
from augury.engine.merging import ticks_of
from augury.engine.sources.events import conform, engine_type
from augury.schema import EventSchema, Kind

AT_ONCE = 16
"""Files whose footers are read at a time."""

OFTEN = 1.75
"""How often an event may be read, on average, before a shuffle is thought to be cheaper."""

INT96 = "us"
"""The unit of times that a file holds in 96 bits."""

TWICE_READ = 4
"""How many rows a task may have too many for each row that need not be read, and matched, twice."""


@dataclass(frozen=True, slots=True)
class RowGroup:
    """One row group: which of which file, how many rows, the ticks of its first and last event."""

    file: int
    number: int
    rows: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Range:
    """What one task reads: row groups, by the number of their file; with `chunk`, for that range of time."""

    groups: tuple[RowGroup, ...]
    chunk: int | None = None


@dataclass(frozen=True, slots=True)
class Layout:
    """How tasks share files out: by time into `chunks`, or by files with keys of their own."""

    files: tuple[str, ...]
    ranges: tuple[Range, ...]
    chunks: Chunks | None


@dataclass(frozen=True, slots=True)
class Cannot:
    """Why files cannot be shared out."""

    reason: str


@dataclass(frozen=True, slots=True, eq=False)
class Footers:
    """The footers of the files that hold any events."""

    files: tuple[str, ...]
    footers: tuple[pq.FileMetaData, ...]

    @property
    def rows(self) -> int:
        return sum(footer.num_rows for footer in self.footers)


def opened(uri: str) -> tuple[fs.FileSystem, str]:
    """The file system of a file as Spark names it, and its path there."""
    parts = urlsplit(uri)
    if parts.scheme in ("", "file"):
        return fs.LocalFileSystem(), unquote(parts.path)
    found: tuple[fs.FileSystem, str] = fs.FileSystem.from_uri(uri.replace("s3a://", "s3://", 1))
    return found


def fragment(uri: str, groups: Sequence[int] | None = None, coded: tuple[str, ...] = ()) -> ds.ParquetFileFragment:
    """A file, or some row groups of it; strings of the columns `coded` are read as the codes that the file has."""
    system, path = opened(uri)
    return _format(coded).make_fragment(path, system, row_groups=None if groups is None else list(groups))


def first_rows(uri: str, group: int, rows: int, columns: Sequence[str]) -> pa.Table:
    """The first rows of a row group, of which no more is decoded."""
    system, path = opened(uri)
    with pq.ParquetFile(path, filesystem=system, coerce_int96_timestamp_unit=INT96) as file:
        batches = file.iter_batches(rows, row_groups=[group], columns=list(columns), use_threads=False)
        nothing = file.schema_arrow.empty_table().select(list(columns))
        return next((pa.Table.from_batches([first]) for first in batches), nothing)


@cache
def _format(coded: tuple[str, ...]) -> ds.ParquetFileFormat:
    return ds.ParquetFileFormat(
        read_options=ds.ParquetReadOptions(coerce_int96_timestamp_unit=INT96, dictionary_columns=list(coded))
    )


def read_footers(files: Sequence[str]) -> Footers | Cannot:
    """The footers of files, under the names that Spark has for them."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        try:
            footers = list(pool.map(_footer, files))
        except (OSError, pa.ArrowException) as e:
            return Cannot(f"a file cannot be read without Spark: {e}")
    known = [(file, footer) for file, footer in zip(files, footers, strict=True) if footer.num_rows]
    return Footers(tuple(file for file, _ in known), tuple(footer for _, footer in known))


def why_not_alike(footers: Footers, arrow: pa.Schema) -> str | None:
    """Why the files do not have these columns, as Spark reads them; None if they do."""
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


def row_groups(footers: Footers, column: pa.Field, schema: EventSchema) -> tuple[RowGroup, ...] | Cannot:
    """The row groups with the times of their first and last events, of the `column` of time as Spark reads it."""
    if schema[schema.time].kind is Kind.FLOAT:
        return Cannot("times are floating-point numbers, of which statistics leave out what is not a number")
    found: list[RowGroup] = []
    for number, footer in enumerate(footers.footers):
        places = [k for k in range(footer.num_row_groups) if footer.row_group(k).num_rows]
        times = [time for k in places if (time := _statistics(footer, k, schema.time)) is not None]
        if len(times) < len(places):
            return Cannot("a row group has no statistics of its times, or events without a time")
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
    system, path = opened(uri)
    return pq.read_metadata(path, filesystem=system)


def _statistics(footer: pq.FileMetaData, number: int, name: str, *, nulls: bool = False) -> tuple[Any, Any] | None:
    """The least and greatest value of a column in a row group."""
    row_group = footer.row_group(number)
    places = [k for k in range(row_group.num_columns) if row_group.column(k).path_in_schema == name]
    if len(places) != 1:
        return None
    found = row_group.column(places[0]).statistics
    if found is None or not found.has_min_max or (not nulls and (not found.has_null_count or found.null_count)):
        return None
    return found.min, found.max


def _keys(footer: pq.FileMetaData, name: str) -> tuple[Any, Any] | None:
    """The least and greatest key of a file; nulls are nobody's key."""
    found = [_statistics(footer, k, name, nulls=True) for k in range(footer.num_row_groups)]
    known = [r for r in found if r is not None]
    if len(known) < len(found):
        return None
    return min(low for low, _ in known), max(high for _, high in known)


def by_time(files: tuple[str, ...], groups: tuple[RowGroup, ...], group: Group, tasks: int) -> Layout | Cannot:
    """Ranges of time that begin where row groups do, each read with what lies within a window of it.

    A row group is read by every task that needs some of it: there are fewer tasks where that would be too often.
    """
    reason = group.why_whole
    if reason is not None:
        return Cannot(reason)
    total = sum(g.rows for g in groups)
    ordered = sorted(groups, key=lambda g: g.first)
    wanted = tasks
    places, extra = _cuts(ordered, group.reach)
    while True:
        bounds = [] if not places else [_best(places, extra, total, k, tasks) for k in range(1, tasks)]
        chunks = cut(bounds, group.reach)
        ranges = tuple(Range(_seen(ordered, chunks, k), k) for k in range(len(chunks)))
        if sum(g.rows for r in ranges for g in r.groups) < OFTEN * total:
            break
        tasks //= 2
    if len(chunks) == 1 and wanted > 1 and len(groups) > 1:
        return Cannot("row groups overlap in time, or WITHIN overlaps them, so that each task would read most of them")
    return Layout(files, ranges, chunks)


def _cuts(groups: Sequence[RowGroup], reach: int) -> tuple[list[tuple[int, int]], dict[int, int]]:
    """Where row groups begin, with the rows before; and how many rows would be read twice if time were cut there."""
    rows = np.array([g.rows for g in groups])
    first = np.array([g.first for g in groups])
    ends = np.array([g.last for g in groups])
    by_last = np.argsort(ends, kind="stable")
    last, latest = ends[by_last], np.maximum.accumulate(ends)
    begun, ended = (np.concatenate([[0], np.cumsum(r)]) for r in (rows, rows[by_last]))
    places, extra = [], {}
    for time in np.unique(first).tolist():
        a = int(np.searchsorted(first, time))
        near, over = np.searchsorted(last, [time - reach, time])
        reached = a if a == 0 else np.searchsorted(first, min(int(latest[a - 1]), time - 1) + reach, "right")
        both = begun[a] - ended[over]
        if a:
            places.append((time, int(begun[a])))
        extra[time] = int(begun[max(a, reached)] - begun[a] + ended[over] - ended[near] + both)
    return places, extra


def _best(places: Sequence[tuple[int, int]], extra: dict[int, int], total: int, k: int, tasks: int) -> int:
    """The best place for cut `k` of so many tasks: not far from where it should be, and few rows are read twice."""
    share = total / tasks

    def too_far(place: tuple[int, int]) -> float:
        return abs(place[1] - k * share)

    near = [place for place in places if too_far(place) <= share / 2] or [min(places, key=too_far)]
    return min(near, key=lambda place: too_far(place) + TWICE_READ * extra[place[0]])[0]


def _seen(groups: Sequence[RowGroup], chunks: Chunks, chunk: int) -> tuple[RowGroup, ...]:
    """The row groups that hold an event of the chunk, or one within reach of its first or last event."""
    low, high = chunks.limits(chunk)
    own = [g for g in groups if (low is None or g.last >= low) and (high is None or g.first < high)]
    if not own:
        return ()
    begin, end = min(g.first for g in own), max(g.last for g in own)
    begin, end = begin if low is None else max(begin, low), end if high is None else min(end, high - 1)
    return tuple(g for g in groups if g.last >= begin - chunks.reach and g.first <= end + chunks.reach)


def by_files(footers: Footers, groups: tuple[RowGroup, ...], group: Group, tasks: int) -> Layout | Cannot:
    """Files that share no key with others, some to each task."""
    if not group.key:
        return Cannot("the query has no key")
    parts = max((_apart([_keys(footer, name) for footer in footers.footers]) for name in group.key), key=len)
    if len(parts) == 1 and len(footers.files) > 1:
        return Cannot(f"statistics do not show that files have values of `{group.key[0]}` of their own")
    rows = [sum(footers.footers[file].num_rows for file in part) for part in parts]
    shares: list[list[int]] = [[] for _ in range(min(tasks, len(parts)))]
    loads = [0] * len(shares)
    # The largest first, each to whoever has least.
    for k in sorted(range(len(parts)), key=lambda k: -rows[k]):
        least = loads.index(min(loads))
        shares[least] += parts[k]
        loads[least] += rows[k]
    return Layout(footers.files, tuple(Range(tuple(g for g in groups if g.file in share)) for share in shares), None)


def _apart(ranges: Sequence[tuple[Any, Any] | None]) -> list[list[int]]:
    """Files whose ranges of keys touch no other's, together; all of them where one is not known.

    >>> _apart([("a", "c"), ("x", "z"), ("b", "d")])
    [[0, 2], [1]]
    """
    known = [(r, k) for k, r in enumerate(ranges) if r is not None]
    if len(known) < len(ranges):
        return [list(range(len(ranges)))]
    parts: list[list[int]] = []
    highest: Any = None
    for (low, high), k in sorted(known):
        if not parts or low > highest:
            parts.append([])
            highest = high
        parts[-1].append(k)
        highest = max(highest, high)
    return parts
