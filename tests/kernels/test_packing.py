"""Matches of one event a variable as numbers: sorted and read back, they are what a sort of Python gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury.jit.tier import Tier
from augury.kernels.common.packing import Rows, order_plainly, packed, write_plainly
from augury.native.support import support_source
from augury.options import Options
from augury.runtime.batch import Integers


@pytest.fixture(scope="module", params=[False, True], ids=["plain", "compiled"])
def support(request: pytest.FixtureRequest) -> Tier:
    return Tier(support_source(), Options(jit=request.param))


@st.composite
def rows_of_matches(draw: st.DrawFn) -> tuple[list[list[int]], list[int], bool]:
    """Matches of one event a variable, the ranks of all events, some equal, and whether matches are in order."""
    size, events = draw(st.integers(1, 4)), draw(st.integers(4, 12))
    rank = np.cumsum(draw(st.lists(st.integers(0, 2), min_size=events, max_size=events))) + draw(st.integers(0, 50))
    sequential = draw(st.booleans())
    match = st.lists(st.integers(0, events - 1), min_size=size, max_size=size, unique=True)
    if sequential:
        match = match.map(sorted)
    return draw(st.lists(match, min_size=1, max_size=30)), rank.tolist(), sequential


def room_for(matches: Rows) -> tuple[Rows, Integers, Integers]:
    """Arrays for the rows of each variable, the starts and the ends."""
    m = len(matches)
    return np.empty((matches.shape[1], m), np.int64), np.empty(m, np.int64), np.empty(m, np.int64)


@given(rows_of_matches(), st.randoms(use_true_random=False))
def test_matches_are_ordered_by_end_start_and_events(
    support: Tier, given: tuple[list[list[int]], list[int], bool], random: object
) -> None:
    matches, rank, sequential = given
    columns = np.arange(len(matches[0]))
    if not sequential:
        random.shuffle(columns)  # type: ignore[attr-defined]
    found = packed(support, np.array(matches), columns, np.array(rank), sequential=sequential)
    assert found is not None
    times, stream_rows = 10 * np.array(rank), 1000 - np.arange(len(rank))
    rows, start, end = written = room_for(np.array(matches))
    found.write(support, times, stream_rows, *written)

    def key(match: list[int]) -> tuple[int, int, list[int]]:
        return rank[max(match)], rank[min(match)], [match[c] for c in columns.tolist()]

    plainly = room_for(np.array(matches))
    order = order_plainly(np.array(matches), columns, np.array(rank), sequential=sequential)
    write_plainly(order, columns, np.array(matches), times, stream_rows, *plainly)
    assert all((a == b).all() for a, b in zip(plainly, written, strict=True))
    in_order = sorted(matches, key=key)
    at_once = room_for(np.array(matches))
    rest = columns, np.array(in_order), np.array(rank), times, stream_rows
    assert support("write_ordered_rows", *rest, *at_once)
    assert all((a == b).all() for a, b in zip(at_once, written, strict=True))
    if [key(match) for match in matches] != [key(match) for match in in_order]:
        assert not support("write_ordered_rows", columns, np.array(matches), *rest[2:], *at_once)
    assert rows.T.tolist() == [[1000 - match[c] for c in columns.tolist()] for match in in_order]
    assert start.tolist() == [10 * rank[min(match)] for match in in_order]
    assert end.tolist() == [10 * rank[max(match)] for match in in_order]


def test_many_matches_take_several_passes(support: Tier) -> None:
    random = np.random.default_rng(3)
    first = random.integers(0, 3000, 5000)
    matches = np.unique(np.stack([first, first + random.integers(1, 900, 5000)], axis=1), axis=0)
    random.shuffle(matches)
    rank = np.arange(4000)
    found = packed(support, matches, np.arange(2), rank, sequential=True)
    assert found is not None
    assert found.bits > 11
    rows, start, end = written = room_for(matches)
    found.write(support, rank, rank, *written)
    assert rows.T.tolist() == sorted(matches.tolist(), key=lambda match: (match[1], match[0]))
    assert (start.tolist(), end.tolist()) == (rows[0].tolist(), rows[1].tolist())


def test_what_does_not_fit_in_a_number_or_is_rare_is_left_to_others(support: Tier) -> None:
    rank = np.arange(1 << 12)
    rare = np.array([[0, 1], [7, 4000]])
    assert packed(support, rare, np.arange(2), rank, sequential=True) is None
    # Seven events, anywhere in some four thousand: 12 bits each, and the end.
    wide = np.random.default_rng(1).integers(0, 1 << 12, (1000, 7))
    assert packed(support, wide, np.arange(7), rank, sequential=False) is None
    order = order_plainly(wide, np.arange(7), rank, sequential=False)
    assert order.tolist() == sorted(range(1000), key=lambda m: (wide[m].max(), wide[m].min(), wide[m].tolist()))
