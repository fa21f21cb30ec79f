"""What it costs to count the matches in a buffer."""

from __future__ import annotations

import numpy as np

from augury.native.buffer import count
from augury.native.groups import Counting, Edges, Nodes

NOTHING, START = -1, -1


def test_counting_goes_from_fork_to_fork() -> None:
    """One history, which a new run joins every 100 events; every third event ends the matches of the last 1,000."""
    events, window = 6_000, 1_000
    before = np.arange(-1, events - 1)
    more = np.where(np.arange(events) % 100 == 0, np.arange(events) // 100, NOTHING)
    more[0] = NOTHING
    edges = np.full(events // 100, START), np.full(events // 100, NOTHING)
    finals, places = np.arange(2, events, 3), np.arange(events)
    each = np.zeros(len(finals), dtype=np.int64)
    scratch = Counting(*(np.full(events, -1) for _ in Counting._fields))
    latest = places // 100 * 100
    stop = np.zeros(16, dtype=np.int64)
    nodes = Nodes(event=places, before=before, component=np.zeros_like(places), start=latest, edge=more)
    looked = count(stop, len(finals), finals, nodes, Edges(*edges), places, window, scratch, each)
    starts = np.arange(0, events, 100)
    assert each.tolist() == [int(((starts <= f) & (starts >= f - window)).sum()) for f in finals.tolist()]
    assert looked <= events + len(finals) * (window // 100 + 2)
