"""Golden explanations of lazy plans."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa
import pytest

import augury
from augury.compiler import CompiledQuery, emit
from augury.explain.text import explain_text
from augury.families import FAMILIES
from augury.options import Options
from augury.plan import Negation, StreamStatistics
from augury.planner import Hints, choose

COLUMNS = pa.schema(
    [
        ("ts", pa.int64()),
        ("type", pa.string()),
        ("x", pa.float64()),
        ("k", pa.string()),
        ("h", pa.list_(pa.float64())),
    ]
)
GIVEN = StreamStatistics(
    {"a": 3.0, "n": 1.0, "b": 0.5, "c": 0.1}, {"a.x < b.x": 0.2, "[k]": 0.01}, ticks=600, source="given"
)


def planned(text: str, hints: Hints, *, family: str | None = None, live: bool = False) -> CompiledQuery:
    """The query with the plan that is chosen for it, or that of one family."""
    c = augury.compile(f"PATTERN {text}", COLUMNS, plan="reference").program.last
    choice = choose(c.rewritten, FAMILIES, family, replace(hints, live=live))
    return replace(c, choice=choice, kernel=emit(choice.plan, Options()))


def explained(
    text: str,
    hints: Hints,
    *,
    family: str | None = None,
    live: bool = False,
    counters: Mapping[str, int] | None = None,
) -> str:
    return explain_text(planned(text, hints, family=family, live=live), "plan", counters)


CHAIN = """\
plan  lazy-chain
      Chains over shared input buffers, one for each branch, each evaluated in ascending order of frequency.
      431 operations a window are expected.

partition  k; each value has input buffers of its own
window     60 ticks of one second (60 seconds)
order      by cost; another one when the stream leaves the statistics
negation   first-chance: a search as soon as all that it depends on is bound

statistics: given
  a          180 events a window
  n          60 events a window
  b          30 events a window
  c          6 events a window
  d          69 events a window   assumed
  a.x < b.x  true for 20%
  c.x = a.x  true for 10%         assumed
  [k]        true for 1%

chain
  1  C c
       if c.x > 5  (query 1:104)
       6 partial matches a window expected
  2  A a before c, found by a.x = c.x
       if c.x = a.x  (query 1:76)
       1.08 partial matches a window expected
  3  B b after a and before c
       if a.x < b.x  (query 1:62)
       dropped if there is
         N n after a and before b, c
           if n.x > a.x  (query 1:90)
       0.0303 partial matches a window expected
  a match is dropped if there is
    D d after a, b, c
      looked for when the window has passed, since it may still come

not chosen
  reference   `lazy-chain` was asked for
  eager-nfa   `lazy-chain` was asked for
  lazy-tree   `lazy-chain` was asked for
  event-sets  skip_till_any_match binds sets in every possible way, an automaton the next events that fit
  linked      a NOT that may still occur when the match is complete                                        (query 1:9)
  lossy       without THRESHOLD no event is missing"""

BRANCHES = """\
partition  none
window     60 ticks of one second (60 seconds)
order      as asked for

statistics: assumed
  a                  10 events a window
  b                  100 events a window
  c                  100 events a window
  d                  100 events a window
  b[i].x > b[i-1].x  true for 33.3%
  avg(b[].x) > a.x   true for 33.3%

chain 1 of 2
  1  A a
       if upper(a.k) = 'X'  (query 1:58)
       10 partial matches a window expected
  2  B b, every list of 2 to 5 after a
       if b[i].x > b[i-1].x  (query 1:79)
       with all of them, if avg(b[].x) > a.x  (query 1:101)
       3.65e+06 partial matches a window expected

chain 2 of 2
  1  any type d
       100 partial matches a window expected
  2  C c, every list of 3 before d
       1.62e+07 partial matches a window expected

