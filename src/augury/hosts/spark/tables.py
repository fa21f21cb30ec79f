"""Patterns as table functions of SQL."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Iterable, Iterator
from typing import Any, Unpack, cast

import pyarrow as pa
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.functions import udtf
from pyspark.sql.types import StructType
from pyspark.sql.udtf import UserDefinedTableFunction

from augury.hosts.events import conform
from augury.hosts.local import make_options, query_source
from augury.hosts.reorder import arrive, in_order
from augury.hosts.spark.job import Job, Roles, job_of
from augury.hosts.spark.options import RunOptions
from augury.hosts.spark.partition import FIRST_DERIVED
from augury.hosts.spark.releases import require, table_function
from augury.hosts.spark.schemas import arrow_schema, spark_schema
from augury.hosts.stages import step
from augury.runtime.state import FOREVER

ANY_QUERY = "augury_match"
"""The table function that takes the text of a query."""


def register(
    spark: SparkSession,
    name: str,
    query: str | os.PathLike[str],
    schema: StructType | DataFrame,
    *,
    time: str = "ts",
    type: str | None = "type",
    order_by: str | Iterable[str] | None = None,
    time_unit: str = "s",
    **options: Unpack[RunOptions],
) -> None:
    """Make a query a table function of SQL, for events of these columns.

    `SELECT * FROM name(TABLE(events) PARTITION BY (symbol))`: each partition of the call is matched by itself, so it
    takes the key of the query, or `WITH SINGLE PARTITION` for one without.
    """
    columns = schema if isinstance(schema, StructType) else schema.schema
    roles = Roles(time, type, order_by, time_unit)
    job = job_of(query_source(query), arrow_schema(columns), roles, make_options(**options))
    spark.udtf.register(name, table_function(_on_arrow(job), _on_rows(job), spark_schema(job.result)))


def register_any_query(spark: SparkSession, name: str = ANY_QUERY) -> None:
    """Make a table function that takes the text of a query: `augury_match(TABLE(events), 'PATTERN ...')`.

    It splits the events by the key of the query itself. Rows cross to Python one by one, so `register` is faster.
    """
    require("register_any_query", "register each query by its name with `augury.spark.register`")
    from augury.hosts.spark.any_query import AnyQuery

    spark.udtf.register(name, cast("UserDefinedTableFunction", udtf(AnyQuery)))


def matches_in(job: Job, events: pa.Table) -> Iterator[pa.Table]:
    """The matches of one partition, whose events come in any order."""
    table = conform(events.select(job.arrow.names), job.arrow)
    ordered = in_order(arrive(table, job.schema, 0), job.schema)
    _, found, _ = step(job.stages(), ordered, FOREVER, FIRST_DERIVED, job.options)
    return iter(job.columns(found[-1]))


def _on_arrow(job: Job) -> type[Any]:
    """The handler of one query; Spark ships the class with what it refers to."""

    class Handler:
        def __init__(self) -> None:
            self.batches: list[pa.RecordBatch] = []

        def eval(self, events: pa.RecordBatch) -> Iterator[pa.Table]:
            self.batches.append(events)
            return iter(())

        def terminate(self) -> Iterator[pa.Table]:
            if self.batches:
                yield from matches_in(job, pa.Table.from_batches(self.batches))

    return Handler


def _on_rows(job: Job) -> type[Any]:
    """The handler of one query that gets its events one by one."""

    class Handler:
        def __init__(self) -> None:
            self.rows: list[dict[str, Any]] = []

        def eval(self, events: Row) -> None:
            self.rows.append(events.asDict(recursive=True))

        def terminate(self) -> Iterator[tuple[Any, ...]]:
            if self.rows:
                for table in matches_in(job, table_of(self.rows, job.arrow)):
                    yield from (tuple(row.values()) for row in table.to_pylist())

    return Handler


def table_of(rows: list[dict[str, Any]], arrow: pa.Schema) -> pa.Table:
    """Rows as Spark hands them to Python: instants are without a zone, and in that of the machine."""
    zoned = [field.name for field in arrow if pa.types.is_timestamp(field.type) and field.type.tz is not None]
    for row in rows:
        for name in zoned:
            if row[name] is not None:
                row[name] = row[name].astimezone(dt.UTC)
    return pa.Table.from_pylist(rows, schema=arrow)
