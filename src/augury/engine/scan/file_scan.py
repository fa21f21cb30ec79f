"""A scan of Parquet files: the columns of a query are read at once, those that matches show on demand."""

from __future__ import annotations

import time
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.fs import LocalFileSystem

from augury.engine.arrivals import Arrivals, arrive, in_order
from augury.engine.host import Totals
from augury.engine.scan.exact_times import times_are_exact
from augury.engine.scan.narrow import Pushdown, narrowed, pushdown_of
from augury.engine.scan.needed import component_filters
from augury.engine.scan.row_groups import all_have_times, can_matter, filtered_columns, ranges
from augury.engine.sources.files import validated
from augury.engine.sources.footers import column_places, open_footer
from augury.engine.sources.readable import readable_schema, unreadable
from augury.engine.threads import Workers
from augury.engine.warnings import types_of
from augury.errors import HostError
from augury.ir.query import BoundQuery
from augury.runtime.arrow_numbers import to_arrow
from augury.runtime.batch import Integers
from augury.runtime.columns import distinct_text
from augury.schema import EventSchema

MAX_WHOLE_ROWS = 1 << 23
"""Rows up to which files are read as a whole; longer ones are matched while they are read."""

SAMPLED_ROW_GROUPS = 16
"""Row groups that the planner samples, evenly spread, if files are not read as a whole."""


MAX_KNOWN_FOOTERS = 64
"""Footers of files that this process keeps: checking one takes 20 microseconds for each column of a row group."""

MIN_AGE_NANOSECONDS = 2 * 10**9
"""Age of a file from which its footer is kept: times of files are coarse, and would not tell a change right after."""


@dataclass(frozen=True, slots=True)
class NumberedRows:
    """One row group of a file, and the numbers of its events in the stream."""

    file: int
    number: int
    first_row: int
    rows: int


@dataclass(frozen=True, slots=True, eq=False)
class ParquetFiles:
    """Files of one schema, read one after the other; `seen` has their sizes and times, to notice a change."""

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

    @property
    def rows(self) -> int:
        return sum(footer.num_rows for footer in self.footers)

    def size(self, columns: Sequence[str]) -> int:
        """The uncompressed bytes of these columns."""
        names = set(columns)
        return sum(
            footer.row_group(number).column(k).total_uncompressed_size
            for footer in self.footers
            for places in [[k for path, k in column_places(footer).items() if path.split(".")[0] in names]]
            for number in range(footer.num_row_groups)
            for k in places
        )

    def read(
        self, group: NumberedRows, columns: Sequence[str], coded: Sequence[str] = (), *, use_threads: bool = False
    ) -> pa.Table:
        """Some columns of a row group; strings of columns `coded` are read as dictionary codes.

        With `use_threads` columns are decoded on Arrow's threads, else on this one.
        """
        path = self.paths[group.file]
        try:
            self._check_unchanged(group.file)
            # A reader per call: a reader is not thread-safe.
            with pq.ParquetFile(path, metadata=self.footers[group.file], read_dictionary=list(coded)) as file:
                table = file.read_row_group(group.number, columns=list(columns), use_threads=use_threads)
                validated(table)
                if table.num_rows != group.rows:
                    raise pa.ArrowInvalid(f"a row group of {group.rows} rows has {table.num_rows}")
        except (OSError, pa.ArrowException) as e:
            raise unreadable(f"`{path}`", e) from e
        return table.select(list(columns)).replace_schema_metadata(None)

    def read_first(self, group: NumberedRows, columns: Sequence[str], rows: int, *, use_threads: bool) -> pa.Table:
        """Some columns of the first `rows` of a row group, or of all of it unless that is much more."""
        if rows > group.rows // 2:
            return self.read(group, columns, use_threads=use_threads)
        path = self.paths[group.file]
        try:
            self._check_unchanged(group.file)
            with pq.ParquetFile(path, metadata=self.footers[group.file]) as file:
                # A batch is decoded when it is asked for.
                batches = file.iter_batches(rows, [group.number], list(columns), use_threads=use_threads)
                table = pa.Table.from_batches([next(batches)])
                validated(table)
                if table.num_rows != rows:
                    raise pa.ArrowInvalid(f"the first {rows} rows of a row group are {table.num_rows}")
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


