"""Runs SQL with row patterns over local tables: the patterns in the engine, the SQL around them in DuckDB."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import pyarrow as pa

from augury.budget import within
from augury.engine.results.render import first_rows
from augury.engine.row_patterns import MAX_STEPS, evaluate, plan_row_pattern
from augury.engine.row_patterns.names import output_names, refuse_ambiguous
from augury.engine.sources.events import Events, read_events
from augury.engine.sources.query_text import query_source
from augury.errors import HostError, suggestion
from augury.explain.row_pattern import explain_row_pattern, key_names, numbered
from augury.ir.row_pattern import BoundRowPattern
from augury.options import Options, make_options
from augury.reference.row_pattern.values import python_values
from augury.source import Source

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from augury.hosts.local.duck import Duck
    from augury.match_recognize.reader import RowPatternTable, Statement

NOT_SPLIT = "not at all: there is no PARTITION BY, so that all rows are one partition"

AS_THEY_ARE = frozenset(
    (pa.int32(), pa.int64(), pa.float64(), pa.bool_(), pa.string(), pa.date32(), pa.timestamp("us"))
)
"""Column types that DuckDB returns unchanged."""


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
        return f"{count}\n{first_rows(self._table)}"


def sql(
    query: str | os.PathLike[str],
    /,
    *,
    dialect: str = "trino",
    max_steps: int = MAX_STEPS,
    plan: Literal["row-pattern", "reference"] | None = None,
    jit: bool | None = None,
    max_memory: int | str | None = None,
    timeout: float | str | None = None,
    **tables: Events,
) -> SqlResult:
    """The rows of a SQL query with MATCH_RECOGNIZE in it, over tables given by name.

    A table is an Arrow table, a pandas or polars frame, a path to Parquet, CSV, JSON lines or Arrow files, or an
    iterable of dicts. Any number of MATCH_RECOGNIZE relations may stand wherever a table may; what surrounds them runs
    in DuckDB, which sees these tables and nothing else. `query` is the text, or a `Path` to a file that holds it. A
    search that takes more than `max_steps` steps at one row is an error, and so is a query that takes longer than
    `timeout` or more than `max_memory`. Row patterns are compiled, at once or never if `jit` says so;
    `plan="reference"` runs the slow evaluator.

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
    options = make_options(jit=jit, max_memory=max_memory, timeout=timeout)
    return SqlResult(
        run_sql(query_source(query), tables, dialect=dialect, max_steps=max_steps, plan=plan, options=options)
    )


def explain_sql(query: str | os.PathLike[str], /, *, dialect: str = "trino", **tables: Events) -> str:
    """How each MATCH_RECOGNIZE of a SQL query is run: its pattern as a tree, the program of its search, its conditions.

    The arguments are those of `sql`. Conditions that one row decides are bits of each row, computed for whole columns;
    the others are tested during the search. Row patterns are not run, subqueries in their expressions are.

    >>> print(explain_sql('''SELECT * FROM t MATCH_RECOGNIZE (
    ...     ORDER BY day MEASURES count(*) AS days PATTERN (START_ROW DOWN+)
    ...     DEFINE DOWN AS price < PREV(price))''', t=[{"day": 1, "price": 9}]))
    pattern
      in this order
        START_ROW
        1 or more times, rather more
          DOWN
    plan
      row-pattern: 2 places of the pattern map a row
    program
      start        -> 1 START_ROW
      1 START_ROW  -> 2 DOWN
      2 DOWN       -> 2 DOWN, end
    conditions
      START_ROW  true for every row
      DOWN       a bit of each row: price < PREV(price)
    search
      linear: what has failed at a row is not tried there again
    rows
      ONE ROW PER MATCH, AFTER MATCH SKIP PAST LAST ROW
    split
      not at all: there is no PARTITION BY, so that all rows are one partition
    """
    return explained_sql(query_source(query), tables, dialect=dialect)


def explained_sql(
    source: Source, tables: Mapping[str, Events], *, dialect: str = "trino", options: Options | None = None
) -> str:
    """Describe how each row pattern of a query is run."""
    told: list[str] = []

    def explained(bound: BoundRowPattern, table: pa.Table) -> pa.Table:
        key = key_names(bound)
        split = f"by PARTITION BY {key}, all keys in one pass over the sorted rows" if key else NOT_SPLIT
        told.append(explain_row_pattern(plan_row_pattern(bound), split))
        return bound.output_schema.empty_table()

    _run(source, tables, dialect, (Options() if options is None else options).watched(), explained)
    return numbered(told)


def run_sql(
    source: Source,
    tables: Mapping[str, Events],
    *,
    dialect: str = "trino",
    max_steps: int = MAX_STEPS,
    plan: str | None = None,
    options: Options | None = None,
) -> pa.Table:
    """Run a query over tables given by name."""
    if max_steps < 1:
        raise HostError("A793", f"max_steps is a positive integer, not {max_steps!r}")
    if plan not in (None, "row-pattern", "reference"):
        raise HostError("A690", f"plan={plan!r} does not run SQL", "`row-pattern` and `reference` do")
    options = (Options() if options is None else options).watched()
    chosen = options

    def evaluated(bound: BoundRowPattern, table: pa.Table) -> pa.Table:
        return evaluate(bound, table, max_steps, chosen, plan=plan)

    return _run(source, tables, dialect, options, evaluated)


Evaluation: TypeAlias = "Callable[[BoundRowPattern, pa.Table], pa.Table]"
"""Evaluates a clause: the rows that it writes for its input."""


def _run(
    source: Source, tables: Mapping[str, Events], dialect: str, options: Options, evaluated: Evaluation
) -> pa.Table:
    """Run a query in which every row pattern is evaluated by the function `evaluated`."""
    try:
        from augury.hosts.local.duck import Duck
        from augury.match_recognize.reader import duckdb_sql, is_whole, read_statement, replace
    except ModuleNotFoundError as e:
        if e.name not in ("duckdb", "sqlglot"):
            raise
        raise HostError("A794", f"running SQL needs {e.name}", "pip install 'augury[sql]'") from e
    statement = read_statement(source, dialect)
    given = {name.lower(): _table(events) for name, events in tables.items()}
    if len(given) < len(tables):
        raise HostError("A795", "two tables have the same name, which is the same in upper and lower case")
    with Duck(given, options.watching) as duck, within(options.watching):
        while nodes := statement.row_patterns():
            whole = is_whole(statement, nodes[0])
            result, names = _evaluate(statement, nodes[0], given, duck, evaluated)
            plain = len({name.lower() for name in names}) == len(names)
            if whole and plain and all(field.type in AS_THEY_ARE for field in result.schema):
                return result.rename_columns(names)
            replace(nodes[0], duck.register(result, len(names)), names)
        return duck.query(duckdb_sql(statement.tree, duck.functions))


def _table(events: Events) -> pa.Table:
    return read_events(events, "")


def _evaluate(
    statement: Statement, node: RowPatternTable, given: Mapping[str, pa.Table], duck: Duck, evaluated: Evaluation
) -> tuple[pa.Table, list[str]]:
    """Evaluate one row pattern: its rows, and the names of their columns."""
    from augury.match_recognize.bind import bind_clause
    from augury.match_recognize.reader import alias_columns, clause_of, input_of, input_sql, subquery_sql

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
    result = evaluated(bound, table)
    names, renamed = list(result.column_names), alias_columns(node)
    unique = output_names(names, renamed, clause.span, statement.source)
    if not renamed:
        refuse_ambiguous(names, statement.names(), clause.span, statement.source)
    return result, renamed or unique
