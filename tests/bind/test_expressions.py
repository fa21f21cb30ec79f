"""References, aggregates, calls and conditions."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
import pandas as pd
import pytest

from augury.errors import HostError, QueryError
from augury.ir.predicate import (
    Aggregate,
    And,
    Arithmetic,
    Call,
    Compare,
    Conjunct,
    Element,
    Expr,
    IsNull,
    ListLength,
    Literal,
    Member,
    Negate,
    Not,
    Or,
    Ref,
)
from augury.schema import BOOL, FLOAT, INT, INT_MIN, NULL, OTHER, STRING, ColumnType, duration, list_of, timestamp

A = Ref("a", "price", FLOAT)
ONE = Literal(1, INT)


def only(bound: Any, where: str, **names: Any) -> Expr:
    (conjunct,) = bound(f"PATTERN SEQ(A a, B+ b[], C c, B? o) WHERE {where}", **names).conjuncts
    assert isinstance(conjunct, Conjunct)
    return conjunct.expr


def each(column: str = "price", element: Element = Element.EACH) -> Ref:
    return Ref("b", column, FLOAT, element)


@pytest.mark.parametrize(
    "written, meant",
    [
        ("a.price", A),
        ("o.price", Ref("o", "price", FLOAT)),
        ("b.price", each()),
        ("b[i].price", each()),
        ("b[i-1].price", each(element=Element.PREVIOUS)),
        ("b[1].price", each(element=Element.FIRST)),
        ("b[first].price", each(element=Element.FIRST)),
        ("b[last].price", each(element=Element.LAST)),
        ("b[b.len].price", each(element=Element.LAST)),
        ("b.len", ListLength("b")),
        ("b[i].len", Ref("b", "len", INT, Element.EACH)),
        ("a.len", Ref("a", "len", INT)),
        ("count(b)", Aggregate("count", "b", None, False, INT)),
        ("count(b[])", Aggregate("count", "b", None, False, INT)),
        ("count(b[i])", Aggregate("count", "b", None, False, INT)),
        ("COUNT(b[..i-1])", Aggregate("count", "b", None, True, INT)),
        ("count(b[].symbol)", Aggregate("count", "b", Ref("b", "symbol", STRING, Element.EACH), False, INT)),
        ("Avg(b[].price)", Aggregate("avg", "b", each(), False, FLOAT)),
        ("avg(b.price)", Aggregate("avg", "b", each(), False, FLOAT)),
        ("avg(b[i].price)", Aggregate("avg", "b", each(), False, FLOAT)),
        ("avg(b[..i-1].price)", Aggregate("avg", "b", each(), True, FLOAT)),
        ("sum(b[].volume)", Aggregate("sum", "b", Ref("b", "volume", INT, Element.EACH), False, INT)),
        ("max(b[].price * 2)", Aggregate("max", "b", Arithmetic("*", each(), Literal(2, INT), FLOAT), False, FLOAT)),
        ("stddev(b[].volume)", Aggregate("stddev", "b", Ref("b", "volume", INT, Element.EACH), False, FLOAT)),
        ("first(b[].price)", Aggregate("first", "b", each(), False, FLOAT)),
        ("-a.price", Negate(A, FLOAT)),
        ("-5", Literal(-5, INT)),
        ("- -5", Literal(5, INT)),
        ("a.volume + 1", Arithmetic("+", Ref("a", "volume", INT), ONE, INT)),
        ("a.volume / 1", Arithmetic("/", Ref("a", "volume", INT), ONE, FLOAT)),
        ("a.volume % 1", Arithmetic("%", Ref("a", "volume", INT), ONE, INT)),
        ("a.volume * 1.5", Arithmetic("*", Ref("a", "volume", INT), Literal(1.5, FLOAT), FLOAT)),
        ("a.nothing + 1", Arithmetic("+", Ref("a", "nothing", NULL), ONE, INT)),
        ("a.nothing / 1", Arithmetic("/", Ref("a", "nothing", NULL), ONE, FLOAT)),
        ("abs(a.volume)", Call("abs", (Ref("a", "volume", INT),), INT)),
        ("Round(a.price, 1)", Call("round", (A, ONE), FLOAT)),
        ("coalesce(a.price, NULL, 1)", Call("coalesce", (A, Literal(None, NULL), ONE), FLOAT)),
        ("length(a.history)", Call("length", (Ref("a", "history", list_of(FLOAT)),), INT)),
    ],
)
def test_value(bound: Any, written: str, meant: Expr) -> None:
    expr = only(bound, f"{written} > 1")
    assert expr == Compare(">", meant, ONE)


@pytest.mark.parametrize(
    "written, meant",
    [
        ("a.halted", Ref("a", "halted", BOOL)),
        ("TRUE", Literal(True, BOOL)),
        ("a.nothing", Ref("a", "nothing", NULL)),
        ("a.nothing = 'x'", Compare("=", Ref("a", "nothing", NULL), Literal("x", STRING))),
        ("a.halted != FALSE", Compare("!=", Ref("a", "halted", BOOL), Literal(False, BOOL))),
        ("NOT a.halted", Not(Ref("a", "halted", BOOL))),
        ("a.halted OR a.price = 1", Or((Ref("a", "halted", BOOL), Compare("=", A, ONE)))),
        (
            "NOT (a.halted AND a.price = 1)",
            Not(And((Ref("a", "halted", BOOL), Compare("=", A, ONE)))),
        ),
        ("a.price BETWEEN 1 AND 2", And((Compare(">=", A, ONE), Compare("<=", A, Literal(2, INT))))),
        ("a.price NOT BETWEEN 1 AND 2", Not(And((Compare(">=", A, ONE), Compare("<=", A, Literal(2, INT)))))),
        ("a.price IN (1, 2.5)", Member(A, (ONE, Literal(2.5, FLOAT)))),
        ("a.price NOT IN (1)", Not(Member(A, (ONE,)))),
        ("a.price IS NULL", IsNull(A)),
        ("a.price IS NOT NULL", Not(IsNull(A))),
        ("a.history IS NULL", IsNull(Ref("a", "history", list_of(FLOAT)))),
        ("a.blob IS NOT NULL", Not(IsNull(Ref("a", "blob", OTHER)))),
    ],
)
def test_condition(bound: Any, written: str, meant: Expr) -> None:
    assert only(bound, written) == meant


def test_conjuncts_are_classified(bound: Any) -> None:
    query = bound(
        """PATTERN SEQ(A a, B+ b[], C c)
           WHERE ([symbol] AND c.price > a.price) AND b[i].price > b[i-1].price AND (avg(b[].price) < c.price
             AND b[last].price > 1) AND b.price < a.price AND b[i].price > max(b[..i-1].price)
             AND [volume] AND [symbol]"""
    )
    assert query.partition_by == ("symbol", "volume")
    assert [(c.variables, set(c.each), set(c.from_second), set(c.whole)) for c in query.conjuncts] == [
        (("a", "c"), set(), set(), set()),
        (("b",), {"b"}, {"b"}, set()),
        (("b", "c"), set(), set(), {"b"}),
        (("b",), set(), set(), {"b"}),
        (("a", "b"), {"b"}, set(), set()),
        (("b",), {"b"}, {"b"}, set()),
    ]


@pytest.mark.parametrize(
    "where, expected",
    [
        ("a[i].price > 1", ["A401"]),
        ("count(a[]) > 1", ["A403"]),
        ("count(a) > 1", ["A403"]),
        ("b[].price > 1", ["A402"]),
        ("abs(b[]) > 1", ["A402"]),
        ("abs(a[]) > 1", ["A401"]),
        ("abs(z[]) > 1", ["A201"]),
        ("count(z[]) > 1", ["A201"]),
        ("sum(z.price + y.price) > 1", ["A201", "A201"]),
        ("sum(b[].price + a.price) > 1", ["A403"]),
        ("sum(b[].pric) > 1", ["A202"]),
        ("sum(b[].price / b.len) > 1", ["A423"]),
        ("sum(b[i-1].price) > 1", ["A423"]),
        ("sum(b) > 1", ["A423"]),
        ("sum(T) > 1", ["A423"]),
        ("avg(min(b[].price)) > 1", ["A404"]),
        ("avg() > 1", ["A316"]),
        ("max(a.price, c.price) > 1", ["A316"]),
        ("count(a.price, c.price) > 1", ["A316"]),
        ("avg(b[].symbol) > 1", ["A315"]),
        ("max(b[].halted)", ["A315"]),
        ("a.price > b", ["A206"]),
        ("a.price > a.symbol", ["A301"]),
        ("a.symbol BETWEEN 1 AND 2", ["A301", "A301"]),
        ("a.price IN ('x', 1, 'y')", ["A301", "A301"]),
        ("a.price IN (1, NULL)", ["A306"]),
        ("a.price IN (1, z.price)", ["A201"]),
        ("a.price BETWEEN 1 AND z.price", ["A201"]),
        ("z.price IS NULL", ["A201"]),
        ("z.price IS NOT NULL", ["A201"]),
        ("z.price > y.price", ["A201", "A201"]),
        ("z.price + 1 > 2", ["A201"]),
        ("-z.price > 2", ["A201"]),
        ("NOT z.halted", ["A201"]),
        ("z.halted OR y.halted", ["A201", "A201"]),
        ("-a.symbol = 'x'", ["A313"]),
        ("-a.history = 1", ["A311"]),
        ("-NULL = 1", ["A306"]),
        ("NULL", ["A303"]),
        ("a.price + NULL > 1", ["A306"]),
        ("a.history = a.blob", ["A311", "A311"]),
        ("a.history + 1 > 2", ["A311"]),
        ("a.nothing + 'x' = 'x'", ["A302"]),
        ("a.symbol * 2 = 'x'", ["A302"]),
        ("a.halted < TRUE", ["A312"]),
        ("a.halted BETWEEN FALSE AND TRUE", ["A312", "A312"]),
        ("NOT a.price", ["A303"]),
        ("a.price AND a.symbol", ["A303", "A303"]),
        ("a.price OR TRUE", ["A303"]),
        ("NOT [symbol]", ["A410"]),
        ("[history]", ["A317"]),
        ("[blob]", ["A317"]),
        ("[symbl]", ["A202"]),
        ("corr(a.history, a.price) > 0", ["A304"]),
        ("corr(a.history) > 0", ["A305"]),
        ("round(a.price, 1, 2) > 0", ["A305"]),
        ("nope(z.price) > 0", ["A201", "A204"]),
        ("abs(z.price) > 0", ["A201"]),
        ("least(a.price, a.symbol) > 0", ["A304"]),
        ("a.symbol[c.symbol] = c.symbol", ["A415"]),
        ("a.price > missing", ["A205"]),
    ],
)
def test_error(codes: Any, where: str, expected: list[str]) -> None:
    query = f"PATTERN SEQ(A a, B+ b[], C c) WHERE {where}"
    assert sorted(codes(query, parameters={"T": 1})) == sorted(expected)


def test_quoted_variable_is_marked_with_its_quotes(bound: Any) -> None:
    with pytest.raises(QueryError, match=r"\n  \| {19}\^{5} unknown variable"):
        bound("PATTERN A a WHERE `x-y`.price > 1")


# -- parameters --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value, literal",
    [
        (True, Literal(True, BOOL)),
        (3, Literal(3, INT)),
        (np.int64(3), Literal(3, INT)),
        (-2.5, Literal(-2.5, FLOAT)),
        (np.float32(0.5), Literal(0.5, FLOAT)),
        ("x", Literal("x", STRING)),
        (timedelta(minutes=5), Literal(300, duration("s"))),
        (timedelta(microseconds=1500), Literal(1500, duration("us"))),
        (pd.Timedelta(7, unit="ns"), Literal(7, duration("ns"))),
        (datetime(1970, 1, 2), Literal(86400, timestamp("s"))),
        (datetime(1970, 1, 1, 1, tzinfo=timezone(timedelta(hours=1))), Literal(0, timestamp("s"))),
        (pd.Timestamp(7), Literal(7, timestamp("ns"))),
        ([1, 2], Literal((1, 2), list_of(INT))),
        ((1, 2.5), Literal((1, 2.5), list_of(FLOAT))),
    ],
)
def test_parameter(bound: Any, value: object, literal: Literal) -> None:
    assert only(bound, "P IS NULL", parameters={"P": value}) == IsNull(literal)


@pytest.mark.parametrize(
    "value", [None, object(), timedelta.max, float("nan"), 2**70, [1, "x"], [True], {"a": 1}, b"x" * 50]
)
def test_parameter_of_no_known_type(codes: Any, value: object) -> None:
    assert codes("PATTERN A a WHERE a.price > P", parameters={"P": value}) == ["A309"]


def test_a_parameter_wins_over_a_variable_of_its_name(bound: Any) -> None:
    assert only(bound, "c > 1", parameters={"c": 7}) == Compare(">", Literal(7, INT), ONE)


# -- registered functions ----------------------------------------------------------------------------------------------


def tax(price: float, rate: float = 0.2) -> float:
    return price * rate


class Spread:
    def __call__(self, x: float, y: float) -> bool:
        return x < y


def untold(x: float) -> list[float]:
    return [x]


def test_registered_function(bound: Any) -> None:
    functions = {"Tax": tax, "spread": Spread()}
    expr = only(bound, "tax(a.price) > 1", functions=functions)
    assert expr == Compare(">", Call("tax", (A,), FLOAT), ONE)
    expr = only(bound, "SPREAD(a.price, 1)", functions=functions)
    assert expr == Call("spread", (A, ONE), BOOL)


@pytest.mark.parametrize("annotation, type", [(float, FLOAT), ("int", INT), ("'str'", STRING), (bool, BOOL)])
def test_result_of_a_registered_function(bound: Any, annotation: object, type: ColumnType) -> None:
    def told(x):  # type: ignore[no-untyped-def]
        return x

    told.__annotations__["return"] = annotation
    expr = only(bound, "told(a.price) IS NULL", functions={"told": told})
    assert expr == IsNull(Call("told", (A,), type))


@pytest.mark.parametrize(
    "where, expected",
    [
        ("tax() > 1", ["A305"]),
        ("tax(a.price, 1, 2) > 1", ["A305"]),
        ("tax(z.price) > 1", ["A201"]),
        ("untold(a.price) > 1", ["A310"]),
        ("opaque(a.price) > 1", ["A310"]),
        ("tacks(a.price) > 1", ["A204"]),
    ],
)
def test_registered_function_misused(codes: Any, where: str, expected: list[str]) -> None:
    functions = {"tax": tax, "untold": untold, "opaque": min}
    assert codes(f"PATTERN A a WHERE {where}", functions=functions) == expected


@pytest.mark.parametrize(
    "functions, code",
    [({"Sqrt": tax}, "A520"), ({"AVG": tax}, "A520"), ({"dot": tax}, "A520"), ({"tax": tax, "TAX": tax}, "A521")],
)
def test_names_that_cannot_be_registered(bound: Any, functions: dict[str, Any], code: str) -> None:
    with pytest.raises(HostError) as caught:
        bound("PATTERN A a", functions=functions)
    assert caught.value.code == code


def test_smallest_integer_is_negated_when_evaluated(bound: Any) -> None:
    expr = only(bound, "-P > 1", parameters={"P": INT_MIN})
    assert expr == Compare(">", Negate(Literal(INT_MIN, INT), INT), ONE)
