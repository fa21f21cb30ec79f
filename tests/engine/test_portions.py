"""A finite stream matched in portions, on one and on several threads: the same matches in the same order."""

from __future__ import annotations

import threading
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import augury
from augury.budget import Budget
from augury.compiler import CompiledProgram
from augury.engine.cut.portions import CutByKey, CutByTime, PortionSize, in_steps, ways_to_cut, whole_times, why_not_cut
from augury.engine.sources.schemas import known_events
from augury.engine.threads import Workers, map_in_threads, matched
from augury.errors import BudgetExceeded, TooManyMatches
from augury.hosts.local import finite
from augury.hosts.local.query import compiled
from augury.options import Roles, make_options
from augury.runtime.matches import FoundMatch, MatchSet
from augury.runtime.shared import MatchParts, enumerated
from augury.source import Source

QUERIES = [
    "PATTERN SEQ(A a, B b) WITHIN 4 seconds",
    "PATTERN SEQ(A a, B b, C c) WHERE a.x <= c.x WITHIN 5 seconds",
    "PATTERN AND(A a, B b, C c) WITHIN 3 seconds",
    "PATTERN SEQ(A a, B+ b[], C c) WITHIN 3 seconds",
    "PATTERN SEQ(A a, NOT(B n), C c) WITHIN 4 seconds",
    "PATTERN SEQ(NOT(B n), A a, C c) WITHIN 4 seconds",
    "PATTERN SEQ(A a, C c, NOT(B n)) WITHIN 4 seconds",
    "PATTERN SEQ(A a, B b) WHERE skip_till_next_match { a.x < b.x } WITHIN 4 seconds",
    "PATTERN SEQ(A a, B b, C c) WHERE skip_till_next_match { [k] } WITHIN 6 seconds",
    "PATTERN SEQ(a, b*[], c) WHERE partition_contiguity { [k] AND b[i].x > a.x } WITHIN 5 seconds",
    "PATTERN SEQ(AND(A a, B b), C c) WITHIN 4 seconds",
    "PATTERN SEQ(A a, B b) WITHIN 4 seconds OUTPUT COUNT",
    "PATTERN SEQ(A a, B b) WITHIN 4 seconds OUTPUT LATEST",
    "PATTERN OR(SEQ(A a, B b), SEQ(A a, C c)) WITHIN 4 seconds",
    "PATTERN SEQ(A a, B b) WHERE [k]",
    "PATTERN SEQ(A a, B b) WHERE skip_till_next_match { [k] } OUTPUT NONOVERLAP",
    "PATTERN SEQ(A a, B b) WHERE [k] WITHIN 4 events",
    "PATTERN SEQ(A a, B b) WHERE [k] OUTPUT COUNT",
]
TIMES = st.lists(st.integers(0, 40), min_size=2, max_size=40)


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    times = draw(TIMES)
    n = len(times)

    def column(values: st.SearchStrategy[object]) -> list[object]:
        return draw(st.lists(values, min_size=n, max_size=n))

    return pa.table(
        {
            "ts": times,
            "type": column(st.sampled_from("ABC")),
            "x": column(st.integers(0, 3)),
            "k": pa.array(column(st.sampled_from(["p", "q", "r", None])), pa.string()),
        }
    )


@pytest.mark.parametrize("text", QUERIES)
@settings(max_examples=25)
@given(table=tables(), size=st.integers(1, 12), threads=st.sampled_from([1, 4]))
def test_portions_have_the_matches_of_the_whole_in_its_order(
    text: str, table: pa.Table, size: int, threads: int
) -> None:
    options = make_options(jit=False).watched()
    known = known_events(table, Roles())
    assert known is not None
    assert known.scan is not None
    query = compiled(Source(text), known, options).last
    (whole,) = finite.matches_in(CompiledProgram((query,)), known, options)
    events = known.scan.events(query.rewritten)
    ways = ways_to_cut(query)
    assert ways
    for way in ways:
        portions = list(way.portions(events, PortionSize(size, size)))
        parts = [found for _, found in matched(query, portions, options, Workers(threads))]
        if parts:
            joined = way.joined(events, parts)
            assert list(joined) == list(enumerated(whole.found)), way


@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
@pytest.mark.parametrize(
    "text",
    [
        "SEQ(A a, B+ b[], C c) WHERE partition_contiguity { [k] AND a.x < c.x }",
        "SEQ(A a, b*[], C c) WHERE strict_contiguity { b[i].x >= b[i-1].x }",
    ],
)
@settings(max_examples=25)
@given(table=tables(), size=st.integers(1, 12))
def test_steps_of_contiguous_events_have_the_matches_of_the_whole_in_its_order(
    text: str, table: pa.Table, size: int
) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(finite, "MAX_UNCUT_STEP_EVENTS", size)
        found = augury.match(table, text, jit=False)
    assert list(found) == list(augury.match(table, text, jit=False))


def test_steps_keep_concurrent_events_together() -> None:
    known = known_events(pa.table({"ts": [1, 1, 1, 2, 3, 3], "type": ["A"] * 6}), Roles())
    assert known is not None
    assert known.scan is not None
    assert [step.time.tolist() for step in in_steps(known.scan.ordered, 2)] == [[1, 1, 1], [2, 3, 3]]


@given(times=st.lists(st.integers(0, 5), min_size=1).map(sorted), data=st.data())
def test_pieces_keep_concurrent_events_together(times: list[int], data: st.DataObject) -> None:
    known = known_events(pa.table({"ts": times, "type": ["A"] * len(times)}), Roles())
    assert known is not None
    assert known.scan is not None
    events = known.scan.ordered
    cuts = sorted(data.draw(st.lists(st.integers(0, len(times)))))
    pieces = [events.slice(a, b) for a, b in pairwise([0, *cuts, len(times)])]
    found = [step.time.tolist() for step in whole_times(pieces)]
    assert [time for step in found for time in step] == times
    assert all(before[-1] < after[0] for before, after in pairwise(found))


