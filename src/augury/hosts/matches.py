"""What a query found."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import pyarrow as pa

from augury.hosts.columns import match_columns, return_columns, times, variable_column
from augury.hosts.render import cell, html_table, text_table
from augury.hosts.reorder import Arrivals
from augury.hosts.values import to_python
from augury.ir.query import BoundQuery
from augury.ir.terms import OutputMode
from augury.runtime.batch import Integers
from augury.runtime.matches import MatchSet

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

BLOCK = 1024
"""Matches that iteration turns into Python objects at a time."""

SHOWN = 10
"""Matches in a `repr`."""


@dataclass(frozen=True, slots=True)
class Match:
    """One match.

    `rows` maps each positive variable, in pattern order, to the position of its event in the input: a list for an
    iterated variable, None for one that is not bound. Events derived from matches of an earlier query of the program
    are numbered after all events of the input. `start` and `end` are values of the time column; `events` the events
    themselves; `values` the items of RETURN, or None without one. `count` and `completed_by` are set by OUTPUT COUNT
    only, where a match stands for the `count` ones that the event at row `completed_by` completes, and binds nothing.
    """

    rows: dict[str, int | list[int] | None]
    start: Any
    end: Any
    probability: float | None = None
    count: int | None = None
    events: dict[str, Any] = field(default_factory=dict, repr=False)
    values: dict[str, Any] | None = None
    completed_by: int | None = None

    def __repr__(self) -> str:
        parts = [f"{name}={rows}" for name, rows in self.rows.items()]
        parts += [f"start={cell(self.start)}", f"end={cell(self.end)}"]
        parts += [f"probability={self.probability:.4g}"] if self.probability is not None else []
        parts += [f"count={self.count}", f"completed_by={self.completed_by}"] if self.count is not None else []
        parts += [f"values={self.values}"] if self.values is not None else []
        return f"Match({', '.join(parts)})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Matches(Sequence[Match]):
    """The matches of one query, in the order they were reported; two are equal when they hold the same matches.

    `warnings` are what the user should know of them; `late` counts the events that came too late to take part (a
    `Matcher` keeps those). Nothing is copied out of the events until it is asked for.
    """

    found: MatchSet = field(repr=False)
    log: Arrivals = field(repr=False)
    query: BoundQuery | None = field(repr=False)
    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict, repr=False)
    warnings: tuple[str, ...] = ()
    late: int = 0

    @classmethod
    def nothing(cls) -> Matches:
        """No matches in a stream of which not even the columns are known."""
        return cls(MatchSet.of((), []), Arrivals.none(pa.schema([])), None)

    def __len__(self) -> int:
        return len(self.found)

    def __iter__(self) -> Iterator[Match]:
        for first in range(0, len(self), BLOCK):
            yield from _objects(self[first : first + BLOCK])

    @overload
    def __getitem__(self, index: int) -> Match: ...

    @overload
    def __getitem__(self, index: slice) -> Matches: ...

    def __getitem__(self, index: int | slice) -> Match | Matches:
        if isinstance(index, slice):
            return self._take(np.arange(len(self))[index])
        k = index + len(self) if index < 0 else index
        if not 0 <= k < len(self):
            raise IndexError(f"there are {len(self)} matches, none at {index}")
        return _objects(self._take(np.array([k])))[0]

    def _take(self, positions: Integers) -> Matches:
        return replace(self, found=self.found.take(positions))

    def __eq__(self, other: object) -> bool:
        return self.found == other.found if isinstance(other, Matches) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def to_arrow(self) -> pa.Table:
        """One row a match: `start`, `end`, a struct column for each single variable, a list of structs for each
        iterated one, null for what is not bound, and `probability` with THRESHOLD.

        RETURN puts its items in the place of the variables; OUTPUT COUNT gives `end` and `count`. A variable named like
        one of these columns gets an underscore after its name.
        """
        if self.query is None:
            return pa.table({"start": pa.nulls(0), "end": pa.nulls(0)})
        return pa.table(match_columns(self.found, self.log, self.query, self.functions))

    def to_pandas(self) -> pd.DataFrame:
        """`to_arrow` as a pandas frame."""
        frame: pd.DataFrame = self.to_arrow().to_pandas()
        return frame

    def to_polars(self) -> pl.DataFrame:
        """`to_arrow` as a polars frame."""
        import polars

        return polars.DataFrame(self.to_arrow())

    def to_pylist(self) -> list[dict[str, Any]]:
        """`to_arrow` as one dict a match."""
        table = self.to_arrow()
        columns = [to_python(table[name].combine_chunks()) for name in table.column_names]
        return [dict(zip(table.column_names, row, strict=True)) for row in zip(*columns, strict=True)]

    def _summary(self) -> tuple[str, list[str], list[list[str]]]:
        title = "1 match" if len(self) == 1 else f"{len(self)} matches"
        if len(self) > SHOWN:
            title += f", the first {SHOWN}:"
        head = self[:SHOWN]
        rows = [[cell(v) for v in row.values()] for row in head.to_pylist()]
        return title, head.to_arrow().column_names, rows

    def __repr__(self) -> str:
        title, header, rows = self._summary()
        return title + "\n" + text_table(header, rows) if rows else title

    def _repr_html_(self) -> str:
        return html_table(*self._summary())


def _objects(matches: Matches) -> list[Match]:
    """The matches as Python objects."""
    found, log, query = matches.found, matches.log, matches.query
    if query is None:
        return []
    starts, ends = to_python(times(found.start, log, query)), to_python(times(found.end, log, query))
    if query.output is OutputMode.COUNT:
        return [
            Match({}, start, end, count=int(n), completed_by=int(row))
            for start, end, n, row in zip(starts, ends, found.count, found.completed_by, strict=True)
        ]
    events = {v: to_python(variable_column(found, log, query, v)) for v in found.variables}
    returned = {
        name: to_python(column) for name, column in return_columns(found, log, query, matches.functions).items()
    }
    rows = [column.to_pylist() for column in found.rows]
    single = [not query[v].iterated for v in found.variables]
    return [
        Match(
            {
                v: (bound[k][0] if one else bound[k]) if bound[k] else None
                for v, bound, one in zip(found.variables, rows, single, strict=True)
            },
            starts[k],
            ends[k],
            None if found.probability is None else float(found.probability[k]),
            None,
            {v: values[k] for v, values in events.items()},
            {name: values[k] for name, values in returned.items()} if query.returns else None,
        )
        for k in range(len(found))
    ]