def parquet_files(*given: Path) -> ParquetFiles | None:
    """Parquet files, and those in folders; None if they cannot be read column by column as they are.

    Hive-partitioned folders, and files that differ in their columns, are left to Arrow's dataset reader.
    """
    paths: list[Path] = []
    for path in given:
        found = [path]
        if path.is_dir():
            # Not at the top: it imports pandas.
            from pyarrow.dataset import dataset

            found = [Path(file) for file in dataset(path, format="parquet").files]
        if any("=" in part for file in found for part in file.relative_to(path).parts[:-1]):
            return None
        paths += found
    if not paths:
        return None
    seen = tuple(_identity(file) for file in paths)
    footers = tuple(_footer(file, identity) for file, identity in zip(paths, seen, strict=True))
    schemas = [footer.schema.to_arrow_schema().remove_metadata() for footer in footers]
    arrow = schemas[0]
    if any(not schema.equals(arrow) for schema in schemas) or not arrow.names or readable_schema(arrow) != arrow:
        return None
    # A name with a dot could mean a part of a nested column.
    if any("." in name for name in arrow.names):
        return None
    return ParquetFiles(tuple(paths), footers, seen, arrow)


def dataset_files(dataset: Any) -> ParquetFiles | None:
    """The files of a data set, if it is exactly some local Parquet files, without a filter; else None."""
    if type(dataset).__name__ != "FileSystemDataset" or not isinstance(dataset.filesystem, LocalFileSystem):
        return None
    if type(dataset.format).__name__ != "ParquetFileFormat" or not dataset.files:
        return None
    files = parquet_files(*map(Path, dataset.files))
    if files is None or files.arrow != dataset.schema.remove_metadata() or files.rows != dataset.count_rows():
        return None
    return files


def _footer(path: Path, identity: tuple[int, int]) -> pq.FileMetaData:
    """The footer of a file, which is decoded and checked once in this process while the file stays as it is."""
    _, modified = identity
    if time.time_ns() - modified < MIN_AGE_NANOSECONDS:
        return open_footer(path)
    # Anybody who may write the file may set when it was modified, but not when it was changed.
    return _known_footer(path, identity, path.stat().st_ctime_ns)


@lru_cache(maxsize=MAX_KNOWN_FOOTERS)
def _known_footer(path: Path, identity: tuple[int, int], changed: int) -> pq.FileMetaData:
    return open_footer(path)


def _identity(path: Path) -> tuple[int, int]:
    found = path.stat()
    return found.st_size, found.st_mtime_ns


