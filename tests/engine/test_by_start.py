"""Contiguous events in pieces, each with the matches that begin in it: the same matches in the same order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import augury
from augury.compiler import CompiledProgram, CompiledQuery
from augury.engine.arrivals import Arrivals
from augury.engine.cut import by_start
from augury.engine.cut.by_start import matched_by_start, runs_end_soon
from augury.engine.cut.portions import can_start_anywhere, in_steps
from augury.engine.sources.schemas import known_events
from augury.engine.threads import Item, Result, Workers
from augury.hosts.local import finite
from augury.hosts.local.query import compiled
from augury.options import Roles, make_options
from augury.runtime.matches import FoundMatch
from augury.runtime.shared import MatchParts, enumerated
from augury.source import Source

QUERIES = [
    "SEQ(A a, B+ b[], C c) WHERE partition_contiguity { [k] AND a.x < c.x }",
    "SEQ(a, b*[], c) WHERE partition_contiguity { [k] AND a.x > 1 AND b[i].x >= b[i-1].x AND c.x < 2 }",
    "SEQ(A a, b*[], C c) WHERE strict_contiguity { b[i].x >= b[i-1].x }",
    "SEQ(A a, b*[], C c) WHERE strict_contiguity { true }",
    "SEQ(A a, B b) WHERE partition_contiguity { [k] } WITHIN 3 events",
    "SEQ(A a, B+? b[], c) WHERE strict_contiguity { a.x <= c.x }",
    "OR(SEQ(A a, B b), SEQ(A a, A c, C d)) WHERE partition_contiguity { [k] }",
]


@st.composite
def tables(draw: st.DrawFn) -> pa.Table:
    times = sorted(draw(st.lists(st.integers(0, 30), min_size=2, max_size=40)))

    def column(values: st.SearchStrategy[object]) -> list[object]:
        return draw(st.lists(values, min_size=len(times), max_size=len(times)))

    return pa.table(
        {
            "ts": times,
            "type": column(st.sampled_from("ABC")),
            "x": column(st.integers(0, 3)),
            "k": pa.array(column(st.sampled_from(["p", "q", None])), pa.string()),
        }
    )


def asked(text: str, table: pa.Table) -> tuple[CompiledQuery, Arrivals, list[FoundMatch]]:
    """A query, the events that it reads, and its matches as one kernel finds them."""
    options = make_options(jit=False).watched()
    known = known_events(table, Roles())
    assert known is not None
    assert known.scan is not None
    query = compiled(Source(text), known, options).last
    (whole,) = finite.matches_in(CompiledProgram((query,)), known, options)
    return query, known.scan.events(query.rewritten), list(enumerated(whole.found))


def in_pieces(
    query: CompiledQuery, events: Arrivals, step: int, piece: int, threads: int
) -> tuple[list[FoundMatch], int]:
    """The matches found in pieces of several steps, and the number of events that these were counted for."""
    options = make_options(jit=False).watched()
    found = list(matched_by_start(query, in_steps(events, step), options, Workers(threads), piece))
    parts = MatchParts((), tuple(part for _, part in found))
    return list(parts), sum(size for size, _ in found)


@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
@pytest.mark.parametrize("text", QUERIES)
@settings(max_examples=30)
@given(
    table=tables(),
    step=st.integers(1, 12),
    piece=st.integers(1, 20),
    followed=st.integers(1, 3),
    threads=st.sampled_from([1, 4]),
)
def test_pieces_have_the_matches_of_the_whole_in_its_order(
    text: str, table: pa.Table, step: int, piece: int, followed: int, threads: int
) -> None:
    query, events, whole = asked(text, table)
    assert can_start_anywhere(query)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(by_start, "FIRST_FOLLOWED_EVENTS", followed)
        found, count = in_pieces(query, events, step, piece, threads)
    assert found == whole
    assert count == len(events)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_run_that_outlives_the_next_piece_is_followed_to_its_end(threads: int) -> None:
    types = ["B", "A", *"BBBBBBBBBBBBBBBB", "C", "A", "C", "B"]
    table = pa.table({"ts": list(range(len(types))), "type": types})
    query, events, whole = asked("SEQ(A a, B+ b[], C c) WHERE strict_contiguity { true }", table)
    found, count = in_pieces(query, events, 2, 3, threads)
    assert found == whole
    assert [(match.start, match.end) for match in found] == [(1, 18)]
    assert count == len(types)


def test_what_depends_on_earlier_events_is_not_cut_by_start() -> None:
    table = pa.table({"ts": [1, 2], "type": ["A", "B"], "k": [1, 1]})

    def cut(text: str) -> bool:
        return can_start_anywhere(asked(text, table)[0])

    assert cut("SEQ(A a, B b) WHERE partition_contiguity { [k] }")
    assert not cut("SEQ(A a, B b) WHERE skip_till_next_match { [k] }")
    assert not cut("SEQ(A a, NOT(C n), B b) WHERE partition_contiguity { [k] }")
    assert not cut("SEQ(A a, B b) WHERE partition_contiguity { [k] } OUTPUT NONOVERLAP")
    assert not cut("AND(A a, B b) WHERE partition_contiguity { [k] }")


def test_the_call_gives_the_same_matches_on_any_number_of_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finite, "MAX_UNCUT_STEP_EVENTS", 100)
    table = pa.table(
        {"ts": list(range(2000)), "k": [n % 3 for n in range(2000)], "x": [n * n % 7 for n in range(2000)]}
    )
    text = "SEQ(a, b*[], c) WHERE partition_contiguity { [k] AND b[i].x >= a.x AND c.x < 2 }"
    one, two = (augury.match(table, text, jit=True, threads=threads) for threads in (1, 2))
    assert list(one) == list(two)
    assert len(one) > 100
    assert isinstance(two.found, MatchParts)


class LastFirst(Workers):
    """Workers that happen to be so slow that later pieces are matched before earlier ones."""

    def map(self, work: Callable[[Item], Result], items: Iterable[Item]) -> Iterator[Result]:
        taken = [*items]
        yield from reversed([work(item) for item in reversed(taken)])


def test_pieces_before_the_one_whose_runs_go_on_are_matched_in_any_order() -> None:
    types = [*"ABC" * 10, "A", *"B" * 30, "C", *"ABC" * 10]
    table = pa.table({"ts": list(range(len(types))), "type": types})
    query, events, whole = asked("SEQ(A a, B+ b[], C c) WHERE strict_contiguity { true }", table)
    options = make_options(jit=False).watched()
    found = [part for _, part in matched_by_start(query, in_steps(events, 2), options, LastFirst(1), 4)]
    assert list(MatchParts((), tuple(found))) == whole
    assert len(whole) == 21


@pytest.mark.parametrize("threads", [1, 2])
def test_conjunctions_that_end_with_the_stream(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(finite, "MAX_UNCUT_STEP_EVENTS", 100)
    kinds, keys = ["C"] * 2000, [0] * 2000
    kinds[10], keys[10], kinds[-5], keys[-5] = "A", 1, "B", 1
    table = pa.table({"ts": list(range(2000)), "type": kinds, "k": keys})
    found = augury.match(table, "AND(A a, B b) WHERE partition_contiguity { [k] }", jit=True, threads=threads)
    assert [match.rows for match in found] == [{"a": 10, "b": 1995}]


def test_runs_of_many_keys_do_not_end_soon() -> None:
    text = "SEQ(a, b) WHERE partition_contiguity { [k] }"
    for keys, soon in ((500, True), (2000, False)):
        table = pa.table({"ts": list(range(5000)), "k": [n % keys for n in range(5000)]})
        query, events, _ = asked(text, table)
        assert runs_end_soon(query, events) == soon
