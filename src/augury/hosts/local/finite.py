"""Matches a program over a finite stream."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import chain, islice
from typing import TypeVar

import numpy as np

from augury.budget import too_many_matches
from augury.budget.amounts import size_text
from augury.compiler import CompiledProgram, CompiledQuery, counted, load
from augury.engine.arrivals import Arrivals
from augury.engine.compiling import compiled_if_worth, worth_compiling
from augury.engine.cut.by_start import PIECE_EVENTS, matched_by_start, runs_end_soon
from augury.engine.cut.portions import (
    MAX_SHOWN_PORTION_MATCHES,
    MAX_UNCUT_STEP_EVENTS,
    CutByTime,
    NotInOrder,
    Portion,
    PortionSize,
    can_start_anywhere,
    in_steps,
    one_pass_is_cheap,
    reports_at_the_end,
    ways_to_cut,
    whole_times,
)
from augury.engine.idle_parts import idle_parts
from augury.engine.nothing_found import nothing_found
from augury.engine.results.matches import Matches
from augury.engine.scan.scan import Scan
from augury.engine.sources.schemas import KnownColumns
from augury.engine.stages import StageResult, stages, step
from augury.engine.threads import (
    QUEUED_ITEMS_PER_THREAD,
    QUEUED_LARGE_ITEMS_PER_THREAD,
    Workers,
    matched,
    matched_in_steps,
    threads_of,
)
from augury.engine.warnings import (
    TieCount,
    consuming,
    missing_types,
    names_types,
    tie_warnings,
    type_warnings,
    type_warnings_of,
    types_of,
)
from augury.errors import HostError
from augury.ir.query import TimeWindow
from augury.jit.compile import compiled_before
from augury.options import Options, Progress
from augury.runtime.batch import ascends
from augury.runtime.matches import MatchSet
from augury.runtime.row_matches import RowMatches
from augury.runtime.shared import FoundMatches, MatchParts, QueryMatches, SharedMatches, enumerated
from augury.runtime.state import FOREVER
from augury.timing import CallStage

PROGRESS_EVENTS = 5_000
"""Events between two reports of progress, at least."""

MAX_PROGRESS_REPORTS = 200
"""Reports of progress per call: a kernel takes a slice of the events between two of them, which has a cost."""

MIN_ROWS_READ_IN_PIECES = 1 << 20
"""Rows from which on files are matched while they are read."""

COPIES_TO_SORT = 3
"""Copies of the events in memory while they are sorted."""

Part = TypeVar("Part", MatchSet, "MatchSet | RowMatches")


def matches_in(
    program: CompiledProgram,
    known: KnownColumns,
    options: Options,
    *,
    progress: Progress | None = None,
    every: int = PROGRESS_EVENTS,
) -> list[Matches]:
    """The matches of every query of a program; progress is reported at most once per `every` events."""
    assert known.scan is not None
    slices = None if progress is None else every
    if any(query.bound.into is not None for query in program.queries):
        return _of_stages(program, known.scan, options, progress, slices)
    return [_of_one(query, known.scan, options, progress, slices) for query in program.queries]


def _of_one(
    query: CompiledQuery, scan: Scan, options: Options, progress: Progress | None, every: int | None
) -> Matches:
    """The matches of a query that reads no events derived by other queries."""
    reading = while_read(query, scan, options, progress, keep=True)
    if reading is not None:
        try:
            variables = tuple(v.name for v in query.bound.variables if not v.negated)
            parts = MatchParts(variables, tuple(part for part in reading if len(part)))
            return Matches(parts, scan.log, query.bound, options.callables, reading.warnings, compiled=query)
        except NotInOrder:
            check_sortable(query, scan, options)
    with options.clock.stage(CallStage.READING):
        events = scan.events(query.rewritten)
    options.clock.count(CallStage.READING, scan.rows)
    options = compiled_if_worth(query, len(events), options)
    alone = CompiledProgram((query,))
    notes = (
        *tie_warnings(consuming(alone, scan.schema), events, scan.schema),
        *missing_types(alone, events, scan.types, scan.schema),
        *idle_parts(query.bound),
    )
    in_parts = _in_portions(query, events, options, progress)
    if in_parts is None:
        in_parts = _in_steps(query, events, options, progress)
    if in_parts is not None:
        notes += _if_none(in_parts, query, scan, events)
        return Matches(in_parts, scan.log, query.bound, options.callables, notes, compiled=query)
    with options.clock.stage(CallStage.LOADING):
        kernel = load(query, options)
    state = kernel.start()
    pieces: list[FoundMatches] = []
    done = 0
    for part, watermark in _parts(events, [query], every):
        with options.clock.stage(CallStage.MATCHING, len(part)):
            state, found = kernel.step(state, part.batch(query.bound.schema), watermark)
        pieces.append(found)
        if progress is not None:
            done += len(part)
            progress(done, len(events))
    counters = counted(kernel, state, options)
    with options.clock.stage(CallStage.WRITING):
        found = _joined(pieces, options)
    notes += _if_none(found, query, scan, events)
    return Matches(found, scan.log, query.bound, options.callables, notes, counters=counters, compiled=query)


def _if_none(found: QueryMatches, query: CompiledQuery, scan: Scan, events: Arrivals) -> tuple[str, ...]:
    """The warnings of a query without matches; not for compressed ones, which would have to be counted."""
    return () if isinstance(found, SharedMatches) or len(found) else nothing_found(query, scan, events)


def _in_portions(
    query: CompiledQuery, events: Arrivals, options: Options, progress: Progress | None
) -> QueryMatches | None:
    """The matches of a query, found in portions of the stream on as many threads as the options allow.

    None if the stream has to be matched as a whole: it is short, or cannot be cut, or more than the matches is asked
    for.
    """
    # Plain Python gains nothing from portions: it runs on one thread at a time.
    if options.jit is not True or not _only_matches(options):
        return None
    options = replace(options, rows_only=True)
    for way in ways_to_cut(query):
        size = PortionSize()
        size.fit_threads(len(events), threads_of(options))
        portions = way.portions(events, size)
        if len(first := [*islice(portions, 2)]) > 1:
            parts, done = [], 0
            found_in = matched(query, chain(first, portions), options, Workers(threads_of(options)))
            for seen, found in _within_limits(found_in, options):
                parts.append(found)
                size.note(seen, len(found))
                done += seen
                if progress is not None:
                    progress(min(done, len(events)), len(events))
            with options.clock.stage(CallStage.WRITING):
                return way.joined(events, parts)
    return None


def _in_steps(query: CompiledQuery, events: Arrivals, options: Options, progress: Progress | None) -> MatchParts | None:
    """The matches of a query in a long stream of contiguous events, which is matched step by step.

    None if steps would cost more than they save, or if more than the matches is asked for.
    """
    if len(events) <= MAX_UNCUT_STEP_EVENTS // 2 or not _only_matches(options):
        return None
    if not reports_at_the_end(query) or not one_pass_is_cheap(query):
        return None
    threads = threads_of(options)
    # As many steps for each thread, and none of more than `MAX_UNCUT_STEP_EVENTS`.
    shares = threads * -(-len(events) // (threads * MAX_UNCUT_STEP_EVENTS))
    steps = in_steps(events, -(-len(events) // shares))
    parts, done = [], 0
    share = len(events) // threads
    workers = Workers(threads, QUEUED_LARGE_ITEMS_PER_THREAD)
    found_in = _contiguous(query, steps, options, workers, share, in_order=ascends(events.rows))
    for seen, found in _within_limits(found_in, options):
        parts.append(found)
        done += seen
        if progress is not None:
            progress(done, len(events))
    return MatchParts(parts[0].variables, tuple(part for part in parts if len(part)))


def _contiguous(
    query: CompiledQuery,
    steps: Iterable[Arrivals],
    options: Options,
    workers: Workers,
    share: int = PIECE_EVENTS,
    *,
    in_order: bool,
) -> Iterator[tuple[int, MatchSet]]:
    """The number of events of each step and its matches, found on all threads if matches can start anywhere.

    `share` is the number of events for each thread.
    """
    # Plain Python gains nothing from threads: it runs on one at a time.
    if workers.threads > 1 and options.jit is True and in_order and can_start_anywhere(query):
        first = [*islice(steps := iter(steps), 1)]
        steps = chain(first, steps)
        if first and runs_end_soon(query, first[0]):
            return matched_by_start(query, steps, options, workers, min(share, PIECE_EVENTS))
    return matched_in_steps(query, steps, options)


def _only_matches(options: Options) -> bool:
    """Whether the options ask for plain matches only: without counters, and not compressed."""
    return not options.counters and not options.compressed


def _within_limits(
    parts: Iterable[tuple[int, Part]], options: Options, *, keep: bool = True
) -> Iterator[tuple[int, Part]]:
    """Pass parts on, and raise once their matches exceed a budget; `keep` says whether all stay in memory."""
    matches, held = 0, 0
    account = options.watching.account()
    for seen, found in parts:
        matches += len(found)
        if matches > options.max_matches:
            raise too_many_matches(options.max_matches, "shorten WITHIN, or add predicates")
        held = held + found.nbytes if keep else found.nbytes
        account.hold("matches", held)
        options.watching.check()
        yield seen, found


class MatchesWhileRead:
    """The matches of a query in a long stream, which is read while it is matched.

    With a `cut`, threads match a portion of time each; else one kernel matches all events as they come. Iteration gives
    the matches in their order, a part at a time; `warnings` are complete once it has ended.
    """

    def __init__(
        self,
        query: CompiledQuery,
        scan: Scan,
        cut: CutByTime | None,
        options: Options,
        progress: Progress | None,
        *,
        keep: bool,
    ) -> None:
        self.query, self.scan, self.cut, self.progress, self.keep = query, scan, cut, progress, keep
        self.options = replace(options if query.kernel is None else options.compiled(), rows_only=keep)
        self.warnings: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[MatchSet | RowMatches]:
        query, scan, options, cut = self.query, self.scan, self.options, self.cut
        alone = CompiledProgram((query,))
        queued = QUEUED_ITEMS_PER_THREAD if self.keep and cut is not None else QUEUED_LARGE_ITEMS_PER_THREAD
        workers = Workers(threads_of(options), queued)
        pieces = scan.pieces(query.rewritten, workers, encode=cut is None)
        assert pieces is not None
        unseen = names_types(alone)
        ties, types = TieCount(consuming(alone, scan.schema), scan.schema), set[str]()
        size = PortionSize() if self.keep else PortionSize(max_matches=MAX_SHOWN_PORTION_MATCHES)
        read, any_found = 0, False

        def noted(cut: CutByTime) -> Iterator[Portion]:
            for portion in cut.while_read(seen(), size):
                ties.add(portion.own_events())
                yield portion

        def noted_steps() -> Iterator[Arrivals]:
            for events in whole_times(seen()):
                ties.add(events)
                yield events

        def seen() -> Iterator[Arrivals]:
            nonlocal read, unseen
            for piece in options.clock.each(CallStage.READING, pieces):
                if unseen:
                    types.update(types_of(piece.table, scan.schema))
                    unseen = bool(type_warnings(alone, frozenset(types)))
                yield piece
                # Rows that the query does not read are counted once a later row is read.
                read = int(piece.rows[-1]) + 1 if len(piece) else read
                if self.progress is not None:
                    self.progress(read, scan.rows)

        parts: Iterable[tuple[int, MatchSet | RowMatches]]
        if cut is not None:
            parts = matched(query, noted(cut), options, workers)
        else:
            # Files are read in the order of their rows.
            parts = _contiguous(query, noted_steps(), options, workers, in_order=True)
        for events, found in _within_limits(parts, options, keep=self.keep):
            size.note(events, len(found))
            any_found = any_found or len(found) > 0
            yield found
        if self.progress is not None:
            self.progress(scan.rows, scan.rows)
        options.clock.count(CallStage.READING, scan.rows)
        missing = type_warnings_of(alone, frozenset(types), scan.types) if unseen else ()
        self.warnings = (*ties.warnings(), *missing, *idle_parts(query.bound))
        if not any_found and not scan.is_long:
            self.warnings += nothing_found(query, scan, scan.events(query.rewritten))


def while_read(
    query: CompiledQuery, scan: Scan, options: Options, progress: Progress | None = None, *, keep: bool
) -> MatchesWhileRead | None:
    """Match a query while its events are read; None if they are read already, few, or have to be read first.

    `keep` says whether all matches are kept in memory.
    """
    if not _only_matches(options) or len(scan.schema.order_by) > 1 or not scan.has_pieces:
        return None
    ways = ways_to_cut(query)
    cut = next((way for way in ways if isinstance(way, CutByTime)), None)
    if cut is None and not reports_at_the_end(query):
        return None
    if not scan.is_long:
        if scan.rows < MIN_ROWS_READ_IN_PIECES or (cut is None and ways):
            return None
        if cut is not None and (scan.has_read(query.rewritten) or not ready(query, options)):
            return None
    return MatchesWhileRead(query, scan, cut, options, progress, keep=keep)


def check_sortable(query: CompiledQuery, scan: Scan, options: Options) -> None:
    """Raise if events, which are not in order, do not fit in memory to be sorted."""
    needed = COPIES_TO_SORT * scan.memory(query.rewritten)
    if needed > options.watching.memory:
        raise HostError(
            "A672",
            f"the events are not in the order of time, and sorting them would take some {size_text(needed)}, more than "
            f"max_memory={size_text(options.watching.memory)}",
            f"write them sorted by `{scan.schema.time}`, or raise max_memory",
        )


def ready(query: CompiledQuery, options: Options) -> bool:
    """Whether the kernel of a query is compiled, so that it takes no longer for few events than for many."""
    return options.jit is True or (
        options.jit is None and query.kernel is not None and compiled_before(query.kernel.source, options.cache_dir)
    )


def _of_stages(
    program: CompiledProgram, scan: Scan, options: Options, progress: Progress | None, every: int | None
) -> list[Matches]:
    """The matches of the queries of a program in which some read the events that others derive."""
    with options.clock.stage(CallStage.READING):
        events = scan.ordered
    options.clock.count(CallStage.READING, len(events))
    if options.jit is None and any(worth_compiling(query, len(events), options) for query in program.queries):
        options = options.compiled()
    staged = stages(program, scan.arrow, options)
    notes = (
        *tie_warnings(consuming(program, scan.schema), events, scan.schema),
        *missing_types(program, events, scan.types, scan.schema),
        *(text for query in program.queries for text in idle_parts(query.bound)),
    )
    collected: list[list[StageResult]] = [[] for _ in program.queries]
    next_derived = len(events)
    done = 0
    for part, watermark in _parts(events, program.queries, every):
        staged, found, next_derived = step(staged, part, watermark, next_derived, options)
        for all_of_one, new in zip(collected, found, strict=True):
            all_of_one.append(new)
        if progress is not None:
            done += len(part)
            progress(done, len(events))
    return [_shown(pieces, options, notes) for pieces in collected]


def _parts(events: Arrivals, queries: Sequence[CompiledQuery], every: int | None) -> Iterable[tuple[Arrivals, int]]:
    """The stream in slices of `every` events, if progress is reported and all windows are in time; else as a whole."""
    bounded = all(isinstance(query.bound.window, TimeWindow) for query in queries)
    every = None if every is None else max(every, len(events) // MAX_PROGRESS_REPORTS)
    if every is None or not bounded or len(events) <= every:
        yield events, FOREVER
        return
    for start in range(0, len(events), every):
        part = events.slice(start, min(start + every, len(events)))
        yield part, FOREVER if start + every >= len(events) else int(part.time[-1])


def _joined(pieces: Sequence[FoundMatches], options: Options) -> FoundMatches:
    """The matches of all slices in one set."""
    if len(pieces) == 1:
        return pieces[0]
    found = MatchSet.concat(pieces[0].variables, [enumerated(piece) for piece in pieces])
    if len(found) > options.max_matches:
        raise too_many_matches(options.max_matches, "shorten WITHIN, or add predicates")
    return found


def _shown(pieces: Sequence[StageResult], options: Options, notes: tuple[str, ...]) -> Matches:
    """One result from those of all slices, with all the events that matches bind."""
    found, log = _joined([piece.matches for piece in pieces], options), pieces[0].log.everything()
    if len(pieces) > 1:
        for piece in pieces[1:]:
            log = log + piece.log.everything()
        _, once = np.unique(log.rows, return_index=True)
        log = log.take(once)
    query = pieces[0].query
    return Matches(found, log, query.bound, options.callables, notes, counters=pieces[-1].counters, compiled=query)
