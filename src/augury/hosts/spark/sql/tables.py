"""Queries as table functions of SQL."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterator
from typing import Any, Unpack, cast

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.functions import udtf
from pyspark.sql.types import StructType
from pyspark.sql.udtf import UserDefinedTableFunction

from augury.arguments import flag, text
from augury.engine.cut.by_key import shared_key
from augury.engine.job import Job
from augury.engine.matching import matches_in
from augury.engine.sources.query_text import query_source
from augury.errors import HostError, names
from augury.hosts.spark.jobs import spark_job
from augury.hosts.spark.releases import can, require, table_function
from augury.hosts.spark.schemas import arrow_schema, is_frame, spark_schema
from augury.options import MatchOptions, read_options

ANY_QUERY = "augury_match"
"""The name of the table function that takes the text of a query."""


def register(
    spark: SparkSession,
    name: str,
    query: str | os.PathLike[str],
    schema: StructType | DataFrame,
    *,
    several_keys: bool = False,
    **options: Unpack[MatchOptions],
) -> None:
    """Register a query as a table function of SQL, for events of these columns.

    `SELECT * FROM name(TABLE(events) PARTITION BY (symbol))`: each partition of the call is matched by itself, so it
    takes the key of the query, or `WITH SINGLE PARTITION` for one without. A partition with several keys is most likely
    a mistake in the call and an error, unless `several_keys` allows it. A PARTITION BY that is too fine cannot be
    detected from within a partition: only the matches inside one are found.
    """
    name = text("name", name)
    # Without PARTITION BY in calls, a partition is whatever rows Spark keeps together.
    several = flag("several_keys", several_keys) or not can("PARTITION BY in a call")
    columns = cast("DataFrame", schema).schema if is_frame(schema) else cast("StructType", schema)
    job = spark_job(query_source(query), arrow_schema(columns), *read_options(options))
    handlers = _on_arrow(job, several), _on_rows(job, several)
    spark.udtf.register(name, table_function(*handlers, spark_schema(job.result)))


def register_any_query(spark: SparkSession, name: str = ANY_QUERY) -> None:
    """Register a table function that takes the text of a query: `augury_match(TABLE(events), 'PATTERN ...')`.

    It partitions the events by the key of the query. Rows are passed to Python one by one, so `register` is faster.
    """
    require("register_any_query", "register each query by its name with `augury.spark.register`")
    from augury.hosts.spark.sql.any_query import AnyQuery

    spark.udtf.register(name, cast("UserDefinedTableFunction", udtf(AnyQuery)))


def check_key(job: Job, events: pa.Table) -> None:
    """Check that a partition of a call holds events of one key, if the query has any; null keys are ignored."""
    for name in shared_key(job.program):
        values = pc.unique(events[name]).drop_null()
        if len(values) > 1:
            shown = ", ".join(repr(value) for value in values.slice(0, 2).to_pylist())
            raise HostError(
                "A618",
                f"a partition of the call holds several values of `{name}`, the key of the query: {shown}",
                f"call it with PARTITION BY {names([name])}, or register it with several_keys=True",
            )


def _on_arrow(job: Job, several_keys: bool) -> type[Any]:
    """A handler class for one query; Spark pickles the class with everything it refers to."""

    class Handler:
        def __init__(self) -> None:
            self.batches: list[pa.RecordBatch] = []

        def eval(self, events: pa.RecordBatch) -> Iterator[pa.Table]:
            self.batches.append(events)
            return iter(())

        def terminate(self) -> Iterator[pa.Table]:
            if self.batches:
                events = pa.Table.from_batches(self.batches)
                if not several_keys:
                    check_key(job, events)
                yield from matches_in(job, events)

    return Handler


def _on_rows(job: Job, several_keys: bool) -> type[Any]:
    """A handler class for one query that gets its events row by row."""

    class Handler:
        def __init__(self) -> None:
            self.rows: list[dict[str, Any]] = []

        def eval(self, events: Row) -> None:
            self.rows.append(events.asDict(recursive=True))

        def terminate(self) -> Iterator[tuple[Any, ...]]:
            if self.rows:
                events = table_of(self.rows, job.arrow)
                if not several_keys:
                    check_key(job, events)
                for table in matches_in(job, events):
                    yield from (tuple(row.values()) for row in table.to_pylist())

    return Handler


def table_of(rows: list[dict[str, Any]], arrow: pa.Schema) -> pa.Table:
    """Rows from Spark as an Arrow table: their instants have no zone and are in the machine's time zone."""
    zoned = [field.name for field in arrow if pa.types.is_timestamp(field.type) and field.type.tz is not None]
    for row in rows:
        for name in zoned:
            if row[name] is not None:
                row[name] = row[name].astimezone(dt.UTC)
    return pa.Table.from_pylist(rows, schema=arrow)
