"""Which plan runs a query, and what is said of the others."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa
import pytest

import augury
from augury import UnsupportedPlan
from augury.families import FAMILIES
from augury.ir.query import BoundQuery
from augury.plan import (
    Choice,
    EventSetsPlan,
    LazyChainPlan,
    LazyTreePlan,
    Negation,
    RejectedPlan,
    StreamStatistics,
)
from augury.planner import choose
from augury.planner.eager_nfa import MARGIN
from augury.planner.estimates import estimate_chain
from augury.planner.hints import NO_HINTS, Hints

COLUMNS = pa.schema([("ts", pa.int64()), ("type", pa.string()), ("x", pa.float64()), ("k", pa.string())])
RARE_LAST = StreamStatistics({"a": 5.0, "b": 0.5, "c": 1 / 60}, source="given")


def bound(text: str) -> BoundQuery:
    return augury.compile(f"PATTERN {text}", COLUMNS).program.last.rewritten


def chosen(
    text: str,
    statistics: StreamStatistics | None = None,
    *,
    compressed: bool = False,
    merge: bool = True,
    live: bool = False,
) -> Choice:
    known = StreamStatistics() if statistics is None else statistics
    return choose(bound(text), FAMILIES, hints=Hints(known, compressed=compressed, merge=merge, live=live))


def lazy(text: str, hints: Hints = NO_HINTS) -> LazyChainPlan:
    plan = choose(bound(text), FAMILIES, "lazy-chain", hints).plan
    assert isinstance(plan, LazyChainPlan)
    return plan


def reasons(choice: Choice) -> Mapping[str, str]:
    return {rival.family: rival.reason for rival in choice.rivals}


def test_a_rare_last_event_asks_for_a_lazy_chain() -> None:
    choice = chosen("SEQ(A a, B b, C c) WITHIN 1 minute", RARE_LAST)
    assert isinstance(choice.plan, LazyChainPlan)
    # Then as in time, which finds matches in the order in which they are reported.
    assert choice.plan.branches[0].evaluation == ("c", "a", "b")
    assert choice.plan.adaptive
    assert choice.plan.estimated[0] == pytest.approx((1.0, 300.0, 4500))
    eager = next(rival for rival in choice.rivals if rival.family == "eager-nfa")
    assert isinstance(eager, RejectedPlan)
    assert eager.cost is not None
    assert choice.cost is not None
    assert eager.cost > 10 * choice.cost
    assert eager.reason == f"dearer: estimated {eager.cost:.3g} against {choice.cost:.3g} operations a window"
    assert reasons(choice)["reference"] == "`lazy-chain` is expected to be faster"


def test_runs_that_merge_and_are_not_written_out_are_cheaper_than_lists_one_by_one() -> None:
    text = "SEQ(A+ a[], B b) WITHIN 1 minute"
    assert chosen(text, compressed=True).plan.family == "eager-nfa"
    assert reasons(chosen(text, compressed=True))["lazy-chain"].startswith("dearer: estimated")
    assert chosen(text).plan.family == "lazy-chain", "all the lists are written out anyway"
    assert chosen(text, compressed=True, merge=False).plan.family == "lazy-chain"


def test_one_component_has_no_order() -> None:
    for text in ("A a", "OR(A a, B b)", "A+ a[] WITHIN 1 minute"):
        assert chosen(text).plan.family == "eager-nfa"


def test_about_as_cheap_is_not_cheap_enough() -> None:
    """With ever more events the automaton, which merges its runs, becomes the cheaper one; just so is not enough."""
    text = "SEQ(A a, B b, C c) WITHIN 1 minute"

    def at(events: float) -> Choice:
        rates = dict.fromkeys("abc", events / 60)
        return chosen(text, StreamStatistics(rates), compressed=True)

    few, many = 1.0, 1_000.0
    assert (at(few).plan.family, at(many).plan.family) == ("lazy-chain", "eager-nfa")
    while many - few > 1e-6:
        middle = (few + many) / 2
        few, many = (middle, many) if at(middle).plan.family == "lazy-chain" else (few, middle)
    last = at(few)
    automaton = next(rival for rival in last.rivals if isinstance(rival, RejectedPlan) and rival.family == "eager-nfa")
    assert last.cost is not None
    assert last.cost == pytest.approx(MARGIN * (automaton.cost or 0), rel=1e-3)
    assert automaton.reason.startswith("not cheap enough: estimated")


def test_sets_are_for_the_chain() -> None:
    choice = chosen("AND(A a, B b) WITHIN 1 minute")
    assert choice.plan.family == "lazy-chain"
    assert "an AND binds its parts in any order" in reasons(choice)["eager-nfa"]


@pytest.mark.parametrize("strategy", ["strict_contiguity", "partition_contiguity", "skip_till_next_match"], ids=str)
def test_other_strategies_are_for_automata(strategy: str) -> None:
    choice = chosen(f"SEQ(A a, B b) WHERE {strategy} {{ [k] }} WITHIN 1 minute")
    assert choice.plan.family == "eager-nfa"
    assert choice.cost is None
    assert reasons(choice)["lazy-chain"] == f"{strategy} selects events in the order they arrive, a chain does not"
    assert reasons(choice)["lazy-tree"] == reasons(choice)["lazy-chain"]


def test_covers_are_for_linked_chains() -> None:
    choice = chosen("SEQ(A a, B b) WITHIN 1 minute OUTPUT COVER")
    assert choice.plan.family == "linked"
    assert reasons(choice)["eager-nfa"] == "runs find all matches, and do not know the chains of OUTPUT COVER"
    lists = chosen("SEQ(A a, B+ b[]) WITHIN 1 minute OUTPUT COVER")
    assert lists.plan.family == "reference"
    assert reasons(lists)["linked"] == "the list `b` may lie in several chains at once"


def test_the_latest_matches_are_for_linked_chains_where_they_can() -> None:
    choice = chosen("SEQ(A a, B b) WITHIN 1 minute OUTPUT LATEST")
    assert choice.plan.family == "linked"
    assert reasons(choice)["lazy-chain"] == "`linked` is expected to be faster"
    assert chosen("SEQ(A a, B+ b[], C c) WHERE b[i].x < b[i-1].x OUTPUT LATEST").plan.family == "linked"
    # A walk back would try every subset of a list before it meets the event that does not fit.
    assert chosen("SEQ(A a, B+ b[], C c) WHERE a.x < b[i].x OUTPUT LATEST").plan.family != "linked"


def test_sequences_of_unary_predicates_are_counted_in_their_buffers() -> None:
    text = "SEQ(A a, B b) WHERE a.x > 1 WITHIN 1 minute OUTPUT COUNT"
    assert chosen(text).plan.family == "lazy-chain"
    assert chosen(text.replace("OUTPUT COUNT", "")).plan.family == "lazy-chain"


def test_sets_under_other_strategies_are_for_event_sets() -> None:
    choice = chosen("AND(A a, B b) WHERE skip_till_next_match {} WITHIN 1 minute")
    assert choice.plan.family == "event-sets"
    assert isinstance(choice.plan, EventSetsPlan)
    assert choice.plan.branches[0].exclusive
    assert (
        "a sequence, which matches as soon as it is complete"
        in reasons(chosen("SEQ(A a, B b) WHERE skip_till_next_match {}"))["event-sets"]
    )


def test_a_tree_is_for_live_streams_of_unknown_rates() -> None:
    three, two = "SEQ(A a, B b, C c) WITHIN 1 minute", "SEQ(A a, B b) WITHIN 1 minute"
    tree = chosen(three, live=True)
    assert isinstance(tree.plan, LazyTreePlan)
    assert reasons(tree)["lazy-chain"] == "the rates are not known: a tree finds the order as it goes"
    assert chosen(three).plan.family == "lazy-chain"
    assert chosen(three, RARE_LAST, live=True).plan.family == "lazy-chain"
    assert chosen(two, live=True).plan.family == "lazy-chain"
    assert chosen("SEQ(A a, B+ b[], C c) WITHIN 1 minute", live=True).plan.family == "lazy-chain"


def test_a_plan_that_was_asked_for() -> None:
    query = bound("SEQ(A a, B b) WITHIN 1 minute")
    for family in ("eager-nfa", "lazy-chain", "lazy-tree", "reference"):
        choice = choose(query, FAMILIES, family)
        assert choice.plan.family == family
        assert {r.reason for r in choice.rivals if isinstance(r, RejectedPlan)} == {f"`{family}` was asked for"}
    with pytest.raises(UnsupportedPlan, match="skip_till_next_match selects events in the order they arrive"):
        choose(bound("SEQ(A a, B b) WHERE skip_till_next_match { [k] }"), FAMILIES, "lazy-chain")
    with pytest.raises(UnsupportedPlan, match="there is no plan `lazy`"):
        choose(query, FAMILIES, "lazy")


# -- negated parts -----------------------------------------------------------------------------------------------------


def test_frequent_negated_events_are_looked_for_early() -> None:
    """They reject nearly every pair (c, a), so that d is hardly looked at."""
    text = "SEQ(A a, NOT(N n), C c, D d) WITHIN 1 minute"
    plan = lazy(text, Hints(StreamStatistics({"a": 1.0, "n": 5.0, "c": 0.1, "d": 100.0})))
    assert plan.negation is Negation.FIRST_CHANCE
    late = estimate_chain(lazy(text, Hints(plan.statistics, negation=Negation.POST_PROCESSING)))
    assert late.cost > 10 * estimate_chain(plan).cost
    assert plan.estimated[0][1] < 0.01 * late.partial[0][1]


def test_negated_events_that_hardly_occur_are_looked_for_late() -> None:
    """The pair (c, a) is frequent, but one of thousands has the d that completes it."""
    text = "SEQ(A a, NOT(N n), C c, D d) WHERE n.x = a.x AND d.x < a.x WITHIN 1 minute"
    statistics = StreamStatistics(
        {"a": 1.0, "n": 5.0, "c": 1.0, "d": 2.0}, {"n.x = a.x": 1e-6, "d.x < a.x": 1e-6, "a.x = n.x": 1e-6}
    )
    plan = lazy(text, Hints(statistics, order=("c", "a", "d")))
    assert plan.negation is Negation.POST_PROCESSING
    early = estimate_chain(lazy(text, Hints(statistics, order=("c", "a", "d"), negation=Negation.FIRST_CHANCE)))
    assert early.cost > estimate_chain(plan).cost


def test_without_a_choice_negated_parts_wait_for_the_match() -> None:
    assert lazy("SEQ(A a, B b, NOT(N n)) WITHIN 1 minute").negation is Negation.POST_PROCESSING
    assert lazy("SEQ(A a, B b) WITHIN 1 minute").negation is Negation.POST_PROCESSING
