"""How many events of each variable a window holds, as far as the stream has been seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from augury.jit.tier import Tier
from augury.kernels.lazy.state import LazyState
from augury.runtime.batch import Integers
from augury.runtime.computed import Floats
from augury.runtime.state import LONG_AGO


def events_in_window(clock: Integers, span: int) -> int:
    """About how many events a window holds.

    >>> events_in_window(np.arange(0, 100, 10), 30), events_in_window(np.arange(5), -1)
    (3, 5)
    """
    length = int(clock[-1]) - int(clock[0])
    return len(clock) if not 0 <= span < length else max(1, len(clock) * span // length)


@dataclass(frozen=True, slots=True, eq=False)
class Pieces:
    """The events of a stream in pieces: how many there are of each variable in them, and in the piece before them.

    Of that there were `before` events, of the last one there are `last`.
    """

    variables: tuple[str, ...]
    counts: Integers
    before: int
    piece: int
    last: int
    window: float
    """Events in a window."""

    def moved(self, support: Tier, at: int, rates: Floats, few: int) -> int:
        """The first piece from `at` on in which rates have left these, which are then those of that piece."""
        found: int = support("moved", self.counts, at, self.before, self.piece, self.last, self.window, rates, few)
        return found


def new_pieces(live: LazyState, code: Tier, window: float, first: int, piece: int) -> Pieces:
    """The events from `first` on."""
    n, before = live.events.length, max(0, first - piece)
    counts = np.zeros(((n - first - 1) // piece + 2, len(live.source.layout.buffers)), dtype=np.int64)
    stream = live.stream()
    if before < first:
        code("tally", before, first, piece, counts[:1], *stream)
    code("tally", first, n, piece, counts[1:], *stream)
    return _by_variable(live, counts, first - before, piece, (n - first - 1) % piece + 1, window)


def live_window(live: LazyState, clock: Integers, span: int) -> Pieces:
    """The live window as one piece; without a span, all that is remembered."""
    begin = int(clock.searchsorted(max(LONG_AGO, int(clock[-1]) - span))) if span >= 0 else 0
    counts = np.zeros((2, len(live.source.layout.buffers)), dtype=np.int64)
    for b in range(counts.shape[1]):
        fill = int(live.arrays["buffer_fill"][b])
        counts[1, b] = fill - live.arrays[f"buffer{b}_e"][:fill].searchsorted(begin)
    return _by_variable(live, counts, 0, 1, 1, 1.0)


def _by_variable(live: LazyState, counts: Integers, before: int, piece: int, last: int, window: float) -> Pieces:
    """Counts of buffers by variable, since numbers of buffers change with the order; negated parts are left out."""
    variables, buffers = zip(*live.source.buffer_of.items(), strict=True)
    return Pieces(variables, counts[:, buffers], before, piece, last, window)
