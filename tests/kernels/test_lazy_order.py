"""Lazy chains while the stream goes on: the order follows its rates, matches wait until they are certain."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations, cycle, pairwise, permutations

import pyarrow as pa
import pytest

from augury.kernels.lazy.kernel import Better, LazyKernel
from augury.plan import LazyChainPlan, Negation
from augury.planner.chain_steps import changed
from augury.planner.searches import cached_improvements
from augury.runtime.matches import MatchSet
from augury.runtime.state import RunState
from augury.testing.evaluate import compiled, reference_matches, run
from tests.kernels.lazy_feed import COUNTING, RISE, Feed, events, kernel, pieces, plan_of, ticks

# -- the order changes -------------------------------------------------------------------------------------------------


def switching(size: int) -> pa.Table:
    """First C are rare, then A."""
    half = size // 2
    first, second = ticks(half, weights=(60, 20, 1)), ticks(half, weights=(1, 20, 60), seed=8)
    both = pa.concat_tables([first, second])
    return both.set_column(0, "ts", pa.array(range(both.num_rows), pa.int64()))


def adaptive(text: str, table: pa.Table, order: str, *, tree: bool) -> LazyKernel:
    return LazyKernel(
        plan_of(text, table, order), COUNTING, better=cached_improvements(1.0), tree=tree, piece_events=50
    )


@pytest.mark.parametrize("tree", [False, True])
def test_the_order_follows_the_rates(tree: bool) -> None:
    """Batch by batch, or within the one batch there is."""
    text, stream = f"{RISE} WITHIN 60 seconds", switching(6_000)
    chain = {order: Feed(kernel(text, stream, order)).all([stream]) for order in ("cba", "abc")}
    fed = Feed(adaptive(text, stream, "cba", tree=tree)).all([stream] if tree else pieces(stream, 60))
    assert fed.matches == chain["cba"].matches == chain["abc"].matches
    assert len(fed.matches) > 100
    assert fed.live.variant.orders[0][0] == "a"
    assert 2 <= fed.counters["orders"] <= 6
    assert fed.counters["predicates"] < min(chain[order].counters["predicates"] for order in chain) / 2


def test_rates_are_those_of_their_variables_also_after_a_change_of_order() -> None:
    """In a piece of A beside a piece of B no C is counted, whatever the order has become by then."""
    kinds = "ABCAACBBCA"
    stream = events("".join(kind * 40 for kind in kinds))
    seen = []

    def rarest_first(plan: LazyChainPlan, rates: Mapping[str, float]) -> LazyChainPlan:
        seen.append({v.upper() for v, rate in rates.items() if rate})
        return changed(plan, [tuple(sorted(rates, key=lambda v: (rates[v], v)))])

    plan = plan_of("PATTERN SEQ(A a, B b, C c) WITHIN 80 seconds", stream, "abc")
    fed = Feed(LazyKernel(plan, COUNTING, better=rarest_first, tree=True, piece_events=40)).all([stream])
    assert seen == [{kinds[0]}, *({one, other} for one, other in pairwise(kinds))]
    assert fed.counters["orders"] > 4


def test_steady_rates_keep_the_order() -> None:
    text, stream = f"{RISE} WITHIN 60 seconds", ticks(2_000, weights=(60, 20, 1))
    for tree in (False, True):
        fed = Feed(adaptive(text, stream, "cba", tree=tree)).all(pieces(stream, 200))
        assert (fed.counters["orders"], fed.live.variant.orders) == (1, (("c", "b", "a"),))


def always(plan: LazyChainPlan) -> Better:
    return lambda _running, _rates: plan


def test_searches_change_without_the_order() -> None:
    """The first rates ask for sorted searches and more; that is no other order, and the matches are the same."""
    text, stream = f"{RISE} WITHIN 12 seconds", ticks(400)
    every = frozenset("abc")
    for order in ("cba", "abc"):
        given = plan_of(text, stream, order)
        plain = replace(given, selected=frozenset(), sorted=frozenset(), kept=frozenset(), blocked=frozenset())
        fast = replace(plain, selected=every, sorted=every, kept=every)
        for tree in (False, True):
            fed = Feed(LazyKernel(plain, COUNTING, better=always(fast), tree=tree))
            fed.all(pieces(stream, 100))
            assert fed.live.variant == fast.variant
            assert fed.counters["orders"] == 1
            assert fed.matches == Feed(kernel(text, stream, order)).all([stream]).matches


def test_a_change_of_order_is_counted_and_repeats_nothing() -> None:
    """Another order with most events: partial matches are built again, matches are not reported again."""
    orders = cycle(permutations("abc"))
    asked = []

    def next_one(plan: LazyChainPlan, rates: Mapping[str, float]) -> LazyChainPlan:
        assert rates.keys() == set("abc")
        asked.append(rates)
        return changed(plan, [next(orders)])

    stream = ticks(60)
    text = f"{RISE} WITHIN 12 seconds"
    fed = Feed(
        LazyKernel(plan_of(text, stream, "cba"), COUNTING, better=next_one, tree=True, piece_events=1, noise_events=0)
    )
    for part in pieces(stream, 1):
        fed.step(part)
        assert fed.counters["orders"] == len(asked) + 1
    assert len(asked) > 30
    assert all(one != other for one, other in pairwise(asked)), "the same rates are thought about once"
    fixed = Feed(kernel(text, stream, "cba")).all([stream])
    assert len(set(fed.matches)) == len(fed.matches) > 10
    assert fed.matches == fixed.matches
    assert fed.counters["partial_matches"] > fixed.counters["partial_matches"]


@pytest.mark.parametrize("text, before, after", [(RISE, "abc", "cba"), (RISE, "cab", "bac"), (RISE, "bca", "acb")])
def test_a_saved_state_is_continued_in_another_order(text: str, before: str, after: str) -> None:
    stream = ticks(60)
    whole = reference_matches(compiled(f"{text} WITHIN 12 seconds", stream).bound, stream)
    assert len(whole) > 10
    for cut in range(0, 60, 7):
        fed = Feed(kernel(f"{text} WITHIN 12 seconds", stream, before)).all(pieces(stream.slice(0, cut), 5))
        saved = RunState.from_bytes(fed.state.to_bytes())
        then = Feed(kernel(f"{text} WITHIN 12 seconds", stream, after), saved, cut).all([stream.slice(cut)])
        assert then.live.variant.orders == (tuple(after),)
        found = [*fed.found, *then.found]
        assert MatchSet.concat(found[0].variables, found) == whole


# -- what waits --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("negation", Negation)
def test_a_trailing_not_waits_until_its_window_has_passed(negation: Negation) -> None:
    """The first pair has a B in its window, the second one has none, which is certain when the window has passed."""
    stream = events("ACDBACDDDD")
    text = "PATTERN SEQ(A a, C c, NOT(B b)) WITHIN 4 seconds"
    for order in ("ac", "ca"):
        for cut in range(1, 10):
            fed = Feed(kernel(text, stream, order, negation)).all([stream.slice(0, cut), stream.slice(cut)])
            fed.state = RunState.from_bytes(fed.state.to_bytes())
            fed.step(stream.slice(0, 0), last=True)
            assert [m.rows for m in fed.matches] == [((4,), (5,))], (order, cut)
        one_by_one = Feed(kernel(text, stream, order, negation))
        assert [len(one_by_one.step(part)) for part in pieces(stream, 1)] == [0] * 9 + [1]


@pytest.mark.parametrize("order", ["ab", "ba"])
def test_matches_that_do_not_overlap_are_the_same_however_the_stream_is_cut(order: str) -> None:
    """By end and start: 0-2 is the first one, then 3-4; nothing that starts after 4 has ended by 5."""
    stream = events("AABABB")
    text = "PATTERN SEQ(A a, B b) OUTPUT NONOVERLAP"
    k = kernel(text, stream, order)
    for first, second in combinations(range(7), 2):
        parts = [stream.slice(0, first), stream.slice(first, second - first), stream.slice(second)]
        for save in (False, True):
            found = run(k, k.plan.query.schema, parts, save=save)
            assert [m.rows for m in found] == [((0,), (2,)), ((3,), (4,))], (first, second, save)
