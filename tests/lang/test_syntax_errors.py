"""What the parser refuses: a code, a place, a reason and a way out, word for word."""

from __future__ import annotations

import re

import pytest

from augury.errors import Diagnostic, QueryError
from augury.lang import parse, parse_query
from augury.lang.parser import MAX_DEPTH
from augury.source import Source, Span


def refusal(text: str) -> Diagnostic:
    with pytest.raises(QueryError) as caught:
        parse(Source(text))
    (diagnostic,) = caught.value.diagnostics
    return diagnostic


@pytest.mark.parametrize(
    "text, code, message, help",
    [
        ("«»", "A108", "the query is empty", "write PATTERN SEQ(A a, B b), for example"),
        ("«»-- nothing\n", "A108", "the query is empty", "write PATTERN SEQ(A a, B b), for example"),
        ("SEQ(A a);«;» SEQ(B b)", "A108", "the query is empty", "write PATTERN SEQ(A a, B b), for example"),
        ("SEQ(A a «B» b)", "A101", "expected `,` or `)`, found `B`", "the items of a list are separated by `,`"),
        (
            "PATTERN SEQ(A a, B b\n«WHERE» a.x > 3",
            "A101",
            "expected `,` or `)`, found `WHERE`",
            "the `(` at 1:12 is still open",
        ),
        (
            "PATTERN SEQ(A a,\n            B b«»  ",
            "A101",
            "expected `,` or `)`, found the end of the query",
            "the `(` at 1:12 is still open",
        ),
        (
            "SEQ(A a)\nWHERE skip_till_any_match { a.x > '}' AND f(a.y)«»",
            "A101",
            "expected `}`, found the end of the query",
            "the `{` at 2:27 is still open",
        ),
        ("SEQ(A a) WHERE a.x = «'»it''s", "A101", "this string is never closed", "end it with '"),
        ("SEQ(A a) «/*» and so on", "A101", "this comment is never closed", "end it with */"),
        ("SEQ(«`»low-speed a)", "A101", "this name is never closed", "end it with `"),
        (
            "SEQ(«)»",
            "A101",
            "expected a component, found `)`",
            "a component is `Type var`, `Type+ var[]`, `Type? var` or `var`; SEQ, AND, OR and NOT combine them",
        ),
        (
            "«A» a, B b",
            "A101",
            "expected PATTERN, found `A`",
            "a query starts with PATTERN, or at once with SEQ(...), AND(...) or OR(...)",
        ),
        (
            "«SEQ» A a, B b",
            "A101",
            "expected PATTERN, found `SEQ`",
            "a query starts with PATTERN, or at once with SEQ(...), AND(...) or OR(...)",
        ),
        (
            "SEQ(A a, NOT(B b)«+»)",
            "A101",
            "expected `,` or `)`, found `+`",
            "components, SEQ, AND and OR are repeated or optional, nothing else",
        ),
        (
            "«SEQ(A a)+»",
            "A101",
            "a part that is repeated needs a name and `[]`",
            "write SEQ(...)+ g[]: each round of it is an element of the list `g`",
        ),
        (
            "SEQ(A a, «OR(B b, C c){2} g»)",
            "A101",
            "a part that is repeated needs a name and `[]`",
            "write OR(...)+ g[]: each round of it is an element of the list `g`",
        ),
        (
            "SEQ(A a, SEQ(B b, C c)? «g[]»)",
            "A101",
            "an optional part takes no name",
            "leave the name out: the variables inside are those of single components that may be left out",
        ),
        (
            "SEQ(A a, NOT(B b«,» C c))",
            "A101",
            "expected `)`, found `,`",
            "NOT holds one part; combine several with SEQ, AND or OR",
        ),
        ("SEQ(A a, B+ «b»)", "A101", "`b` is iterated and needs `[]`", "write b[]"),
        (
            "SEQ(A a, B b«[]»)",
            "A101",
            "`b[]` is a list, but its component is not iterated",
            "write B+ b[] for a list, or B b for one event",
        ),
        (
            "SEQ(a, b«[]»)",
            "A101",
            "`b[]` is a list, but its component is not iterated",
            "write b+[] for a list, or b for one event",
        ),
        (
            "SEQ(a, B? b«[]»)",
            "A101",
            "`b[]` is a list, but its component is not iterated",
            "write B+ b[] for a list, or B b for one event",
        ),
        ("SEQ(«A|B»)", "A101", "`A|B` binds no variable", "give it a name: A|B x"),
        (
            "SEQ(A «in»)",
            "A101",
            "expected a name, `,` or `)`, found `in`",
            "`in` is a reserved word; as a name it stands in backquotes",
        ),
        ("SEQ(A{«1.5»} a[])", "A102", "a bound is a whole number", "write 1, 2, 3, ..."),
        ("SEQ(A{«,»3} a[])", "A101", "expected a number, found `,`", "bounds are written {n}, {low,high} or {low,}"),
        (
            "SEQ(A{«9223372036854775808»} a[])",
            "A102",
            "this integer does not fit in 64 bits",
            "the largest is 9223372036854775807; write a float such as 1e20 for larger numbers",
        ),
        ("SEQ(A{1 «a»[])", "A101", "expected `,` or `}`, found `a`", "bounds are written {n}, {low,high} or {low,}"),
        ("SEQ(«a²», b)", "A102", "`²` cannot stand in a plain name", "write the name in backquotes: `a²`"),
        ("SEQ(A «``»)", "A102", "a name has at least one character", "write `name`"),
        (
            "SEQ(A a) WHERE «{» a.x > 3 }",
            "A101",
            "expected a strategy or a predicate, found `{`",
            "write predicates, or a strategy with them in braces: skip_till_any_match { a.x > 1 }",
        ),
        (
            "SEQ(A a) WHERE «skip-till-next-mtch» { a.x > 3 }",
            "A105",
            "`skip-till-next-mtch` is not a strategy",
            "the strategies are strict_contiguity, partition_contiguity, skip_till_next_match, skip_till_any_match",
        ),
        (
            "SEQ(A a) WHERE «greedy»(a, b[]) { }",
            "A105",
            "`greedy` is not a strategy",
            "the strategies are strict_contiguity, partition_contiguity, skip_till_next_match, skip_till_any_match",
        ),
        (
            "SEQ(A a) WHERE skip-till-any-match AND a.x = 1 «OR» a.x = 2",
            "A101",
            "expected a clause or the end of the query, found `OR`",
            "to use OR, write the predicates in braces behind the strategy",
        ),
        (
            "SEQ(A a) WHERE a.x >«»",
            "A101",
            "expected a value, found the end of the query",
            "a value is a number, a string in quotes, a duration, a parameter, or an attribute such as `a.price`",
        ),
        (
            "SEQ(A a) WHERE a.x > «WITHIN» 1 hour",
            "A101",
            "expected a value, found `WITHIN`",
            "`WITHIN` is a reserved word; as a name it stands in backquotes",
        ),
        (
            "SEQ(A a) WHERE 1 < a.x «<» 3",
            "A101",
            "expected a clause, AND, OR or the end of the query, found `<`",
            "comparisons do not chain: join two of them with AND",
        ),
        (
            "SEQ(A a) WHERE a.x = 5 «a».y = 3",
            "A101",
            "expected a unit of time, an operator, a clause or the end of the query, found `a`",
            "predicates are joined by AND or OR; units of time are ns, us, ms, seconds, minutes, hours, days and weeks",
        ),
        ("SEQ(A a) WHERE a.x BETWEEN 1 «OR» 3", "A101", "expected AND, found `OR`", "write BETWEEN low AND high"),
        (
            "SEQ(A a) WHERE a.x NOT «3»",
            "A101",
            "expected IN or BETWEEN, found `3`",
            "NOT behind a value starts NOT IN or NOT BETWEEN",
        ),
        ("SEQ(A a) WHERE a.x IS «3»", "A101", "expected NOT or NULL, found `3`", "write IS NULL or IS NOT NULL"),
        (
            "SEQ(A a) WHERE a.x IN «3»",
            "A101",
            "expected `(`, found `3`",
            "write the items in parentheses: IN (1, 2, 3)",
        ),
        (
            "SEQ(A a) WHERE a. «>» 3",
            "A101",
            "expected a name, found `>`",
            "a name is a word, or anything in backquotes",
        ),
        ("SEQ(A a) WHERE [x«,» y]", "A101", "expected `]`, found `,`", "the equivalence test is [attribute]"),
        (
            "SEQ(A a) WHERE (a.x IS NULL «a».y)",
            "A101",
            "expected `)`, AND or OR, found `a`",
            "predicates are joined by AND or OR",
        ),
        (
            "SEQ(A a) WHERE a.x = «#»",
            "A101",
            "expected a value, found `#`",
            "a value is a number, a string in quotes, a duration, a parameter, or an attribute such as `a.price`",
        ),
        (
            "SEQ(A a)«\x07»",
            "A101",
            "expected a clause or the end of the query, found the character U+0007",
            "the clauses are PATTERN, WHERE, WITHIN, THRESHOLD, OUTPUT, RETURN, in this order; `;` ends a query",
        ),
        (
            "SEQ(A a)\nWHERE f(a.x,«» ",
            "A101",
            "expected a value, found the end of the query",
            "the `(` at 2:8 is still open",
        ),
        (
            "SEQ(A a) WHERE b«[0]».x > 3",
            "A103",
            "`[0]` is not an index",
            "an index is `[i]`, `[i-1]`, `[..i-1]`, `[..i]`, `[1]`, `[2]`, `[first]`, `[last]`, `[b.len]` or `[]`",
        ),
        (
            "SEQ(A a) WHERE b«[1 2]».x > 3",
            "A103",
            "`[1 2]` is not an index",
            "an index is `[i]`, `[i-1]`, `[..i-1]`, `[..i]`, `[1]`, `[2]`, `[first]`, `[last]`, `[b.len]` or `[]`",
        ),
        (
            "SEQ(A a) WHERE b«[i+1]».x > 3",
            "A103",
            "`[i+1]` is not an index",
            "an index is `[i]`, `[i-1]`, `[..i-1]`, `[..i]`, `[1]`, `[2]`, `[first]`, `[last]`, `[b.len]` or `[]`",
        ),
        (
            "SEQ(A a) WHERE b«[a.len]».x > 3",
            "A103",
            "`[a.len]` is an index into another variable than `b`",
            "the last element is b[last]",
        ),
        (
            "SEQ(A a) WHERE b«[»i.x > 3",
            "A103",
            "this index is not closed or holds another one",
            "an index is `[i]`, `[i-1]`, `[..i-1]`, `[..i]`, `[1]`, `[2]`, `[first]`, `[last]`, `[b.len]` or `[]`",
        ),
        (
            "SEQ(A a) WHERE a.x = «9223372036854775808»",
            "A102",
            "this integer does not fit in 64 bits",
            "the largest is 9223372036854775807; write a float such as 1e20 for larger numbers",
        ),
        (
            "SEQ(A a) WHERE a.x = -«9223372036854775809»",
            "A102",
            "this integer does not fit in 64 bits",
            "the largest is 9223372036854775807; write a float such as 1e20 for larger numbers",
        ),
        (
            "SEQ(A a) WHERE a.x = «1000000000000000000000000000000»",
            "A102",
            "this integer does not fit in 64 bits",
            "the largest is 9223372036854775807; write a float such as 1e20 for larger numbers",
        ),
        ("SEQ(A a) WHERE a.x = «1e999»", "A102", "this number is too large", "the largest is about 1.8e308"),
        ("SEQ(A a) WITHIN «1.5 ns»", "A102", "a duration is a whole number of nanoseconds", "round it to nanoseconds"),
        (
            "SEQ(A a) WITHIN «1e-999999999 s»",
            "A102",
            "a duration is a whole number of nanoseconds",
            "round it to nanoseconds",
        ),
        ("SEQ(A a) WITHIN «300000 weeks»", "A102", "this duration is too long", "durations reach up to 292 years"),
        ("SEQ(A a) WITHIN «1e999999999 s»", "A102", "this duration is too long", "durations reach up to 292 years"),
        (
            "SEQ(A a) WITHIN 5 «fortnights»",
            "A101",
            "expected a unit of time, a clause, `,`, EVENTS or the end of the query, found `fortnights`",
            "units of time are ns, us, ms, seconds, minutes, hours, days and weeks; or write EVENTS",
        ),
        (
            "SEQ(A a) WITHIN «264»",
            "A106",
            "the window `264` has no unit",
            "write 264 seconds (or another unit of time), or 264 EVENTS",
        ),
        ("SEQ(A a) WITHIN «1.5» EVENTS", "A102", "a number of events is a whole number", "write 1, 2, 3, ..."),
        (
            "SEQ(A a) WITHIN «-»5 minutes",
            "A101",
            "expected a name or a number, found `-`",
            "a window is a duration such as 5 minutes, a number of EVENTS, or a parameter",
        ),
        (
            "SEQ(A a) THRESHOLD «'high'»",
            "A101",
            "expected a name or a number, found `'high'`",
            "a threshold is a number from 0 to 1, or a parameter",
        ),
        (
            "SEQ(A a) OUTPUT «some»",
            "A105",
            "`some` is not an output mode",
            "the modes are `ALL`, `NONOVERLAP`, `COVER`, `LATEST`, `COUNT`, `FIRST`, `LONGEST`, "
            "`LONGEST NONOVERLAP`, `NONOVERLAP FROM`, `TIMEOUTS`, `ALL WITH TIMEOUTS`, `FIRST WITH TIMEOUTS`",
        ),
        *(
            (
                f"SEQ(A a, SEQ(B b, C+ c[])+ g[]) WHERE {read} > 1",
                "A103",
                "a group has no elements by number",
                "the rounds of a group, and the lists in it, have [i], [i-1], [first], [last] and aggregates",
            )
            for read in ("g«[2]».b.x", "g[i].c«[3]».x")
        ),
        *(
            (
                f"SEQ(A a) OUTPUT ALL {pace}",
                "A105",
                "OUTPUT has something behind its mode that is neither EVERY and a duration nor ONCE",
                "write OUTPUT ALL EVERY 1 hour, or OUTPUT ALL ONCE",
            )
            for pace in ("EVERY 5 «secon»", "EVERY 5 «EVENTS»", "EVERY 5 s «x»", "ONCE «x»", "«EVERY»")
        ),
        (
            "SEQ(A a) RETURN«»",
            "A101",
            "expected a value, found the end of the query",
            "a value is a number, a string in quotes, a duration, a parameter, or an attribute such as `a.price`",
        ),
        (
            "SEQ(A a) RETURN a.x «a».y",
            "A101",
            "expected an operator, a clause, `,`, AS, INTO or the end of the query, found `a`",
            "the items of RETURN are separated by `,`",
        ),
        (
            "SEQ(A a) RETURN a.x AS«»",
            "A101",
            "expected a name, found the end of the query",
            "a name is a word, or anything in backquotes",
        ),
        (
            "SEQ(A a)\nWITHIN 1 hour\n«WHERE» a.x > 3",
            "A107",
            "WHERE stands behind WITHIN",
            "the order of the clauses is PATTERN, WHERE, WITHIN, THRESHOLD, OUTPUT, RETURN",
        ),
        (
            "SEQ(A a) WITHIN 1 hour OUTPUT ALL «WITHIN» 2 hours",
            "A107",
            "WITHIN is given twice",
            "keep one of them, or end the query before it with `;`",
        ),
        (
            "«WITHIN» 1 hour PATTERN SEQ(A a)",
            "A107",
            "WITHIN stands before PATTERN",
            "the clauses are PATTERN, WHERE, WITHIN, THRESHOLD, OUTPUT, RETURN, in this order; `;` ends a query",
        ),
        ("PATTERN A a «PATTERN» B b", "A107", "PATTERN is given twice", "end the query before it with `;`"),
        (
            "SEQ(A a)«)»",
            "A101",
            "expected a clause or the end of the query, found `)`",
            "the clauses are PATTERN, WHERE, WITHIN, THRESHOLD, OUTPUT, RETURN, in this order; `;` ends a query",
        ),
        (
            "SEQ(A a) WHERE f(a.x\n«WITHIN» 1 hour",
            "A101",
            "expected `,` or `)`, found `WITHIN`",
            "the `(` at 1:17 is still open",
        ),
        (
            "SEQ(A a) WHERE strict_contiguity { a.x«;» SEQ(B b)",
            "A101",
            "expected `}`, found `;`",
            "the `{` at 1:34 is still open",
        ),
        (
            "SEQ(«where» w)",
            "A101",
            "expected a component, found `where`",
            "`where` is a reserved word; as a name it stands in backquotes",
        ),
    ],
)
def test_messages(text: str, code: str, message: str, help: str) -> None:
    """The place that the caret marks stands between « and »."""
    before, marked, after = re.split("[«»]", text)
    diagnostic = refusal(before + marked + after)
    assert diagnostic == Diagnostic(code, message, Span(len(before), len(before + marked)), diagnostic.label, help)
    assert diagnostic.label


