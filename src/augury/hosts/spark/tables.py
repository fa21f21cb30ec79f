"""Patterns as table functions of SQL."""

from __future__ import annotations

import datetime as dt
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias, Unpack, cast

import pyarrow as pa
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.functions import arrow_udtf, udtf
from pyspark.sql.types import StructType
from pyspark.sql.udtf import (
    AnalyzeArgument,
    AnalyzeResult,
    PartitioningColumn,
    SelectedColumn,
    UserDefinedTableFunction,
)

from augury.errors import HostError
from augury.hosts.events import conform
from augury.hosts.local import make_options, query_source
from augury.hosts.reorder import arrive, in_order
from augury.hosts.spark.job import Job, Roles, job_of
from augury.hosts.spark.keys import shared_key
from augury.hosts.spark.options import RunOptions
from augury.hosts.spark.partition import FIRST_DERIVED
from augury.hosts.spark.schemas import arrow_schema, spark_schema
from augury.hosts.stages import step
from augury.options import Options
from augury.runtime.state import FOREVER
from augury.source import Source

Decorator: TypeAlias = "Callable[[type[Any]], UserDefinedTableFunction]"

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
    columns = schema.schema if isinstance(schema, DataFrame) else schema
    roles = Roles(time, type, order_by, time_unit)
    job = job_of(query_source(query), arrow_schema(columns), roles, make_options(**options))
    decorate = cast("Decorator", arrow_udtf(returnType=spark_schema(job.result)))
    spark.udtf.register(name, decorate(_on_arrow(job)))


def register_any_query(spark: SparkSession, name: str = ANY_QUERY) -> None:
    """Make a table function that takes the text of a query: `augury_match(TABLE(events), 'PATTERN ...')`.

    It splits the events by the key of the query itself. Rows cross to Python one by one, so `register` is faster.
    """
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


@dataclass
class Analyzed(AnalyzeResult):
    """What Spark has to know of a call, and the job to do for it."""

    job: Job | None = None


class AnyQuery:
    """The handler that finds out its columns, its partitions and their order from the text of the query."""

    def __init__(self, analyzed: Analyzed) -> None:
        assert analyzed.job is not None
        self.job = analyzed.job
        self.rows: list[dict[str, Any]] = []

    @staticmethod
    def analyze(events: AnalyzeArgument, query: AnalyzeArgument, **roles: AnalyzeArgument) -> Analyzed:
        if not events.isTable or not isinstance(events.dataType, StructType):
            raise HostError("A577", f"the first argument of {ANY_QUERY} is a table", "write TABLE(events)")
        if not isinstance(query.value, str):
            raise HostError("A578", f"the second argument of {ANY_QUERY} is the text of a query, a constant string")
        job = _job(query.value, events.dataType, {name: argument.value for name, argument in roles.items()})
        key = shared_key(job.program)
        return Analyzed(
            spark_schema(job.result),
            withSinglePartition=not key,
            partitionBy=[PartitioningColumn(_quoted(name)) for name in key],
            select=[SelectedColumn(_quoted(name)) for name in job.arrow.names],
            job=job,
        )

    def eval(self, events: Row, query: str, **roles: str | None) -> None:
        self.rows.append(events.asDict(recursive=True))

    def terminate(self) -> Iterator[tuple[Any, ...]]:
        if self.rows:
            for table in matches_in(self.job, _table(self.rows, self.job.arrow)):
                yield from (tuple(row.values()) for row in table.to_pylist())


def _table(rows: list[dict[str, Any]], arrow: pa.Schema) -> pa.Table:
    """Rows as Spark hands them to Python: instants are without a zone, and in that of the machine."""
    zoned = [field.name for field in arrow if pa.types.is_timestamp(field.type) and field.type.tz is not None]
    for row in rows:
        for name in zoned:
            if row[name] is not None:
                row[name] = row[name].astimezone(dt.UTC)
    return pa.Table.from_pylist(rows, schema=arrow)


def _job(text: str, columns: StructType, roles: dict[str, Any]) -> Job:
    unknown = sorted(set(roles) - {"time", "type", "order_by", "time_unit"})
    if unknown:
        raise HostError(
            "A579", f"{ANY_QUERY} has no argument `{unknown[0]}`", "it takes time, type, order_by and time_unit"
        )
    order = roles.get("order_by")
    given = {**roles, "order_by": None if order is None else [name.strip() for name in order.split(",")]}
    return job_of(Source(text), arrow_schema(columns), Roles(**given), Options())


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"
