"""Warnings that help: what alone keeps a query without a match, and what of it can never matter."""

from __future__ import annotations

import warnings

import pyarrow as pa
import pytest
from hypothesis import given

import augury
from augury import AuguryWarning, Matcher
from augury.ir.pattern import components, variable_of
from augury.options import Options
from augury.reference.conditions import Conditions
from augury.reference.stream import stream
from augury.testing.evaluate import compiled
from augury.testing.queries import queries
from augury.testing.streams import streams
from tests.properties.agreement import PLAIN

EVENTS = pa.table(
    {
        "ts": [0, 10, 20, 30],
        "type": ["A", "B", "A", "C"],
        "x": [1, 2, 3, None],
        "k": ["p", "p", "q", "p"],
    }
)


def warned(query: str, events: pa.Table = EVENTS) -> list[str]:
    """What a query says of these events."""
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always", AuguryWarning)
        matches = augury.match(events, query, jit=False)
    assert [str(w.message) for w in record] == list(matches.warnings)
    return list(matches.warnings)


@pytest.mark.parametrize(
    "query, expected",
    [
        ("SEQ(A a, B b) WHERE a.x > 5", "no event of type `A` satisfies `a.x > 5`"),
        ("SEQ(A a, B b) WHERE a.x > 1 AND a.k = 'p'", "no event of type `A` satisfies `a.x > 1 AND a.k = 'p'`"),
        ("SEQ(A a, B+ b[]) WHERE b[i].x IN (7, 8)", "no event of type `B` satisfies `b[i].x IN (7, 8)`"),
        ("SEQ(A|B a, C c) WHERE a.x = 9", "no event of type `A` or `B` satisfies `a.x = 9`"),
        ("PATTERN a WHERE a.x < 0", "no event satisfies `a.x < 0`"),
        ("SEQ(A a, B b) WHERE skip_till_next_match { b.x IS NULL }", "no event of type `B` satisfies `b.x IS NULL`"),
        ("SEQ(A a, B b) WHERE strict_contiguity { b.x < 2 }", "no event of type `B` satisfies `b.x < 2`"),
    ],
)
def test_a_condition_that_no_event_satisfies(query: str, expected: str) -> None:
    assert warned(query) == [expected]


@pytest.mark.parametrize(
    "query",
    [
        # There is a match.
        "SEQ(A a, B b) WHERE a.x = 1",
        # Some event satisfies each condition, but no two of them are a match.
        "SEQ(C c, A a) WHERE a.x = 3",
        # A match need not bind what no event can be bound to, or must not.
        "SEQ(A a, B? b, A c, B d) WHERE b.x > 5",
        "SEQ(C c, OR(A a, B b)) WHERE a.x > 5",
        "SEQ(A a, NOT(B b), A c, B d) WHERE b.x > 5",
        # What Arrow does not compute is not asked for.
        "SEQ(A a, B b) WHERE abs(a.x) > 5",
    ],
)
def test_conditions_that_say_nothing_on_their_own(query: str) -> None:
    assert warned(query) == []


@PLAIN
@given(queries(), streams(max_size=10))
def test_what_is_said_of_conditions_is_so(text: str, events: pa.Table) -> None:
    said = [warning for warning in warned(text, events) if "satisfies" in warning]
    query = compiled(text, events).rewritten
    conditions = Conditions.of(query, stream(query, events, range(len(events))), Options())
    for warning in said:
        about = [
            c
            for c in components(query.pattern)
            if any(j.variables == (variable_of(c),) and j.brief in warning for j in query.conjuncts)
        ]
        assert any(not any(conditions.relevant(c, e) for e in conditions.events) for c in about)


def test_a_type_that_no_event_has_is_all_there_is_to_say() -> None:
    assert warned("SEQ(A a, D d) WHERE d.x > 1") == ["no event is of type `D`; known: `A`, `B`, `C`"]


