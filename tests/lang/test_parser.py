"""What may be written, and the tree it is read into."""

from __future__ import annotations

import subprocess
import sys

import pytest

from augury.ir.syntax import (
    Attribute,
    Between,
    Binary,
    Boolean,
    Call,
    Component,
    CountWindow,
    Duration,
    Elements,
    Equivalence,
    Expression,
    Group,
    In,
    Index,
    IsNull,
    ListedVariable,
    Logical,
    Name,
    Negation,
    NthIndex,
    Null,
    Number,
    Part,
    Quantifier,
    Query,
    ReturnItem,
    Text,
    TypeName,
    Unary,
    children,
)
from augury.ir.terms import Operator, OutputMode, Strategy
from augury.ir.text import RESERVED
from augury.lang import parse, parse_query, tree
from augury.lang.grammar import grammar
from augury.source import Source, Span

AX, BY = Attribute("a", "x"), Attribute("b", "y")


def query(text: str) -> Query:
    return parse_query(Source(text))


def pattern(text: str) -> Part:
    return query(f"PATTERN {text}").pattern


def where(text: str) -> Expression | None:
    return query(f"PATTERN A a WHERE {text}").where


def typed(variable: str, *types: str, quantifier: Quantifier | None = None, optional: bool = False) -> Component:
    return Component(variable, tuple(map(TypeName, types)), quantifier, optional)


def test_every_rule_of_the_grammar_is_built_by_a_function() -> None:
    names = {rule.alias or str(rule.origin.name) for rule in grammar().rules}
    rules = {name for name in names if not name.startswith("_")}
    # These only pass on the one thing they hold.
    assert {rule for rule in rules if not hasattr(tree, rule)} == {
        "part", "clause", "inversion", "comparison", "sum", "product", "factor", "signed",
    }  # fmt: skip


def test_the_parser_library_is_loaded_with_the_first_query_only() -> None:
    code = "import sys, augury.lang; assert 'lark' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


# -- patterns ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, part",
    [
        ("A a", typed("a", "A")),
        ("a", Component("a")),
        ("A|B x", typed("x", "A", "B")),
        ("A|B+ x[]", typed("x", "A", "B", quantifier=Quantifier(1, None))),
        ("A+ a[]", typed("a", "A", quantifier=Quantifier(1, None))),
        ("A + a [ ]", typed("a", "A", quantifier=Quantifier(1, None))),
        ("A* a[]", typed("a", "A", quantifier=Quantifier(0, None))),
        ("A{2,3} a[]", typed("a", "A", quantifier=Quantifier(2, 3))),
        ("A{2,} a[]", typed("a", "A", quantifier=Quantifier(2, None))),
        ("A{2} a[]", typed("a", "A", quantifier=Quantifier(2, 2))),
        ("A{3,2} a[]", typed("a", "A", quantifier=Quantifier(3, 2))),
        ("A{0} a[]", typed("a", "A", quantifier=Quantifier(0, 0))),
        ("A? a", typed("a", "A", optional=True)),
        ("p+", Component("p", quantifier=Quantifier(1, None))),
        ("p*", Component("p", quantifier=Quantifier(0, None))),
        ("p+[]", Component("p", quantifier=Quantifier(1, None))),
        ("p{2,3}", Component("p", quantifier=Quantifier(2, 3))),
        ("p?", Component("p", optional=True)),
        ("`low-speed` `tag``id`", typed("tag`id", "low-speed")),
        ("größe 速度", typed("速度", "größe")),
        ("हिंदी x", typed("x", "हिंदी")),
        ("NOT A a", Negation(typed("a", "A"))),
        ("NOT(A a)", Negation(typed("a", "A"))),
        ("¬(A a)", Negation(typed("a", "A"))),
        ("~A a", Negation(typed("a", "A"))),
        ("~(A a)", Negation(typed("a", "A"))),
        ("!A a", Negation(typed("a", "A"))),
        ("! ! a", Negation(Negation(Component("a")))),
        ("NOT SEQ(A a, b)", Negation(Group(Operator.SEQ, (typed("a", "A"), Component("b"))))),
        ("SEQUENCE(a, b)", Group(Operator.SEQ, (Component("a"), Component("b")))),
        ("permute(a, b)", Group(Operator.AND, (Component("a"), Component("b")))),
        (
            "AND(a, OR(b, c))",
            Group(Operator.AND, (Component("a"), Group(Operator.OR, (Component("b"), Component("c"))))),
        ),
        ("SEQ /* why */ -- not\n (a)", Group(Operator.SEQ, (Component("a"),))),
        ("(A a, b)", Group(Operator.SEQ, (typed("a", "A"), Component("b")))),
        ("SEQ(seq sequence, permute)", Group(Operator.SEQ, (typed("sequence", "seq"), Component("permute")))),
    ],
)
def test_patterns(text: str, part: Part) -> None:
    assert pattern(text) == part


