"""Column sources: Arrow data sets, Polars frames and DuckDB relations, of which single columns can be read."""

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
    """Events that are not Arrow tables yet; some of their columns can be read, and others later."""

    @property
    def name(self) -> str:
        """A name for messages."""

    @property
    def identity(self) -> Hashable:
        """A value that is equal for the same events, so that a plan chosen for them can be used again."""

    def columns(self) -> pa.Schema:
        """The schema of all columns, without reading the events."""

    def count(self) -> int:
        """How many events there are."""

    def read(self, columns: Sequence[str]) -> pa.Table:
        """Some columns of all events, in their order."""

    def read_types(self, columns: Sequence[str], kind: str, types: Collection[str], time: str) -> PickedEvents | None:
        """Some columns of the events whose column `kind` holds one of these types; None if the source cannot filter."""


@dataclass(frozen=True, slots=True, eq=False)
class PickedEvents:
    """Events that a source picked by their types.

    `rows` are their numbers among all `count` events, `have_times` is whether all of these have a time.
    """

    table: pa.Table
    rows: Integers
    count: int
    have_times: bool


def column_source(events: Any) -> ColumnSource | None:
    """A column source for events, None for any other kind of events; imports no library."""
    if is_a(events, "pyarrow", "Dataset"):
        return DatasetColumns(events)
    if is_a(events, "polars", "DataFrame") or is_a(events, "polars", "LazyFrame"):
        return PolarsColumns(events)
    if is_a(events, "duckdb", "DuckDBPyRelation") or is_a(events, "_duckdb", "DuckDBPyRelation"):
        return DuckColumns(events)
    return None


def is_a(events: object, module: str, name: str) -> bool:
    """Whether an object's class, or a base of it, has this name in `module`, which is not imported."""
    return any(base.__module__.split(".")[0] == module and base.__name__ == name for base in type(events).__mro__)


@dataclass(frozen=True, slots=True, eq=False)
class DatasetColumns:
    """An Arrow data set: files of any format, in any file system, also Hive-partitioned."""

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

    def read_types(self, columns: Sequence[str], kind: str, types: Collection[str], time: str) -> PickedEvents | None:
        # A data set does not give the numbers of the rows that pass a filter.
        return None

    def read(self, columns: Sequence[str]) -> pa.Table:
        try:
            return validated(self.dataset.to_table(columns=list(columns))).replace_schema_metadata(None)
        except (pa.ArrowException, OSError) as e:
            raise unreadable(self.name, e) from e


@dataclass(frozen=True, slots=True, eq=False)
class PolarsColumns:
    """A Polars frame, eager or lazy; a lazy one is collected for the columns that are read."""

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
                    # Arrow would get the addresses of the objects.
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

    def read_types(self, columns: Sequence[str], kind: str, types: Collection[str], time: str) -> PickedEvents | None:
        import polars as pl
        import polars.selectors as cs

        number = "".join(columns) + "#"  # the name of no column
        lazy = self.frame.lazy().select(cs.by_name(*columns))
        with _polars_errors(self.name):
            if not isinstance(lazy.collect_schema()[kind], pl.String | pl.Categorical | pl.Enum):
                return None
            picked = cs.by_name(kind).cast(pl.String).is_in(sorted(types))
            facts = [pl.len().alias("count"), cs.by_name(time).null_count().alias("nulls")]
            # Both in one `collect_all`, so that the source is read once.
            some, told = pl.collect_all([lazy.with_row_index(number).filter(picked), lazy.select(facts)])
            rows = some[number].cast(pl.Int64).to_numpy()
            table = some.drop(cs.by_name(number)).to_arrow().select(list(columns))
        return PickedEvents(table, rows, told["count"][0], have_times=told["nulls"][0] == 0)


class _polars_errors:
    """Context manager that turns errors and panics of Polars, which are no `Exception`, into errors with a code."""

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
    """A DuckDB relation, which is executed for the columns that are read."""

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

    def read_types(self, columns: Sequence[str], kind: str, types: Collection[str], time: str) -> PickedEvents | None:
        # Filtered rows of a relation cannot be numbered: it has no order but that in which all its rows come.
        return None

    def _arrow(self, query: Callable[[Any], Any]) -> pa.Table:
        failed: Any = sys.modules["duckdb"].Error
        try:
            return query(self.relation).to_arrow_table()
        except (failed, pa.ArrowException) as e:
            raise unreadable(self.name, e) from e
