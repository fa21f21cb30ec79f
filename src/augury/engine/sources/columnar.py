"""Data sets of Arrow, frames of Polars, relations of DuckDB: events that give some of their columns when asked to."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pyarrow as pa

from augury.engine.sources.files import validated
from augury.engine.sources.readable import check_names, unreadable, unreadable_column
from augury.runtime.batch import Integers


class ColumnSource(Protocol):
    """Events that are not in Arrow's memory yet; some columns of them can be read, and read again later."""

    @property
    def name(self) -> str:
        """What they are, for messages."""

    @property
    def identity(self) -> Hashable:
        """What is the same for the same events: a plan that was chosen for them is good for these."""

    def columns(self) -> pa.Schema:
        """All columns, found out without reading the events."""

    def count(self) -> int:
        """How many events there are."""

    def read(self, columns: Sequence[str]) -> pa.Table:
        """Some columns of all events, in their order."""

    def read_types(self, columns: Sequence[str], kind: str, types: Collection[str], time: str) -> SomeEvents | None:
        """Some columns of the events whose column `kind` holds one of these types; None if that cannot be asked for."""


@dataclass(frozen=True, slots=True, eq=False)
class SomeEvents:
    """Events that were picked by whoever holds them: their numbers among all `count` events, and whether all of these
    have a time."""

    table: pa.Table
    rows: Integers
    count: int
    have_times: bool


def column_source(events: Any) -> ColumnSource | None:
    """Events as something whose columns are read by need, None for anything else; no library is imported for that."""
    if is_a(events, "pyarrow", "Dataset"):
        return DatasetColumns(events)
    if is_a(events, "polars", "DataFrame") or is_a(events, "polars", "LazyFrame"):
        return PolarsColumns(events)
    if is_a(events, "duckdb", "DuckDBPyRelation") or is_a(events, "_duckdb", "DuckDBPyRelation"):
        return DuckColumns(events)
    return None


def is_a(events: object, module: str, name: str) -> bool:
    """Whether this is an object of a class of `module`, found out without importing it."""
    return any(base.__module__.split(".")[0] == module and base.__name__ == name for base in type(events).__mro__)


@dataclass(frozen=True, slots=True, eq=False)
class DatasetColumns:
    """A data set of Arrow: files of any format, in any file system, with columns from the names of folders."""

    dataset: Any

    @property
    def name(self) -> str:
        return "the data set"

    @property
    def identity(self) -> Hashable:
        return self.name, id(self.dataset)

    def columns(self) -> pa.Schema:
        schema: pa.Schema = self.dataset.schema.remove_metadata()
        check_names(schema)
        return schema

    def count(self) -> int:
        try:
            return int(self.dataset.count_rows())
        except (pa.ArrowException, OSError) as e:
            raise unreadable(self.name, e) from e

    def read_types(self, columns: Sequence[str], kind: str, types: Collection[str], time: str) -> SomeEvents | None:
        # A data set does not tell the numbers of the rows that pass a filter.
        return None

    def read(self, columns: Sequence[str]) -> pa.Table:
        try:
            return validated(self.dataset.to_table(columns=list(columns))).replace_schema_metadata(None)
        except (pa.ArrowException, OSError) as e:
            raise unreadable(self.name, e) from e


@dataclass(frozen=True, slots=True, eq=False)
class PolarsColumns:
    """A frame of Polars, lazy or not; a lazy one is run for the columns that are asked for."""

    frame: Any

    @property
    def name(self) -> str:
        return "the polars frame"

    @property
    def identity(self) -> Hashable:
        return self.name, id(self.frame)

    def columns(self) -> pa.Schema:
        import polars as pl

        with _polars_errors(self.name):
            schema = self.frame.lazy().collect_schema()
            for name, type_ in schema.items():
                if type_ == pl.Object:
                    # Arrow would be given the addresses of the objects.
                    raise unreadable_column(name, type_, "these are objects of Python")
            found: pa.Schema = pl.DataFrame(schema=schema).to_arrow().schema
            return found

    def count(self) -> int:
        import polars as pl

        with _polars_errors(self.name):
            return int(self.frame.lazy().select(pl.len()).collect().item())

    def read(self, columns: Sequence[str]) -> pa.Table:
        with _polars_errors(self.name):
            # Not as strings, which would be patterns if they began with ^ and ended with $.
            import polars.selectors as cs

            return self.frame.lazy().select(cs.by_name(*columns)).collect().to_arrow().select(list(columns))

    def read_types(self, columns: Sequence[str], kind: str, types: Collection[str], time: str) -> SomeEvents | None:
        import polars as pl
        import polars.selectors as cs

        number = "".join(columns) + "#"  # the name of no column
        lazy = self.frame.lazy().select(cs.by_name(*columns))
        with _polars_errors(self.name):
            if not isinstance(lazy.collect_schema()[kind], pl.String | pl.Categorical | pl.Enum):
                return None
            picked = cs.by_name(kind).cast(pl.String).is_in(sorted(types))
            facts = [pl.len().alias("count"), cs.by_name(time).null_count().alias("nulls")]
            # Both at once: a source that is read for one is not read again for the other.
            some, told = pl.collect_all([lazy.with_row_index(number).filter(picked), lazy.select(facts)])
            rows = some[number].cast(pl.Int64).to_numpy()
            table = some.drop(cs.by_name(number)).to_arrow().select(list(columns))
        return SomeEvents(table, rows, told["count"][0], have_times=told["nulls"][0] == 0)


class _polars_errors:
    """Errors of Polars, whose panics are no `Exception`, as errors with a code."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        from polars.exceptions import PanicException, PolarsError

        wrong = (PanicException, PolarsError, pa.ArrowException, TypeError, ValueError, NotImplementedError, OSError)
        if isinstance(error, wrong):
            raise unreadable(self._name, error) from error


@dataclass(frozen=True, slots=True, eq=False)
class DuckColumns:
    """A relation of DuckDB, which is run for the columns that are asked for."""

    relation: Any

    @property
    def name(self) -> str:
        return "the DuckDB relation"

    @property
    def identity(self) -> Hashable:
        return self.name, id(self.relation)

    def columns(self) -> pa.Schema:
        schema = self._arrow(lambda relation: relation.limit(0)).schema
        check_names(schema)
        return schema

    def count(self) -> int:
        return int(self._arrow(lambda relation: relation.aggregate("count(*) AS n"))["n"][0].as_py())

    def read(self, columns: Sequence[str]) -> pa.Table:
        written = ", ".join('"' + name.replace('"', '""') + '"' for name in columns)
        return self._arrow(lambda relation: relation.project(written))

    def read_types(self, columns: Sequence[str], kind: str, types: Collection[str], time: str) -> SomeEvents | None:
        # A relation has no order that its rows could be numbered in, but for the one in which they come.
        return None

    def _arrow(self, query: Callable[[Any], Any]) -> pa.Table:
        failed: Any = sys.modules["duckdb"].Error
        try:
            return query(self.relation).to_arrow_table()
        except (failed, pa.ArrowException) as e:
            raise unreadable(self.name, e) from e
