"""The result of a query: `Matches`, and `Match` for one of them."""

from __future__ import annotations

import operator
import os
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from random import Random
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import pyarrow as pa

from augury import arguments
from augury.budget import enough_memory
from augury.compiler import CompiledQuery
from augury.engine.arrivals import Arrivals, EventLog
from augury.engine.results.columns import (
    bound_rows,
    column_name,
    match_columns,
    return_columns,
    shown_variables,
    times,
    variable_columns,
)
from augury.engine.results.files import write_parquet
from augury.engine.results.flat import flattened
from augury.engine.results.render import cell, html_table, terminal_width, text_table
from augury.engine.results.values import to_frame, to_python, to_shown
from augury.errors import HostError
from augury.ir.query import BoundQuery
from augury.ir.terms import OutputMode
from augury.runtime.batch import Integers
from augury.runtime.matches import MatchSet
from augury.runtime.shared import QueryMatches, SharedMatches, enumerated, matches_in
from augury.schema import INT_MAX
from augury.timing import UNTIMED, CallStage, Stopwatch

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from augury.view.page import Page

MAX_CHOSEN_MATCHES = 2**31 - 1  # matches in one slice: as many as a list array of Arrow can hold

ITERATED_MATCHES = 1024  # matches that iteration converts to Python objects at a time

SHOWN_MATCHES = 10  # matches in a `repr`