def test_a_message_as_it_is_shown() -> None:
    with pytest.raises(QueryError) as caught:
        parse(Source("PATTERN SEQ(A a)\nWHERE   skip_till_next_mtch { a.x > 3 }"))
    assert (
        str(caught.value)
        == """\
error[A105]: `skip_till_next_mtch` is not a strategy
 --> query:2:9
2 | WHERE   skip_till_next_mtch { a.x > 3 }
  |         ^^^^^^^^^^^^^^^^^^^ did you mean `skip_till_next_match`?
  = help: the strategies are strict_contiguity, partition_contiguity, skip_till_next_match, skip_till_any_match"""
    )


def test_one_query_is_asked_for_and_two_are_given() -> None:
    with pytest.raises(QueryError) as caught:
        parse_query(Source("SEQ(A a);\nSEQ(B b)", "my.query"))
    assert (
        str(caught.value)
        == """\
error[A101]: expected one query, found 2
 --> my.query:2:1
2 | SEQ(B b)
  | ^ the second query
  = help: give the queries one by one, or as a program"""
    )


# -- depth -------------------------------------------------------------------------------------------------------------


def nested(depth: int) -> dict[str, str]:
    """Queries whose deepest node lies exactly `depth` levels deep, one for each way to nest."""
    levels = depth - 1
    return {
        "groups": "SEQ(" * levels + "a" + ")" * levels,
        "negations": "PATTERN " + "!" * levels + "a",
        "NOT": "PATTERN a WHERE " + "NOT " * levels + "TRUE",
        "signs": "PATTERN a WHERE " + "- " * levels + "a.x",
        "calls": "PATTERN a WHERE " + "f(" * levels + "1" + ")" * levels,
        "defaults": "PATTERN a WHERE " + "x.a[" * levels + "1" + "]" * levels,
        "sum": "PATTERN a WHERE " + "1 + " * levels + "1",
        "product": "PATTERN a WHERE " + "1 * " * levels + "1",
        "parentheses": "PATTERN a WHERE " + "(a.x AND " * levels + "a.x" + ")" * levels,
        "RETURN": "PATTERN a RETURN " + "f(" * levels + "1" + ")" * levels,
    }