@pytest.mark.parametrize("text", ["SEQ(A a)", "sequence (A a)", "AND(A a)", "Permute(A a)", "OR(A a)"])
def test_a_query_may_begin_with_an_operator(text: str) -> None:
    assert query(text) == query(f"PATTERN {text}")


@pytest.mark.parametrize(
    "word",
    ["first", "last", "events", "event", "all", "count", "i", "len", "day", "s", "h", "min", "type", "from", "to",
     "avg", "seq", "sequence", "permute", "cover", "latest"],
)  # fmt: skip
def test_words_that_are_not_reserved_name_types_variables_and_parameters(word: str) -> None:
    q = query(
        f"PATTERN SEQ({word} {word}, {word}+ b[], {word})\n"
        f"WHERE {word}.{word} > {word} AND {word}(b[].{word}) = 1 AND [{word}]\n"
        f"WITHIN {word}\nTHRESHOLD {word}\nRETURN {word}.{word} AS {word} INTO {word}"
    )
    assert q.into == q.returns[0].alias == word
    assert q.within == q.threshold == Name(word)
    assert next(children(q.pattern)) == typed(word, word)


@pytest.mark.parametrize("word", RESERVED)
def test_reserved_words_name_attributes_as_they_are_and_all_else_in_backquotes(word: str) -> None:
    assert where(f"a.{word} = 1 AND [{word}]") == Logical(
        "AND", (Binary("=", Attribute("a", word), Number(1)), Equivalence(word))
    )
    assert pattern(f"`{word}` `{word}`") == typed(word, word)


# -- WHERE -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, strategy, listed, condition",
    [
        ("skip_till_any_match { a.x }", Strategy.SKIP_TILL_ANY_MATCH, None, AX),
        ("Skip-Till-Next-Match {a.x}", Strategy.SKIP_TILL_NEXT_MATCH, None, AX),
        ("STRICT_CONTIGUITY{}", Strategy.STRICT_CONTIGUITY, None, None),
        ("partition_contiguity", Strategy.PARTITION_CONTIGUITY, None, None),
        ("strict_contiguity(a, b[]) { a.x }", Strategy.STRICT_CONTIGUITY,
         (ListedVariable("a"), ListedVariable("b", True)), AX),
        ("strict_contiguity() { }", Strategy.STRICT_CONTIGUITY, (), None),
        ("skip-till-any-match AND a.x", Strategy.SKIP_TILL_ANY_MATCH, None, AX),
        ("skip-till-any-match AND a.x AND b.y", Strategy.SKIP_TILL_ANY_MATCH, None, Logical("AND", (AX, BY))),
        ("a.x", None, None, AX),
    ],
)  # fmt: skip
def test_strategies(
    text: str, strategy: Strategy | None, listed: tuple[ListedVariable, ...] | None, condition: Expression | None
) -> None:
    q = query(f"SEQ(A a) WHERE {text}")
    assert (q.strategy, q.listed, q.where) == (strategy, listed, condition)


