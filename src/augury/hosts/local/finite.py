"""The matches of a program in events that are all there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from augury.budget import too_many_matches
from augury.compiler import CompiledProgram, CompiledQuery, counted, load
from augury.engine.arrivals import Arrivals
from augury.engine.results.matches import Matches
from augury.engine.scan.scan import Scan
from augury.engine.sources.schemas import KnownColumns
from augury.engine.stages import StageResult, stages, step
from augury.engine.warnings import missing_types, tie_warnings
from augury.ir.query import TimeWindow
from augury.jit.compile import compiled_before
from augury.options import Options
from augury.runtime.matches import MatchSet
from augury.runtime.shared import FoundMatches, enumerated
from augury.runtime.state import FOREVER

SLICE = 5_000
"""Events between two reports of progress."""

MIN_EVENTS_TO_COMPILE = 20_000
"""From so many events on a kernel is compiled at once: as plain Python it would take about as long."""

MIN_EVENTS_TO_LOAD = 1_000
"""From so many events on a kernel is used that has been compiled before."""

Progress = Callable[[int, int], None]
"""Told how many events out of how many that can matter have been matched."""


def matches_in(
    program: CompiledProgram,
    known: KnownColumns,
    options: Options,
    *,
    progress: Progress | None = None,
    every: int = SLICE,
) -> list[Matches]:
    """The matches of every query of a program in events that are known."""
    assert known.scan is not None
    slices = None if progress is None else every
    if any(query.bound.into is not None for query in program.queries):
        return _of_stages(program, known.scan, options, progress, slices)
    return [_of_one(query, known.scan, options, progress, slices) for query in program.queries]


def _of_one(
    query: CompiledQuery, scan: Scan, options: Options, progress: Progress | None, every: int | None
) -> Matches:
    """What a query finds that needs no events of other queries."""
    events = scan.events(query.rewritten)
    if options.jit is None and pays(query, len(events), options):
        options = replace(options, jit=True)
    kernel = load(query, options)
    state = kernel.start()
    alone = CompiledProgram((query,))
    notes = (
        *tie_warnings(alone, events, scan.schema),
        *missing_types(alone, events, scan.types, scan.schema),
    )
    pieces: list[FoundMatches] = []
    done = 0
    for part, watermark in _parts(events, [query], every):
        state, found = kernel.step(state, part.batch(query.bound.schema), watermark)
        pieces.append(found)
        if progress is not None:
            done += len(part)
            progress(done, len(events))
    counters = counted(kernel, state, options)
    found = _joined(pieces, options)
    return Matches(found, scan.log, query.bound, options.callables, notes, counters=counters, compiled=query)


def pays(query: CompiledQuery, events: int, options: Options) -> bool:
    """Whether a kernel is worth to be compiled, or loaded, for so many events before it has run at all."""
    if query.kernel is None or events < MIN_EVENTS_TO_LOAD:
        return False
    return events >= MIN_EVENTS_TO_COMPILE or compiled_before(query.kernel.source, options.cache_dir)


def _of_stages(
    program: CompiledProgram, scan: Scan, options: Options, progress: Progress | None, every: int | None
) -> list[Matches]:
    """What the queries of a program find of which some see the events that others derive."""
    chain = stages(program, scan.arrow, options)
    events = scan.ordered
    notes = (
        *tie_warnings(program, events, scan.schema),
        *missing_types(program, events, scan.types, scan.schema),
    )
    collected: list[list[StageResult]] = [[] for _ in program.queries]
    next_derived = len(events)
    done = 0
    for part, watermark in _parts(events, program.queries, every):
        chain, found, next_derived = step(chain, part, watermark, next_derived, options)
        for all_of_one, new in zip(collected, found, strict=True):
            all_of_one.append(new)
        if progress is not None:
            done += len(part)
            progress(done, len(events))
    return [_shown(pieces, options, notes) for pieces in collected]


def _parts(events: Arrivals, queries: Sequence[CompiledQuery], every: int | None) -> Iterable[tuple[Arrivals, int]]:
    """The stream in slices, when someone watches and every window lets a kernel forget what it has seen."""
    bounded = all(isinstance(query.bound.window, TimeWindow) for query in queries)
    if every is None or not bounded or len(events) <= every:
        yield events, FOREVER
        return
    for start in range(0, len(events), every):
        part = events.slice(start, min(start + every, len(events)))
        yield part, FOREVER if start + every >= len(events) else int(part.time[-1])


def _joined(pieces: Sequence[FoundMatches], options: Options) -> FoundMatches:
    """One set of matches from those of the slices."""
    if len(pieces) == 1:
        return pieces[0]
    found = MatchSet.concat(pieces[0].variables, [enumerated(piece) for piece in pieces])
    if len(found) > options.max_matches:
        raise too_many_matches(options.max_matches, "shorten WITHIN, or add predicates")
    return found


def _shown(pieces: Sequence[StageResult], options: Options, notes: tuple[str, ...]) -> Matches:
    """One result from those of the slices, with all the events that matches bind."""
    found, log = _joined([piece.matches for piece in pieces], options), pieces[0].log
    if len(pieces) > 1:
        for piece in pieces[1:]:
            log = log + piece.log
        _, once = np.unique(log.rows, return_index=True)
        log = log.take(once)
    query = pieces[0].query
    return Matches(found, log, query.bound, options.callables, notes, counters=pieces[-1].counters, compiled=query)
