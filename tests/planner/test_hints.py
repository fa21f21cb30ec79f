"""What a caller may ask of the planner, and what is wrong with what cannot be followed."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import augury
from augury import HostError, UnsupportedPlan
from augury.families import FAMILIES
from augury.ir.query import BoundQuery
from augury.plan import GivenStatistics, LazyChainPlan, LazyTreePlan, Negation, StreamStatistics
from augury.planner import choose
from augury.planner.hints import Hints, check_order, check_statistics, negation_hint, resolve

COLUMNS = pa.schema(
    [("ts", pa.timestamp("ms")), ("type", pa.string()), ("x", pa.float64()), ("h", pa.list_(pa.float64()))]
)


def both(text: str) -> tuple[BoundQuery, BoundQuery]:
    compiled = augury.compile(f"PATTERN {text}", COLUMNS).program.last
    return compiled.bound, compiled.rewritten


def ordered(text: str, *order: str) -> LazyChainPlan:
    query = both(text)[1]
    check_order(order, [query])
    plan = choose(query, FAMILIES, hints=Hints(order=order)).plan
    assert isinstance(plan, LazyChainPlan)
    return plan


def test_an_order_is_followed_and_kept() -> None:
    plan = ordered("SEQ(A a, B b, C c) WITHIN 1 minute", "b", "c", "a")
    assert [b.evaluation for b in plan.branches] == [("b", "c", "a")]
    assert not plan.adaptive
    assert ordered("SEQ(A a, B+ b[]) WITHIN 1 minute", "a", "b").branches[0].evaluation == ("a", "b")


def test_an_order_is_restricted_to_each_branch() -> None:
    plan = ordered("OR(SEQ(A a, B b), SEQ(B b, C+ c[]), SEQ(C d, A a))", "d", "b", "a", "c")
    assert [b.evaluation for b in plan.branches] == [("b", "a"), ("b", "c"), ("d", "a")]


@pytest.mark.parametrize(
    "order, message, help",
    [
        (("a", "b"), "order leaves out `c`, `d`", "name each of `a`, `b`, `c`, `d` once, lists last"),
        (("a", "a", "b", "c", "d"), "order names `a` twice", "name each of"),
        (("a", "b", "c", "d", "n"), "`n` of order is negated: it is never bound", "name each of"),
        (("a", "b", "c", "e"), "`e` of order is not bound by PATTERN", "known: `a`, `b`, `c`, `d`"),
        (("a", "c", "b", "d"), "order has a list before `d`", "move lists to the end"),
    ],
)
def test_orders_that_cannot_be_followed(order: tuple[str, ...], message: str, help: str) -> None:
    with pytest.raises(HostError) as raised:
        ordered("SEQ(A a, B b, NOT(N n), C+ c[], D d) WITHIN 1 minute", *order)
    assert raised.value.code == "A529"
    assert raised.value.message == f"hint that cannot be followed: {message}"
    assert raised.value.help.startswith(help)


def test_a_program_takes_one_order_for_all_its_queries() -> None:
    program = "PATTERN SEQ(A a, B b) RETURN a.x AS x INTO T; PATTERN SEQ(T t, C c)"
    queries = [q.rewritten for q in augury.compile(program, COLUMNS).program.queries]
    check_order(("b", "a", "c", "t"), queries)
    with pytest.raises(HostError, match="order leaves out `t`, `c`"):
        check_order(("b", "a"), queries)


def test_negation_hints() -> None:
    query = both("SEQ(A a, NOT(N n), B b) WITHIN 1 minute")[1]
    for word in Negation:
        plan = choose(query, FAMILIES, hints=Hints(negation=negation_hint(word))).plan
        assert isinstance(plan, LazyChainPlan)
        assert plan.negation is word
        assert plan.adaptive, "the order was left to the planner"
        tree = choose(query, FAMILIES, "lazy-tree", hints=Hints(negation=word)).plan
        assert isinstance(tree, LazyTreePlan)
        assert tree.chain.negation is word
    assert negation_hint(None) is None
    with pytest.raises(HostError, match="there is no negation `late`") as raised:
        negation_hint("late")
    assert raised.value.code == "A529"
    assert raised.value.help == "one of `post-processing`, `first-chance`"


@pytest.mark.parametrize(
    "family, hints",
    [
        ("eager-nfa", Hints(order=("a", "b"))),
        ("lazy-tree", Hints(order=("a", "b"))),
        ("reference", Hints(negation=Negation.FIRST_CHANCE)),
    ],
)
def test_hints_are_for_the_lazy_chain(family: str, hints: Hints) -> None:
    with pytest.raises(HostError, match=f"is for the plan `lazy-chain`, not for `{family}`"):
        choose(both("SEQ(A a, B b)")[1], FAMILIES, family, hints=hints)


def test_a_hint_asks_for_the_lazy_chain_even_where_there_is_none() -> None:
    query = both("SEQ(A a, B b) WHERE skip_till_next_match { a.x < b.x }")[1]
    with pytest.raises(UnsupportedPlan, match="plan `lazy-chain` cannot run this query: skip_till_next_match"):
        choose(query, FAMILIES, hints=Hints(order=("a", "b")))


# -- statistics --------------------------------------------------------------------------------------------------------


def resolved(text: str, known: StreamStatistics | None = None, **stated: Any) -> StreamStatistics:
    bound, rewritten = both(text)
    given = GivenStatistics.of(stated)
    check_statistics(given, [(bound, rewritten)])
    return resolve(given, bound, rewritten, known or StreamStatistics())


def test_rates_are_given_per_second_by_type_or_variable() -> None:
    found = resolved("SEQ(A a, B|C b, A c) WITHIN 1 minute", rates={"A": 3, "B": 1, "C": 2, "c": 7})
    assert found.rates == pytest.approx({"a": 0.003, "b": 0.003, "c": 0.007})
    assert found.source == "given"


def test_the_rate_of_a_type_is_before_conditions_that_of_a_variable_after() -> None:
    text = "SEQ(A a, A b) WHERE a.x = 5 AND b.x = 5 WITHIN 1 minute"
    assert resolved(text, rates={"A": 2, "b": 2}).rates == pytest.approx({"a": 0.0002, "b": 0.002})
    assert resolved(text, rates={"A": 2}, selectivities={"a.x = 5": 0.5}).rates["a"] == pytest.approx(0.001)


def test_selectivities_are_given_as_conditions_were_written() -> None:
    found = resolved(
        "SEQ(A a, B b, C c) WHERE a.x<b.x AND corr(a.h, b.h) > 0.9 AND [type] WITHIN 1 minute",
        selectivities={"a.x   <b.x": 0.2, "corr(a.h, b.h) > 0.9": 0.01, "[type]": 0.3},
    )
    assert found.selectivities == {
        "a.x < b.x": 0.2,
        "dot(standardise(a.h), standardise(b.h)) > 0.9": 0.01,
        "[type]": 0.3,
    }


def test_what_is_given_goes_before_what_is_measured() -> None:
    measured = StreamStatistics({"a": 1.0, "b": 2.0}, {"a.x < b.x": 0.5}, 3.0, 100.0, "measured on all 300 events")
    found = resolved("SEQ(A a, B b) WHERE a.x < b.x", measured, rates={"a": 5})
    assert found.rates == {"a": 0.005, "b": 2.0}
    assert (found.selectivities, found.total, found.ticks) == ({"a.x < b.x": 0.5}, 3.0, 100.0)
    assert found.source == "given, the rest measured on all 300 events"
    assert resolve(None, *both("SEQ(A a, B b)"), measured) is measured
    assert resolve(measured, *both("SEQ(A a, B b)"), StreamStatistics()) is measured


@pytest.mark.parametrize(
    "stated, message",
    [
        ([], "they are a list, not a mapping"),
        ({"rate": {}}, "there is no `rate` among them"),
        ({"rates": 3}, "`rates` is a int, not a mapping"),
        ({"rates": {"A": -1}}, "`A` of `rates` is -1, not a number of events per second"),
        ({"rates": {"A": "1"}}, "`A` of `rates` is '1', not a number of events per second"),
        ({"rates": {"A": float("nan")}}, "`A` of `rates` is nan, not a number"),
        ({"selectivities": {"a.x < b.x": 1.5}}, "`a.x < b.x` of `selectivities` is 1.5, not a share between 0 and 1"),
        ({"selectivities": {"a.x < b.x": True}}, "`a.x < b.x` of `selectivities` is True, not a share"),
        ({"rates": {"Z": 1}}, "no query has a type or variable `Z`"),
        ({"selectivities": {"a.x <= b.x": 0.1}}, "no query has the condition `a.x <= b.x`"),
    ],
)
def test_statistics_that_cannot_be_used(stated: Any, message: str) -> None:
    with pytest.raises(HostError) as raised:
        augury.compile("PATTERN SEQ(A a, B b) WHERE a.x < b.x", COLUMNS, statistics=stated)
    assert raised.value.code == "A528"
    assert raised.value.message.startswith(f"statistics that cannot be used: {message}")


def test_the_nearest_condition_is_suggested() -> None:
    with pytest.raises(HostError) as raised:
        augury.compile("PATTERN SEQ(A a, B b) WHERE a.x < b.x", COLUMNS, statistics={"selectivities": {"a.x<=b.x": 0}})
    assert raised.value.help == "did you mean `a.x < b.x`?"


def test_options_are_checked_wherever_they_are_given() -> None:
    events = pa.table({"ts": [1], "type": ["A"], "x": [1.0]})
    query = "PATTERN SEQ(A a, B b)"
    for call in (
        lambda **o: augury.match(events, query, **o),
        lambda **o: augury.match_all(events, {"q": query}, **o),
        lambda **o: augury.compile(query, events.schema, **o),
        lambda **o: augury.explain(query, events.schema, **o),
        lambda **o: augury.Matcher(query, events.schema, **o),
    ):
        with pytest.raises(HostError, match="order leaves out `b`"):
            call(order=["a"])
        with pytest.raises(HostError, match="there is no negation `never`"):
            call(negation="never")
        with pytest.raises(HostError, match="no query has a type or variable `Q`"):
            call(statistics={"rates": {"Q": 1.0}})
