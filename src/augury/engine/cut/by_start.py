"""Cutting a stream of contiguous events into pieces: a piece is matched on its own, and followed until its runs end.

A run of contiguous events ends at the first event that does not fit, mostly a few events after it has begun. Each piece
is therefore matched by a kernel that knows nothing of the events before it. The kernel then goes on with the events of
the next piece, until no run is left that began in its own, and so finds the matches that begin in one piece and end in
the next. Where runs do not end within the next piece, the same kernel matches the rest of the stream.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, pairwise
from math import prod
from queue import SimpleQueue
from typing import TypeAlias

import numpy as np

from augury.compiler import CompiledQuery, load
from augury.engine.arrivals import Arrivals
from augury.engine.cut.portions import end_of_step, in_report_order
from augury.engine.threads import Workers
from augury.options import Options
from augury.runtime.matches import MatchSet
from augury.runtime.shared import enumerated
from augury.runtime.state import FOREVER, Kernel, LooksBack, RunState
from augury.timing import CallStage

PIECE_EVENTS = 1 << 17
"""Events in a piece, about: short pieces would be followed for as long as they are."""

FIRST_FOLLOWED_EVENTS = 256
"""Events of the next piece after which a kernel looks whether the runs of its own have ended."""

FOLLOWED_GROWTH = 4
"""Factor by which the number of events before each further look grows."""

SAMPLED_EVENTS = 4096
MAX_SAMPLED_KEYS = 512
"""Keys of the first `SAMPLED_EVENTS` up to which runs end soon: a run waits for the next event of its key."""

Steps: TypeAlias = "tuple[Arrivals, ...]"
"""Events in order, cut into steps of a kernel; concurrent ones are in the same step."""


@dataclass(frozen=True, slots=True, eq=False)
class OpenRuns:
    """A kernel, and its state at the end of the piece after its own, which runs of its own piece have outlived."""

    kernel: Kernel
    state: RunState


@dataclass(frozen=True, slots=True, eq=False)
class MatchedPiece:
    """A piece, and the matches that one kernel has found in it and in the `following` one.

    `found` are those of each step that begin and end in the piece; none if it was not matched, because runs have
    outlived an earlier one. `later` begin in the piece and end in the following one; with `runs` they are all that end
    there.
    """

    number: int
    steps: Steps
    following: Steps
    later: MatchSet
    found: tuple[MatchSet, ...] = ()
    runs: OpenRuns | None = None

    @property
    def end(self) -> int:
        """The watermark after the piece: no later event is earlier."""
        return int(self.following[0].time[0]) if self.following else FOREVER


def runs_end_soon(query: CompiledQuery, first: Arrivals) -> bool:
    """Whether the first events have so few keys that following pieces costs little."""
    some = first.table.slice(0, SAMPLED_EVENTS)
    return prod(len(some[name].unique()) for name in query.bound.partition_by) <= MAX_SAMPLED_KEYS


def matched_by_start(
    query: CompiledQuery,
    steps: Iterable[Arrivals],
    options: Options,
    workers: Workers,
    piece_events: int = PIECE_EVENTS,
) -> Iterator[tuple[int, MatchSet]]:
    """The number of events of each step and the matches that end in it, in the order in which one kernel reports them.

    Concurrent events are in the same step, and row numbers ascend. Threads match pieces of some `piece_events` each.
    """
    clock = options.clock
    # A kernel serves one thread at a time.
    kernels: SimpleQueue[tuple[Kernel, RunState | None]] = SimpleQueue()
    outlived: list[int] = []
    nothing = MatchSet.of(tuple(v.name for v in query.bound.variables if not v.negated), ())
    with clock.stage(CallStage.LOADING):
        for _ in range(workers.threads):
            kernels.put((load(query, options), None))

    def on_its_own(piece: MatchedPiece) -> MatchedPiece:
        # The kernel of an earlier piece matches this one. Pieces before that one still have to be matched here.
        if any(number < piece.number for number in outlived):
            return piece
        kernel, used_up = kernels.get()
        state: RunState | None = None
        try:
            with clock.helping(), clock.stage(CallStage.MATCHING):
                state = kernel.start() if used_up is None else kernel.restart(used_up)
                found = []
                for step, watermark in _watermarks(piece.steps, piece.end):
                    clock.count(CallStage.MATCHING, len(step))
                    state, matches = _step(query, kernel, state, step, watermark)
                    found.append(matches)
                piece = replace(piece, found=tuple(found))
                if piece.following:
                    state, later, ended = _followed(query, kernel, state, piece.following)
                    if ended:
                        return replace(piece, later=later.take(np.flatnonzero(later.start < piece.end)))
                    outlived.append(piece.number)
                    piece = replace(piece, later=later, runs=OpenRuns(kernel, state))
                    kernel, state = load(query, options), None
                return piece
        except BaseException:
            state = None
            raise
        finally:
            kernels.put((kernel, state))

    later, runs, followed = nothing, None, False
    for piece in clock.threaded(workers.map(on_its_own, _pieces(steps, piece_events, nothing))):
        if runs is None:
            for step, found in zip(piece.steps, piece.found, strict=True):
                ended, later = _split(later, step)
                yield len(step), _joined(ended, found)
            later, runs = piece.later, piece.runs
            followed = runs is not None
        elif followed:
            # The kernel of the runs has matched this piece too.
            for step in piece.steps:
                ended, later = _split(later, step)
                yield len(step), ended
            followed = False
        else:
            for step, watermark in _watermarks(piece.steps, piece.end):
                with clock.stage(CallStage.MATCHING, len(step)):
                    state, matches = _step(query, runs.kernel, runs.state, step, watermark)
                runs = OpenRuns(runs.kernel, state)
                yield len(step), matches


def _pieces(steps: Iterable[Arrivals], piece_events: int, nothing: MatchSet) -> Iterator[MatchedPiece]:
    """Steps in pieces, each with the next one; no matches have been found in them yet."""

    def grouped() -> Iterator[Steps]:
        group: list[Arrivals] = []
        for step in steps:
            group.append(step)
            if sum(map(len, group)) >= piece_events:
                yield tuple(group)
                group = []
        if group:
            yield tuple(group)

    for number, (piece, following) in enumerate(pairwise(chain(grouped(), [()]))):
        yield MatchedPiece(number, piece, following, nothing)


def _watermarks(steps: Steps, end: int) -> Iterator[tuple[Arrivals, int]]:
    """Each step with its watermark: no event after it is earlier than the next one."""
    for step, after in pairwise((*steps, None)):
        assert step is not None
        yield step, end if after is None else int(after.time[0])


def _step(
    query: CompiledQuery, kernel: Kernel, state: RunState, step: Arrivals, watermark: int
) -> tuple[RunState, MatchSet]:
    state, found = kernel.step(state, step.batch(query.bound.schema), watermark)
    return state, enumerated(found)


def _followed(
    query: CompiledQuery, kernel: Kernel, state: RunState, following: Steps
) -> tuple[RunState, MatchSet, bool]:
    """Match the events after a piece until its runs have ended: the matches, and whether all of them have."""
    boundary, found = int(following[0].rows[0]), list[MatchSet]()
    ended, size = _oldest_row(kernel, state) >= boundary, FIRST_FOLLOWED_EVENTS
    for step, watermark in _watermarks(following, int(following[-1].time[-1])):
        first = 0
        while not ended and first < len(step):
            last = end_of_step(step, first, size)
            mark = int(step.time[last]) if last < len(step) else watermark
            state, matches = _step(query, kernel, state, step.slice(first, last), mark)
            found.append(matches)
            ended = _oldest_row(kernel, state) >= boundary
            first, size = last, size * FOLLOWED_GROWTH
    variables = tuple(v.name for v in query.bound.variables if not v.negated)
    return state, MatchSet.concat(variables, found), ended


def _oldest_row(kernel: Kernel, state: RunState) -> int:
    return kernel.oldest_row(state) if isinstance(kernel, LooksBack) else state.oldest_row


def _split(later: MatchSet, step: Arrivals) -> tuple[MatchSet, MatchSet]:
    """The matches that end in a step or before it, and the others."""
    ended = later.ends_before(int(step.time[-1]) + 1)
    return later.slice(0, ended), later.slice(ended, len(later))


def _joined(later: MatchSet, found: MatchSet) -> MatchSet:
    """Matches that end in the same step, in order."""
    if not len(later):
        return found
    # Those that end after the last of `later` are in order already. Row numbers ascend with the events.
    among = found.ends_before(int(later.end[-1]) + 1)
    merged = MatchSet.concat(found.variables, [later, found.slice(0, among)])
    return MatchSet.concat(
        found.variables, [in_report_order(merged, lambda rows: rows), found.slice(among, len(found))]
    )
