"""SQL with row patterns over tables of a Spark session: patterns run in Python tasks, the rest in Spark SQL."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias
from uuid import uuid4

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from augury.engine.row_patterns import MAX_STEPS, PlannedRowPattern, plan_row_pattern
from augury.engine.row_patterns.evaluate import run
from augury.engine.row_patterns.names import output_names, refuse_ambiguous
from augury.engine.sources.query_text import query_source
from augury.errors import AuguryWarning, Diagnostic, HostError, QueryError
from augury.explain.row_pattern import explain_row_pattern, key_names, numbered
from augury.hosts.spark.expressions import column
from augury.hosts.spark.options import parts
from augury.hosts.spark.releases import collected
from augury.hosts.spark.renaming import map_in_arrow
from augury.hosts.spark.schemas import arrow_schema, result_schema, spark_schema
from augury.hosts.spark.sql.stream_patterns import StreamOptions, numbered_columns, stream_result, stream_split
from augury.hosts.spark.task_errors import with_own_errors
from augury.options import Lateness, Options
from augury.reference.row_pattern.values import python_values
from augury.source import Span

if TYPE_CHECKING:
    from augury.match_recognize.reader import RowPatternTable, Statement
    from augury.match_recognize.syntax import Clause

ARRIVAL = "augury arrival"
"""The column that orders rows by arrival where ORDER BY has ties."""

NOT_SPLIT = "not at all: there is no PARTITION BY, so that one task matches all rows"

TASK_OPTIONS = Options(threads=1)
"""Options of a task: one thread, since Spark runs as many tasks as it has cores for."""

BATCH_ROWS = 100_000
"""Rows of a batch returned to Spark."""


def sql(
    spark: SparkSession,
    query: str | os.PathLike[str],
    /,
    *,
    dialect: str = "trino",
    max_steps: int = MAX_STEPS,
    lateness: Lateness | None = None,
    buckets: int | None = None,
) -> DataFrame:
    """The rows of a SQL query with MATCH_RECOGNIZE in it, over the tables and views of a Spark session.

    Row patterns are split by PARTITION BY; one without it runs in one task, with a warning. Spark runs the rest of the
    query, translated to its SQL: `query` is in another dialect, by default Trino's. Rows are those of `augury.sql`;
    where ORDER BY has ties, they come in the order of the frame's partitions and rows.

    A row pattern over a streaming view returns a streaming frame. ORDER BY starts with the event time, on which the
    view has a watermark, or else `lateness` says how late a row may come, such as "10 minutes"; later rows are left
    out. The state is kept in `buckets` of keys, 16 by default.

    `ticks = spark.sql("SELECT ..."); ticks.createOrReplaceTempView("ticks"); augury.spark.sql(spark, "SELECT ...")`
    """
    if max_steps < 1:
        raise HostError("A793", f"max_steps is a positive integer, not {max_steps!r}")
    how = StreamOptions(lateness, parts("buckets", buckets), max_steps)

    def result(frame: DataFrame, clause: Clause, planned: PlannedRowPattern) -> DataFrame:
        if frame.isStreaming:
            return stream_result(frame, clause, planned, how)
        return _result(frame, planned, max_steps)

    return with_own_errors(_run(spark, query, dialect, result))


def explain_sql(
    spark: SparkSession,
    query: str | os.PathLike[str],
    /,
    *,
    dialect: str = "trino",
    lateness: Lateness | None = None,
    buckets: int | None = None,
) -> str:
    """How Spark runs each MATCH_RECOGNIZE of a SQL query: what `augury.explain_sql` says, and how the input is cut.

    The arguments are those of `sql`. No row pattern is run.
    """
    how = StreamOptions(lateness, parts("buckets", buckets), MAX_STEPS)
    told: list[str] = []

    def result(frame: DataFrame, clause: Clause, planned: PlannedRowPattern) -> DataFrame:
        if frame.isStreaming:
            told.append(explain_row_pattern(planned, stream_split(planned.bound, how)))
            return stream_result(frame, clause, planned, how)
        key = key_names(planned.bound)
        split = f"shuffled by {key}, a task matches all of its keys in one pass" if key else NOT_SPLIT
        told.append(explain_row_pattern(planned, split))
        return _result(frame, planned, MAX_STEPS)

    with warnings.catch_warnings():
        # Their warnings are part of the explanation.
        warnings.simplefilter("ignore", AuguryWarning)
        _run(spark, query, dialect, result)
    return numbered(told)


Result: TypeAlias = "Callable[[DataFrame, Clause, PlannedRowPattern], DataFrame]"
"""Computes the frame of the rows that a clause returns for its input."""


def _run(spark: SparkSession, query: str | os.PathLike[str], dialect: str, result: Result) -> DataFrame:
    """The frame of a query, with every row pattern replaced by the frame that `result` returns for it."""
    try:
        from augury.match_recognize.reader import read_statement, spark_sql
    except ModuleNotFoundError as e:
        if e.name != "sqlglot":
            raise
        raise HostError("A794", f"running SQL needs {e.name}", "pip install 'augury[sql]'") from e
    statement = read_statement(query_source(query), dialect)
    streamed: set[str] = set()
    while nodes := statement.row_patterns():
        _evaluate(spark, statement, nodes[0], result, streamed)
    return _query(spark, spark_sql(statement.tree))


def _query(spark: SparkSession, text: str) -> DataFrame:
    try:
        frame = spark.sql(text)
        # Spark Connect analyses the query only now.
        frame.schema  # noqa: B018
    except AnalysisException as e:
        raise HostError("A694", f"Spark cannot run what surrounds the row patterns: {e}") from e
    return frame


def _evaluate(
    spark: SparkSession, statement: Statement, node: RowPatternTable, result: Result, streamed: set[str]
) -> None:
    """Replace one row pattern by a view of its rows; the names of streaming views are added to `streamed`."""
    from augury.match_recognize.bind import bind_clause
    from augury.match_recognize.reader import (
        alias_columns,
        clause_of,
        input_of,
        input_query,
        replace,
        spark_sql,
        subquery,
        tables_read,
    )

    clause = clause_of(node)
    _, visible = input_of(node)
    frame = _query(spark, spark_sql(input_query(node)))
    if frame.isStreaming and tables_read(node) & streamed:
        word = Span(clause.span.start, clause.span.start + len("MATCH_RECOGNIZE"))
        message = "on a stream, a row pattern cannot read what another one writes"
        help = "write the rows of the inner one to a table, and run the outer one on a stream of that"
        raise QueryError([Diagnostic("A753", message, word, "reads a row pattern", help)], statement.source)

    def answer(number: int) -> tuple[list[Any], pa.DataType, int]:
        inner = _query(spark, spark_sql(subquery(node, clause.queries[number])))
        if inner.isStreaming:
            raise HostError("A693", "a subquery in a row pattern reads a stream", "let it read a table that is finite")
        found = collected(inner)
        return python_values(found.column(0)), found.schema.field(0).type, found.num_columns

    bound = bind_clause(clause, arrow_schema(frame.schema), visible, statement.source, answer)
    planned, view = plan_row_pattern(bound), f"augury_row_pattern_{uuid4().hex}"
    found = result(frame, clause, planned)
    if frame.isStreaming:
        streamed.add(view)
    names, renamed = list(bound.output_schema.names), alias_columns(node)
    unique = output_names(names, renamed, clause.span, statement.source)
    found.createTempView(view)
    replace(node, view, unique)
    if not renamed:
        refuse_ambiguous(names, statement.names(), clause.span, statement.source)


def _result(frame: DataFrame, planned: PlannedRowPattern, max_steps: int) -> DataFrame:
    """The frame of the rows that a row pattern returns."""
    bound = planned.bound
    keys = [column(bound.schema.field(c).name) for c in bound.partition_by]
    numbered = frame.withColumn(ARRIVAL, F.monotonically_increasing_id())
    if keys:
        placed = numbered.repartition(*keys)
    else:
        warnings.warn("the row pattern has no PARTITION BY: one task matches all rows", AuguryWarning, stacklevel=6)
        placed = numbered.repartition(1)
    out = numbered_columns(bound.output_schema)
    task = RowPatternTask(planned, max_steps, result_schema(out))
    return map_in_arrow(placed, task, spark_schema(out))


@dataclass(frozen=True, slots=True)
class RowPatternTask:
    """A task that matches all keys of one partition of a shuffle at once."""

    planned: PlannedRowPattern
    max_steps: int
    result: pa.Schema

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        received = list(batches)
        if not received:
            return
        table = pa.Table.from_batches(received)
        table = table.sort_by(ARRIVAL).drop_columns([ARRIVAL]).cast(self.planned.bound.schema)
        found = run(self.planned, table, self.max_steps, TASK_OPTIONS)
        columns = [c.cast(f.type) for c, f in zip(found.columns, self.result, strict=True)]
        yield from pa.table(columns, schema=self.result).to_batches(max_chunksize=BATCH_ROWS)