@pytest.mark.parametrize(
    "query, expected",
    [
        ("SEQ(A a, B b) WITHIN 9 seconds", ("WITHIN", "10 seconds")),
        # A's alone are farther apart.
        ("PATTERN A{2} a[] WITHIN 1 ms", ("WITHIN", "20 seconds")),
        ("SEQ(A a, B b) WITHIN 1 hour, 2 seconds EACH", ("EACH", "10 seconds")),
        ("SEQ(A a, B b) WITHIN 10 seconds", None),
        ("SEQ(B b, A a, B c) WITHIN 11 seconds", None),
        ("AND(A a, B b) WITHIN 1 second", None),
        ("SEQ(A a, B b) WITHIN 1 EVENTS", None),
    ],
)
def test_a_window_shorter_than_any_gap(query: str, expected: tuple[str, str] | None) -> None:
    if expected is None:
        assert warned(query) == []
        return
    clause, least = expected
    assert warned(query) == [
        f"{clause} is shorter than every gap between the events that the query reads, of which the least is {least}; "
        "is the unit of `ts` s?"
    ]


def test_concurrent_events_that_a_column_orders_have_no_gap() -> None:
    events = pa.table({"ts": [0, 0, 9], "seq": [1, 2, 3], "type": ["B", "A", "C"]})
    query = "SEQ(A a, B b) WITHIN 1 second"
    with pytest.warns(AuguryWarning, match="the least is 9 seconds"):
        augury.match(events, query.replace("B b", "C b"), jit=False)
    assert augury.match(events, query, order_by=("ts", "seq"), jit=False).warnings == ()


def test_nothing_is_said_of_no_events() -> None:
    query = "PATTERN a WHERE a.x > 5 WITHIN 1 second"
    assert warned(query, EVENTS.slice(0, 0)) == []
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        matcher = Matcher(query, EVENTS.schema, jit=False)
        matcher.feed(EVENTS)
        matcher.finish()


@pytest.mark.parametrize(
    "query, expected",
    [
        (
            "SEQ(A a, NOT(C c), B b) WHERE strict_contiguity {}",
            "`NOT(C c)` can never matter: strict_contiguity leaves no place for it before `b`",
        ),
        (
            "SEQ(A a, NOT(C c), B+ b[]) WHERE partition_contiguity { [k] }",
            "`NOT(C c)` can never matter: partition_contiguity leaves no place for it before `b`",
        ),
        (
            "SEQ(A a, NOT(C c), B b) WHERE skip_till_next_match, strict_contiguity(b) {}",
            "`NOT(C c)` can never matter: strict_contiguity leaves no place for it before `b`",
        ),
        (
            "SEQ(A a, B b) WHERE skip_till_next_match, strict_contiguity(a) {}",
            "`strict_contiguity(a)` says nothing: no match has an event before `a`",
        ),
    ],
)
def test_parts_that_can_never_matter(query: str, expected: str) -> None:
    assert warned(query) == [expected]
    with pytest.warns(AuguryWarning) as record:
        Matcher(query, EVENTS.schema, jit=False)
    assert [str(w.message) for w in record] == [expected]
    assert record[0].filename == __file__


@pytest.mark.parametrize(
    "query",
    [
        "SEQ(A a, NOT(C c), B b) WHERE skip_till_next_match {}",
        "SEQ(A a, B b, NOT(C c)) WHERE strict_contiguity {} WITHIN 1 minute",
        "SEQ(NOT(C c), A a, B b) WHERE strict_contiguity {}",
        "SEQ(A a, B+ b[], NOT(B c) SINCE a, C d) WHERE strict_contiguity {}",
        "SEQ(A a, NOT(C c) FOR 1 second, B b) WHERE strict_contiguity {}",
        "SEQ(A a, NOT(C c), B b) WHERE strict_contiguity, skip_till_any_match(b) {}",
        "SEQ(A? z, B b) WHERE skip_till_next_match, strict_contiguity(b) {}",
    ],
)
def test_parts_that_may_matter(query: str) -> None:
    assert [text for text in warned(query) if "matter" in text or "says nothing" in text] == []
