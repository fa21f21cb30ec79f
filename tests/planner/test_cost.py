"""The cost model: numbers that are known by hand, numbers that are counted, and the cheapest order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from itertools import permutations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import augury
from augury.ir.query import BoundQuery
from augury.plan import LazyChainPlan, Negation, StreamStatistics
from augury.planner.chain_steps import changed
from augury.planner.cost import RANGE_SEARCH_COST, ChainModel, branch_models, evaluation_order, lists, reorder
from augury.planner.expected import (
    ASSUMED_EVENTS,
    ASSUMED_SELECTIVITY,
    partition_selectivity,
    selectivity,
    window_events,
    windows,
)
from augury.planner.hints import Hints
from augury.planner.searches import cached_improvements
from augury.testing.evaluate import family_plan
from tests.complexity import calls_of

COLUMNS = pa.schema(
    [
        ("ts", pa.int64()),
        ("type", pa.string()),
        ("x", pa.float64()),
        ("k", pa.string()),
        ("h", pa.list_(pa.float64())),
    ]
)


def bound(text: str) -> BoundQuery:
    return augury.compile(f"PATTERN {text}", COLUMNS).program.last.rewritten


def chain(text: str, statistics: StreamStatistics | None = None) -> LazyChainPlan:
    plan = family_plan("lazy-chain", bound(text), Hints(statistics or StreamStatistics()))
    assert isinstance(plan, LazyChainPlan)
    return plan


def model(text: str, events: Mapping[str, float], true: Mapping[str, float] | None = None) -> ChainModel:
    plan = chain(text, StreamStatistics(selectivities=true or {}))
    return branch_models(plan, events)[0]


def order(text: str, events: Mapping[str, float], true: Mapping[str, float] | None = None) -> str:
    return " ".join(evaluation_order(model(text, events, true)))


# -- what is expected of a window --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "window, statistics, expected",
    [
        ("WITHIN 1 minute", StreamStatistics({"a": 2.0, "b": 0.5}), (120, 30)),
        ("WITHIN 1 minute", StreamStatistics({"a": 2.0, "b": 0.5}, ticks=10), (20, 5)),
        ("WITHIN 1 minute", StreamStatistics({"a": 2.0}), (120, 120)),
        ("WITHIN 1 minute", StreamStatistics(), (ASSUMED_EVENTS, ASSUMED_EVENTS)),
        ("WITHIN 20 EVENTS", StreamStatistics({"a": 2.0, "b": 0.5}, total=4.0), (10, 2.5)),
        ("WITHIN 20 EVENTS", StreamStatistics({"a": 3.0, "b": 1.0}), (15, 5)),
        ("WITHIN 20 EVENTS", StreamStatistics(), (10, 10)),
        ("", StreamStatistics({"a": 2.0, "b": 0.5}, ticks=50), (100, 25)),
        ("", StreamStatistics({"a": 3.0, "b": 1.0}), (150, 50)),
    ],
)
def test_events_in_a_window(window: str, statistics: StreamStatistics, expected: tuple[float, float]) -> None:
    found = window_events(bound(f"SEQ(A a, B b) {window}"), statistics, ["a", "b"])
    assert found == pytest.approx({"a": expected[0], "b": expected[1]})


def test_conditions_on_one_event_make_it_rarer_when_nothing_is_known() -> None:
    query = bound("SEQ(A a, B b) WHERE b.k = 'x' WITHIN 1 minute")
    assert window_events(query, StreamStatistics(), ["a", "b"]) == pytest.approx({"a": 100, "b": 10})
    assert chain("SEQ(A a, B b, C c) WHERE c.k = 'x' WITHIN 1 minute").branches[0].evaluation[0] == "c"


@pytest.mark.parametrize(
    "condition, true",
    [
        ("a.x = b.x", 0.1),
        ("a.x != b.x", 0.9),
        ("a.x < b.x", 1 / 3),
        ("a.x IN (b.x, 5)", 0.2),
        ("a.x + b.x IS NULL", 0.05),
        ("a.x < b.x OR a.x = b.x", 1 - 2 / 3 * 0.9),
        ("NOT (a.x IN (b.x, 5))", 0.8),
    ],
)
def test_assumed_selectivities(condition: str, true: float) -> None:
    (c,) = bound(f"SEQ(A a, B b) WHERE {condition}").conjuncts
    assert selectivity(c, StreamStatistics()) == pytest.approx(true)
    assert selectivity(c, StreamStatistics(selectivities={str(c): 0.25})) == 0.25


def test_selectivity_of_a_partition() -> None:
    query = bound("SEQ(A a, B b) WHERE [k] AND [x] WITHIN 1 minute")
    assert partition_selectivity(query, StreamStatistics()) == pytest.approx(ASSUMED_SELECTIVITY["[attr]"] ** 2)
    assert partition_selectivity(query, StreamStatistics(selectivities={"[x]": 0.5})) == pytest.approx(0.05)
    assert partition_selectivity(query, StreamStatistics(selectivities={"[k] AND [x]": 0.02})) == 0.02
    counted = bound("SEQ(A a, B b) WHERE [k] WITHIN 5 EVENTS")
    assert partition_selectivity(counted, StreamStatistics()) == 1.0, "the window holds one partition only"


# -- partial matches ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, allowed",
    [
        ("SEQ(A a, B b, C c)", 1),
        ("AND(A a, B b, C c)", 6),
        ("SEQ(A a, AND(B b, C c))", 2),
        ("AND(SEQ(A a, B b), C c)", 3),
        ("AND(SEQ(A a, C c), SEQ(B b, C c))", 2),
    ],
)
def test_arrangements_in_time(text: str, allowed: int) -> None:
    """For k = 3 events of n = 2 each: n^k * L / (k - 1)!, where L of the k! arrangements are allowed."""
    m = model(f"{text} WITHIN 1 minute", {"a": 2, "b": 2, "c": 2})
    assert m.partial(0b111) == pytest.approx(2**3 * allowed / 2)
    assert m.partial(0b001) == 2


def test_a_stream_that_is_shorter_than_its_window_is_one_window() -> None:
    short = chain("SEQ(A a, B b) WITHIN 1 minute", StreamStatistics({"a": 1.0, "b": 1.0}, ticks=10))
    assert short.estimated[0] == pytest.approx((10, 10 * 10 / 2))
    endless = chain("AND(A a, B b)", StreamStatistics({"a": 1.0, "b": 1.0}, ticks=10))
    assert endless.estimated[0] == pytest.approx((10, 10 * 10))


@pytest.mark.parametrize(
    "text",
    [
        "SEQ(A a, B b, C c) WITHIN 30 seconds",
        "AND(A a, B b) WITHIN 15 seconds",
        "SEQ(A a, AND(B b, C c)) WITHIN 30 seconds",
        "AND(SEQ(A a, B b), C c) WITHIN 15 seconds",
        "SEQ(A a, B b, C c) WHERE a.x < b.x AND b.x < 0.5 WITHIN 40 seconds",
        "SEQ(A a, B b, C c) WHERE [k] WITHIN 40 seconds",
        "SEQ(A a, B b) WITHIN 30 EVENTS",
        "SEQ(A a, B{1,2} b[]) WITHIN 30 seconds",
    ],
)
def test_expected_matches_are_about_as_many_as_there_are(text: str) -> None:
    random = np.random.default_rng(7)
    size, span = 3_000, 10_000
    events = pa.table(
        {
            "ts": np.sort(random.choice(span, size, replace=False)),
            "type": random.choice(["A", "B", "C"], size, p=[0.5, 0.3, 0.2]),
            "x": random.random(size),
            "k": random.choice(["p", "q"], size),
        }
    )
    rate = size / span
    statistics = StreamStatistics(
        {"a": 0.5 * rate, "b": 0.3 * rate * (0.5 if "0.5" in text else 1), "c": 0.2 * rate},
        {"a.x < b.x": 0.25, "[k]": 0.5},
        total=rate,
        ticks=span,
    )
    plan = chain(text, statistics)
    number = windows(plan.query, statistics)
    assert number is not None
    found = len(augury.match(events, f"PATTERN {text}", max_partial_matches=10**8))
    assert plan.estimated[0][-1] * number == pytest.approx(found, rel=0.2)


@pytest.mark.parametrize(
    "events, next, low, high, expected",
    [
        (3, 1.0, 1, None, 7),
        (4, 1.0, 2, 2, 6),
        (5, 1.0, 2, 4, 10 + 10 + 5),
        (3, 0.5, 1, None, 3 + 3 * 0.5 + 0.25),
        (0.5, 1.0, 1, None, 0.5),
        (3, 0.0, 1, None, 3),
        (2, 1.0, 5, None, 0),
    ],
)
def test_lists(events: float, next: float, low: int, high: int | None, expected: float) -> None:
    assert lists(events, next, low, high) == pytest.approx(expected)


def test_lists_near_a_third_one_are_often_near_one_another() -> None:
    """With every pair correlated, the last pair of three holds half of the time, and so do the last three of six."""
    near = [f"corr({u}.h, {v}.h) > 0.9" for u, v in ("ab", "ac", "bc", "ad", "bd", "cd")]
    dots = {f"dot(standardise({u}.h), standardise({v}.h)) > 0.9": 0.01 for u, v in ("ab", "ac", "bc", "ad", "bd", "cd")}
    events = dict.fromkeys("abcd", 10.0)
    m = model(f"AND(A a, B b, C c, D d) WHERE {' AND '.join(near)} WITHIN 1 minute", events, dots)
    without = model(f"AND(A a, B b, C c, D d) WHERE {' AND '.join(near[:2])} WITHIN 1 minute", events, dots)
    assert m.partial(0b0011) == without.partial(0b0011)
    assert m.partial(0b0111) == pytest.approx(0.5 * without.partial(0b0111))
    assert m.partial(0b1111) == pytest.approx(0.5 * 0.01 * 0.5 * 0.5 * without.partial(0b1111))
    apart = model("AND(A a, B b, C c) WHERE " + " AND ".join(x.replace("> 0.9", "< 0.9") for x in near[:3]), events)
    assert apart.partial(0b111) == pytest.approx(1_000 / 3**3), "being apart says nothing about the others"


def test_numbers_near_a_third_one_are_often_near_one_another() -> None:
    """Two comparisons keep them together, whichever way they are written; one of them does not."""
    events = dict.fromkeys("abc", 10.0)
    texts = [
        f"{u}.x {operator} {v}.x{shift}"
        for u, v in ("ab", "ac", "bc")
        for operator, shift in (("<", ""), (">", " - 4"))
    ]
    true = dict.fromkeys(texts, 0.2)
    together = model(f"AND(A a, B b, C c) WHERE {' AND '.join(texts)} WITHIN 1 minute", events, true)
    pair = 10 * 10 * 2 * 0.04
    assert together.partial(0b011) == pytest.approx(pair)
    assert together.partial(0b111) == pytest.approx(pair * 10 * 1.5 * 0.04 * 0.5)
    ascending = model(f"AND(A a, B b, C c) WHERE {' AND '.join(texts[::2])} WITHIN 1 minute", events, true)
    assert ascending.partial(0b111) == pytest.approx(10**3 * 3 * 0.2**3)
    other = [text.replace("b.x", "2 * b.x") for text in texts]
    apart = model(f"AND(A a, B b, C c) WHERE {' AND '.join(other)} WITHIN 1 minute", events, dict.fromkeys(other, 0.2))
    assert apart.partial(0b111) == pytest.approx(10**3 * 3 * 0.2**6), "twice a number is not near it"


def test_candidates_are_tested_once_for_a_first_event_with_several_partial_matches() -> None:
    events = {"a": 10.0, "b": 40.0, "c": 100.0}
    text = "AND(A a, B b, C c) WHERE a.x < c.x AND b.x < c.x WITHIN 1 minute"
    m = model(text, events, {"a.x < c.x": 0.01, "b.x < c.x": 0.5})
    pairs = m.partial(0b011)
    assert m.keeps(0b011, 0b001)
    assert not m.keeps(0b001, 0b001)
    every = pairs * m.candidates(0b011, 2)
    assert m.tests(0b011, 2, 0b001) == pytest.approx(10 * m.candidates(0b001, 2) + 0.01 * every)
    assert m.tests(0b011, 2, 0b010) == pytest.approx(40 * m.candidates(0b010, 2) + 0.5 * every)
    few = model(text, events | {"b": 0.9}, {"a.x < c.x": 0.01, "b.x < c.x": 0.5})
    assert not few.keeps(0b011, 0b001)
    assert few.tests(0b011, 2, 0b001) == pytest.approx(few.partial(0b011) * few.candidates(0b011, 2))


def test_many_candidates_at_a_time_cost_a_tenth() -> None:
    """Of numbers; strings are compared one after the other, and so are few."""
    for condition, events, each in (("a.x < b.x", 100.0, 0.1), ("a.x < b.x", 3.0, 1.0), ("a.k < b.k", 100.0, 1.0)):
        m = model(f"AND(A a, B b) WHERE {condition} WITHIN 1 minute", {"a": 10.0, "b": events}, {condition: 0.2})
        candidates = m.candidates(0b01, 1)
        expected = 10 * RANGE_SEARCH_COST + each * 10 * candidates + m.partial(0b11)
        assert m.step(0b01, 1, 0b01) == pytest.approx(expected)


def test_lists_are_capped() -> None:
    assert lists(10_000, 1.0, 1, None) == 1e30
    assert lists(1e9, 1.0, 50, 60) == 1e30
    assert lists(1e6, 1e-7, 1, None) == pytest.approx(1e6 * np.expm1(0.1) / 0.1, rel=1e-3)


def test_equal_values_are_equal_to_one_another() -> None:
    """Of `a.k = b.k`, `b.k = c.k` and what follows from them, two decide about three events."""
    m = model("SEQ(A a, B b, C c) WHERE a.k = b.k AND b.k = c.k WITHIN 1 minute", {"a": 10, "b": 10, "c": 10})
    assert len(m.conditions) == 3
    assert m.partial(0b111) == pytest.approx(10**3 / 2 * 0.1**2)


# -- evaluation orders -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, events, true, expected",
    [
        ("SEQ(A a, B b, C c)", {"a": 300, "b": 30, "c": 1}, {}, "c b a"),
        ("SEQ(A a, B b, C c)", {"a": 30, "b": 300, "c": 1}, {}, "c a b"),
        ("AND(A a, B b, C c)", {"a": 30, "b": 1, "c": 300}, {}, "b a c"),
        # By rates alone it would be a, b, c: a pair that is almost never true pays for a more frequent type.
        ("SEQ(A a, B b, C c) WHERE a.x < c.x", {"a": 10, "b": 12, "c": 20}, {"a.x < c.x": 0.001}, "a c b"),
        ("SEQ(A a, B b, C c) WHERE b.x < c.x", {"a": 10, "b": 12, "c": 20}, {"b.x < c.x": 0.0001}, "b c a"),
        # Nothing to tell them apart: as they were written.
        ("SEQ(A a, B b, C c)", {"a": 5, "b": 5, "c": 5}, {}, "a b c"),
        ("AND(A a, B b, C c, D d)", {"a": 5, "b": 5, "c": 5, "d": 5}, {}, "a b c d"),
        # Lists are last, however rare.
        ("SEQ(A+ a[], B b, C c)", {"a": 1, "b": 100, "c": 10}, {}, "c b a"),
        ("SEQ(A+ a[], B b, C{1,2} c[])", {"a": 10, "b": 100, "c": 10}, {}, "b c a"),
    ],
)
def test_orders_known_by_hand(text: str, events: Mapping[str, float], true: Mapping[str, float], expected: str) -> None:
    assert order(f"{text} WITHIN 1 minute", events, true) == expected


def test_an_index_makes_a_frequent_type_cheap() -> None:
    text = "SEQ(A a, B b, C c) WHERE a.k = c.k AND a.x < b.x WITHIN 1 minute"
    events = {"a": 10, "b": 40, "c": 100}
    true = {"a.k = c.k": 0.01, "a.x < b.x": 0.5}
    indexed = model(text, events, true)
    plain = replace(indexed, indexed=False, _partial={})
    assert evaluation_order(indexed) == ("a", "c", "b")
    assert indexed.tests(0b001, 2, 0b001) == pytest.approx(10 * 100 * 0.01)
    assert plain.tests(0b001, 2, 0b001) == pytest.approx(10 * 100)
    assert indexed.tests(0b001, 1, 0b001) == plain.tests(0b001, 1, 0b001) == pytest.approx(10 * 40)
    assert plain.partial(0b101) == indexed.partial(0b101) == pytest.approx(10 * 100 * 0.01)


def test_candidates_without_a_condition_are_not_tested() -> None:
    m = model("SEQ(A a, B b, C c) WHERE a.x < b.x WITHIN 1 minute", {"a": 10, "b": 10, "c": 10})
    assert m.tests(0b001, 1, 0b001) == pytest.approx(100)
    assert m.tests(0b001, 2, 0b001) == 0


VARIABLES = "abcde"
PAIRS = [f"{u}.x {'<=' if u < v else '>'} {v}.x" for u in VARIABLES for v in VARIABLES if u < v]


@st.composite
def models(draw: st.DrawFn) -> ChainModel:
    size = draw(st.integers(2, 5))
    variables = list(VARIABLES[:size])
    kinds = [draw(st.sampled_from(["", "", "", "+"])) for _ in variables]
    parts = [f"{v.upper()}{kind} {v}{'[]' if kind else ''}" for v, kind in zip(variables, kinds, strict=True)]
    at = draw(st.integers(1, size))
    text = {
        "seq": f"SEQ({', '.join(parts)})",
        "and": f"AND({', '.join(parts)})",
        "both": f"AND(SEQ({', '.join(parts[:at])}), SEQ({', '.join(parts[at:] or ['F f'])}))",
    }[draw(st.sampled_from(["seq", "and", "both"]))]
    single = [v for v, kind in zip(variables, kinds, strict=True) if not kind]
    pairs = [p for p in PAIRS if p[0] in single and p[-3] in single]
    chosen = draw(st.lists(st.sampled_from(pairs), unique=True, max_size=4)) if pairs else []
    where = f" WHERE {' AND '.join(chosen)}" if chosen else ""
    true = {p: draw(st.sampled_from([0.001, 0.1, 0.5, 1.0])) for p in chosen}
    events = {v: draw(st.sampled_from([0.1, 1.0, 3.0, 10.0, 50.0])) for v in "abcdef"}
    return model(f"{text}{where} WITHIN 1 minute", events, true)


@settings(max_examples=60)
@given(models())
def test_no_permutation_is_cheaper(m: ChainModel) -> None:
    names = [c.variable for c in m.components]
    single = [i for i, c in enumerate(m.components) if not c.iterated]
    iterated = [i for i, c in enumerate(m.components) if c.iterated]
    best = min(m.cost((*p, *q)) for p in permutations(single) for q in permutations(iterated))
    found = evaluation_order(m)
    assert sorted(found) == sorted(names)
    assert m.cost([names.index(v) for v in found]) == pytest.approx(best)


def test_many_components_are_ordered_greedily_and_fast() -> None:
    variables = [f"v{i}" for i in range(20)]
    text = ", ".join(f"T{i} v{i}" for i in range(20))
    events = {v: float(1 + (7 * i) % 20) for i, v in enumerate(variables)}
    for operator in ("SEQ", "AND"):
        m = model(f"{operator}({text}) WITHIN 1 minute", events)
        found = evaluation_order(m)
        assert calls_of(partial(evaluation_order, m)) < 20_000
        assert found == tuple(sorted(variables, key=events.__getitem__)), "without conditions by frequency alone"


def test_reordering_takes_what_the_window_holds_now() -> None:
    plan = chain(
        "SEQ(A a, B b, C c, D d, E e) WHERE a.x < b.x AND b.x < c.x AND d.k = e.k WITHIN 1 minute",
        StreamStatistics({"a": 1, "b": 2, "c": 3, "d": 4, "e": 5}, dict.fromkeys(("a.x < b.x", "b.x < c.x"), 1e-6)),
    )
    assert plan.branches[0].evaluation == ("a", "b", "c", "d", "e")
    now = {"a": 400.0, "b": 30.0, "c": 20.0, "d": 10.0, "e": 1.0}
    assert reorder(plan, now) == (("e", "d", "c", "b", "a"),)
    assert changed(plan, reorder(plan, now)).branches[0].evaluation == ("e", "d", "c", "b", "a")
    assert reorder(plan, {}) == (plan.branches[0].evaluation,), "what was not counted is as it was expected"
    assert calls_of(lambda: reorder(plan, now)) < 16_000, "it is asked at every batch"


CORRELATED = "SEQ(A a, NOT(N n), B b) WHERE corr(a.h, b.h) > 0.5 AND corr(n.h, b.h) > 0.5 WITHIN 1 minute"


@pytest.mark.parametrize(
    "text, rates, expected",
    [
        (CORRELATED, {"a": 30.0, "n": 10.0, "b": 1.0}, "an"),
        (CORRELATED, {"a": 30.0, "n": 0.1, "b": 1.0}, "a"),  # too few to fill a block
        (CORRELATED, {"a": 30.0, "n": 10.0, "b": 0.01}, "n"),  # each a is looked at once, if at all
        (CORRELATED.replace("> 0.5", "= 0.5"), {"a": 30.0, "n": 10.0, "b": 1.0}, ""),
        (CORRELATED.replace("corr(a.h, b.h)", "a.x"), {"a": 30.0, "n": 10.0, "b": 1.0}, "n"),
    ],
)
def test_lists_that_are_compared_often_are_put_into_blocks(
    text: str, rates: Mapping[str, float], expected: str
) -> None:
    hints = Hints(StreamStatistics(rates), ("b", "a"), Negation.FIRST_CHANCE)
    plan = family_plan("lazy-chain", bound(text), hints)
    assert isinstance(plan, LazyChainPlan)
    assert plan.blocked == set(expected)
    assert plan.led == set(), "nothing is known of what leads the lists"


@pytest.mark.parametrize(
    "a, n, rate, expected",
    [
        (0.02, 0.01, 1.0, "an"),
        (0.02, 0.2, 1.0, "a"),  # most would be left to be compared
        (0.3, 0.2, 1.0, ""),
        (0.02, 0.01, 0.2, "n"),  # each a is compared with 12 b: lists are put into blocks, but that is not often
    ],
)
def test_lists_are_bounded_where_that_is_often_and_leaves_few(a: float, n: float, rate: float, expected: str) -> None:
    known = {f"dot(standardise({v}.h), standardise(b.h)) > 0.5": share for v, share in (("a", a), ("n", n))}
    statistics = StreamStatistics({"a": 30.0, "n": 10.0, "b": rate}, bounded=known)
    plan = family_plan("lazy-chain", bound(CORRELATED), Hints(statistics, ("b", "a"), Negation.FIRST_CHANCE))
    assert isinstance(plan, LazyChainPlan)
    assert plan.blocked == set("an")
    assert plan.led == set(expected)
    assert plan.variant.led == plan.led


def test_sorting_pays_where_events_are_searched_for_often() -> None:
    """By what a window holds now, not by what was expected."""
    true = dict.fromkeys(("a.x < b.x", "b.x < a.x + 4"), 0.2)
    text = f"SEQ(A a, B b) WHERE {' AND '.join(true)} WITHIN 1 minute"
    plan = family_plan("lazy-chain", bound(text), Hints(StreamStatistics({"a": 2.0, "b": 1.0}, true)))
    assert isinstance(plan, LazyChainPlan)
    better = cached_improvements(1.0)
    assert better(plan, {"a": 120.0, "b": 60.0}) == plan
    seldom, often = better(plan, {"a": 9.0, "b": 1800.0}), better(plan, {"a": 90.0, "b": 1800.0})
    assert seldom.variant.orders == often.variant.orders == (("a", "b"),)
    assert seldom.selected == often.selected == {"a", "b"}
    assert not seldom.sorted
    assert often.sorted == {"b"}
    assert not better(seldom, {"a": 20.0, "b": 1800.0}).sorted, "it may as well not pay"
    assert better(seldom, {"a": 90.0, "b": 1800.0}) == often
    assert better(often, {"a": 9.0, "b": 1800.0}) == often, "nothing is given up"


@pytest.mark.parametrize(
    "text, expected",
    [
        # All is bound when n can be looked for, but a match is written by then.
        ("SEQ(A a, NOT(N n), B b) WHERE n.x > a.x WITHIN 1 minute", Negation.FIRST_CHANCE),
        # Every a would be searched for, and few of them come to a match.
        ("SEQ(C c, A a, NOT(N n), B b) WHERE c.k = b.k AND n.x > a.x WITHIN 1 minute", Negation.POST_PROCESSING),
        # It may still come.
        ("SEQ(A a, B b, NOT(N n)) WHERE n.x > a.x WITHIN 1 minute", Negation.POST_PROCESSING),
    ],
)
def test_when_negated_parts_are_looked_for(text: str, expected: Negation) -> None:
    true = {"c.k = b.k": 1e-4, "n.x > a.x": 0.001}
    plan = family_plan(
        "lazy-chain", bound(text), Hints(StreamStatistics(dict.fromkeys("abcn", 1.0), true), tuple("bac"))
    )
    assert isinstance(plan, LazyChainPlan)
    assert plan.negation is expected


@pytest.mark.parametrize(
    "text, events, order",
    [
        ("SEQ(A a, B b, C c)", {"a": 3.0, "b": 2.0, "c": 3.0}, "c a b"),
        ("SEQ(A a, B+ b[], C c)", {"a": 3.0, "b": 2.0, "c": 3.0}, "c a b"),
        # Found in another order, the few matches are sorted sooner than the many events searched.
        ("SEQ(A a, B b, C c)", {"a": 30.0, "b": 0.1, "c": 30.0}, "b a c"),
        # Matches cannot be found in their order: none is the last, or the first is bound by a list.
        ("AND(A a, B b, C c)", {"a": 3.0, "b": 2.0, "c": 3.0}, "b a c"),
        ("SEQ(A+ a[], B b, C c)", {"a": 3.0, "b": 2.0, "c": 3.0}, "b c a"),
        ("SEQ(A+ a[], B+ b[], C+ c[])", {"a": 3.0, "b": 2.0, "c": 3.0}, "b a c"),
    ],
)
def test_an_order_that_finds_matches_as_they_are_reported_may_be_dearer(
    text: str, events: dict[str, float], order: str
) -> None:
    assert " ".join(evaluation_order(model(f"{text} WITHIN 1 minute", events), in_order=True)) == order
