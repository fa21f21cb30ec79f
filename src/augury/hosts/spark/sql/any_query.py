"""The table function of SQL that takes the text of a query as an argument."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Row
from pyspark.sql.types import StructType
from pyspark.sql.udtf import AnalyzeArgument, AnalyzeResult, PartitioningColumn, SelectedColumn

from augury.engine.cut.by_key import shared_key
from augury.engine.job import Job
from augury.engine.matching import matches_in
from augury.errors import HostError, names
from augury.hosts.spark.expressions import quoted
from augury.hosts.spark.jobs import spark_job
from augury.hosts.spark.schemas import arrow_schema, spark_schema
from augury.hosts.spark.sql.tables import ANY_QUERY, table_of
from augury.options import Options, Roles, option_names, read_form
from augury.source import Source


@dataclass
class Analyzed(AnalyzeResult):
    """Spark's analysis of a call, with the compiled job."""

    job: Job | None = None


class AnyQuery:
    """The handler that derives its columns, partitioning and order from the text of the query."""

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
            partitionBy=[PartitioningColumn(quoted(name)) for name in key],
            select=[SelectedColumn(quoted(name)) for name in job.arrow.names],
            job=job,
        )

    def eval(self, events: Row, query: str, **roles: str | None) -> None:
        self.rows.append(events.asDict(recursive=True))

    def terminate(self) -> Iterator[tuple[Any, ...]]:
        if self.rows:
            for table in matches_in(self.job, table_of(self.rows, self.job.arrow)):
                yield from (tuple(row.values()) for row in table.to_pylist())


def _job(text: str, columns: StructType, roles: dict[str, Any]) -> Job:
    known = option_names(Roles)
    unknown = sorted(set(roles) - set(known))
    if unknown:
        raise HostError("A579", f"{ANY_QUERY} has no argument `{unknown[0]}`", f"it takes {names(known)}")
    order = roles.get("order_by")
    given = {**roles, "order_by": None if order is None else [name.strip() for name in order.split(",")]}
    return spark_job(Source(text), arrow_schema(columns), read_form(Roles, given), Options())
