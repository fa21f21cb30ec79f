"""Matches a stream that is pushed batch by batch."""

from __future__ import annotations

import datetime as dt
import os
import warnings as python_warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Unpack

import pyarrow as pa

from augury import arguments
from augury.budget import within
from augury.compiler import CompiledProgram, compile_program
from augury.engine.arrivals import Arrivals, arrive, in_order, split_late
from augury.engine.idle_parts import idle_parts
from augury.engine.progress import Progress, due
from augury.engine.results.matches import Matches
from augury.engine.sources.column_types import EngineColumns, engine_columns
from augury.engine.sources.events import Events
from augury.engine.sources.query_text import query_source
from augury.engine.sources.rows import not_an_event
from augury.engine.sources.schemas import KnownColumns, Schema, known_columns
from augury.engine.sources.stream_reader import StreamReader, stream_reader
from augury.engine.stages import Stage, stages, step
from augury.engine.times import lateness_ticks, moment_ticks
from augury.engine.warnings import Consuming, consuming, still_concurrent, tie_warnings, type_warnings, types_seen
from augury.errors import AuguryWarning, HostError
from augury.nouns import per_batch
from augury.options import Lateness, MatchOptions, Options, read_options
from augury.runtime.state import FOREVER, LONG_AGO
from augury.schema import EventSchema
from augury.source import Source


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """The parts of a matcher that do not change: its query, columns, options and compiled program."""

    source: Source
    arrow: pa.Schema
    schema: EventSchema
    options: Options
    lateness: int | None
    program: CompiledProgram
    reader: StreamReader
    columns: EngineColumns
    """Casts of the events to the engine's types."""
    nothing: Arrivals
    consuming: Consuming
    """The strategies that concurrent events matter to."""


@per_batch(kw_only=True)
class Position(Progress):
    """The progress of a matcher; events are held back only with a lateness.

    `consumed` are the events consumed last, in order, and of earlier batches at the same time one event of each key.
    `late` counts those that came too late, `highest` is the latest time seen, `types` are the names of types seen.
    """

    consumed: Arrivals
    types: frozenset[str]
    late: int = 0
    highest: int = LONG_AGO
    finished: bool = False

    def after(self, chain: tuple[Stage, ...], held: Arrivals, consumed: Arrivals, next_derived: int) -> Position:
        """The position after a step; `replace` would cost a small batch as much as its kernel does."""
        return Position(
            stages=chain,
            held=held,
            next_row=self.next_row,
            next_derived=next_derived,
            watermark=self.watermark,
            consumed=consumed,
            types=self.types,
            late=self.late,
            highest=self.highest,
            finished=self.finished,
        )


def setting(source: Source, arrow: pa.Schema, schema: EventSchema, options: Options, lateness: int | None) -> Setting:
    """Compile the query for a stream."""
    program = compile_program(source, schema, options, live=True)
    reader, columns = stream_reader(arrow, schema), engine_columns(arrow, schema.type, coded=True)
    nothing, strategies = Arrivals.none(arrow), consuming(program, schema)
    return Setting(source, arrow, schema, options, lateness, program, reader, columns, nothing, strategies)


def beginning(of: Setting) -> Position:
    """The stream before its first event."""
    chain = stages(of.program, of.arrow, of.options)
    if of.options.jit:
        from augury.kernels.ahead import compile_ahead
        from augury.kernels.stream import StreamKernel

        for stage in chain:
            if isinstance(stage.kernel, StreamKernel):
                # Compiled now, so that no batch has to wait for it.
                compile_ahead(stage.kernel)
    return Position(stages=chain, held=of.nothing, consumed=of.nothing, types=frozenset())


