"""How many events of each variable a window holds, as far as the stream has been seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import pairwise

import numpy as np

from augury.codegen.lazy_state import LazyState
from augury.codegen.tier import Tier
from augury.runtime.batch import Integers


def events_in_window(clock: Integers, span: int) -> int:
    """About how many events a window holds.

    >>> events_in_window(np.arange(0, 100, 10), 30), events_in_window(np.arange(5), -1)
    (3, 5)
    """
    length = int(clock[-1] - clock[0])
    return len(clock) if not 0 <= span < length else max(1, len(clock) * span // length)


def rates_of_pieces(
    live: LazyState, code: Tier, clock: Integers, span: int, first: int, piece: int
) -> Iterator[dict[str, float]]:
    """About how many events of each variable a window holds that ends with each piece of the events from `first` on."""
    n, window = live.events.length, events_in_window(clock, span)
    # The order of the state, and with it the numbers of the buffers, may change between two pieces.
    buffer_of = live.source.buffer_of
    before = max(0, first - piece)
    counts = np.zeros(((n - first - 1) // piece + 2, len(live.source.layout.buffers)), dtype=np.int64)
    stream = live.stream()
    if before < first:
        code("tally", before, first, piece, counts[:1], *stream)
    code("tally", first, n, piece, counts[1:], *stream)
    for k, (last, new) in enumerate(pairwise(counts.tolist())):
        events = min(n, first + (k + 1) * piece) - (first + k * piece) + (piece if k else first - before)
        yield {v: (last[b] + new[b]) * window / events for v, b in buffer_of.items()}


def live_rates(live: LazyState, clock: Integers, span: int) -> dict[str, float]:
    """How many events of each variable the live window holds; without a span, all that are remembered."""
    begin = int(np.searchsorted(clock, clock[-1] - span)) if span >= 0 else 0
    counts = {}
    for v, b in live.source.buffer_of.items():
        fill = int(live.arrays["FILL"][b])
        counts[v] = float(fill - np.searchsorted(live.arrays[f"B{b}_e"][:fill], begin))
    return counts


def close(rates: Mapping[str, float], before: Mapping[str, float], few: int) -> bool:
    """Whether no rate has left the one before by more than half of it, give or take a few events.

    >>> close({"a": 12.0}, {"a": 10.0}, 4), close({"a": 30.0}, {"a": 10.0}, 4), close({"a": 1.0}, {}, 4)
    (True, False, False)
    """
    # As a loop, since it is asked for every piece of the stream.
    for v, rate in rates.items():
        last = before.get(v)
        if last is None or abs(rate - last) > few + last / 2:
            return False
    return True
