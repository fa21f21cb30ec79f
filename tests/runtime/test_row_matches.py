"""Matches by rows alone: the same as with their times, however they are sliced, taken or looked through."""

from __future__ import annotations

from itertools import accumulate

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury.runtime.matches import FoundMatch, MatchSet
from augury.runtime.row_matches import ROW, SEARCHED_STRETCH, RowColumn, RowMatches

Drawn = tuple[RowMatches, MatchSet]


@st.composite
def matches(draw: st.DrawFn) -> Drawn:
    """Matches in the order of their ends, by their rows and written out."""
    rows = draw(st.lists(st.integers(0, 60), min_size=1, max_size=12, unique=True).map(sorted))
    times = sorted(draw(st.lists(st.integers(0, 8), min_size=len(rows), max_size=len(rows))))
    time_of = dict(zip(rows, times, strict=True))
    variables = tuple("abc"[: draw(st.integers(1, 3))])
    single = draw(st.lists(st.booleans(), min_size=len(variables), max_size=len(variables)))
    lists = [st.lists(st.sampled_from(rows), min_size=1 if one else 0, max_size=1 if one else 3) for one in single]
    found = draw(st.lists(st.tuples(*(each.map(set).map(sorted) for each in lists)).filter(any), max_size=8))
    bound = [sorted(row for some in match for row in some) for match in found]
    found = [match for _, match in sorted(zip(bound, found, strict=True), key=lambda pair: pair[0][-1])]
    written = []
    for match in found:
        events = sorted(row for some in match for row in some)
        written.append(FoundMatch(tuple(map(tuple, match)), time_of[events[0]], time_of[events[-1]]))
    columns = []
    for v, one in enumerate(single):
        values = np.array([row for match in found for row in match[v]], ROW)
        if one:
            columns.append(RowColumn(values))
        else:
            # Rows of other matches may stand before the first.
            ahead = draw(st.integers(0, 2))
            ends = np.array([*accumulate((len(match[v]) for match in found), initial=ahead)], ROW)
            columns.append(RowColumn(np.append(np.full(ahead, 99, ROW), values).astype(ROW), ends))
    by_row = RowMatches(variables, len(found), tuple(columns), np.array(rows), np.array(times))
    return by_row, MatchSet.of(variables, written)


@given(drawn=matches())
def test_they_are_the_matches_with_their_times(drawn: Drawn) -> None:
    by_row, whole = drawn
    assert by_row.enumerate() == whole
    assert list(by_row) == list(whole)
    assert list(by_row.batches()) == [whole]
    assert len(by_row) == len(whole)


@given(drawn=matches(), data=st.data())
def test_parts_of_them_are_parts_of_the_whole(drawn: Drawn, data: st.DataObject) -> None:
    by_row, whole = drawn
    first, last = sorted(data.draw(st.lists(st.integers(0, len(whole)), min_size=2, max_size=2)))
    part = by_row.slice(first, last)
    assert part.enumerate() == whole.slice(first, last)
    positions = data.draw(st.lists(st.integers(0, last - first - 1), max_size=5)) if last > first else []
    chosen = np.array(positions, dtype=np.int64)
    assert part.take(chosen) == whole.slice(first, last).take(chosen)


@given(drawn=matches(), time=st.integers(-1, 9))
def test_those_that_end_before_a_time_are_counted(drawn: Drawn, time: int) -> None:
    by_row, whole = drawn
    assert by_row.ends_before(time) == whole.ends_before(time) == sum(match.end < time for match in whole)


@pytest.mark.parametrize("n", [1, SEARCHED_STRETCH, SEARCHED_STRETCH + 1, 3 * SEARCHED_STRETCH + 7])
def test_among_many_those_that_end_before_a_time_are_counted(n: int) -> None:
    last = np.sort(np.random.default_rng(n).integers(n, 2 * n, n)).astype(ROW)
    columns = RowColumn(last), RowColumn(np.zeros(n, ROW))
    by_row = RowMatches(("a", "b"), n, columns, np.arange(2 * n), 10 * np.arange(2 * n))
    for time in (-1, 0, 10 * n, 10 * n + 1, 13 * n, *(10 * last[:: max(1, n // 9)]).tolist(), 20 * n - 10, 20 * n):
        assert by_row.ends_before(time) == int((10 * last < time).sum())


def test_they_take_less_memory() -> None:
    n = 1000
    rows = np.arange(n)
    by_row = RowMatches(("a",), n, (RowColumn(rows.astype(ROW)),), rows, rows)
    assert 4 * by_row.nbytes <= by_row.enumerate().nbytes
