"""Detection of changed rates in a stream; compiled with the kernels, since it runs for every piece of the stream."""

from __future__ import annotations

from augury.native.kinds import Floats, Ints2


def moved(counts: Ints2, at: int, before: int, piece: int, last: int, window: float, rates: Floats, few: int) -> int:
    """The first piece from `at` on whose rates differ from `rates` by more than half and more than `few` events.

    `rates` are then set to those of that piece. If there is no such piece, the number of pieces is returned.

    `counts` are the events of each kind, in the piece before the first one, of `before` events, and in all others, of
    `piece` events each and `last` ones at the end. The rate at a piece is measured over two adjacent pieces, scaled to
    a `window` of events. A rate of NaN differs from every rate.

    >>> import numpy as np
    >>> counts = np.array([[10], [10], [40], [45]])
    >>> rates = np.array([12.0])
    >>> moved(counts, 0, 100, 100, 100, 100.0, rates, 4), rates.tolist()
    (1, [25.0])
    >>> moved(counts, 2, 100, 100, 100, 100.0, np.array([40.0]), 4)
    3
    """
    pieces = len(counts) - 1
    for k in range(at, pieces):
        events = (piece if k > 0 else before) + (piece if k < pieces - 1 else last)
        for v in range(len(rates)):
            if not abs((counts[k, v] + counts[k + 1, v]) * window / events - rates[v]) <= few + rates[v] / 2:
                for u in range(len(rates)):
                    rates[u] = (counts[k, u] + counts[k + 1, u]) * window / events
                return k
    return pieces
