"""Parquet files as a source of events: a query's columns are read at once, what matches show when it is asked for."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from augury.engine.arrivals import Arrivals, arrive, in_order
from augury.engine.scan.narrow import Wanted, narrowed, wanted_by
from augury.engine.sources.files import unreadable, validated
from augury.engine.sources.readable import readable_schema
from augury.engine.warnings import types_of
from augury.errors import HostError
from augury.ir.query import BoundQuery
from augury.runtime.batch import Integers
from augury.schema import EventSchema


@dataclass(frozen=True, slots=True)
class NumberedRows:
    """One row group of a file, and the numbers of its events in the stream."""

    file: int
    number: int
    first_row: int
    rows: int


@dataclass(frozen=True, slots=True, eq=False)
class ParquetFiles:
    """Files of one schema, read one after the other; `seen` is what tells whether one of them has changed."""

    paths: tuple[Path, ...]
    footers: tuple[pq.FileMetaData, ...]
    seen: tuple[tuple[int, int], ...]
    arrow: pa.Schema

    @property
    def row_groups(self) -> Iterator[NumberedRows]:
        """The row groups in the order of the stream."""
        first_row = 0
        for file, footer in enumerate(self.footers):
            for number in range(footer.num_row_groups):
                rows = footer.row_group(number).num_rows
                yield NumberedRows(file, number, first_row, rows)
                first_row += rows

    def read(self, group: NumberedRows, columns: Sequence[str], coded: Sequence[str] = ()) -> pa.Table:
        """Some columns of a row group, strings of those named `coded` as the codes that the file has."""
        path = self.paths[group.file]
        try:
            self._check_unchanged(group.file)
            # A reader per call: one is not made for several threads.
            with pq.ParquetFile(path, metadata=self.footers[group.file], read_dictionary=list(coded)) as file:
                table = validated(file.read_row_group(group.number, columns=list(columns), use_threads=False))
        except (OSError, pa.ArrowException) as e:
            raise unreadable(f"`{path}`", e) from e
        return table.select(list(columns)).replace_schema_metadata(None)

    def _check_unchanged(self, file: int) -> None:
        if _identity(self.paths[file]) != self.seen[file]:
            raise HostError(
                "A670",
                f"`{self.paths[file]}` has changed since the query began to read it",
                "match the files again, and write new events to new files",
            )


def parquet_files(path: Path) -> ParquetFiles | None:
    """A Parquet file, or the files of a folder; None if they cannot be read column by column as they are.

    Folders whose names are values of columns, and files that differ in their columns, are for Arrow to put together.
    """
    paths = [path]
    if path.is_dir():
        # Not at the top: it imports pandas.
        from pyarrow.dataset import dataset

        paths = [Path(file) for file in dataset(path, format="parquet").files]
    if not paths or any("=" in part for file in paths for part in file.relative_to(path).parts[:-1]):
        return None
    seen = tuple(_identity(file) for file in paths)
    footers = tuple(pq.read_metadata(file) for file in paths)
    schemas = [footer.schema.to_arrow_schema().remove_metadata() for footer in footers]
    arrow = schemas[0]
    if any(not schema.equals(arrow) for schema in schemas) or not arrow.names or readable_schema(arrow) != arrow:
        return None
    # A name with a dot could mean a part of a nested column.
    if any("." in name for name in arrow.names):
        return None
    return ParquetFiles(tuple(paths), footers, seen, arrow)


def _identity(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_size, found.st_mtime_ns


def cores() -> int:
    """The processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class ParquetScan:
    """Events in Parquet files; the part of them that a query reads is read once, however often it is asked for."""

    def __init__(self, files: ParquetFiles, schema: EventSchema, threads: int) -> None:
        self.files, self._schema, self.threads = files, schema, threads
        self._found: dict[int, tuple[BoundQuery, Arrivals]] = {}

    @property
    def arrow(self) -> pa.Schema:
        return self.files.arrow

    @property
    def schema(self) -> EventSchema:
        return self._schema

    @property
    def rows(self) -> int:
        return sum(footer.num_rows for footer in self.files.footers)

    def events(self, query: BoundQuery) -> Arrivals:
        """The events that a rewritten query reads, in order."""
        known = self._found.get(id(query))
        if known is None:
            known = self._found[id(query)] = (query, self._read(wanted_by(query, self.arrow.names)))
        return known[1]

    def _read(self, wanted: Wanted) -> Arrivals:
        coded = [name for name in wanted.columns if pa.types.is_string(self.arrow.field(name).type)]

        def piece(group: NumberedRows) -> Arrivals:
            return narrowed(self.files.read(group, wanted.columns, coded), self.schema, wanted, group.first_row)

        groups = [group for group in self.files.row_groups if group.rows]
        if len(groups) < 2 or self.threads < 2:
            pieces = [piece(group) for group in groups]
        else:
            with ThreadPoolExecutor(self.threads) as pool:
                pieces = list(pool.map(piece, groups))
        nothing = pa.schema([self.arrow.field(name) for name in wanted.columns])
        return in_order(Arrivals.concat(pieces, nothing), self.schema)

    def types(self) -> frozenset[str]:
        """The type names that occur."""
        if self.schema.type is None:
            return frozenset()
        name = self.schema.type
        groups = [g for g in self.files.row_groups if g.rows]
        return frozenset[str]().union(*(types_of(self.files.read(g, [name], [name]), self.schema) for g in groups))

    @cached_property
    def table(self) -> pa.Table:
        """All events with all columns, as they came."""
        tables = [self.files.read(group, self.arrow.names) for group in self.files.row_groups]
        return pa.concat_tables(tables) if tables else self.arrow.empty_table()

    @cached_property
    def ordered(self) -> Arrivals:
        """All events with all columns, in order."""
        return in_order(arrive(self.table, self.schema, 0), self.schema)

    @property
    def log(self) -> ParquetLog:
        """The events for matches to show."""
        return ParquetLog(self.files, self.schema)


@dataclass(frozen=True, slots=True, eq=False)
class ParquetLog:
    """Events that stay in their files until a match is shown with them."""

    files: ParquetFiles
    schema: EventSchema

    @property
    def arrow(self) -> pa.Schema:
        return self.files.arrow

    def fetch(self, rows: Integers, names: Sequence[str] | None = None) -> pa.Table:
        """The events of these rows, in that order, with these columns or all; each row group is read once."""
        columns = self.arrow.names if names is None else list(names)
        wanted, place = np.unique(rows, return_inverse=True)
        tables = []
        for group in self.files.row_groups:
            low, high = np.searchsorted(wanted, [group.first_row, group.first_row + group.rows])
            if low < high:
                table = self.files.read(group, columns)
                tables.append(table.take(pa.array(wanted[low:high] - group.first_row)))
        if not tables:
            return pa.schema([self.arrow.field(name) for name in columns]).empty_table()
        return pa.concat_tables(tables).take(pa.array(place.reshape(-1)))

    def everything(self) -> Arrivals:
        """Every event, with every column."""
        return Arrivals.of(ParquetScan(self.files, self.schema, 1).table, self.schema)
