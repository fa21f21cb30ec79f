"""A query that is compiled once, and used for as many streams as one likes."""

from __future__ import annotations

import os
import warnings as python_warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias, Unpack, cast

from augury.arguments import path as file_path
from augury.budget import within
from augury.compiler import CompiledProgram, compile_program
from augury.engine.results.matches import Matches
from augury.engine.sources.column_types import conform
from augury.engine.sources.events import Events, is_rows, read_events
from augury.engine.sources.query_text import query_source
from augury.engine.sources.schemas import KnownColumns, Schema, known_columns, scanned_files, table_columns
from augury.errors import AuguryWarning
from augury.hosts.local.finite import PROGRESS_EVENTS, matches_in
from augury.hosts.local.matcher import Matcher, matcher_of
from augury.hosts.local.programs import cached_program
from augury.hosts.local.progress_bar import progress_shown
from augury.hosts.local.sink import sink
from augury.options import Lateness, MatchOptions, Options, Roles, StageName, TimeUnit, read_options
from augury.source import Source
from augury.timing import CallStage, Stopwatch

if TYPE_CHECKING:
    from augury.explain.explanation import Explanation
    from augury.explain.why_not.result import WhyNot

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

    def sink_parquet(self, events: Events, path: str | os.PathLike[str]) -> int:
        """Write the matches in a finite stream to a Parquet file as they are found, and say how many there are.

        The file has the columns of `Matches.to_arrow`, and is there when all of it is written. Of Parquet files of many
        rows no more is in memory than the parts that are being matched, if the events are in the order of time.
        """
        options, out = self.options.watched(), file_path("path", path)
        with within(options.watching), progress_shown(options.progress) as progress:
            count, notes = sink(self.program, self._known(events, options), options, out, progress=progress)
        _warn(notes)
        return count

    def match_each(self, events: Events) -> list[Matches]:
        """The matches of every query of the text, in the order the queries are written."""
        return warned(self._matches(events))

    def stream(self, *, lateness: Lateness | None = None) -> Matcher:
        """A `Matcher` for a stream that is pushed batch by batch.

        It has a plan of its own, for a stream of which nothing is known but what the option `statistics` says.
        """
        return matcher_of(self.program.last.source, self.columns, self.options, lateness)

    def explain(self, stage: StageName = "plan") -> Explanation:
        """The query after a stage of the compiler: its "syntax", "bound", "rewritten", "plan" or "kernel" stage."""
        from augury.explain.explanation import explanation

        return explanation(self.program, stage)

    def why_not(
        self, events: Events, *, rows: Mapping[str, int | Iterable[int]] | None = None, sample: int | None = None
    ) -> WhyNot:
        """Why there is no match in these events, or why those at certain `rows` are none; see `augury.why_not`."""
        from augury.explain.why_not.answer import why_not_in

        options = self.options.watched()
        with within(options.watching):
            found = matches_in(self.program, self._known(events, options), options)[-1]
            return why_not_in(found, options, rows=rows, sample=sample)

    def __repr__(self) -> str:
        return f"Query({self.text!r})"

    def _matches(self, events: Events) -> list[Matches]:
        options, watch = self.options.watched().timed()
        with within(options.watching), progress_shown(options.progress) as progress, watch.stage(CallStage.OTHER):
            with watch.stage(CallStage.READING):
                known = self._known(events, options)
            found = matches_in(self.program, known, options, progress=progress)
        return _with_times(found, watch)

    def _known(self, events: Events, options: Options) -> KnownColumns:
        """The events of a call, cast to the columns that the query was compiled for."""
        schema, arrow = self.columns.schema, self.columns.arrow
        roles = Roles(schema.time, schema.type, schema.order_by, cast("TimeUnit", schema.time_unit))
        files = scanned_files(events, roles, options.threads)
        if files is not None and files.arrow == arrow:
            return replace(files, schema=schema)
        required = (schema.type, *schema.order_by)
        table = read_events(events, schema.time, required)
        if not table.num_columns:
            # Events without any column, such as an empty list.
            table = arrow.empty_table()
        return table_columns(conform(table, arrow, fill=is_rows(events), required=required), schema)


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
    """The program of a text, from the cache if it is there; statistics are measured on the events if some are given."""
    planned_for = None if known.scan is None else known.scan.identity
    with options.clock.stage(CallStage.PLANNING):
        return cached_program(
            (source, known.schema, planned_for),
            options,
            lambda: compile_program(source, known.schema, options, measure=known.measure(options.clock)),
        )


def run(known: KnownColumns, source: Source, options: Options, *, every: int = PROGRESS_EVENTS) -> list[Matches]:
    """The matches of every query of a text; progress is reported every `every` events.

    Their stage times include those of the options' clock, which has timed how the events were opened or read.
    """
    watch = options.clock.copy() if isinstance(options.clock, Stopwatch) else Stopwatch()
    options = replace(options.with_budget(), clock=watch)
    with within(options.watching), progress_shown(options.progress) as progress, watch.stage(CallStage.OTHER):
        # Errors of the query come before those of the events, which are sorted early only if the planner asks.
        found = matches_in(compiled(source, known, options), known, options, progress=progress, every=every)
    return _with_times(found, watch)


def _with_times(found: list[Matches], watch: Stopwatch) -> list[Matches]:
    """The results, each with a copy of the stage times of the call, to which writing it out later adds."""
    return [replace(matches, times=watch.copy()) for matches in found]


def warned(found: list[Matches]) -> list[Matches]:
    """Issue the warnings of results, at the caller of the public function that calls this, and return the results."""
    _warn([text for matches in found for text in matches.warnings], stacklevel=4)
    return found


def _warn(texts: Iterable[str], stacklevel: int = 3) -> None:
    for text in dict.fromkeys(texts):
        python_warnings.warn(text, AuguryWarning, stacklevel=stacklevel)