def test_a_piece_that_shares_no_time_with_the_next_is_handed_on_as_it_is() -> None:
    known = known_events(pa.table({"ts": [1, 1, 2, 3], "type": ["A"] * 4}), Roles())
    assert known is not None
    assert known.scan is not None
    pieces = [known.scan.ordered.slice(0, 2), known.scan.ordered.slice(2, 4)]
    assert [*whole_times(pieces)] == pieces


def test_a_query_that_depends_on_the_whole_stream_is_not_cut() -> None:
    def query(text: str) -> object:
        return why_not_cut(augury.compile(text, TABLE).program.last)

    assert query("SEQ(A a, B b) WITHIN 1 minute") is None
    assert query("SEQ(A a, B b) WHERE [k]") is None
    assert query("SEQ(A a, B b)") == "without WITHIN a match may span the whole stream"
    assert query("SEQ(A a, B b) WITHIN 1 minute OUTPUT NONOVERLAP") is not None
    assert query("SEQ(A a, B b) WHERE partition_contiguity { [k] }") is None
    contiguous = "PATTERN SEQ(A a, NOT(C n), B b) WHERE partition_contiguity { [k] }"
    assert query(contiguous) == "to share out events by key would take longer than to match contiguous ones"
    assert query(f"{contiguous} WITHIN 1 minute") is None


TABLE = pa.table({"ts": list(range(1000)), "type": ["A", "B"] * 500, "k": ["p"] * 1000})


def test_windows_longer_than_portions_make_fewer_of_them() -> None:
    query = augury.compile("SEQ(A a, B b) WITHIN 10 seconds", TABLE).program.last
    (way,) = ways_to_cut(query)
    assert way == CutByTime(10)
    known = known_events(TABLE, Roles())
    assert known is not None
    assert known.scan is not None
    portions = list(way.portions(known.scan.events(query.rewritten), PortionSize(10, 10)))
    assert len(portions) == 25
    assert {len(portion.events()) for portion in portions[1:-1]} == {61}


def test_portions_are_as_short_as_their_matches_are_many() -> None:
    known = known_events(TABLE, Roles())
    assert known is not None
    assert known.scan is not None
    events = known.scan.ordered
    size = PortionSize(100, 200)
    lengths = []
    for portion in CutByTime(1).portions(events, size):
        lengths.append(len(portion.own_events()))
        # Many matches in what comes first, then none.
        size.note(lengths[-1], 10_000_000 if len(lengths) == 1 else 0)
    assert size.events == 200
    assert lengths == [100, 200, 200, 200, 300]
    size.note(100_000, 10_000_000)
    assert size.events == 200
    size = PortionSize()
    size.note(60_000, 600_000)
    assert size.events == 13_107


def test_a_key_is_cut_by_where_time_is_not() -> None:
    assert ways_to_cut(augury.compile("SEQ(A a, B b) WHERE [k]", TABLE).program.last) == (CutByKey(("k",)),)


def small_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finite, "PortionSize", lambda: PortionSize(100, 100))


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_the_call_gives_the_same_matches_on_any_number_of_threads(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "SEQ(A a, B b) WITHIN 10 seconds"
    whole = augury.match(TABLE, text)
    small_portions(monkeypatch)
    found = augury.match(TABLE, text, jit=True, threads=threads)
    assert isinstance(found.found, MatchParts)
    assert len(found.found.parts) == 10
    assert list(found) == list(whole)
    assert found == whole
    assert found.to_arrow() == whole.to_arrow()
    assert list(found[::-7]) == list(whole[::-7])
    assert found[-1] == whole[-1]
    assert found.sample(5, seed=1) == whole.sample(5, seed=1)


def test_budgets_hold_for_all_portions_together(monkeypatch: pytest.MonkeyPatch) -> None:
    small_portions(monkeypatch)
    with pytest.raises(TooManyMatches, match="max_matches=2400"):
        augury.match(TABLE, "SEQ(A a, B b) WITHIN 10 seconds", jit=True, threads=2, max_matches=2400)
    with pytest.raises(BudgetExceeded, match="max_memory"):
        augury.match(TABLE, "SEQ(A a, B b) WITHIN 10 seconds", jit=True, threads=2, max_memory="30 KB")


def test_every_thread_of_a_budget_is_told_to_stop() -> None:
    budget, ready, stopped = Budget(1, None), threading.Barrier(3), []

    def work() -> None:
        cells = budget.cells
        ready.wait()
        ready.wait()
        stopped.append(bool(cells.any()))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    ready.wait()
    budget.stop(interrupted=False)
    ready.wait()
    for thread in threads:
        thread.join()
    assert stopped == [True, True]


def test_map_in_threads_takes_no_more_items_than_it_has_threads_for() -> None:
    taken = 0

    def items() -> object:
        nonlocal taken
        for k in range(100):
            taken += 1
            yield k

    results = map_in_threads(lambda k: k, items(), 2)  # type: ignore[var-annotated, arg-type]
    assert next(results) == 0
    assert taken <= 6
    assert list(results) == list(range(1, 100))


def test_parts_are_taken_from_where_they_are() -> None:
    sets = [MatchSet.of(("a",), [FoundMatch(((k,),), k, k) for k in some]) for some in ([0, 1], [], [2], [3, 4])]
    parts = MatchParts(("a",), tuple(sets))
    assert len(parts) == 5
    whole = parts.enumerate()
    assert [m.start for m in parts.take(pa.array([4, 0, 4, 2]).to_numpy())] == [4, 0, 4, 2]
    assert list(parts) == list(whole)
