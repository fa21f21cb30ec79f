"""Files -> a frame of matches, without a shuffle: Spark only says which task reads what."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Unpack

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from augury.engine.batches import PIECE
from augury.engine.exchange.blobs import ARRIVAL
from augury.engine.exchange.codes import are_of_types, coded_schema, with_codes
from augury.engine.group import Group, one_group
from augury.engine.job import Roles
from augury.engine.matching import matches_of
from augury.engine.merging import by_time as sorted_by_time
from augury.engine.merging import ticks_of
from augury.engine.scan.arrow_filter import only_types, read_filter
from augury.engine.scan.row_groups import (
    Cannot,
    Footers,
    Layout,
    Range,
    by_files,
    by_time,
    first_rows,
    fragment,
    read_footers,
    row_groups,
    why_not_alike,
)
from augury.engine.sources.events import conform
from augury.engine.statistics.sampling import Totals
from augury.errors import AuguryWarning
from augury.hosts.spark.batch.match import ENOUGH, match_batch, shuffle_partitions
from augury.hosts.spark.batch.sample import SAMPLED, Look
from augury.hosts.spark.match import check_parts, job_for
from augury.hosts.spark.options import RunOptions
from augury.hosts.spark.schemas import arrow_schema, spark_schema
from augury.options import make_options
from augury.runtime.batch import Integers
from augury.schema import EventSchema

LARGE = 4_000_000
"""Events that a task may have to hold."""

HEADS = 16
"""Row groups whose first events the planner looks at."""


def match_files(
    spark: SparkSession,
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    query: str | os.PathLike[str],
    *,
    time: str = "ts",
    type: str | None = "type",
    order_by: str | Iterable[str] | None = None,
    time_unit: str = "s",
    tasks: int | None = None,
    **options: Unpack[RunOptions],
) -> DataFrame:
    """The matches of a query in Parquet files, with the columns of `match`, for a fraction of what a shuffle costs.

    Each of the `tasks` reads its range of the files by itself, with the columns and rows that can matter. The range is
    one of time, for a query whose matches depend on no event farther away than WITHIN, if statistics in the files tell
    which row groups hold it; else some of the files, if their statistics show that no key is in two tasks' files.

    Where neither is possible a warning says why, and the files are read and shuffled as by `match`. The tasks must be
    able to open the files, under the names that Spark has for them. The other arguments are those of `match`.
    """
    check_parts(tasks=tasks)
    names = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    frame = spark.read.parquet(*[os.fspath(name) for name in names])
    footers = read_footers(sorted(frame.inputFiles()))
    look = Look(frame) if isinstance(footers, Cannot) else FilesLook(frame, footers)
    group = one_group(job_for(look, query, Roles(time, type, order_by, time_unit), make_options(**options)))
    layout = footers if isinstance(footers, Cannot) else share_out(footers, group, tasks, shuffle_partitions(frame))
    if isinstance(layout, Cannot):
        warnings.warn(f"the files are shuffled: {layout.reason}", AuguryWarning, stacklevel=2)
        return match_batch(look, group, partitions=tasks, chunks=None)
    number = len(layout.ranges)
    return spark.range(0, number, 1, number).mapInArrow(FilesTask(group, layout), spark_schema(group.result))


def share_out(footers: Footers, group: Group, tasks: int | None, most: int) -> Layout | Cannot:
    """What each task reads: ranges of time if possible, else files with keys of their own."""
    why_not = why_not_alike(footers, group.arrow)
    if why_not is not None:
        return Cannot(why_not)
    groups = row_groups(footers, group.arrow.field(group.schema.time), group.schema)
    if isinstance(groups, Cannot):
        return groups
    number = tasks or max(1, min(most, footers.rows // ENOUGH), -(-footers.rows // LARGE))
    layout = by_time(footers.files, groups, group, number)
    if isinstance(layout, Layout):
        return layout
    other = by_files(footers, groups, group, number)
    return other if isinstance(other, Layout) else Cannot(f"{layout.reason}, and {other.reason}")


class FilesLook(Look):
    """A look at files for which Spark is not needed."""

    def __init__(self, frame: DataFrame, footers: Footers) -> None:
        super().__init__(frame)
        self.footers = footers

    def heads(self, names: Sequence[str]) -> pa.Table:
        arrow = pa.schema([field for field in arrow_schema(self.frame.schema) if field.name in names])
        if why_not_alike(self.footers, arrow) is not None:
            return super().heads(names)
        places = [(file, k) for file, f in enumerate(self.footers.footers) for k in range(f.num_row_groups)]
        chosen = places[:: -(-len(places) // HEADS)]
        tables = [first_rows(self.footers.files[file], k, SAMPLED // HEADS, arrow.names) for file, k in chosen]
        return pa.concat_tables([conform(table, arrow) for table in tables]) if tables else arrow.empty_table()

    def totals(self, schema: EventSchema) -> Totals | None:
        groups = row_groups(self.footers, arrow_schema(self.frame.schema).field(schema.time), schema)
        if isinstance(groups, Cannot) or not groups:
            return super().totals(schema)
        return Totals(self.footers.rows, max(g.last for g in groups) - min(g.first for g in groups))


@dataclass(frozen=True, slots=True, eq=False)
class FilesTask:
    """The number of a range -> the matches in it."""

    group: Group
    layout: Layout

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for number in batch[0].to_pylist():
                for table in self.matches(self.layout.ranges[number]):
                    yield from table.to_batches(max_chunksize=PIECE)

    def matches(self, part: Range) -> Iterator[pa.Table]:
        """The matches of one range."""
        return matches_of(self.group, list(self._pieces(part)), self.layout.chunks, part.chunk)

    def _pieces(self, part: Range) -> Iterator[tuple[pa.Table, Integers]]:
        """The events of the range and of what lies around it, a row group at a time, sorted by time."""
        group, chunks = self.group, self.layout.chunks
        coded = group.coded
        read = self._reader(coded)
        came = 0
        for g in sorted(part.groups, key=lambda g: (g.file, g.number)):
            table = read(g.file, g.number)
            time = ticks_of(table, group.schema)
            if group.arrival_matters:
                table = table.append_column(ARRIVAL, pa.array(np.arange(came, came + len(time))))
                came += len(time)
            if chunks is not None and part.chunk is not None:
                low, high = chunks.limits(part.chunk)
                inside = np.ones(len(time), dtype=bool)
                if low is not None and g.first < low - chunks.reach:
                    inside &= time >= low - chunks.reach
                if high is not None and g.last >= high + chunks.reach:
                    inside &= time < high + chunks.reach
                if not inside.all():
                    table, time = table.filter(pa.array(inside)), time[inside]
            yield sorted_by_time(table, time)

    def _reader(self, coded: tuple[str, ...]) -> Callable[[int, int], pa.Table]:
        """What reads a row group of a file: the columns and rows that can matter, strings as codes."""
        group, files = self.group, self.layout.files
        kind = group.schema.type
        relevant = group.relevant
        types = None if relevant is None or kind not in coded else only_types(relevant, group.schema)
        test = None if relevant is None or types is not None else read_filter(relevant, group.schema)
        arrow = coded_schema(group.arrow, coded)

        def read(file: int, number: int) -> pa.Table:
            one = fragment(files[file], [number], coded)
            # Spark gives a task one core.
            table = one.to_table(columns=group.arrow.names, filter=test, use_threads=False)
            table = conform(with_codes(table, coded), arrow)
            if types is None or kind is None:
                return table
            kept = are_of_types(table[kind], types)
            return table if kept.all() else table.filter(pa.array(kept))

        return read