@dataclass(frozen=True, slots=True)
class Match:
    """One match: its events by variable, when it starts and ends, and what RETURN makes of it.

    `rows` maps each positive variable, in pattern order, to the position of its event in the input: a list for an
    iterated variable, for a group a list of such mappings, None for one that is not bound. Events derived from matches
    of an earlier query of the program are numbered after all events of the input. `start` and `end` are values of the
    time column; `events` the events themselves; `values` the items of RETURN, or None without one. `count` and
    `completed_by` are set by OUTPUT COUNT only, where a match stands for the `count` ones that the event at row
    `completed_by` completes, and binds nothing. It is not `complete` if it is a partial match that OUTPUT TIMEOUTS
    reports.
    """

    rows: dict[str, Any]
    start: Any
    end: Any
    probability: float | None = None
    count: int | None = None
    events: dict[str, Any] = field(default_factory=dict, repr=False)
    values: dict[str, Any] | None = None
    completed_by: int | None = None
    complete: bool = True

    @property
    def reached(self) -> str:
        """The last component that is bound, in pattern order: how far a partial match got (OUTPUT TIMEOUTS).

        >>> Match({"view": 0, "cart": 2, "pay": None}, 0, 5, complete=False).reached
        'cart'
        """
        return [v for v, rows in self.rows.items() if rows is not None][-1]

    @property
    def missing(self) -> list[str]:
        """The components that no event was observed for (THRESHOLD), in pattern order.

        >>> Match({"x": 0, "y": None, "z": 1}, 0, 5, probability=0.25).missing
        ['y']
        """
        return [] if self.probability is None else [v for v, row in self.rows.items() if row is None]

    def __repr__(self) -> str:
        parts = [f"{name}={rows}" for name, rows in self.rows.items()]
        parts += [f"start={cell(self.start)}", f"end={cell(self.end)}"]
        parts += [f"probability={self.probability:.4g}"] if self.probability is not None else []
        parts += [f"count={self.count}", f"completed_by={self.completed_by}"] if self.count is not None else []
        parts += [] if self.complete else [f"reached={self.reached}"]
        parts += [f"values={self.values}"] if self.values is not None else []
        return f"Match({', '.join(parts)})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Matches:
    """The matches of one query, in the order they were reported; two are equal when they hold the same matches.

    They are a sequence of `Match`, and a table for whatever takes one by Arrow's C stream interface:
    `polars.DataFrame(matches)`, `duckdb.sql("SELECT * FROM matches")`, `pyarrow.table(matches)`. It is no
    `collections.abc.Sequence`, which polars would read object by object.

    `warnings` are what the user should know of them. `late_events` are the events fed with these matches that came too
    late to take part, in the order they came: nobody else keeps them, a `Matcher` counts them. `counters` say what the
    kernel has done since it began, if that was asked for and it counts; `compiled` is what ran. `times` says where the
    time of the call went, and that of writing the matches out since. Nothing is copied out of the events until it is
    asked for.
    """

    found: QueryMatches = field(repr=False)
    log: EventLog = field(repr=False)
    query: BoundQuery | None = field(repr=False)
    functions: Mapping[str, Callable[..., Any]] = field(default_factory=dict, repr=False)
    warnings: tuple[str, ...] = ()
    late_events: pa.Table = field(default_factory=lambda: pa.table({}), repr=False)
    counters: dict[str, int] | None = None
    compiled: CompiledQuery | None = field(default=None, repr=False)
    times: Stopwatch | None = field(default=None, repr=False)

    @classmethod
    def nothing(cls) -> Matches:
        """An empty result, for a stream whose columns are not known."""
        return cls(MatchSet.of((), []), Arrivals.none(pa.schema([])), None)

    def __len__(self) -> int:
        """How many matches there are; more than `len` can say in Python is an error, `count()` tells any number."""
        found = self.count()
        if found > sys.maxsize:
            raise HostError(
                "A564",
                f"too many matches for len(): {found}",
                "ask for count(), which is exact whatever the number",
            )
        return found

    @property
    def late(self) -> int:
        """How many events came too late to take part."""
        return int(self.late_events.num_rows)

    def __bool__(self) -> bool:
        return self.count() > 0

    def __iter__(self) -> Iterator[Match]:
        for part in self._parts():
            for first in range(0, len(part), ITERATED_MATCHES):
                some = np.arange(first, min(first + ITERATED_MATCHES, len(part)))
                with self._writing(len(some)):
                    objects = _objects(self, part.take(some))
                yield from objects

    def __reversed__(self) -> Iterator[Match]:
        for k in range(self.count() - 1, -1, -1):
            yield self[k]

    def __contains__(self, value: object) -> bool:
        return any(match == value for match in self)

    def _parts(self) -> Iterator[MatchSet]:
        """The matches as they are written out: at once, or a batch at a time if they are compressed or many."""
        if isinstance(self.found, MatchSet):
            yield self.found
        else:
            yield from self.found.batches()

    @overload
    def __getitem__(self, index: int) -> Match: ...

    @overload
    def __getitem__(self, index: slice) -> Matches: ...

    def __getitem__(self, index: int | slice) -> Match | Matches:
        if isinstance(index, slice):
            return self._take(_positions(range(self.count())[index]))
        index = operator.index(index)
        found = self.count()
        k = index + found if index < 0 else index
        if not 0 <= k < found:
            raise IndexError(f"there are {found} matches, none at {index}")
        return _objects(self, self.found.take(np.array([k])))[0]

    def _take(self, positions: Integers) -> Matches:
        return replace(self, found=self.found.take(positions))

    def count(self, value: object = None) -> int:
        """How many matches there are, without writing them out; with a `value`, how many are equal to it."""
        if value is None:
            return matches_in(self.found)
        return sum(1 for match in self if isinstance(value, Match) and match == value)

    def head(self, size: int = 10) -> Matches:
        """The first `size` matches; compressed ones are written out no further."""
        return self[: arguments.count("size", size)]

    def sample(self, size: int, seed: int | None = None) -> Matches:
        """`size` of the matches, or all if they are fewer, every set of them as likely as any other.

        The same `seed` chooses the same ones. Compressed matches are not written out to be chosen from.

        >>> import augury
        >>> events = [{"ts": i, "type": "A"} for i in range(50)] + [{"ts": 50, "type": "B"}]
        >>> matches = augury.match(events, "SEQ(A+ a[], B b)", compressed=True)
        >>> len(matches), len(matches.sample(3)), matches.sample(3, seed=1) == matches.sample(3, seed=1)
        (1125899906842623, 3, True)
        """
        size = arguments.count("size", size)
        if seed is not None and not isinstance(seed, int):
            raise arguments.unusable("seed", "an integer or None", seed)
        if not isinstance(self.found, SharedMatches):
            chosen = sorted(Random(seed).sample(range(len(self)), min(size, len(self))))
            return self._take(np.array(chosen, dtype=np.int64))
        return replace(self, found=self.found.sample(size, seed))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Matches):
            return NotImplemented
        return enumerated(self.found) == enumerated(other.found)

    __hash__ = None  # type: ignore[assignment]

    def to_arrow(self) -> pa.Table:
        """One row per match: `start`, `end`, a struct column for each single variable, a list of structs for each
        iterated one, null for what is not bound; with THRESHOLD also `probability` and the names of what is `missing`.

        RETURN puts its items in the place of the variables; OUTPUT COUNT gives `end`, `count` and the items of RETURN.
        A variable named like one of these columns gets an underscore after its name.
        """
        if self.query is None:
            return pa.table({"start": pa.nulls(0), "end": pa.nulls(0)})
        with enough_memory():
            tables, held = [self._columns(MatchSet.of(self.found.variables, ()))], 0
            for table in self.to_batches():
                held += table.nbytes
                if isinstance(self.found, SharedMatches):
                    self.found.claim("matches", held)
                tables.append(table)
            return pa.concat_tables(tables)

    def to_batches(self) -> Iterator[pa.Table]:
        """`to_arrow` in pieces: compressed matches are written out one piece at a time."""
        return map(self._columns, self._parts())

    def _columns(self, found: MatchSet) -> pa.Table:
        assert self.query is not None
        with self._writing(len(found)):
            return pa.table(match_columns(found, self.log, self.query, self.functions))

    def _writing(self, matches: int) -> AbstractContextManager[None]:
        """Context manager that counts its time, and this number of matches, as writing results."""
        return (self.times or UNTIMED).stage(CallStage.WRITING, matches)

    def sink_parquet(self, path: str | os.PathLike[str]) -> None:
        """Write `to_arrow` to a Parquet file, a piece at a time; the file is there when all of it is written."""
        write_parquet(self.to_reader(), path)

    def to_reader(self) -> pa.RecordBatchReader:
        """`to_arrow` as a stream of batches: compressed matches are written out as it is read."""
        if self.query is None:
            return self.to_arrow().to_reader()
        schema = self._columns(MatchSet.of(self.found.variables, ())).schema
        batches = (batch for table in self.to_batches() for batch in table.cast(schema).to_batches())
        return pa.RecordBatchReader.from_batches(schema, batches)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The matches for whatever reads tables by Arrow's C stream interface, such as polars and DuckDB."""
        return self.to_reader().__arrow_c_stream__(requested_schema)

    def to_pandas(self, *, flat: bool = False) -> pd.DataFrame:
        """`to_arrow` as a pandas frame.

        With `flat` every attribute of a variable is a column of its own, such as `a.price`, in the types of pandas,
        dates and times too; of an iterated variable it holds lists.

        >>> import augury
        >>> events = [{"ts": 1, "type": "A", "x": 5}, {"ts": 2, "type": "B", "x": 6}]
        >>> list(augury.match(events, "SEQ(A a, B b)").to_pandas(flat=True).columns)
        ['start', 'end', 'a.ts', 'a.type', 'a.x', 'b.ts', 'b.type', 'b.x']
        """
        flat = arguments.flag("flat", flat)
        with enough_memory():
            table = flattened(self.to_arrow()) if flat else self.to_arrow()
            return to_frame(table, date_as_object=not flat)

    def to_polars(self) -> pl.DataFrame:
        """`to_arrow` as a polars frame."""
        import polars

        with enough_memory():
            return polars.DataFrame(self.to_arrow())

    def to_pylist(self) -> list[dict[str, Any]]:
        """`to_arrow` as one dict per match."""
        return self._rows(to_python)

    def _rows(self, convert: Callable[[pa.Array], list[Any]]) -> list[dict[str, Any]]:
        table = self.to_arrow()
        with enough_memory():
            columns = [convert(table[name].combine_chunks()) for name in table.column_names]
            return [dict(zip(table.column_names, row, strict=True)) for row in zip(*columns, strict=True)]

    def show(self, *, max_events: int = 100_000, max_matches: int = 10_000) -> Page:
        """The matches drawn over their events, as a page that notebooks display; `show().save("page.html")` keeps it.

        The page is one file and needs no network. Of more than `max_events` or `max_matches` it shows a part, evenly
        spread, and says so. Needs `augury[view]`.
        """
        from augury.view.page import page

        return page(self, max_events=max_events, max_matches=max_matches)

    def _summary(self) -> tuple[str, list[str], list[list[str]]]:
        found = self.count()
        title = "1 match" if found == 1 else f"{found} matches"
        if found > SHOWN_MATCHES:
            title += f", the first {SHOWN_MATCHES}:"
        head = self[:SHOWN_MATCHES]
        rows = [[cell(v) for v in row.values()] for row in head._rows(to_shown)]
        return title, head.to_arrow().column_names, rows

    def __repr__(self) -> str:
        title, header, rows = self._summary()
        return title + "\n" + text_table(header, rows, terminal_width()) if rows else title

    def _repr_html_(self) -> str:
        return html_table(*self._summary())