@pytest.mark.parametrize(
    "text, expression",
    [
        ("1", Number(1)),
        ("1.5", Number(1.5)),
        (".5e1", Number(5.0)),
        ("1e-07", Number(1e-07)),
        ("-5", Number(-5)),
        ("-(5)", Unary("-", Number(5))),
        ("-a.x", Unary("-", AX)),
        ("- -a.x", Unary("-", Unary("-", AX))),
        ("−5", Number(-5)),
        ("-9223372036854775808", Number(-(2**63))),
        ("9223372036854775807", Number(2**63 - 1)),
        ("0" * 5000 + "7", Number(7)),
        ("'it''s'", Text("it's")),
        ('"say ""hi"", it\'s"', Text('say "hi", it\'s')),
        ("''", Text("")),
        ("TRUE", Boolean(True)),
        ("false", Boolean(False)),
        ("Null", Null()),
        ("T", Name("T")),
        ("`per cent`", Name("per cent")),
        ("[tag]", Equivalence("tag")),
        ("[`tag id`]", Equivalence("tag id")),
        ("a.x", AX),
        ("a . `tag id`", Attribute("a", "tag id")),
        ("b[i].x", Attribute("b", "x", Index.EACH)),
        ("b [i - 1] .x", Attribute("b", "x", Index.PREVIOUS)),
        ("b[i−1].x", Attribute("b", "x", Index.PREVIOUS)),
        ("b[.. i-1].x", Attribute("b", "x", Index.BEFORE)),
        ("b[1].x", Attribute("b", "x", Index.FIRST)),
        ("b[01].x", Attribute("b", "x", Index.FIRST)),
        ("b[ 12 /* twelfth */ ].x", Attribute("b", "x", NthIndex(12))),
        ("b[First].x", Attribute("b", "x", Index.FIRST)),
        ("b[last].x", Attribute("b", "x", Index.LAST)),
        ("b[b.len].x", Attribute("b", "x", Index.LAST)),
        ("b[/* the */ b . LEN -- last\n].x", Attribute("b", "x", Index.LAST)),
        ("`my b`[`my b`.len].x", Attribute("my b", "x", Index.LAST)),
        ("b[].x", Attribute("b", "x", Index.ALL)),
        ("b.len", Attribute("b", "len")),
        ("x.id[y.id]", Attribute("x", "id", default=Attribute("y", "id"))),
        ("x.receptor['A']", Attribute("x", "receptor", default=Text("A"))),
        ("b[i].x[a.x + 1]", Attribute("b", "x", Index.EACH, Binary("+", AX, Number(1)))),
        ("count(b[])", Call("count", (Elements("b", Index.ALL),))),
        ("COUNT(b[i])", Call("count", (Elements("b", Index.EACH),))),
        ("count()", Call("count", ())),
        ("count(*)", Call("count", ())),
        ("now()", Call("now", ())),
        ("least(a.x, 1)", Call("least", (AX, Number(1)))),
        ("a.x == 1", Binary("=", AX, Number(1))),
        ("a.x <> 1", Binary("!=", AX, Number(1))),
        ("a.x ≠ 1", Binary("!=", AX, Number(1))),
        ("a.x ≤ 1", Binary("<=", AX, Number(1))),
        ("a.x>=1", Binary(">=", AX, Number(1))),
        ("a.x - 1 - 2", Binary("-", Binary("-", AX, Number(1)), Number(2))),
        ("a.x -1", Binary("-", AX, Number(1))),
        ("a.x - -1", Binary("-", AX, Number(-1))),
        ("a.x + 1 * 2", Binary("+", AX, Binary("*", Number(1), Number(2)))),
        ("(a.x + 1) * 2", Binary("*", Binary("+", AX, Number(1)), Number(2))),
        ("-5 * a.x", Binary("*", Number(-5), AX)),
        ("NOT a.x = 1", Unary("NOT", Binary("=", AX, Number(1)))),
        ("¬a.x ∧ b.y ∨ TRUE", Logical("OR", (Logical("AND", (Unary("NOT", AX), BY)), Boolean(True)))),
        ("a.x AND b.y AND TRUE", Logical("AND", (AX, BY, Boolean(True)))),
        ("(a.x AND b.y) AND TRUE", Logical("AND", (Logical("AND", (AX, BY)), Boolean(True)))),
        ("a.x OR b.y AND TRUE", Logical("OR", (AX, Logical("AND", (BY, Boolean(True)))))),
        ("a.x IN (1, 2)", In(AX, (Number(1), Number(2)))),
        ("a.x not in (1)", In(AX, (Number(1),), negated=True)),
        ("a.x BETWEEN 1 AND 2 AND b.y", Logical("AND", (Between(AX, Number(1), Number(2)), BY))),
        ("a.x NOT BETWEEN 1 AND 2", Between(AX, Number(1), Number(2), negated=True)),
        ("a.x IS NULL", IsNull(AX)),
        ("a.x IS NOT NULL", IsNull(AX, negated=True)),
    ],
)
def test_expressions(text: str, expression: Expression) -> None:
    read = where(text)
    assert read == expression
    # 1 == 1.0 in Python, but not in a query.
    assert repr(read) == repr(expression)


