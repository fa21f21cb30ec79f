"""Chunks of time: which events they see, and which of them an event is copied to."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury.engine.cut.by_time import CutAt, CutEvery, TimeCut, copies
from augury.runtime.state import FOREVER, LONG_AGO

TIMES = st.lists(st.integers(-50, 50), min_size=1)


@given(TIMES, st.integers(1, 20), st.integers(0, 30))
def test_an_event_is_copied_to_the_chunks_that_see_it(times: list[int], length: int, halo: int) -> None:
    cut = CutEvery(length, halo)
    check_copies(cut, times, range(-100, 100))


@given(TIMES, st.sets(st.integers(-60, 60)), st.integers(0, 30))
def test_so_it_is_where_time_is_cut_at_bounds(times: list[int], bounds: set[int], halo: int) -> None:
    cut = CutAt(tuple(sorted(bounds)), halo)
    check_copies(cut, times, range(len(cut)))


def check_copies(cut: TimeCut, times: list[int], numbers: range) -> None:
    rows, chunks = copies(cut, np.array(times))
    wanted = {(n, k) for k in numbers for n in np.flatnonzero(cut.chunk(k).sees(np.array(times))).tolist()}
    assert set(zip(rows.tolist(), chunks.tolist(), strict=True)) == wanted
    assert len(rows) == len(wanted)


@given(TIMES, st.integers(1, 20))
def test_every_time_lies_in_one_chunk_the_one_it_is_at_home_in(times: list[int], length: int) -> None:
    cut, clock = CutEvery(length, 3), np.array(times)
    owners = [[k for k in range(-60, 60) if cut.chunk(k).owns(clock[n : n + 1]).all()] for n in range(len(times))]
    assert owners == [[k] for k in cut.home(clock).tolist()]


@pytest.mark.parametrize("time", [LONG_AGO, FOREVER])
def test_the_first_and_the_last_time_there_are_do_not_wrap_round(time: int) -> None:
    rows, chunks = copies(CutAt((0,), halo=10), np.array([time]))
    assert (rows.tolist(), chunks.tolist()) == ([0], [int(time > 0)])