@pytest.mark.parametrize("way", nested(1))
def test_nesting_up_to_the_limit_is_read_and_printed(way: str) -> None:
    program = parse(Source(nested(MAX_DEPTH)[way]))
    assert parse(Source(str(program))) == program


@pytest.mark.parametrize("way", nested(1))
@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 10_000])
def test_deeper_nesting_is_refused(way: str, depth: int) -> None:
    assert refusal(nested(depth)[way]).code == "A104"


def test_the_place_of_what_is_too_deep() -> None:
    text = nested(MAX_DEPTH + 1)["groups"]
    span = refusal(text).span
    assert text[span.start : span.end] == "a"


def test_parentheses_alone_are_no_levels() -> None:
    text = "PATTERN a WHERE " + "(" * 10_000 + "a.x" + ")" * 10_000
    assert parse_query(Source(text)) == parse_query(Source("PATTERN a WHERE a.x"))


def test_a_long_conjunction_is_one_level() -> None:
    assert str(parse(Source("PATTERN a WHERE " + " AND ".join(["a.x"] * 10_000)))).count("AND") == 9_999


@pytest.mark.parametrize("before, after", [(0, 5_000), (5_000, 5_000), (5_000, 0), (0, 0)])
def test_a_long_line_is_shown_around_the_mistake(before: int, after: int) -> None:
    text = "PATTERN a WHERE " + "a.x AND " * before + "* a.x" + " AND a.x" * after
    with pytest.raises(QueryError) as caught:
        parse(Source(text))
    _, _, line, carets, *_ = str(caught.value).splitlines()
    place = carets.index("^")
    assert line[place : place + 5] == "* a.x"
    assert len(line) < 200
    assert ("…" in line[:place], "…" in line[place:]) == (before > 0, after > 0)
