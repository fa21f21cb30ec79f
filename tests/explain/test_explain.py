"""Golden explanations."""

from __future__ import annotations

import pyarrow as pa
import pytest

import augury
from augury import HostError
from augury.explain.text import STAGES, explain_text

COLUMNS = pa.schema([("ts", pa.timestamp("ms")), ("type", pa.string()), ("tag", pa.string()), ("price", pa.float64())])
QUERY = """
pattern sequence(Shelf s, B|C+ b[], ~(Register r), Exit e)
where skip_till_next_match(s, b[], r, e) { [tag] and s.price > 5 and b[i].price > b[i-1].price
  and avg(b[].price) < e.price and b.len >= 2 and r.price = s.price }
within 12 hours
return s.tag as tag, e.price - s.price as gain into Theft
"""

SYNTAX = """\
PATTERN   SEQ(Shelf s, B|C+ b[], NOT(Register r), Exit e)
WHERE     skip_till_next_match(s, b[], r, e) { [tag] AND s.price > 5 AND b[i].price > b[i-1].price AND \
avg(b[].price) < e.price AND b.len >= 2 AND r.price = s.price }
WITHIN    12 hours
RETURN    s.tag AS tag, e.price - s.price AS gain INTO Theft"""

BOUND = """\
PATTERN   SEQ(Shelf s, B|C+ b[], NOT(Register r), Exit e)
WHERE     skip_till_next_match { [tag] AND s.price > 5 AND b[i].price > b[i-1].price AND \
avg(b[].price) < e.price AND b.len >= 2 AND r.price = s.price }
WITHIN    12 hours
OUTPUT    ALL
RETURN    s.tag AS tag, e.price - s.price AS gain INTO Theft

variables
  s  Shelf     single
  b  B|C       list
  r  Register  single, negated
  e  Exit      single

partition by  tag
key           none
window        43200000 ticks of one millisecond (43200 seconds)

predicates
  s.price > 5                unary (s)
  b[i].price > b[i-1].price  unary (b); per element of b from the second on
  avg(b[].price) < e.price   pairwise (b, e); whole list of b
  b.len >= 2                 unary (b); whole list of b
  r.price = s.price          pairwise (s, r)"""

PLAN = """\
plan  reference
      Interpret the query as SEMANTICS states it; always possible, never fast.

not possible
  eager-nfa   this release has no such evaluator
  lazy-chain  this release has no such evaluator
  lazy-tree   this release has no such evaluator
  event-sets  this release has no such evaluator
  linked      this release has no such evaluator
  lossy       this release has no such evaluator"""

KERNEL = "The reference evaluator interprets the query: there is no generated code."


@pytest.mark.parametrize(
    "stage, golden",
    [("syntax", SYNTAX), ("bound", BOUND), ("plan", PLAN), ("kernel", KERNEL)],
)
def test_golden(stage: str, golden: str) -> None:
    assert augury.explain(QUERY, COLUMNS, stage=stage) == golden
    (compiled,) = augury.compile(QUERY, COLUMNS).queries
    assert explain_text(compiled, stage) == golden


def test_the_rewritten_query_has_its_key() -> None:
    assert "key           tag" in augury.explain(QUERY, COLUMNS, stage="rewritten").splitlines()


def test_the_text_of_every_stage_can_be_read_again() -> None:
    for stage in ("bound", "rewritten"):
        text = augury.explain(QUERY, COLUMNS, stage=stage).split("\n\n")[0]
        assert (
            augury.compile(text, COLUMNS).last.rewritten.variables
            == augury.compile(QUERY, COLUMNS).last.bound.variables
        )


def test_windows_and_queries_without_predicates() -> None:
    text = augury.explain("PATTERN SEQ(a, B? b) WITHIN 7 EVENTS", COLUMNS, stage="bound")
    assert "window        7 consecutive events" in text
    assert "  a  any type  single" in text
    assert text.endswith("no predicates")
    assert "window        none" in augury.explain("PATTERN a", COLUMNS, stage="bound")


def test_programs_explain_each_query() -> None:
    text = augury.explain("PATTERN A a RETURN a.tag AS t INTO D; PATTERN D d", COLUMNS, stage="kernel")
    assert text == f"-- query 1 of 2\n{KERNEL}\n\n-- query 2 of 2\n{KERNEL}"


def test_default_stage_and_errors() -> None:
    assert augury.explain(QUERY, COLUMNS) == PLAN
    assert augury.explain(QUERY, stage="syntax") == SYNTAX
    with pytest.raises(HostError, match="depends on the columns of the events"):
        augury.explain(QUERY)
    with pytest.raises(HostError, match="there is no stage `fast`") as raised:
        augury.explain(QUERY, stage="fast")
    assert all(f"`{stage}`" in raised.value.help for stage in STAGES)
    (compiled,) = augury.compile(QUERY, COLUMNS).queries
    with pytest.raises(HostError, match="there is no stage"):
        explain_text(compiled, "fast")