class ParquetScan:
    """A scan of Parquet files, which caches the part that each query reads."""

    def __init__(self, files: ParquetFiles, schema: EventSchema, threads: int) -> None:
        self.files, self.schema, self.threads = files, schema, threads
        self._found: dict[int, tuple[BoundQuery, Arrivals]] = {}
        self.row_groups_read, self.columns_read = 0, set[str]()
        """The number of row groups that queries have read, and the names of the columns."""

    @property
    def arrow(self) -> pa.Schema:
        return self.files.arrow

    @property
    def rows(self) -> int:
        return self.files.rows

    @property
    def identity(self) -> Hashable:
        return self.files.paths, self.files.seen

    def events(self, query: BoundQuery) -> Arrivals:
        """The events that a rewritten query reads, in order."""
        known = self._found.get(id(query))
        if known is None:
            groups = self._that_can_matter(query)
            known = self._found[id(query)] = (query, self._read(pushdown_of(query, self.arrow.names), groups))
        return known[1]

    def _that_can_matter(self, query: BoundQuery) -> list[NumberedRows]:
        """The row groups that may hold an event that matters, or one with an error to report."""
        relevant, files = component_filters([query]), self.files
        groups = [group for group in files.row_groups if group.rows]
        doubtful = [f for f in self.arrow if pa.types.is_uint64(f.type) and f.name in query.schema.names]
        if relevant is None or doubtful or not times_are_exact(self.arrow.field(self.schema.time).type, self.schema):
            return groups
        columns, found = filtered_columns(relevant, self.schema.type), []
        places = [column_places(footer) for footer in files.footers]
        filtered = [{name: k for name, k in known.items() if name in columns} for known in places]
        for group in groups:
            footer, file = files.footers[group.file], group.file
            all_timed = all_have_times(footer, group.number, places[file].get(self.schema.time))
            known = ranges(footer, group.number, filtered[file]) if all_timed else {}
            if not all_timed or can_matter(relevant, known, self.arrow, self.schema.type):
                found.append(group)
        return found

    def _read(self, pushdown: Pushdown, groups: Sequence[NumberedRows]) -> Arrivals:
        """The events of row groups that the pushdown keeps, in order."""
        nothing = pa.schema([self.arrow.field(name) for name in pushdown.columns])
        workers = Workers(self.threads if len(groups) > 1 else 1)
        return in_order(Arrivals.concat(list(self._pieces(pushdown, groups, workers)), nothing), self.schema)

    def _pieces(
        self, pushdown: Pushdown, groups: Sequence[NumberedRows], workers: Workers, *, encode: bool = False
    ) -> Iterator[Arrivals]:
        """The events of each row group that the pushdown keeps, read in parallel; `encode` also encodes its strings."""
        coded = [name for name in pushdown.columns if pa.types.is_string(self.arrow.field(name).type)]
        more_threads = self.threads > len(groups)

        def piece(group: NumberedRows) -> Arrivals:
            table = self.files.read(group, pushdown.columns, coded, use_threads=more_threads)
            events = narrowed(table, self.schema, pushdown, group.first_row)
            if encode:
                batch = events.batch(self.schema)
                for name in coded:
                    distinct_text(batch, name)
            return events

        self.row_groups_read += len(groups)
        self.columns_read |= {*pushdown.columns}
        yield from workers.map(piece, groups)

    def sample(self, query: BoundQuery) -> tuple[Arrivals, Totals] | None:
        groups = self._that_can_matter(query)
        if not self.is_long or len(groups) <= SAMPLED_ROW_GROUPS:
            return None
        chosen = [groups[k] for k in np.linspace(0, len(groups) - 1, SAMPLED_ROW_GROUPS).astype(int).tolist()]
        some = self._read(pushdown_of(query, self.arrow.names), chosen)
        share = sum(group.rows for group in groups) / sum(group.rows for group in chosen)
        ticks = int(some.time[-1]) - int(some.time[0]) if len(some) else 0
        return some, Totals(round(len(some) * share), ticks)

    @property
    def is_long(self) -> bool:
        return self.rows > MAX_WHOLE_ROWS

    @property
    def has_pieces(self) -> bool:
        return True

    def has_read(self, query: BoundQuery) -> bool:
        return id(query) in self._found

    def pieces(self, query: BoundQuery, workers: Workers, *, encode: bool = False) -> Iterator[Arrivals]:
        return self._pieces(pushdown_of(query, self.arrow.names), self._that_can_matter(query), workers, encode=encode)

    def memory(self, query: BoundQuery) -> int:
        return self.files.size(pushdown_of(query, self.arrow.names).columns)

    def types(self) -> frozenset[str]:
        """The type names that occur."""
        if self.schema.type is None:
            return frozenset()
        name = self.schema.type
        groups = [g for g in self.files.row_groups if g.rows]
        return frozenset[str]().union(*(types_of(self.files.read(g, [name], [name]), self.schema) for g in groups))

    @cached_property
    def table(self) -> pa.Table:
        """All events with all columns, in arrival order."""
        groups = list(self.files.row_groups)
        workers = Workers(self.threads if len(groups) > 1 else 1)
        tables = list(workers.map(lambda group: self.files.read(group, self.arrow.names), groups))
        return pa.concat_tables(tables) if tables else self.arrow.empty_table()

    @cached_property
    def ordered(self) -> Arrivals:
        """All events with all columns, in order."""
        return in_order(arrive(self.table, self.schema, 0), self.schema)

    @property
    def log(self) -> ParquetLog:
        """The events for matches to show."""
        return ParquetLog(self.files, self.schema, self.threads)


@dataclass(frozen=True, slots=True, eq=False)
class ParquetLog:
    """An `EventLog` over Parquet files, which reads events when a match shows them."""

    files: ParquetFiles
    schema: EventSchema
    threads: int

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
                places = wanted[low:high] - group.first_row
                table = self.files.read_first(group, columns, int(places[-1]) + 1, use_threads=self.threads > 1)
                tables.append(table.take(to_arrow(places)))
        if not tables:
            return pa.schema([self.arrow.field(name) for name in columns]).empty_table()
        return pa.concat_tables(tables).take(to_arrow(place.reshape(-1)))

    def everything(self) -> Arrivals:
        """Every event, with every column."""
        return Arrivals.of(ParquetScan(self.files, self.schema, self.threads).table, self.schema)
