"""Long batches are taken in stretches: what nobody can see of it, and what it spares."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from augury.errors import TooManyMatches
from augury.kernels.lazy.kernel import STRETCH_EVENTS, LazyKernel
from augury.kernels.stream import MIN_EVENTS_TO_DROP as PATIENCE
from augury.options import Options
from augury.runtime.shared import enumerated
from tests.kernels.lazy_feed import COUNTING, RISE, Feed, events, pieces, plan_of, ticks

LAST_FIRST = [
    (f"{RISE} WITHIN 12 seconds", "cba"),
    (f"{RISE} WITHIN 40 EVENTS", "cba"),
    ("PATTERN SEQ(A a, B b, C c) WHERE [k] AND a.x < c.x WITHIN 30 seconds", "cab"),
    ("PATTERN SEQ(A a, B b) WHERE [k] AND a.x = b.x WITHIN 40 EVENTS", "ba"),
    ("PATTERN SEQ(A a, NOT(B n), C c) WHERE n.x = a.x WITHIN 12 seconds", "ca"),
    ("PATTERN SEQ(A a, B+ b[], C c) WHERE b[i].x > b[i-1].x AND b[1].x > a.x WITHIN 6 seconds", "cab"),
]
"""The last event is looked for first, so that no partial match waits."""

OTHERS = [
    (f"{RISE} WITHIN 12 seconds", "abc"),
    ("PATTERN AND(A a, B b) WHERE a.x = b.x WITHIN 12 seconds", "ab"),
    (f"{RISE} WITHIN 12 seconds OUTPUT NONOVERLAP", "cba"),
    (f"{RISE} WITHIN 12 seconds OUTPUT COUNT", "cba"),
    ("PATTERN SEQ(A a, C c, NOT(B n)) WHERE n.x = a.x WITHIN 12 seconds", "ca"),
    (RISE, "cba"),
]


def taken(
    text: str, order: str, stream: pa.Table, stretch: int, sizes: list[int], options: Options = COUNTING
) -> tuple[Feed, list[int]]:
    """The stream fed in parts of these sizes, and how many events each call of `consume` had."""
    consumed = []

    class Watched(LazyKernel):
        def consume(self, live, first, end, watermark, orders):  # type: ignore[no-untyped-def]
            consumed.append(end - first)
            return super().consume(live, first, end, watermark, orders)

    fed = Feed(Watched(plan_of(text, stream, order, options=options), options, stretch_events=stretch))
    at = 0
    for size in sizes:
        fed.step(stream.slice(at, size), last=at + size == stream.num_rows)
        at += size
    return fed, consumed


def concurrent(stream: pa.Table) -> pa.Table:
    """The same with two, three or four events at a time."""
    n = stream.num_rows
    return stream.set_column(0, "ts", pa.array(np.sort(np.arange(n) // 6 * 2 + np.arange(n) % 6 // 4), pa.int64()))


@pytest.mark.parametrize("text, order", [*LAST_FIRST, *OTHERS])
@pytest.mark.parametrize("ties", [False, True])
def test_matches_their_order_and_what_is_saved_are_the_same(text: str, order: str, ties: bool) -> None:
    stream = ticks(420, keys=3)
    if ties:
        stream = concurrent(stream)
    whole, at_once = taken(text, order, stream, STRETCH_EVENTS, [250, 170])
    pieced, consumed = taken(text, order, stream, 40, [250, 170])
    assert at_once == [250, 170]
    assert (len(consumed) > 4) == ((text, order) in LAST_FIRST)
    assert len(whole.matches) > 10
    assert [list(found) for found in pieced.found] == [list(found) for found in whole.found]
    assert pieced.counters == whole.counters
    assert pieced.state.oldest_row == whole.state.oldest_row
    saved, expected = (dict(fed.state.tables) for fed in (pieced, whole))
    assert saved.keys() == expected.keys()
    assert all(saved[name].equals(expected[name]) for name in saved)


def test_a_stretch_ends_between_events_that_are_not_concurrent() -> None:
    stream = concurrent(ticks(400))
    _, consumed = taken(*LAST_FIRST[0], stream, 40, [400])
    ends = np.cumsum(consumed)[:-1]
    assert len(ends) > 5
    time = stream["ts"].to_numpy()
    assert (time[ends] > time[ends - 1]).all()


def test_stretches_are_as_long_as_what_is_remembered() -> None:
    stream = ticks(3_000)
    _, consumed = taken(f"{RISE} AND a.x > 8 WITHIN 500 seconds", "cba", stream, 40, [3_000])
    assert consumed[0] == 40
    assert max(consumed) >= 500
    assert len(consumed) < 15


@pytest.mark.slow
@pytest.mark.parametrize("text, order", LAST_FIRST[:2])
def test_memory_is_that_of_a_stretch(text: str, order: str) -> None:
    stream = ticks(6 * PATIENCE)
    whole, _ = taken(text, order, stream, STRETCH_EVENTS, [stream.num_rows])
    pieced, consumed = taken(text, order, stream, PATIENCE // 2, [stream.num_rows])
    assert len(consumed) > 8
    assert stream.num_rows <= whole.live.events.capacity <= stream.num_rows * 9 // 8
    assert pieced.live.events.capacity < 3 * PATIENCE
    assert list(map(len, pieced.found)) == list(map(len, whole.found))


def test_the_matches_of_all_stretches_count() -> None:
    stream = events("AB" * 100)
    plan = "PATTERN SEQ(A a, B b) WITHIN 1 seconds", "ba"
    enough = Options(jit=False, max_matches=100)
    assert len(taken(*plan, stream, 10, [200], enough)[0].matches) == 100
    with pytest.raises(TooManyMatches, match="more than 99 matches"):
        taken(*plan, stream, 10, [200], replace(enough, max_matches=99))


def test_matches_that_stay_compressed_are_not_cut() -> None:
    stream = events("AB" * 100)
    options = Options(jit=False, compressed=True)
    k = LazyKernel(
        plan_of("PATTERN SEQ(A a, B b) WITHIN 5 seconds", stream, "ba", options=options), options, stretch_events=10
    )
    by_parts = Feed(k).all(pieces(stream, 7))
    assert list(enumerated(Feed(k).step(stream))) == list(by_parts.matches)