computed by the host, for an event e
  upper(e.k)  once for each distinct string"""


def test_a_chain() -> None:
    text = (
        "SEQ(A a, NOT(N n), B b, C c, NOT(D d)) "
        "WHERE [k] AND a.x < b.x AND c.x = a.x AND n.x > a.x AND c.x > 5 WITHIN 1 minute"
    )
    assert explained(text, Hints(GIVEN, negation=Negation.FIRST_CHANCE)) == CHAIN


def test_several_chains_in_an_order_that_was_asked_for() -> None:
    text = (
        "OR(SEQ(A a, B{2,5} b[]), SEQ(C{3} c[], d)) "
        "WHERE upper(a.k) = 'X' AND b[i].x > b[i-1].x AND avg(b[].x) > a.x WITHIN 1 minute"
    )
    compiled = planned(text, Hints(order=("d", "a", "b", "c")))
    body = explain_text(compiled, "plan").split("\n\n", 1)[1].rsplit("\n\n", 1)[0]
    assert body == BRANCHES


def test_a_tree_begins_with_an_order() -> None:
    text = explained("AND(A a, B b, C c) WITHIN 1 minute", Hints(), live=True)
    assert text.startswith("plan  lazy-tree\n      A tree of all evaluation orders")
    assert "order      as below to begin with, then by what the window holds" in text
    assert "  lazy-chain  the rates are not known: a tree finds the order as it goes" in text
    assert "  eager-nfa   an AND binds its parts in any order, an automaton only in one  " in text


def test_dearer_plans_are_listed_with_both_costs() -> None:
    compiled = planned("SEQ(A a, B b, C c) WITHIN 1 minute", Hints(StreamStatistics({"a": 5, "b": 0.5, "c": 0.02})))
    costs = {rival.family: getattr(rival, "cost", None) for rival in compiled.choice.rivals}
    line = f"  eager-nfa   dearer: estimated {costs['eager-nfa']:.3g} against {compiled.choice.cost:.3g} operations"
    assert line in explain_text(compiled, "plan")


@pytest.mark.parametrize(
    "statistics, said",
    [
        (StreamStatistics({"a": 2.0, "b": 1.0}, ticks=600), ["60 partial matches a window expected, 57 found", "7312"]),
        (
            StreamStatistics({"a": 2.0, "b": 1.0}),
            ["60 partial matches a window expected, 570 found in all", "73120 found in all"],
        ),
    ],
)
def test_what_was_found_stands_beside_what_was_expected(statistics: StreamStatistics, said: list[str]) -> None:
    counters = {"partial_matches[0,0]": 570, "partial_matches[0,1]": 73_120}
    text = explained("SEQ(A a, B b) WITHIN 1 minute", Hints(statistics), family="lazy-chain", counters=counters)
    assert all(words in text for words in said)


def test_matches_say_how_they_were_found() -> None:
    events = [{"ts": 1, "type": "A"}, {"ts": 2, "type": "B"}]
    for plan in ("eager-nfa", "reference"):
        found = augury.match(events, "PATTERN SEQ(A a, B b) WITHIN 1 minute", plan=plan)
        assert augury.explain(found).startswith(f"plan  {plan}\n")
        assert augury.explain(found, stage="syntax") == "PATTERN   SEQ(A a, B b)\nWITHIN    1 minute"
    with pytest.raises(augury.HostError, match="stage `plan` depends on the columns of the events"):
        augury.explain(augury.match([], "PATTERN A a"))


def test_lists_that_are_compared_many_at_a_time() -> None:
    text = "SEQ(A a, NOT(N n), B b) WHERE corr(a.h, b.h) > 0.9 AND corr(n.h, a.h) > 0.9 WITHIN 60 seconds"
    lines = explained(text, Hints(GIVEN, ("b", "a"), Negation.FIRST_CHANCE), family="lazy-chain").splitlines()
    assert "  2  A a before b, 64 lists at a time compared with that of b" in lines
    assert "       dropped if there is, 64 lists at a time compared with that of a" in lines
    near = {f"dot(standardise({u}.h), standardise({v}.h)) > 0.9": 0.02 for u, v in ("ab", "na")}
    known = replace(GIVEN, bounded=near)
    lines = explained(text, Hints(known, ("b", "a"), Negation.FIRST_CHANCE), family="lazy-chain").splitlines()
    first = "8 leading coefficients of them first"
    assert f"  2  A a before b, 64 lists at a time compared with that of b, {first}" in lines
    assert f"       dropped if there is, 64 lists at a time compared with that of a, {first}" in lines
