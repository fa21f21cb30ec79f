"""A query that is compiled once, and used for as many streams as one likes."""

from __future__ import annotations

import os
import warnings as python_warnings
from dataclasses import dataclass, replace
from typing import TypeAlias, Unpack

from augury.budget import within
from augury.compiler import CompiledProgram, compile_program
from augury.engine.results.matches import Matches
from augury.engine.sources.events import Events, conform, is_rows, read_events
from augury.engine.sources.query_text import query_source
from augury.engine.sources.schemas import KnownColumns, Schema, known_columns, table_columns
from augury.errors import AuguryWarning
from augury.explain.text import explain_program
from augury.hosts.local.finite import SLICE, Progress, matches_in
from augury.hosts.local.matcher import Matcher, matcher_of
from augury.options import Lateness, MatchOptions, Options, StageName, read_options
from augury.source import Source

QueryText: TypeAlias = str | os.PathLike[str]
"""The text of a query, or a `Path` to a file that holds it; a string is never a path."""


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
    return Query(replace(known, scan=None), chosen, program)


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


def warned(found: list[Matches]) -> list[Matches]:
    """The results, once their warnings have been shown to the caller of the public function that called this."""
    for text in dict.fromkeys(text for matches in found for text in matches.warnings):
        python_warnings.warn(text, AuguryWarning, stacklevel=3)
    return found