@pytest.mark.parametrize(
    "text, expression",
    [
        ("80%*a.x", Binary("*", Number(0.8), AX)),
        ("80% * a.x", Binary("*", Number(0.8), AX)),
        ("a.x < 12.5%", Binary("<", AX, Number(0.125))),
        ("a.x < 80% AND b.y", Logical("AND", (Binary("<", AX, Number(0.8)), BY))),
        ("a.x < 80% -- of it", Binary("<", AX, Number(0.8))),
        ("a.x < -80%", Binary("<", AX, Number(-0.8))),
        ("(80%)", Number(0.8)),
        ("a.x IN (5%, 7%)", In(AX, (Number(0.05), Number(0.07)))),
        ("a.x < 80% /* of */ * b.y", Binary("<", AX, Binary("*", Number(0.8), BY))),
        ("a.x%500==0", Binary("=", Binary("%", AX, Number(500)), Number(0))),
        ("a.x % 500 = 0", Binary("=", Binary("%", AX, Number(500)), Number(0))),
        ("7%3", Binary("%", Number(7), Number(3))),
        ("7% a.x", Binary("%", Number(7), AX)),
        ("7% -- of *\n a.x", Binary("%", Number(7), AX)),
        ("7%(a.x)", Binary("%", Number(7), AX)),
        ("7 % -3", Binary("%", Number(7), Number(-3))),
    ],
)
def test_a_percent_sign_is_a_percentage_unless_an_operand_follows(text: str, expression: Expression) -> None:
    assert where(text) == expression


def test_a_percentage_may_stand_at_the_end_of_a_clause() -> None:
    q = query("SEQ(A a) WHERE a.x < 80% THRESHOLD 95% RETURN 5% AS p, 7% INTO T")
    assert q.where == Binary("<", AX, Number(0.8))
    assert q.threshold == Number(0.95)
    assert q.returns == (ReturnItem(Number(0.05), "p"), ReturnItem(Number(0.07)))


# -- the other clauses -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text, nanoseconds",
    [
        ("1 nanosecond", 1),
        ("2 ns", 2),
        ("3 microseconds", 3_000),
        ("3us", 3_000),
        ("250 ms", 250_000_000),
        ("1 Millisecond", 1_000_000),
        ("1 s", 10**9),
        ("2 sec", 2 * 10**9),
        ("1.5 SECONDS", 1_500_000_000),
        ("5 minutes", 300 * 10**9),
        ("5 min", 300 * 10**9),
        ("1.5 hours", 5_400 * 10**9),
        ("12h", 43_200 * 10**9),
        ("1 day", 86_400 * 10**9),
        ("2 d", 172_800 * 10**9),
        ("1 week", 604_800 * 10**9),
        ("1 w", 604_800 * 10**9),
        ("1e3 s", 10**12),
        ("0 s", 0),
        ("0e-999999999 s", 0),
        ("0.000000001 s", 1),
        ("1.0000000000000000000000000000000000 s", 10**9),
        ("9223372036854775807 ns", 2**63 - 1),
        ("9223372036.854775807 s", 2**63 - 1),
    ],
)
def test_durations_are_exact(text: str, nanoseconds: int) -> None:
    assert query(f"SEQ(A a) WITHIN {text}").within == Duration(nanoseconds)
    assert where(text) == Duration(nanoseconds)


@pytest.mark.parametrize(
    "text, window",
    [
        ("100 EVENTS", CountWindow(100)),
        ("1 event", CountWindow(1)),
        ("h", Name("h")),
        ("events", Name("events")),
    ],
)
def test_other_windows(text: str, window: CountWindow | Name) -> None:
    assert query(f"SEQ(A a) WITHIN {text}").within == window


