"""Narrows a table to what a query reads: its columns, and the rows that can matter."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from augury.engine.arrivals import Arrivals, arrive, in_order
from augury.engine.exchange.codes import are_of_types
from augury.engine.scan.arrow_filter import read_filter
from augury.engine.scan.exact_times import times_are_exact
from augury.engine.scan.needed import component_filters, decisive_columns
from augury.engine.scan.picking import picked
from augury.engine.scan.scan import SinglePieceScan
from augury.engine.sources.column_types import engine_table, is_text
from augury.engine.warnings import types_of
from augury.ir.query import BoundQuery
from augury.runtime.batch import Integers, time_ticks
from augury.runtime.memory import ascending
from augury.schema import EventSchema


@dataclass(frozen=True, slots=True, eq=False)
class Pushdown:
    """The projection and filter of a query, pushed down into a scan.

    `columns` are those that its kernel reads. `types` are the types of events that can matter, None for all; `test` is
    an Arrow expression that is true for all these events, None if there is none.
    """

    columns: tuple[str, ...]
    types: frozenset[str] | None = None
    test: pc.Expression | None = None


def pushdown_of(query: BoundQuery, given: Collection[str]) -> Pushdown:
    """The pushdown of a rewritten query, for those of its columns that are `given`: others are derived."""
    columns = decisive_columns([query])
    names = tuple(name for name in query.schema.names if name in columns and name in given)
    relevant = component_filters([query])
    if relevant is None:
        return Pushdown(names)
    types = None
    if query.schema.type is not None and all(one.types for one in relevant):
        types = frozenset(name for one in relevant for name in one.types)
    return Pushdown(names, types, read_filter(relevant, query.schema) if any(r.conjuncts for r in relevant) else None)


class TableScan(SinglePieceScan):
    """A scan of a table in memory, which caches the part that each query reads."""

    def __init__(self, table: pa.Table, schema: EventSchema) -> None:
        self.table, self.schema = table, schema
        self._found: dict[int, tuple[BoundQuery, Arrivals]] = {}

    @property
    def arrow(self) -> pa.Schema:
        return self.table.schema

    @property
    def rows(self) -> int:
        return int(self.table.num_rows)

    @property
    def identity(self) -> Hashable:
        # Does not identify a table, but is enough to tell whether a plan still fits.
        time = self.table[self.schema.time]
        # As Arrow scalars: Python cannot hold every time.
        return len(time), *((time[k] for k in (0, len(time) - 1)) if len(time) else ())

    def types(self) -> frozenset[str]:
        """The type names that occur."""
        return types_of(self.table, self.schema)

    def events(self, query: BoundQuery) -> Arrivals:
        """The events that a rewritten query reads, in order."""
        known = self._found.get(id(query))
        if known is None:
            pushdown = pushdown_of(query, self.arrow.names)
            known = self._found[id(query)] = (query, in_order(narrowed(self.table, self.schema, pushdown), self.schema))
        return known[1]

    @cached_property
    def ordered(self) -> Arrivals:
        """All events with all columns, in order."""
        return in_order(arrive(self.table, self.schema, 0), self.schema)

    @cached_property
    def log(self) -> Arrivals:
        """All events with all columns in arrival order, for matches to show; `events` has checked them."""
        return Arrivals.of(self.table, self.schema)


def narrowed(table: pa.Table, schema: EventSchema, pushdown: Pushdown, first_row: int = 0) -> Arrivals:
    """The events that the pushdown keeps, numbered by their rows, in arrival order.

    All events are checked for a time and for the other columns of the order, even those that are dropped.
    """
    time = _checked_time(table, schema, first_row)
    narrow = table.select(list(pushdown.columns))
    rows: Integers | None = None
    if pushdown.types is not None and schema.type is not None:
        narrow, rows = _kept(narrow, rows, of_types(table[schema.type], pushdown.types))
    if pushdown.test is not None:
        narrow, rows = _kept(narrow, rows, passing(narrow, schema, pushdown.test))
    if rows is None:
        rows = ascending(0, table.num_rows)
        time = _ticks(table, schema) if time is None else time
    else:
        time = _ticks(narrow, schema) if time is None else time[rows]
    rows = rows + first_row if first_row else rows
    return Arrivals(narrow, rows, rows, time)


def _checked_time(table: pa.Table, schema: EventSchema, first_row: int) -> Integers | None:
    """Check the times of all events, and return them if that took converting them; else None."""
    doubtful = [
        f.name for f in table.schema if pa.types.is_uint64(f.type) or (f.name == schema.type and not is_text(f.type))
    ]
    if doubtful:
        engine_table(table.select(doubtful), schema.type, first_row)
    time = table[schema.time]
    if times_are_exact(time.type, schema) and not time.null_count:
        return None
    return arrive(table.select(list(schema.order_by)), schema, first_row).time


def _ticks(table: pa.Table, schema: EventSchema) -> Integers:
    return time_ticks(engine_table(table.select([schema.time]), None), schema)


def _kept(
    table: pa.Table, rows: Integers | None, mask: npt.NDArray[np.bool_] | None
) -> tuple[pa.Table, Integers | None]:
    """Filter a table and the numbers of its rows by `mask`."""
    if mask is None:
        return table, rows
    places = np.flatnonzero(mask)
    if len(places) == len(mask):
        return table, rows
    return picked(table, mask, places), places if rows is None else rows[places]


def of_types(column: pa.ChunkedArray, types: Collection[str]) -> npt.NDArray[np.bool_] | None:
    """A mask of the events of these types; None for a type column that has to be converted first."""
    if pa.types.is_dictionary(column.type) and is_text(column.type):
        return are_of_types(column, types)
    if not is_text(column.type):
        return None
    names = pa.array(sorted(types), column.type)
    found: npt.NDArray[np.bool_] = pc.is_in(column, names).to_numpy().astype(bool, copy=False)
    return found


def passing(table: pa.Table, schema: EventSchema, test: pc.Expression) -> npt.NDArray[np.bool_] | None:
    """A mask of the events that pass a test; None if Arrow cannot evaluate it."""
    if schema.type in table.column_names and not pa.types.is_string(table[schema.type].type):
        plain = table[schema.type].cast(pa.string())
        table = table.set_column(table.column_names.index(schema.type), schema.type, plain)
    mask = np.zeros(table.num_rows, dtype=bool)
    # The numbers of the rows are the last column: whatever it is called, the events may have one of that name.
    unlike = max(table.column_names, key=len) + "_"
    numbered = table.append_column(unlike, pa.array(np.arange(table.num_rows)))
    try:
        mask[numbered.filter(test)[unlike].to_numpy()] = True
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        # A value that Arrow cannot compare: the engine tests every event itself.
        return None
    return mask