class Matcher:
    """A query over a stream that is pushed in batches; the matches come out as soon as they are certain.

    `schema` is an Arrow schema, an `EventSchema` or an example of the events (of which only the columns count).
    The options are those of `MatchOptions`.

    Without `lateness` every event is consumed at once, and one that precedes what was consumed is late. With a lateness
    ("10 minutes", a timedelta, or ticks of the time column) events are held back until one has been seen that is later
    by more than that. Late events take no part: `late` counts them, and what `feed` returns hands them out once, in
    `late_events`.

    Rows count the events fed. Those that an earlier query of a program derives are numbered from 2^62 on; a later query
    waits until the watermark says that no more of them can come, without a WITHIN until `finish`.

    >>> columns = pa.schema([("ts", pa.int64()), ("type", pa.string())])
    >>> stream = Matcher("PATTERN SEQ(A a, B b) WITHIN 1 minute", columns)
    >>> len(stream.feed([{"ts": 1, "type": "A"}])), len(stream.feed([{"ts": 2, "type": "B"}])), len(stream.finish())
    (0, 1, 0)
    """

    _interrupted = False
    """Whether an error has left a kernel halfway through a step."""

    def __init__(
        self,
        query: str | os.PathLike[str],
        schema: Schema,
        *,
        lateness: Lateness | None = None,
        **options: Unpack[MatchOptions],
    ) -> None:
        roles, chosen = read_options(options)
        chosen = chosen.watched()
        with within(chosen.watching):
            self._begin(query_source(query), known_columns(schema, roles), chosen, lateness)
        for text in dict.fromkeys(text for q in self._setting.program.queries for text in idle_parts(q.bound)):
            python_warnings.warn(text, AuguryWarning, stacklevel=2)

    def _begin(self, source: Source, known: KnownColumns, options: Options, lateness: Lateness | None) -> None:
        ticks = lateness_ticks(lateness, known.schema)
        self._setting = setting(source, known.arrow, known.schema, replace(options, live=True), ticks)
        self._position = beginning(self._setting)

    @property
    def late(self) -> int:
        """How many events came too late to take part."""
        return self._position.late

    def feed(self, events: Events) -> Matches:
        """Push events, any input that `match` takes, and get the matches that have become certain.

        Columns may come in another order than in the schema; one missing or too many is an error, except that a column
        which dicts leave out is null, unless it is the time, the type or one that orders the events. An error in the
        events leaves the matcher as it was. So does one while matching with the plan "reference"; with another plan
        only `restore` goes on after it.
        """
        return self._feed(events)

    def feed_event(self, event: Mapping[str, Any]) -> Matches:
        """Push one event, a dict of its columns, and get the matches that have become certain.

        The same as `feed([event])`. Events that come together cost less in one `feed` than one by one.

        >>> columns = pa.schema([("ts", pa.int64()), ("type", pa.string())])
        >>> stream = Matcher("PATTERN SEQ(A a, B b) WITHIN 1 minute", columns)
        >>> [len(stream.feed_event({"ts": ts, "type": type})) for ts, type in enumerate("ABB")]
        [0, 1, 1]
        """
        if not isinstance(event, Mapping):
            raise not_an_event(f"an event is a dict of its columns, not {arguments.shown(event)}")
        return self._feed((event,))

    def advance(self, watermark: str | dt.datetime | dt.date | float) -> Matches:
        """Promise that no event earlier than `watermark`, a time of the stream or its ISO 8601 text, will come."""
        self._refuse_to_go_on()
        given = self._setting
        ticks = moment_ticks(watermark, given.arrow.field(given.schema.time).type, given.schema)
        at = replace(self._position, watermark=max(self._position.watermark, ticks))
        with within(self._setting.options.watching):
            return self._consume(at, everything=False)

    def finish(self) -> Matches:
        """End the stream and get the remaining matches; nothing can be fed afterwards."""
        self._refuse_to_go_on()
        at = replace(self._position, watermark=FOREVER, finished=True)
        with within(self._setting.options.watching):
            return self._consume(at, everything=True)

    def snapshot(self, *, key: bytes | None = None) -> bytes:
        """Everything needed to go on later, in another process too, save the registered functions and `cache_dir`.

        With a `key` it carries an HMAC-SHA256: `restore` then refuses bytes that somebody without the key has changed.
        Without, a checksum tells damage only. The events and the query are in it as they are, not encrypted.
        """
        from augury.hosts.local.snapshot import save

        self._refuse_interrupted()
        return save(self._setting, self._position, key)

    @classmethod
    def restore(
        cls,
        data: bytes,
        *,
        functions: Mapping[str, Callable[..., Any]] | None = None,
        cache_dir: str | os.PathLike[str] | None = None,
        key: bytes | None = None,
    ) -> Matcher:
        """The matcher as it was when `snapshot` wrote `data`; give it the same functions, and the same `key` if any.

        All of it is checked before it is used: bytes from elsewhere give a `HostError`, or a matcher that runs.
        """
        from augury.hosts.local.snapshot import load_snapshot

        matcher = cls.__new__(cls)
        matcher._setting, matcher._position = load_snapshot(
            data,
            arguments.callables("functions", functions),
            arguments.optional_path("cache_dir", cache_dir),
            key,
        )
        return matcher

    def _refuse_to_go_on(self) -> None:
        self._refuse_interrupted()
        if self._position.finished:
            raise HostError("A541", "this stream has been finished", "make a new Matcher for another stream")

    def _refuse_interrupted(self) -> None:
        if self._interrupted:
            raise HostError(
                "A549",
                "an error interrupted this matcher, which cannot be continued",
                "restore an earlier snapshot and feed it what came since",
            )

    def _feed(self, events: Events) -> Matches:
        self._refuse_to_go_on()
        with within(self._setting.options.watching):
            at, given = self._position, self._setting
            arrived = arrive(given.reader.read(events), given.schema, at.next_row, given.columns)
            in_time, late = split_late(arrived, at.consumed, at.watermark, given.schema, by_key=given.lateness is None)
            everything = given.lateness is None
            highest = max(at.highest, in_time.latest) if len(in_time) else at.highest
            at = Position(
                stages=at.stages,
                held=at.held + in_time,
                next_row=at.next_row + len(arrived),
                next_derived=at.next_derived,
                watermark=max(at.watermark, highest - (given.lateness or 0)),
                consumed=at.consumed,
                types=types_seen(at.types, arrived.batch(given.schema, given.columns), given.schema),
                late=at.late if late is None else at.late + len(late),
                highest=highest,
            )
            return self._consume(at, everything=everything, late=given.nothing if late is None else late, callers=4)

    def _consume(self, at: Position, *, everything: bool, late: Arrivals | None = None, callers: int = 3) -> Matches:
        """Match the events that are due; the position changes only if that succeeds.

        Warnings are issued at the line that called into this class, `callers` frames up.
        """
        given = self._setting
        ready, held = (in_order(at.held, given.schema), given.nothing) if everything else due(at, given.schema)
        notes = tie_warnings(given.consuming, ready, given.schema, at.consumed) if given.consuming else ()
        # Generated code changes its state in place: after a failure halfway the matcher cannot continue.
        self._interrupted = any(stage.query.kernel is not None for stage in at.stages)
        chain, found, next_derived = step(at.stages, ready, at.watermark, at.next_derived, given.options)
        if at.finished:
            notes += type_warnings(given.program, at.types)
        consumed = ready if len(ready) else at.consumed
        if given.consuming:
            consumed = still_concurrent(given.consuming, ready, given.schema, at.consumed)
        self._position = at.after(chain, held, consumed, next_derived)
        self._interrupted = False
        for text in notes:
            python_warnings.warn(text, AuguryWarning, stacklevel=callers)
        final = found[-1]
        return Matches(
            final.matches,
            final.log,
            final.query.bound,
            given.options.callables,
            notes,
            (given.nothing if late is None else late).table,
            final.counters,
            final.query,
        )


def matcher_of(source: Source, columns: KnownColumns, options: Options, lateness: Lateness | None) -> Matcher:
    """A matcher for events whose columns are known."""
    matcher = Matcher.__new__(Matcher)
    options = options.watched()
    with within(options.watching):
        matcher._begin(source, columns, options, lateness)
    return matcher
