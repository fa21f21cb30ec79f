"""Patterns, their variables, and what is legal among them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from augury.ir.branches import branches
from augury.ir.pattern import Absent, AllOf, AnyOf, Event, Repeat, Seq
from augury.ir.query import Variable
from tests.complexity import calls_of


def test_structure_is_kept_as_written(bound: Any) -> None:
    query = bound("PATTERN SEQ(A a, AND(B+ b[], C{2,3} c[]), NOT(D|A d), SEQ(OR(B? e, f)), E* g[], D{2} h[])")
    assert query.pattern == Seq(
        (
            Event("a", ("A",)),
            AllOf((Repeat(Event("b", ("B",)), 1, None), Repeat(Event("c", ("C",)), 2, 3))),
            Absent(Event("d", ("D", "A"))),
            Seq((AnyOf((Repeat(Event("e", ("B",)), 0, 1, single=True), Event("f"))),)),
            Repeat(Event("g", ("E",)), 0, None),
            Repeat(Event("h", ("D",)), 2, 2),
        )
    )


def test_spans_point_into_the_text(bound: Any) -> None:
    query = bound("PATTERN SEQ(A a, B+ b[])")
    _, repeat = query.pattern.parts
    assert query.source.text[repeat.span.start : repeat.span.end] == "B+ b[]"


def test_variables_in_order_of_first_appearance(bound: Any) -> None:
    query = bound("PATTERN SEQ(C c, B+ b[], NOT(A|D a), B? o, x)")
    assert query.variables == (
        Variable("c", ("C",), iterated=False, negated=False),
        Variable("b", ("B",), iterated=True, negated=False),
        Variable("a", ("A", "D"), iterated=False, negated=True),
        Variable("o", ("B",), iterated=False, negated=False),
        Variable("x", (), iterated=False, negated=False),
    )
    assert query["b"].iterated
    assert query.pattern_order == ("c", "b", "a", "o", "x")


def test_a_variable_shared_by_the_parts_of_an_and_is_one(bound: Any) -> None:
    query = bound("PATTERN AND(SEQ(A a, B b), SEQ(B b, C c))")
    assert [v.name for v in query.variables] == ["a", "b", "c"]


def test_types_of_a_variable_are_united_over_the_branches_of_an_or(bound: Any) -> None:
    query = bound("PATTERN OR(SEQ(A a, B b), SEQ(A a, C b), SEQ(C|B b, D d))")
    assert query["b"].types == ("B", "C")
    assert bound("PATTERN OR(A x, SEQ(x, B b))")["x"].types == ()


@pytest.mark.parametrize(
    "pattern",
    [
        "A a",
        "OR(A a)",
        "SEQ(A a)",
        "AND(A a, NOT(B b))",
        "SEQ(NOT(B b), A a)",
        "SEQ(A a, NOT(SEQ(B b, NOT(C c), D d)))",
        "OR(SEQ(A a, NOT(B b)), SEQ(C c, NOT(B b)))",
        "SEQ(A a, OR(B? b, C c))",
        "SEQ(NOT(B b), OR(A a, C c))",
        "AND(SEQ(A a, B+ b[]), SEQ(B+ b[], C c))",
        "AND(OR(A a, B b), OR(A a, C c))",
        "AND(SEQ(A a, B? b), SEQ(B? b, A a))",
        "AND(OR(SEQ(A a, B b), C c), SEQ(B b, A a))",
        "OR(SEQ(A a, B b), SEQ(B b, A a))",
        "SEQ(A a, NOT(AND(SEQ(B b, C c), SEQ(C c, D d))))",
        "SEQ(A a, B{0,1} b[])",
        "AND(" + ", ".join(f"OR(A a{i}, B b{i})" for i in range(12)) + ")",
    ],
)
def test_legal(codes: Any, pattern: str) -> None:
    assert codes(f"PATTERN {pattern}") == []


@pytest.mark.parametrize(
    "pattern, expected",
    [
        ("NOT(A a)", ["A406"]),
        ("SEQ(NOT(A a))", ["A406"]),
        ("SEQ(A a, SEQ(NOT(B b)))", ["A406"]),
        ("OR(A a, NOT(B b))", ["A406"]),
        ("SEQ(OR(A a, B? b), NOT(C c))", ["A406"]),
        ("SEQ(A a, NOT(SEQ(NOT(B b), C? c)))", ["A406"]),
        ("A? a", ["A407"]),
        ("OR(A a, B* b[])", ["A407"]),
        ("AND(A? a, B? b)", ["A407"]),
        ("SEQ(A a, A a)", ["A207"]),
        ("SEQ(A a, OR(B b, C c), AND(D d, B b))", ["A207"]),
        ("SEQ(A a, B b, A a, A a)", ["A207"]),
        ("OR(SEQ(A a, B b), SEQ(A a, NOT(B b)))", ["A207"]),
        ("AND(A a, NOT(B b), NOT(B b))", ["A207"]),
        ("OR(SEQ(A a, B b), SEQ(A? a, B b))", ["A208"]),
        ("AND(SEQ(A a, B b), SEQ(b, C c))", ["A208"]),
        ("AND(SEQ(A a, B b), SEQ(B b, C c), SEQ(C c, A a))", ["A409"]),
        ("AND(OR(SEQ(A a, B b), SEQ(A a, D d, B b)), SEQ(B b, A a))", ["A409"]),
        ("AND(SEQ(A a, B b), SEQ(B b, A a), " + ", ".join(f"OR(A a{i}, B b{i})" for i in range(12)) + ")", ["A409"]),
        ("SEQ(A{2,1} a[], B{0,0} b[], NOT(NOT(C c)))", ["A405", "A405", "A406"]),
    ],
)
def test_illegal(codes: Any, pattern: str, expected: list[str]) -> None:
    assert codes(f"PATTERN {pattern}") == expected


def test_types_must_be_known_when_the_set_is_closed(codes: Any) -> None:
    closed = {"types": ["A", "B"]}
    assert codes("PATTERN SEQ(A a, x, A|B c)", options=closed) == []
    assert codes("PATTERN SEQ(A a, C|D c)", options=closed) == ["A203", "A203"]


def test_without_a_type_column_all_events_are_of_one_type(codes: Any) -> None:
    untyped = {"type": None}
    assert codes("PATTERN SEQ(Stock a, Stock+ b[], c)", options=untyped) == []
    assert codes("PATTERN SEQ(a, b)", options=untyped) == []
    assert codes("PATTERN SEQ(Stock a, News b)", options=untyped) == ["A213"]


@pytest.mark.parametrize(
    "query, expected",
    [
        ("SEQ(A a, NOT(B b), C c) WHERE a.price < b.price AND b.price < c.price", []),
        ("SEQ(A a, NOT(B b), NOT(C c)) WHERE b.price < c.price", ["A408"]),
        ("SEQ(A a, NOT(B b), NOT(C c)) WHERE b.price < a.price OR a.price > c.price", ["A408"]),
        ("SEQ(A a, NOT(SEQ(B b, NOT(C c), D d))) WHERE b.price < c.price AND d.price < c.price + a.price", []),
        ("SEQ(A a, NOT(SEQ(B b, NOT(C c), D d, NOT(A e)))) WHERE c.price < e.price", ["A408"]),
        ("OR(SEQ(A a, NOT(B b)), SEQ(C c, NOT(D d))) WHERE b.price < d.price", []),
        ("OR(SEQ(A a, NOT(SEQ(B b, D d))), SEQ(C c, NOT(B b), NOT(D d))) WHERE b.price < d.price", ["A408"]),
        ("OR(SEQ(A a, NOT(B b)), SEQ(C c, NOT(B b))) WHERE b.price < 1", []),
        ("SEQ(A a, NOT(B+ b[] UNTIL(C c))) WHERE b[i].price < c.price", ["A429"]),
    ],
)
def test_conditions_over_negated_parts(codes: Any, query: str, expected: list[str]) -> None:
    assert codes(f"PATTERN {query}") == expected


def test_all_errors_are_reported_together(codes: Any) -> None:
    text = """PATTERN SEQ(A a, B{3,1} b[], NOT(C c))
              WHERE a.pric > 1 AND x.price = 2 AND a.price = 'x' AND squrt(z.price) > limit
              WITHIN 0 EVENTS RETURN c.price, 5"""
    assert codes(text) == ["A405", "A202", "A201", "A301", "A204", "A201", "A205", "A412", "A418", "A211"]


def seq(parts: Iterable[str]) -> str:
    return f"PATTERN SEQ({', '.join(parts)}, B z)"


@pytest.mark.parametrize(
    "text, expected",
    [
        (seq(f"A? a{i}" for i in range(12)), []),
        (seq(f"A? a{i}" for i in range(13)), ["A424"]),
        (seq(f"A* a{i}[]" for i in range(60)), ["A424"]),
        (seq(f"OR(A a{i}, B b{i})" for i in range(20)), ["A424"]),
        (seq([f"NOT(SEQ({', '.join(f'A? a{i}' for i in range(13))}, C c))"]), ["A424"]),
        (f"PATTERN AND({', '.join(f'A a{i}' for i in range(200))})", []),
    ],
)
def test_choices_multiply_up_to_a_limit(codes: Any, text: str, expected: list[str]) -> None:
    assert codes(text) == expected
    assert calls_of(lambda: codes(text)) < 100_000


def test_the_branches_of_a_long_sequence_are_found_at_once(bound: Any) -> None:
    pattern = bound(seq(f"A a{i}" for i in range(199))).pattern
    (branch,) = branches(pattern)
    assert calls_of(lambda: branches(pattern)) < 100_000
    assert branch.sequential
    assert ("a0", "z") in branch.order
    assert ("z", "a0") not in branch.order
