"""Trees as text: parentheses only where they are needed, quotes only where a name would be misread."""

from __future__ import annotations

import pytest

from augury.ir.syntax import (
    Attribute,
    Binary,
    Call,
    Component,
    CountWindow,
    Duration,
    Expression,
    ListedVariable,
    Logical,
    Name,
    Number,
    Query,
    Text,
    Unary,
)
from augury.ir.terms import Strategy
from augury.ir.text import duration_text, expression_text, name_text, part_text, query_text
from augury.lang import parse, parse_query
from augury.source import Source

AX, BY = Attribute("a", "x"), Attribute("b", "y")


@pytest.mark.parametrize(
    "text",
    [
        "a.x OR b.y AND NOT a.x",
        "(a.x OR b.y) AND a.x",
        "(a.x AND b.y) AND a.x",
        "(a.x OR b.y) OR a.x",
        "NOT (a.x AND b.y)",
        "NOT NOT a.x",
        "(NOT a.x) = TRUE",
        "(a.x = b.y) = TRUE",
        "a.x + 1 - 2 * 3 / 4 % 5",
        "a.x + (1 - 2)",
        "a.x * (1 / 2)",
        "(a.x + 1) * (2 - b.y)",
        "-(a.x + 1)",
        "-(-a.x)",
        "-(5)",
        "-(-5)",
        "-5 minutes",
        "a.x - -5",
        "(a.x IN (1, 2)) IN (TRUE, b.y > 1)",
        "a.x + 1 NOT IN (1)",
        "a.x BETWEEN -1 AND b.y + 1",
        "a.x NOT BETWEEN (1 < 2) AND (a.x IS NULL)",
        "(a.x = 1) IS NOT NULL",
        "corr(a.x, b[..i-1].y) > -0.5",
        "count(b[]) = b.len",
        "x.id[y.id] = y.id['n''a']",
        "b[1].x < b[last].x",
        "[symbol] AND [`tag id`] AND [within]",
        "`within`.within = `skip_till_any_match`.`1st`",
        "1e-07 < 1e+300 OR 0.1 < 5.0",
    ],
)
def test_an_expression_in_its_shortest_form_is_printed_as_it_was(text: str) -> None:
    where = parse_query(Source(f"SEQ(A a) WHERE {text}")).where
    assert where is not None
    assert expression_text(where) == text


@pytest.mark.parametrize(
    "written, printed",
    [
        ("((a.x)) > ((1) + (2))", "a.x > 1 + 2"),
        ("(a.x AND b.y) OR (a.x)", "a.x AND b.y OR a.x"),
        ("not(a.x)", "NOT a.x"),
        ('"it\'s"', "'it''s'"),
        ("80% * a.x", "0.8 * a.x"),
        ("b[b.len].x <> b[first].x", "b[last].x != b[1].x"),
        ("AVG(b[].x)", "avg(b[].x)"),
        ("`a`.`x`", "a.x"),
        ("90 min", "90 minutes"),
    ],
)
def test_other_spellings_are_printed_in_the_shortest_form(written: str, printed: str) -> None:
    where = parse_query(Source(f"SEQ(A a) WHERE {written}")).where
    assert where is not None
    assert expression_text(where) == printed


@pytest.mark.parametrize(
    "expression, text",
    [
        (Binary("-", AX, Binary("-", AX, BY)), "a.x - (a.x - b.y)"),
        (Binary("<", Binary("<", AX, BY), BY), "(a.x < b.y) < b.y"),
        (Logical("AND", (Logical("OR", (AX, BY)), Logical("AND", (AX, BY)))), "(a.x OR b.y) AND (a.x AND b.y)"),
        (Unary("-", Duration(10**9)), "-1 second"),
        (Unary("-", Number(1)), "-(1)"),
        (Text("'"), "''''"),
        (Call("in", ()), "`in`()"),
        (Name("a`b"), "`a``b`"),
    ],
)
def test_trees_that_were_never_written(expression: Expression, text: str) -> None:
    assert expression_text(expression) == text
    assert parse_query(Source(f"SEQ(A a) WHERE {text}")).where == expression


@pytest.mark.parametrize(
    "text",
    ["A a", "a", "A|B x", "A+ a[]", "A* a[]", "A{2} a[]", "A{2,} a[]", "A{2,3} a[]", "A? a", "a+", "a*", "a{2,3}", "a?",
     "NOT(A a)", "SEQ(A a, AND(B b, OR(C c, NOT(D d))))", "`low-speed` `not`"],
)  # fmt: skip
def test_a_pattern_in_its_shortest_form_is_printed_as_it_was(text: str) -> None:
    assert part_text(parse_query(Source(f"PATTERN {text}")).pattern) == text


@pytest.mark.parametrize(
    "nanoseconds, text",
    [
        (0, "0 seconds"),
        (1, "1 nanosecond"),
        (1_500, "1500 nanoseconds"),
        (2_000, "2 microseconds"),
        (250_000_000, "250 milliseconds"),
        (90 * 10**9, "90 seconds"),
        (60 * 10**9, "1 minute"),
        (5_400 * 10**9, "90 minutes"),
        (3_600 * 10**9, "1 hour"),
        (86_400 * 10**9, "1 day"),
        (11 * 86_400 * 10**9, "11 days"),
        (14 * 86_400 * 10**9, "2 weeks"),
    ],
)
def test_durations_in_the_largest_exact_unit(nanoseconds: int, text: str) -> None:
    assert duration_text(nanoseconds) == text


@pytest.mark.parametrize(
    "name, text",
    [
        ("first", "first"),
        ("größe", "größe"),
        ("Seq", "Seq"),
        ("AND", "`AND`"),
        ("Strict_Contiguity", "`Strict_Contiguity`"),
        ("tag id", "`tag id`"),
        ("a²", "`a²`"),
    ],
)
def test_names_are_quoted_only_where_they_would_be_misread(name: str, text: str) -> None:
    assert name_text(name) == text


def test_clauses_stand_under_each_other() -> None:
    text = """\
PATTERN   SEQ(A a, B+ b[])
WHERE     skip_till_next_match(a, b[]) { [tag] AND b[i].x > a.x }
WITHIN    90 minutes
THRESHOLD 0.8
OUTPUT    NONOVERLAP
RETURN    a.x AS y, b.len INTO T"""
    assert query_text(parse_query(Source(text))) == text


@pytest.mark.parametrize(
    "query, text",
    [
        (Query(Component("a"), where=AX), "PATTERN   a\nWHERE     a.x"),
        (Query(Component("a"), Strategy.STRICT_CONTIGUITY), "PATTERN   a\nWHERE     strict_contiguity { }"),
        (
            Query(Component("a"), Strategy.STRICT_CONTIGUITY, (ListedVariable("a"),)),
            "PATTERN   a\nWHERE     strict_contiguity(a) { }",
        ),
        (Query(Component("a"), within=CountWindow(1)), "PATTERN   a\nWITHIN    1 EVENT"),
        (Query(Component("a"), within=CountWindow(5)), "PATTERN   a\nWITHIN    5 EVENTS"),
        (Query(Component("a"), within=Name("w")), "PATTERN   a\nWITHIN    w"),
        (Query(Component("a"), threshold=Name("p")), "PATTERN   a\nTHRESHOLD p"),
    ],
)
def test_clauses_one_by_one(query: Query, text: str) -> None:
    assert str(query) == text
    assert parse_query(Source(text)) == query


def test_queries_of_a_program_are_separated() -> None:
    assert str(parse(Source("SEQ(A a);PATTERN b;"))) == "PATTERN   SEQ(A a);\n\nPATTERN   b"
