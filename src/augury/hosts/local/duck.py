"""DuckDB for the SQL around row patterns, locked so that a query sees the given tables and nothing else."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from types import TracebackType
from typing import Any, Self

import duckdb
import pyarrow as pa

from augury.budget import Budget, out_of_memory
from augury.errors import BudgetExceeded, HostError
from augury.ir.sql_types import DAY_SECONDS, INTERVAL, MONTHS

DIVIDE = "augury_divide"
"""Division as in SQL: integer division of integers, else DuckDB's."""

CONFIGURATION = {
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    "allow_community_extensions": "false",
    "python_enable_replacements": "false",
}

PREPARATION = (
    f"CREATE MACRO {DIVIDE}(a INTEGER, b INTEGER) AS a // b, (a BIGINT, b BIGINT) AS a // b, "
    "(a HUGEINT, b HUGEINT) AS a // b, (a DOUBLE, b DOUBLE) AS a / b, (a INTERVAL, b DOUBLE) AS a / b",
    "SET preserve_insertion_order = true",
)

INTERRUPT_SECONDS = 0.05  # between two interrupts of a query that is to end

LOCK = ("SET enable_external_access = false", "SET lock_configuration = true")


def _durations(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Convert intervals without months back to durations, for which DuckDB has the same type."""
    in_list = pa.types.is_list(column.type)
    rows = column.to_pylist()
    if any(v is not None and v.months for row in rows for v in (row or () if in_list else (row,))):
        return column
    values = [None if row is None else [_micros(v) for v in row] for row in rows] if in_list else map(_micros, rows)
    whole, type = (pa.list_(pa.int64()), pa.list_(INTERVAL)) if in_list else (pa.int64(), INTERVAL)
    return pa.chunked_array([pa.array(list(values), whole).cast(type)])


def _micros(interval: Any) -> int | None:
    if interval is None:
        return None
    return int(interval.days * DAY_SECONDS * 1_000_000 + interval.nanoseconds // 1000)


class Duck:
    """An in-memory DuckDB database with the given tables, without access to files, the network or extensions.

    It is opened on first use, and keeps to a budget.
    """

    functions = (DIVIDE,)

    def __init__(self, tables: Mapping[str, pa.Table], budget: Budget) -> None:
        self._tables = tables
        self._budget = budget
        self._results = 0
        self._opened: duckdb.DuckDBPyConnection | None = None

    @property
    def _connection(self) -> duckdb.DuckDBPyConnection:
        if self._opened is None:
            self._opened = duckdb.connect(":memory:", config=dict(CONFIGURATION))
            for statement in PREPARATION:
                self._opened.execute(statement)
            types = [f.type for table in self._tables.values() for f in table.schema]
            zones = {type.tz for type in types if pa.types.is_timestamp(type)} - {None}
            # Times keep their zone if all have the same one: DuckDB has only the zone of the session.
            self._opened.execute("SET TimeZone = ?", [zones.pop() if len(zones) == 1 else "UTC"])
            self._opened.execute("SET memory_limit = ?", [f"{self._budget.memory}B"])
            for statement in LOCK:
                self._opened.execute(statement)
            for name, table in self._tables.items():
                self._register(name, table)
        return self._opened

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._opened is not None:
            self._opened.close()

    def register(self, table: pa.Table, columns: int) -> str:
        """Register the rows of a row pattern as a table, under a name that no query uses by accident."""
        self._results += 1
        name = f"augury row pattern {self._results}"
        self._register(name, table.rename_columns([f"column {k}" for k in range(columns)]))
        return name

    def query(self, text: str) -> pa.Table:
        """Run a query."""
        try:
            table = self._rows(text)
        except duckdb.OutOfMemoryException as e:
            raise out_of_memory(self._budget.memory) from e
        except duckdb.Error as e:
            raise HostError("A792", f"DuckDB cannot run what surrounds the row patterns: {e}") from e
        for k, field in enumerate(table.schema):
            if field.type == MONTHS or (pa.types.is_list(field.type) and field.type.value_type == MONTHS):
                table = table.set_column(k, field.name, _durations(table.column(k)))
        return table

    def _rows(self, text: str) -> pa.Table:
        """Run a query in another thread, and interrupt it on a timeout or Ctrl-C, which DuckDB does not notice."""
        connection, ended = self._connection, threading.Event()

        def computed() -> pa.Table:
            try:
                return connection.sql(text).to_arrow_table()
            finally:
                ended.set()

        try:
            return self._budget.in_thread(computed)
        except (BudgetExceeded, KeyboardInterrupt):
            # A busy connection cannot be closed, and an interrupt before the query has started is lost: repeat it.
            while not ended.wait(INTERRUPT_SECONDS):
                connection.interrupt()
            raise

    def _register(self, name: str, table: pa.Table) -> None:
        try:
            self._connection.register(name, table)
        except duckdb.Error as e:
            raise HostError("A797", f"DuckDB cannot read the table `{name}`: {e}") from e
