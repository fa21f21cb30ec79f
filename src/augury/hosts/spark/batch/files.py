"""Matching of Parquet files without a shuffle: Spark only assigns ranges of the files to tasks."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from typing import Unpack

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from augury.engine.group import one_group
from augury.engine.host import Totals
from augury.engine.scan.parquet import CannotSplit, Footers, first_rows, read_footers, row_groups, why_other_columns
from augury.engine.scan.tasks import ScanAndMatch, plan_scan
from augury.engine.sources.column_types import conform
from augury.errors import AuguryWarning
from augury.hosts.spark.batch.match import match_batch, shuffle_partitions
from augury.hosts.spark.batch.sample import SAMPLE_EVENTS, SampledFrame
from augury.hosts.spark.match import job_for
from augury.hosts.spark.options import parts
from augury.hosts.spark.schemas import arrow_schema, spark_schema
from augury.options import MatchOptions, read_options
from augury.schema import EventSchema

SAMPLED_ROW_GROUPS = 16  # whose first events are sampled


def match_files(
    spark: SparkSession,
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    query: str | os.PathLike[str],
    *,
    tasks: int | None = None,
    **options: Unpack[MatchOptions],
) -> DataFrame:
    """The matches of a query in Parquet files, with the columns of `match`, at a fraction of the cost of a shuffle.

    Each of the `tasks` reads its own range of the files, and only the columns and rows that can matter. Where matches
    depend on no event farther away than WITHIN, ranges are of time, if the statistics of the files say which row groups
    hold them. Otherwise a range is some of the files, if their statistics show that no key is in files of two tasks.

    Where neither is possible, a warning says why, and the files are read and shuffled as by `match`. The tasks must be
    able to open the files under the names that Spark has for them. The options are those of `augury.match`.
    """
    tasks = parts("tasks", tasks)
    names = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    frame = spark.read.parquet(*[os.fspath(name) for name in names])
    footers = read_footers(sorted(frame.inputFiles()))
    sampled = SampledFrame(frame) if isinstance(footers, CannotSplit) else SampledFiles(frame, footers)
    group = one_group(job_for(sampled, query, *read_options(options)))
    plan = footers if isinstance(footers, CannotSplit) else plan_scan(footers, group, tasks, shuffle_partitions(frame))
    if isinstance(plan, CannotSplit):
        warnings.warn(f"the files are shuffled: {plan.reason}", AuguryWarning, stacklevel=2)
        return match_batch(sampled, group, partitions=tasks, chunks=None)
    number = len(plan.tasks)
    return spark.range(0, number, 1, number).mapInArrow(ScanAndMatch(group, plan), spark_schema(group.result))


class SampledFiles(SampledFrame):
    """A sample of Parquet files that is read without Spark."""

    def __init__(self, frame: DataFrame, footers: Footers) -> None:
        super().__init__(frame)
        self.footers = footers

    def heads(self, names: Sequence[str]) -> pa.Table:
        arrow = pa.schema([field for field in arrow_schema(self.frame.schema) if field.name in names])
        if why_other_columns(self.footers, arrow) is not None:
            return super().heads(names)
        places = [(file, k) for file, f in enumerate(self.footers.footers) for k in range(f.num_row_groups)]
        chosen = places[:: -(-len(places) // SAMPLED_ROW_GROUPS)]
        tables = [
            first_rows(self.footers.files[file], k, SAMPLE_EVENTS // SAMPLED_ROW_GROUPS, arrow.names)
            for file, k in chosen
        ]
        return pa.concat_tables([conform(table, arrow) for table in tables]) if tables else arrow.empty_table()

    def totals(self, schema: EventSchema) -> Totals | None:
        groups = row_groups(self.footers, arrow_schema(self.frame.schema).field(schema.time), schema)
        if isinstance(groups, CannotSplit) or not groups:
            return super().totals(schema)
        return Totals(self.footers.rows, max(g.last for g in groups) - min(g.first for g in groups))