@pytest.mark.parametrize("mode", OutputMode)
def test_output_modes_in_any_case(mode: OutputMode) -> None:
    variable = " a" if mode is OutputMode.NONOVERLAP_FROM else ""
    assert query(f"SEQ(A a) OUTPUT {mode.lower()}{variable}").output is mode


def test_all_clauses_of_the_language_page() -> None:
    q = query("""
        PATTERN   SEQ(A a, B+ b[], NOT(C c), D d)
        WHERE     skip_till_any_match { [symbol] AND b[i].price > b[i-1].price AND avg(b[].price) < d.price }
        WITHIN    1 hour
        THRESHOLD 0.8                                  -- lossy streams only
        OUTPUT    ALL
        RETURN    a.symbol AS symbol, b.len AS rises, d.price - a.price AS gain INTO Rally
    """)
    assert q == Query(
        Group(
            Operator.SEQ,
            (
                typed("a", "A"),
                typed("b", "B", quantifier=Quantifier(1, None)),
                Negation(typed("c", "C")),
                typed("d", "D"),
            ),
        ),
        Strategy.SKIP_TILL_ANY_MATCH,
        None,
        Logical(
            "AND",
            (
                Equivalence("symbol"),
                Binary(">", Attribute("b", "price", Index.EACH), Attribute("b", "price", Index.PREVIOUS)),
                Binary("<", Call("avg", (Attribute("b", "price", Index.ALL),)), Attribute("d", "price")),
            ),
        ),
        Duration(3_600 * 10**9),
        Number(0.8),
        OutputMode.ALL,
        (
            ReturnItem(Attribute("a", "symbol"), "symbol"),
            ReturnItem(Attribute("b", "len"), "rises"),
            ReturnItem(Binary("-", Attribute("d", "price"), Attribute("a", "price")), "gain"),
        ),
        "Rally",
    )


def test_programs() -> None:
    text = "\ufeffSEQ(A a) RETURN a.x INTO T; /* then */ PATTERN T t; -- done"
    assert parse(Source(text)).queries == (query("SEQ(A a) RETURN a.x INTO T"), query("PATTERN T t"))


# -- spans -------------------------------------------------------------------------------------------------------------


def test_every_node_knows_the_text_it_was_read_from() -> None:
    text = (
        "PATTERN SEQ(A|C a, B{2} b[])\n"
        "WHERE skip_till_next_match(a, b[]) { (a.x + 1) * -2 > T AND b[i].y[a.x] IN (1) }\n"
        "WITHIN 1.5 h THRESHOLD 80% RETURN count(b[]) AS n"
    )
    q = query(text)
    seen = [text[q.span.start : q.span.end]]
    pending = [*children(q)]
    while pending:
        node = pending.pop(0)
        seen.append(text[node.span.start : node.span.end])
        pending += children(node)
    assert seen == [
        text,
        "SEQ(A|C a, B{2} b[])",
        "(a.x + 1) * -2 > T AND b[i].y[a.x] IN (1)",
        "count(b[])",
        "A|C a",
        "B{2} b[]",
        "(a.x + 1) * -2 > T",
        "b[i].y[a.x] IN (1)",
        "b[]",
        "(a.x + 1) * -2",
        "T",
        "b[i].y[a.x]",
        "1",
        "(a.x + 1)",
        "-2",
        "a.x",
        "a.x",
        "1",
    ]
    component = [*children(q.pattern)][1]
    assert isinstance(component, Component)
    assert component.quantifier is not None
    assert q.listed is not None
    assert q.within is not None
    assert q.threshold is not None
    nodes = (component.types[0], component.quantifier, q.listed[1], q.within, q.threshold, q.returns[0])
    spans: list[Span] = [node.span for node in nodes]
    assert [text[span.start : span.end] for span in spans] == ["B", "{2}", "b[]", "1.5 h", "80%", "count(b[]) AS n"]


def test_spans_take_no_part_in_equality() -> None:
    assert query("SEQ(A a)") == query("  SEQ( A  a )")
    assert query("SEQ(A a)").pattern.span == Span(0, 8)
