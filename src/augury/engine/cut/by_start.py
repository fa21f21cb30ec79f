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
from queue import SimpleQueue
from threading import Event

import numpy as np

from augury.compiler import CompiledQuery, load
from augury.engine.arrivals import Arrivals
from augury.engine.cut.portions import end_of_step, in_report_order, over
from augury.engine.threads import map_in_threads
from augury.options import Options
from augury.runtime.matches import MatchSet
from augury.runtime.row_matches import RowMatches
from augury.runtime.shared import enumerated
from augury.runtime.state import FOREVER, Kernel, LooksBack, RunState
from augury.timing import CallStage

FIRST_FOLLOWED_EVENTS = 256
"""Events of the next piece after which a kernel looks whether the runs of its own have ended."""

FOLLOWED_GROWTH = 8
"""How many times as many it takes before it looks again."""


@dataclass(frozen=True, slots=True, eq=False)
class OpenRuns:
    """A kernel, and its state at the end of the piece after its own, which runs of its own piece have outlived."""

    kernel: Kernel
    state: RunState


@dataclass(frozen=True, slots=True, eq=False)
class MatchedPiece:
    """A piece, and the matches that one kernel has found in it and in the `following` one.

    `found` begin and end in the piece; None where it was not matched, because runs have outlived an earlier one.
    `later` begin in the piece and end in the following one; with `runs` they are all that end there.
    """

    events: Arrivals
    following: Arrivals | None
    found: MatchSet | RowMatches | None = None
    later: MatchSet | None = None
    runs: OpenRuns | None = None

    @property
    def watermark(self) -> int:
        """No event after the piece is earlier."""
        return FOREVER if self.following is None else int(self.following.time[0])


def matched_by_start(
    query: CompiledQuery, pieces: Iterable[Arrivals], options: Options, threads: int
) -> Iterator[tuple[int, MatchSet | RowMatches]]:
    """The number of events of each piece and the matches that end in it, in the order in which one kernel reports them.

    Concurrent events are in the same piece, and the numbers of rows ascend. Parts of the matches of a piece come with 0
    events.
    """
    schema, clock = query.bound.schema, options.clock
    # A kernel serves one thread at a time.
    kernels: SimpleQueue[tuple[Kernel, RunState | None]] = SimpleQueue()
    outlived = Event()
    with clock.stage(CallStage.LOADING):
        for _ in range(threads):
            kernels.put((load(query, options), None))

    def on_its_own(piece: MatchedPiece) -> MatchedPiece:
        # Whatever piece has outliving runs, those before it have been begun already.
        if outlived.is_set():
            return piece
        kernel, used_up = kernels.get()
        state: RunState | None = None
        try:
            with clock.helping(), clock.stage(CallStage.MATCHING):
                clock.count(CallStage.MATCHING, len(piece.events))
                begin = kernel.start() if used_up is None else kernel.restart(used_up)
                state, found = kernel.step(begin, piece.events.batch(schema), piece.watermark)
                piece = replace(piece, found=over(found, piece.events))
                if piece.following is not None:
                    state, later, ended = _followed(kernel, state, piece.following, query)
                    if ended:
                        later = later.take(np.flatnonzero(later.start < piece.watermark))
                        return replace(piece, later=later)
                    outlived.set()
                    piece = replace(piece, later=later, runs=OpenRuns(kernel, state))
                    kernel, state = load(query, options), None
                return piece
        except BaseException:
            state = None
            raise
        finally:
            kernels.put((kernel, state))

    later: MatchSet | None = None
    runs: OpenRuns | None = None
    for piece in clock.threaded(map_in_threads(on_its_own, _with_following(pieces), threads)):
        size = len(piece.events)
        if runs is None:
            assert piece.found is not None
            for part in _joined(later, piece.found):
                yield size, part
                size = 0
            later, runs = piece.later, piece.runs
        elif later is not None:
            # The kernel with the outliving runs has had these events too.
            yield size, later
            later = None
        else:
            with clock.stage(CallStage.MATCHING, size):
                state, found = runs.kernel.step(runs.state, piece.events.batch(schema), piece.watermark)
                runs = OpenRuns(runs.kernel, state)
                own = enumerated(found)
            yield size, own


def _with_following(pieces: Iterable[Arrivals]) -> Iterator[MatchedPiece]:
    """Each piece with the next one, before it is matched."""
    for events, following in pairwise(chain(pieces, [None])):
        assert events is not None
        yield MatchedPiece(events, following)


def _followed(
    kernel: Kernel, state: RunState, following: Arrivals, query: CompiledQuery
) -> tuple[RunState, MatchSet, bool]:
    """Match the events after a piece until its runs have ended: the matches, and whether all of them have."""
    boundary, parts = int(following.rows[0]), list[MatchSet]()
    first, size = 0, FIRST_FOLLOWED_EVENTS
    while not (ended := _oldest_row(kernel, state) >= boundary) and first < len(following):
        last = end_of_step(following, first, size)
        watermark = int(following.time[min(last, len(following) - 1)])
        state, found = kernel.step(state, following.slice(first, last).batch(query.bound.schema), watermark)
        parts.append(enumerated(found))
        first, size = last, size * FOLLOWED_GROWTH
    variables = tuple(v.name for v in query.bound.variables if not v.negated)
    return state, MatchSet.concat(variables, parts), ended


def _oldest_row(kernel: Kernel, state: RunState) -> int:
    return kernel.oldest_row(state) if isinstance(kernel, LooksBack) else state.oldest_row


def _joined(later: MatchSet | None, found: MatchSet | RowMatches) -> Iterator[MatchSet | RowMatches]:
    """The matches of a piece, together with those that began in the piece before, in order."""
    if later is None or not len(later):
        yield found
        return
    among = found.ends_before(int(later.end[-1]) + 1)
    # Numbers of rows ascend with the events.
    yield in_report_order(
        MatchSet.concat(later.variables, [later, enumerated(found.slice(0, among))]), lambda rows: rows
    )
    yield found.slice(among, len(found))