def _positions(chosen: range) -> Integers:
    """The positions of the matches in a slice."""
    some = (chosen[-1] - chosen[0]) // chosen.step + 1 if chosen else 0
    if some > MAX_CHOSEN_MATCHES or (some and max(chosen[0], chosen[-1]) > INT_MAX):
        raise HostError(
            "A564",
            f"too many matches for a slice: {some}",
            "iterate over the matches, or take to_batches()",
        )
    return np.array(chosen, dtype=np.int64)


def _objects(matches: Matches, found: MatchSet) -> list[Match]:
    """Convert some of the matches to Python objects."""
    log, query = matches.log, matches.query
    if query is None:
        return []
    starts, ends = to_python(times(found.start, log, query)), to_python(times(found.end, log, query))
    returned = {
        name: to_python(column) for name, column in return_columns(found, log, query, matches.functions).items()
    }
    rows_of = [dict(zip(returned, row, strict=True)) for row in zip(*returned.values(), strict=True)]
    values = rows_of if query.returns else [None] * len(found)
    if query.output is OutputMode.COUNT:
        return [
            Match({}, starts[k], ends[k], None, int(found.count[k]), {}, values[k], int(found.completed_by[k]))
            for k in range(len(found))
        ]
    shown = shown_variables(query)
    columns = variable_columns(found, log, query)
    events = {v: to_python(columns[column_name(v)]) for v in shown}
    rows = [bound_rows(found, log, query, v) for v in shown]
    return [
        Match(
            {v: bound[k] for v, bound in zip(shown, rows, strict=True)},
            starts[k],
            ends[k],
            None if found.probability is None else float(found.probability[k]),
            None,
            {v: column[k] for v, column in events.items()},
            values[k],
            complete=bool(found.count[k]),
        )
        for k in range(len(found))
    ]
