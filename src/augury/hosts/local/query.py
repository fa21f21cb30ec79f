"""A query that is compiled once, and used for as many streams as one likes."""

from __future__ import annotations

import os
import warnings as python_warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, Unpack

import numpy as np

from augury.budget import too_many_matches, within
from augury.compiler import CompiledProgram, compile_program
from augury.engine.arrivals import Arrivals
from augury.engine.results.matches import Matches
from augury.engine.sources.events import Events, conform, is_rows, read_events
from augury.engine.sources.query_text import query_source
from augury.engine.sources.schemas import KnownColumns, Schema, known_columns, table_columns
from augury.engine.stages import Found, stages, step
from augury.engine.warnings import tie_warnings, type_warnings, types_of
from augury.errors import AuguryWarning
from augury.explain.text import explain_program
from augury.hosts.local.matcher import Matcher, matcher_of
from augury.ir.query import TimeWindow
from augury.options import Lateness, MatchOptions, Options, StageName, read_options
from augury.runtime.matches import MatchSet
from augury.runtime.shared import enumerated
from augury.runtime.state import FOREVER
from augury.source import Source

QueryText: TypeAlias = str | os.PathLike[str]
"""The text of a query, or a `Path` to a file that holds it; a string is never a path."""

SLICE = 5_000
"""Events between two reports of progress."""

Progress = Callable[[int, int], None]
"""Told how many events out of how many have been matched."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Query:
    """A query, or the queries of one text, compiled for events of certain columns; made by `augury.compile`.

    >>> import augury
    >>> events = [{"ts": 1, "type": "A"}, {"ts": 2, "type": "B"}]
    >>> query = augury.compile("PATTERN SEQ(A a, B b) WITHIN 1 minute", events)
    >>> len(query.match(events)), len(query.stream().feed(events))
    (1, 1)
    """

    columns: KnownColumns
    options: Options
    program: CompiledProgram

    @property
    def text(self) -> str:
        """The text of the query as it was written."""
        return self.program.last.source.text

    def match(self, events: Events) -> Matches:
        """The matches in a finite stream, of the last query when the text holds several.

        The events have the columns that the query was compiled for, in any order.
        """
        return warned(self._matches(events))[-1]

    def match_each(self, events: Events) -> list[Matches]:
        """The matches of every query of the text, in the order the queries are written."""
        return warned(self._matches(events))

    def stream(self, *, lateness: Lateness | None = None) -> Matcher:
        """A `Matcher` for a stream that is pushed batch by batch.

        It has a plan of its own, for a stream of which nothing is known but what the option `statistics` says.
        """
        return matcher_of(self.program.last.source, self.columns, self.options, lateness)

    def explain(self, stage: StageName = "plan") -> str:
        """What became of the query: its "syntax", "bound", "rewritten", "plan" or "kernel" stage."""
        return explain_program(self.program, stage)

    def __repr__(self) -> str:
        return f"Query({self.text!r})"

    def _matches(self, events: Events) -> list[Matches]:
        options = self.options.watched()
        with within(options.watching):
            schema = self.columns.schema
            required = (schema.type, *schema.order_by)
            table = read_events(events, schema.time, required)
            if not table.num_columns:
                # Of no events not even the columns are known.
                table = self.columns.arrow.empty_table()
            table = conform(table, self.columns.arrow, fill=is_rows(events), required=required)
            return matches_in(self.program, table_columns(table, schema), options)


def compile(query: QueryText, schema: Schema, **options: Unpack[MatchOptions]) -> Query:
    """Take a query through every stage, for events of these columns.

    `schema` is an Arrow schema, an `EventSchema`, or events as `match` takes them: then the plan is the one that
    `match` would choose for them.
    """
    roles, chosen = read_options(options)
    watched = chosen.watched()
    with within(watched.watching):
        known = known_columns(schema, roles)
        program = compiled(query_source(query), known, watched)
    return Query(replace(known, events=None, ordered=None), chosen, program)


def compiled(source: Source, known: KnownColumns, options: Options) -> CompiledProgram:
    """The program of a text; of events that are known what decides about the plan is measured."""
    return compile_program(source, known.schema, options, measure=known.measure())


def run(
    known: KnownColumns, source: Source, options: Options, *, progress: Progress | None = None, every: int = SLICE
) -> list[Matches]:
    """The matches of every query of a text in events that are known; `progress` is told after `every` so many."""
    options = options.with_budget()
    with within(options.watching):
        # Errors of the query come before those of the events, which are sorted early only if the planner asks.
        return matches_in(compiled(source, known, options), known, options, progress=progress, every=every)


def matches_in(
    program: CompiledProgram,
    known: KnownColumns,
    options: Options,
    *,
    progress: Progress | None = None,
    every: int = SLICE,
) -> list[Matches]:
    """The matches of every query of a program in events that are known."""
    assert known.events is not None
    assert known.ordered is not None
    chain = stages(program, known.arrow, options)
    events = known.ordered()
    notes = (
        *tie_warnings(program, events, known.schema),
        *type_warnings(program, types_of(known.events, known.schema)),
    )
    collected: list[list[Found]] = [[] for _ in program.queries]
    next_derived = len(events)
    done = 0
    for part, watermark in _parts(events, program, None if progress is None else every):
        chain, found, next_derived = step(chain, part, watermark, next_derived, options)
        for all_of_one, new in zip(collected, found, strict=True):
            all_of_one.append(new)
        if progress is not None:
            done += len(part)
            progress(done, len(events))
    return [_joined(pieces, options, notes) for pieces in collected]


def _parts(events: Arrivals, program: CompiledProgram, every: int | None) -> Iterable[tuple[Arrivals, int]]:
    """The stream in slices, when someone watches and every window lets a kernel forget what it has seen."""
    bounded = all(isinstance(q.bound.window, TimeWindow) for q in program.queries)
    if every is None or not bounded or len(events) <= every:
        yield events, FOREVER
        return
    for start in range(0, len(events), every):
        part = events.slice(start, min(start + every, len(events)))
        yield part, FOREVER if start + every >= len(events) else int(part.time[-1])


def _joined(pieces: Sequence[Found], options: Options, notes: tuple[str, ...]) -> Matches:
    """One result from those of the slices."""
    found, log = pieces[0].matches, pieces[0].log
    if len(pieces) > 1:
        found = MatchSet.concat(found.variables, [enumerated(piece.matches) for piece in pieces])
        for piece in pieces[1:]:
            log = log + piece.log
        _, once = np.unique(log.rows, return_index=True)
        log = log.take(once)
        if len(found) > options.max_matches:
            raise too_many_matches(options.max_matches, "shorten WITHIN, or add predicates")
    query = pieces[0].query
    return Matches(found, log, query.bound, options.callables, notes, counters=pieces[-1].counters, compiled=query)


def warned(found: list[Matches]) -> list[Matches]:
    """The results, once their warnings have been shown to the caller of the public function that called this."""
    for text in dict.fromkeys(text for matches in found for text in matches.warnings):
        python_warnings.warn(text, AuguryWarning, stacklevel=3)
    return found
