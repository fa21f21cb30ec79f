"""What lazy chains cost and keep, by their counters and the size of their memory."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from augury.errors import HostError, TooManyMatches
from augury.kernels.lazy.state import INITIAL_ROOM
from augury.kernels.stream import MIN_EVENTS_TO_DROP as PATIENCE
from augury.options import Options
from augury.plan import LazyChainPlan, Negation
from augury.planner.hints import NO_HINTS
from augury.runtime.batch import EventBatch
from augury.runtime.state import RunState
from augury.testing.evaluate import compiled, family_plan, run
from tests.kernels.lazy_feed import RISE, Feed, eager_matches, events, kernel, pieces, ticks

# -- counters ----------------------------------------------------------------------------------------------------------

RISING = events("AABCC", [1, 5, 3, 2, 4])


def counted(predicates: int, by_step: tuple[int, ...], *, peak: int, writes: int, orders: int = 1) -> dict[str, int]:
    return {
        "predicates": predicates,
        "partial_matches": sum(by_step),
        "peak_partial_matches": peak,
        "buffer_writes": writes,
        **{f"partial_matches[0,{k}]": n for k, n in enumerate(by_step)},
        "orders": orders,
    }


def test_counters_of_a_chain_that_begins_with_the_last_event() -> None:
    """For c = 2 and c = 4 the B is tried, then for c = 4 both A; nothing waits, since a C completes all it can."""
    k = kernel(RISE, RISING, "cba")
    for parts in ([RISING], pieces(RISING, 1)):
        fed = Feed(k).all(parts)
        assert [m.rows for m in fed.matches] == [((0,), (2,), (4,))]
        assert fed.counters == counted(4, (2, 1, 1), peak=0, writes=5)


def test_counters_of_a_chain_that_waits_for_the_stream() -> None:
    """Both A wait, the B is tried with both and waits with the first; then that pair is tried with both C."""
    k = kernel(RISE, RISING, "abc")
    fed = Feed(k).all(pieces(RISING, 1))
    assert len(fed.matches) == 1
    assert fed.counters == counted(4, (2, 1, 1), peak=3, writes=5 + 3)
    at_once = Feed(k)
    at_once.step(RISING, last=True)
    assert at_once.counters == counted(4, (2, 1, 1), peak=0, writes=5), "after the end nothing is waited for"


def test_counters_are_not_kept_unless_asked_for() -> None:
    fed = Feed(kernel(RISE, RISING, "cba", options=Options(jit=False))).all([RISING])
    assert len(fed.matches) == 1
    assert (fed.counters["predicates"], fed.counters["partial_matches"]) == (0, 0)


def test_branches_with_a_common_beginning_share_it() -> None:
    """The three A are taken once for both branches, and stored in one buffer."""
    stream = events("AAABC")
    fed = Feed(kernel("PATTERN OR(SEQ(A a, B b), SEQ(A a, C c))", stream, "abc")).all([stream])
    assert len(fed.matches) == 6
    assert fed.counters["partial_matches[0,0]"] == fed.counters["partial_matches[1,0]"] == 3
    assert fed.counters["partial_matches"] == 3 + 3 + 3
    assert fed.counters["buffer_writes"] == 5 + 3, "five events, and three A that wait"


def test_cost_by_event_is_flat() -> None:
    cost = []
    for size in (1_000, 10_000):
        fed = Feed(kernel(f"{RISE} WITHIN 20 seconds", ticks(size), "bac")).all([ticks(size)])
        cost.append(fed.counters["predicates"] / size)
    assert cost[1] < 1.1 * cost[0]


def test_rare_events_first_cost_less() -> None:
    stream = ticks(3_000, weights=(100, 20, 1))
    cost = {}
    for order in ("cba", "abc"):
        fed = Feed(kernel(f"{RISE} WITHIN 60 seconds", stream, order)).all([stream])
        assert len(fed.matches) > 0
        cost[order] = fed.counters["predicates"]
    assert 10 * cost["cba"] < cost["abc"]


# -- room --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("condition", ["a.x <= c.x", "a.k = c.k"])
@pytest.mark.parametrize("size", [1, 50, 10_000])
def test_pools_and_matches_grow(condition: str, size: int) -> None:
    """The pairs of A and B wait, found by key if there is one; then each C makes many matches."""
    stream = events("A" * 60 + "B" * 20 + "CC", [i % 9 for i in range(80)] + [9, 9], [f"k{i % 2}" for i in range(82)])
    text = f"PATTERN SEQ(A a, B b, C c) WHERE {condition}"
    k = kernel(text, stream, "abc")
    fed = Feed(k).all(pieces(stream, size))
    assert fed.matches == eager_matches(text, stream)
    assert len(fed.matches) > 4 * INITIAL_ROOM
    if size < stream.num_rows:
        assert fed.counters["peak_partial_matches"] > 4 * INITIAL_ROOM


def test_buffers_and_keys_grow() -> None:
    n = 5 * INITIAL_ROOM
    stream = events("A" * n + "B" * n, k=[*range(n), *reversed(range(n))])
    fed = Feed(kernel("PATTERN SEQ(A a, B b) WHERE a.k = b.k", stream, "ab")).all(pieces(stream, 100))
    assert sorted(m.rows for m in fed.matches) == [((i,), (2 * n - 1 - i,)) for i in range(n)]


def test_a_match_may_be_longer_than_all_there_was_room_for() -> None:
    n = 4 * INITIAL_ROOM + 1
    stream = events("A" + "B" * n + "C", [0, *range(n), n])
    text = "PATTERN SEQ(A a, B+ b[], C c) WHERE b[1].x = 0 AND b[i].x = b[i-1].x + 1 AND b[last].x = c.x - 1"
    (match,) = Feed(kernel(text, stream)).all([stream]).matches
    assert match.rows == ((0,), tuple(range(1, n + 1)), (n + 1,))


# -- forgetting --------------------------------------------------------------------------------------------------------

QUERIES = [
    ("PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x AND b.x < c.x WITHIN 12 seconds", "abc"),
    ("PATTERN SEQ(A a, B b, C c) WHERE [k] AND a.x < c.x WITHIN 30 seconds", "bac"),
    ("PATTERN SEQ(A a, B b, C c) WHERE a.k = c.k AND a.x < c.x WITHIN 20 seconds", "acb"),
    ("PATTERN SEQ(A a, NOT(B n), C c, NOT(B m)) WHERE n.x = a.x AND m.x = c.x WITHIN 12 seconds", "ca"),
    ("PATTERN SEQ(A a, B+ b[], C c) WHERE b[i].x > b[i-1].x AND b[1].x > a.x WITHIN 8 seconds", "acb"),
    ("PATTERN SEQ(A a, B b) WHERE [k] AND a.x = b.x WITHIN 40 EVENTS", "ab"),
    ("PATTERN SEQ(A a, B b) WHERE a.x = b.x WITHIN 20 seconds OUTPUT NONOVERLAP", "ab"),
]


@pytest.mark.parametrize("negation", Negation)
@pytest.mark.parametrize("text, order", QUERIES)
def test_saved_states_do_not_grow_with_the_stream(text: str, order: str, negation: Negation) -> None:
    stream = ticks(6_000, keys=5)
    k = kernel(text, stream, order, negation)
    fed = Feed(k)
    sizes = []
    for part in pieces(stream, 250):
        fed.step(part)
        sizes.append(len(fed.state.to_bytes()))
        if len(sizes) % 2:
            fed.state = RunState.from_bytes(fed.state.to_bytes())
    assert max(sizes[12:]) <= 1.2 * max(sizes[4:12])
    assert fed.state.oldest_row > 5_500
    fed.step(stream.slice(0, 0), last=True)
    assert len(fed.matches) > 100
    assert fed.matches == eager_matches(text, stream)


@pytest.mark.parametrize("text, order", [QUERIES[1], QUERIES[2], QUERIES[5]])
def test_memory_does_not_grow_with_the_stream(text: str, order: str) -> None:
    """Events are thrown away from time to time, without anybody saving the state."""
    stream = ticks(3 * PATIENCE, keys=8)
    k = kernel(text, stream, order)
    fed = Feed(k)
    events, arrays = [], []
    for part in pieces(stream, PATIENCE // 4):
        fed.step(part)
        events.append(fed.live.events.length)
        arrays.append(sum(array.nbytes for array in fed.live.arrays.values()))
    assert max(events) < 1.5 * PATIENCE
    assert max(arrays[6:]) == max(arrays[:6])
    whole = Feed(k)
    whole.step(stream)
    assert fed.matches == whole.matches
    assert len(fed.matches) > 1_000


def test_partial_matches_are_forgotten_with_their_window() -> None:
    stream = ticks(20_000)
    fed = Feed(kernel("PATTERN SEQ(A a, B b, C c) WHERE c.x > 100 WITHIN 10 seconds", stream, "abc"))
    fed.all(pieces(stream, 100))
    assert fed.counters["partial_matches"] > 20 * INITIAL_ROOM
    assert fed.counters["peak_partial_matches"] < 5 * INITIAL_ROOM


# -- limits and errors -------------------------------------------------------------------------------------------------


def test_an_explosion_of_partial_matches_is_stopped() -> None:
    stream = events("A" * 40 + "B" * 40 + "C")
    k = kernel("PATTERN SEQ(A a, B b, C c)", stream, "abc", options=Options(jit=False, max_partial_matches=1_000))
    fed = Feed(k).all(pieces(stream.slice(0, 40), 20))
    state = fed.state
    with pytest.raises(TooManyMatches, match="more than 1000 partial matches at a time"):
        fed.all(pieces(stream.slice(40), 10))
    with pytest.raises(HostError, match="cannot be continued") as raised:
        k.step(state, EventBatch(stream.slice(40), np.arange(41), np.arange(40, 81)), 80)
    assert raised.value.code == "A549"
    assert raised.value.help == "restore a saved one"


def test_one_event_may_make_no_more_partial_matches_than_allowed() -> None:
    stream = events("B" * 3_000 + "AC")
    k = kernel("PATTERN AND(A a, B b, C c)", stream, "abc", options=Options(jit=False, max_partial_matches=1_000))
    with pytest.raises(TooManyMatches, match="more than 1000 partial matches at a time"):
        Feed(k).all(pieces(stream, 3_001))


@pytest.mark.parametrize("size", [1, 1_000])
def test_an_explosion_of_matches_is_stopped(size: int) -> None:
    stream = events("A" * 40 + "B" * 40)
    k = kernel("PATTERN SEQ(A a, B b)", stream, options=Options(jit=False, max_matches=1_000))
    with pytest.raises(TooManyMatches, match="more than 1000 matches") as raised:
        run(k, k.plan.query.schema, pieces(stream, 80))
    assert "raise max_matches" in str(raised.value)
    enough = kernel("PATTERN SEQ(A a, B b)", stream, options=Options(jit=False, max_matches=1_600))
    assert len(run(enough, k.plan.query.schema, pieces(stream, size))) == 1_600


@pytest.mark.parametrize("size", [1, 30])
def test_an_explosion_of_lists_without_a_match_is_stopped(size: int) -> None:
    """None of 2^28 lists has so low a mean: no match and no partial match would ever be too many."""
    stream = events("A" + "B" * 28 + "C", [1.0] * 30)
    text = "PATTERN SEQ(A a, B+ b[], C c) WHERE avg(b[].x) < 0.5"
    k = kernel(text, stream, "acb", options=Options(jit=False, max_partial_matches=1_000))
    with pytest.raises(TooManyMatches, match="more than 1000 lists for one partial match") as raised:
        Feed(k).all(pieces(stream, size))
    assert "max_partial_matches" in str(raised.value)


def test_the_lists_of_several_partial_matches_are_no_explosion() -> None:
    """A hundred pairs of A and C have seven lists each."""
    stream = events("A" + "BBB" + "C" * 100)
    fed = Feed(
        kernel("PATTERN SEQ(A a, B+ b[], C c)", stream, "acb", options=Options(jit=False, max_partial_matches=500))
    )
    assert len(fed.all([stream]).matches) == 700


def test_lists_are_cut_as_soon_as_an_aggregate_can_only_get_worse() -> None:
    """Of 40 A there are 2^40 lists; those whose sum is below 6 are made of the first six."""
    stream = events("A" * 40 + "B", [*range(40), 6])
    fed = Feed(kernel("PATTERN SEQ(A+ a[], B b) WHERE a[i].x >= 0 AND sum(a[].x) < b.x", stream)).all([stream])
    lists = [some for n in range(1, 7) for some in combinations(range(6), n) if sum(some) < 6]
    assert sorted(m.rows[0] for m in fed.matches) == sorted(lists)
    assert fed.counters["predicates"] < 40 * len(lists)


def test_states_of_others_are_refused() -> None:
    stream = events("AB")
    k = kernel("PATTERN SEQ(A a, B b)", stream)
    saved = RunState.from_bytes(Feed(k).all([stream]).state.to_bytes())
    batch = EventBatch(stream, np.arange(2), np.arange(2))
    for other in (replace(saved, family="eager-nfa"), replace(saved, version=saved.version + 1)):
        with pytest.raises(HostError, match="cannot be continued by `lazy-chain`") as raised:
            k.step(other, batch, 2)
        assert raised.value.code == "A548"
        assert f"`{other.family}` version {other.version}" in str(raised.value)


# -- what it cannot do -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, reason",
    [
        ("PATTERN SEQ(A a, B b) WHERE skip_till_next_match {}", "selects events in the order they arrive"),
        ("PATTERN SEQ(A a, B b) OUTPUT COVER", "does not know the chains of OUTPUT COVER"),
        ("PATTERN SEQ(A a, B b) WITHIN 1 hour THRESHOLD 0.5", "needs the scores of the lossy plan"),
        ("PATTERN OR(SEQ(A a, NOT(B b)), A a)", "alternatives that bind the same variables"),
        ("PATTERN SEQ(A+ a[], B b) WHERE a[i].x > max(a[..i-1].x) + a.len", "running aggregate of a list that is"),
        ("PATTERN SEQ(A a, NOT(B{2,} b[]), C c)", "one event does not decide"),
        ("PATTERN SEQ(A+ a[], B b) WHERE max(a[].k) < b.k", "least or greatest of strings"),
    ],
)
def test_what_it_cannot_do_it_says(text: str, reason: str) -> None:
    plan = family_plan("lazy-chain", compiled(text, ticks(1), Options(plan="reference")).rewritten, NO_HINTS)
    assert not isinstance(plan, LazyChainPlan)
    assert reason in plan.reason
