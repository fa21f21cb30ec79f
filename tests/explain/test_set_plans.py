"""Golden explanations of event sets and linked chains."""

from __future__ import annotations

import pyarrow as pa
import pytest

import augury

COLUMNS = pa.schema([("ts", pa.int64()), ("type", pa.string()), ("x", pa.float64()), ("k", pa.string())])

SETS = """\
plan  event-sets
      An automaton over sets of bound variables for each branch, whose instances are matches when they expire.

strategy   skip_till_next_match
partition  k
window     950400 ticks of one second (950400 seconds)
filter     events that fit no variable are passed over

automaton
  4 variables, no event fits two of them: an instance never branches
  C c  at any time
      if, once all of it is bound, p[i].x > c.x  (query 2:38)
  P p  at any time; 2 or more, until b begins
      if, once all of it is bound, p[i].x > c.x  (query 2:38)
      if, when the list is whole, avg(p[].x) < b.x  (query 2:55)
  D d  at any time
  B b  when c, p, d are complete
      if, once all of it is bound, avg(p[].x) < b.x  (query 2:55)
  ignore   an event that no variable can take
  match    when an instance that has bound all of them can take nothing more
  a match is dropped if a search by type, partition and time finds beside its events
    N n after c, p, d and before b
      if n.x > 1  (query 2:76)
      looked for when the match is complete

an instance holds
  run_state           the set of variables that are bound
  run_node            its last node
  run_integers[:, 0]  length of p
  run_integers[:, 1]  count of p p[i].x
  run_floats[:, 0]    sum of p p[i].x
  run_floats[:, 1]    first of b x
  run_floats[:, 2]    first of c x

not chosen
  reference   `event-sets` is expected to be faster
  eager-nfa   an AND binds its parts in any order, an automaton only in one                   (query 1:9)
  lazy-chain  skip_till_next_match selects events in the order they arrive, a chain does not
  lazy-tree   skip_till_next_match selects events in the order they arrive, a chain does not
  linked      skip_till_next_match selects events, chains hold all of them
  lossy       without THRESHOLD no event is missing"""

COVERS = """\
plan  linked
      Chains of adjacent events for each component of a sequence, linked where a match can go on from one to the next.

output     COVER: for each combination of chains its latest match, when no chain of it can grow
partition  k
window     60 ticks of one second (60 seconds)

chains
  A a
  B b  after the chains of a
      joined if a.x < b.x  (query 2:15)
  C c  after the chains of b
      if c.x > 2  (query 2:29)
  a match does not count if a search by type, partition and time finds beside its events
    N n after a and before b, c

not chosen
  reference   `linked` is expected to be faster
  eager-nfa   runs find all matches, and do not know the chains of OUTPUT COVER
  lazy-chain  a chain finds all matches, and does not know the chains of OUTPUT COVER
  lazy-tree   a chain finds all matches, and does not know the chains of OUTPUT COVER
  event-sets  skip_till_any_match binds sets in every possible way, an automaton the next events that fit
  lossy       without THRESHOLD no event is missing"""


def test_event_sets() -> None:
    query = """PATTERN SEQ(AND(C c, P{2,} p[], D d), NOT(N n), B b)
WHERE skip_till_next_match { [k] AND p[i].x > c.x AND avg(p[].x) < b.x AND n.x > 1 } WITHIN 11 days"""
    assert augury.explain(query, COLUMNS) == SETS


def test_covers() -> None:
    query = """PATTERN SEQ(A a, NOT(N n), B b, C c)
WHERE [k] AND a.x < b.x AND c.x > 2 WITHIN 1 minute OUTPUT COVER"""
    assert augury.explain(query, COLUMNS) == COVERS


@pytest.mark.parametrize(
    "query, line",
    [
        ("AND(A a, A b) WHERE skip_till_next_match {}", "an event may fit several: an instance branches for each"),
        ("AND(A a, B b) WHERE strict_contiguity {}", "filter     none: an event that fits no variable ends instances"),
        ("AND(A a, B b) WHERE strict_contiguity {}", "ignore   nothing; an event that no variable can take ends"),
        ("AND(A a, B b) WHERE partition_contiguity { [k] }", "ignore   an event of another partition; any other"),
        ("AND(A a, OR(B b, C c)) WHERE skip_till_next_match {}", "automaton 2 of 2"),
        ("AND(A a, B{1,3} b[]) WHERE skip_till_next_match {}", "B b  at any time; 1 to 3, until the window closes"),
        ("SEQ(A a, B+ b[], C c) OUTPUT LATEST", "  B b, 1 or more  after the chains of a"),
        ("SEQ(A a, B b) OUTPUT LATEST", "LATEST: with each event that completes matches the latest of them"),
    ],
)
def test_lines_of_a_plan(query: str, line: str) -> None:
    assert line in augury.explain(f"PATTERN {query}", COLUMNS)


def test_all_matches_by_joining_chains() -> None:
    text = augury.explain("PATTERN SEQ(A a, B b)", COLUMNS, plan="linked")
    assert "ALL: all matches, by joining the chains backwards from each event that completes some" in text
