"""SQL with row patterns over local tables: the patterns are evaluated here, what surrounds them in DuckDB."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from augury.engine.results.render import cell, text_table
from augury.engine.results.values import to_python
from augury.engine.sources.events import Events, read_events
from augury.engine.sources.query_text import query_source
from augury.errors import Diagnostic, HostError, QueryError, suggestion
from augury.ir.row_pattern import BoundRowPattern, Order
from augury.reference.row_pattern.output import match_rows
from augury.reference.row_pattern.search import Budget
from augury.reference.row_pattern.values import python_values
from augury.source import Source

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from augury.hosts.local.duck import Duck
    from augury.match_recognize.reader import RowPatternTable, Statement

MAX_STEPS = 5_000_000
"""Steps of the search at one row, beside those that its partition's rows need: some 20 seconds."""

SHOWN_ROWS = 20
"""Rows that `repr` of a result shows."""


class SqlResult:
    """The rows of a query, as an Arrow table and whatever reads one."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def to_arrow(self) -> pa.Table:
        """The rows as an Arrow table."""
        return self._table

    def to_pandas(self) -> pd.DataFrame:
        """The rows as a pandas data frame."""
        frame: pd.DataFrame = self._table.to_pandas()
        return frame

    def to_polars(self) -> pl.DataFrame:
        """The rows as a polars data frame."""
        import polars as pl

        frame = pl.from_arrow(self._table)
        assert isinstance(frame, pl.DataFrame)
        return frame

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)

    def __len__(self) -> int:
        return int(self._table.num_rows)

    def __repr__(self) -> str:
        count = "1 row" if len(self) == 1 else f"{len(self)} rows"
        shown = self._table.slice(0, SHOWN_ROWS)
        columns = [[cell(v, 40) for v in to_python(c.combine_chunks())] for c in shown.columns]
        text = text_table(self._table.column_names, list(zip(*columns, strict=True)))
        more = "" if len(self) <= SHOWN_ROWS else f"\n... and {len(self) - SHOWN_ROWS} more"
        return f"{count}\n{text}{more}"


def sql(
    query: str | os.PathLike[str],
    /,
    *,
    dialect: str = "trino",
    max_steps: int = MAX_STEPS,
    **tables: Events,
) -> SqlResult:
    """The rows of a SQL query with MATCH_RECOGNIZE in it, over tables given by name.

    A table is an Arrow table, a pandas or polars frame, a path to Parquet, CSV, JSON lines or Arrow files, or an
    iterable of dicts. Any number of MATCH_RECOGNIZE relations may stand wherever a table may; what surrounds them runs
    in DuckDB, which sees these tables and nothing else. `query` is the text, or a `Path` to a file that holds it. A
    search that takes more than `max_steps` steps at one row is an error.

    >>> ticks = [{"day": 1, "price": 9}, {"day": 2, "price": 7}, {"day": 3, "price": 8}]
    >>> sql('''SELECT * FROM ticks MATCH_RECOGNIZE (
    ...     ORDER BY day
    ...     MEASURES LAST(DOWN.day) AS bottom, LAST(UP.price) AS price
    ...     PATTERN (DOWN+ UP+)
    ...     DEFINE DOWN AS price < PREV(price), UP AS price > PREV(price))''', ticks=ticks)
    1 row
    bottom  price
    ------  -----
    2       8
    """
    return SqlResult(run_sql(query_source(query), tables, dialect=dialect, max_steps=max_steps))


def run_sql(
    source: Source, tables: Mapping[str, Events], *, dialect: str = "trino", max_steps: int = MAX_STEPS
) -> pa.Table:
    """The rows of a query over tables given by name."""
    if max_steps < 1:
        raise HostError("A793", f"max_steps is a positive integer, not {max_steps!r}")
    try:
        from augury.hosts.local.duck import Duck
        from augury.match_recognize.reader import duckdb_sql, read_statement
    except ModuleNotFoundError as e:
        if e.name not in ("duckdb", "sqlglot"):
            raise
        raise HostError("A794", f"SQL needs {e.name}", "pip install 'augury[sql]'") from e
    statement = read_statement(source, dialect)
    given = {name.lower(): _table(events) for name, events in tables.items()}
    if len(given) < len(tables):
        raise HostError("A795", "two tables have the same name, which is the same in upper and lower case")
    with Duck(given) as duck:
        while nodes := statement.row_patterns():
            _evaluate(statement, nodes[0], given, duck, max_steps)
        return duck.query(duckdb_sql(statement.tree, duck.functions))


def _table(events: Events) -> pa.Table:
    return read_events(events, "")


def _evaluate(
    statement: Statement, node: RowPatternTable, given: Mapping[str, pa.Table], duck: Duck, max_steps: int
) -> None:
    """Replace one row pattern by the table of its rows."""
    from augury.match_recognize.bind import bind_clause
    from augury.match_recognize.reader import alias_columns, clause_of, input_of, input_sql, replace, subquery_sql

    clause = clause_of(node)
    name, visible = input_of(node)
    if name is not None and name.lower() not in given:
        help = suggestion(name.lower(), given)
        raise HostError("A796", f"there is no table `{name}`", help or f"give it by name: sql(..., {name}=...)")
    table = duck.query(input_sql(node, duck.functions)) if name is None else given[name.lower()]

    def answer(number: int) -> tuple[list[Any], pa.DataType, int]:
        found = duck.query(subquery_sql(node, clause.queries[number], duck.functions))
        return python_values(found.column(0)), found.schema.field(0).type, found.num_columns

    bound = bind_clause(clause, table.schema, visible, statement.source, answer)
    result = evaluate(bound, table, max_steps)
    names = list(result.column_names)
    renamed = alias_columns(node)
    if renamed and len(renamed) != len(names):
        message = f"the alias names {len(renamed)} columns, but the result has {len(names)}: {', '.join(names)}"
        raise QueryError([Diagnostic("A727", message, clause.span, "", "name all of them or none")], statement.source)
    unique = _distinct(names) if not renamed else names
    replace(node, duck.register(result, len(names)), unique)
    mentioned = set(statement.names())
    for column in names if not renamed else ():
        if names.count(column) > 1 and column.lower() in mentioned:
            message = f"`{column}` is both a measure and a column of the input"
            raise QueryError([Diagnostic("A728", message, clause.span, "", "rename the measure")], statement.source)


def _distinct(names: list[str]) -> list[str]:
    """Names for columns in DuckDB, which knows no two of one name; the second `x` becomes `x_1`."""
    out: list[str] = []
    for name in names:
        taken, number, tried = {n.lower() for n in out}, 0, name
        while tried.lower() in taken:
            number += 1
            tried = f"{name}_{number}"
        out.append(tried)
    return out


def evaluate(bound: BoundRowPattern, table: pa.Table, max_steps: int = MAX_STEPS) -> pa.Table:
    """What a row pattern writes for a whole table, partition by partition in the order of their first rows."""
    budget = Budget(max_steps, bound)
    parts = [match_rows(bound, part, budget) for part in partitions(bound, table)]
    if not parts:
        return bound.output_schema.empty_table()
    return pa.concat_tables(parts)


def partitions(bound: BoundRowPattern, table: pa.Table) -> Iterator[pa.Table]:
    """The rows of each key, sorted by ORDER BY and then as they came; null is a key like any other."""
    if not table.num_rows:
        return
    rows = _sorted_rows(table, bound.order_by)
    if not bound.partition_by:
        yield table.take(rows)
        return
    groups: dict[tuple[Any, ...], list[int]] = {}
    keys = [_keys(table.column(c)) for c in bound.partition_by]
    for row in range(table.num_rows):
        groups.setdefault(tuple(key[row] for key in keys), [])
    for row in rows.to_pylist():
        groups[tuple(key[row] for key in keys)].append(row)
    for found in groups.values():
        yield table.take(pa.array(found, pa.int64()))


def _keys(column: pa.ChunkedArray) -> list[Any]:
    """Numbers that are equal where values are, null included."""
    encoded = column.combine_chunks()
    encoded = encoded if pa.types.is_dictionary(encoded.type) else pc.dictionary_encode(encoded, null_encoding="encode")
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.unify_dictionaries().combine_chunks()
    if isinstance(encoded, pa.ChunkedArray):
        encoded = encoded.chunk(0)
    keys: list[Any] = encoded.indices.to_pylist()
    return keys


def _sorted_rows(table: pa.Table, order: tuple[Order, ...]) -> pa.Array:
    """Row numbers in the order of the columns; ties stay as they came. NaN is greater than every number."""
    keys: dict[str, Any] = {}
    directions: list[tuple[str, str]] = []

    def add(column: Any, descending: bool) -> None:
        name = str(len(keys))
        keys[name] = column
        directions.append((name, "descending" if descending else "ascending"))

    for item in order:
        column = table.column(item.column)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        add(pc.is_null(column), item.nulls_first)
        if pa.types.is_floating(column.type):
            add(pc.is_nan(column), item.descending)
        add(column, item.descending)
    add(pa.array(range(table.num_rows), pa.int64()), False)
    return pc.sort_indices(pa.table(keys), sort_keys=directions)
