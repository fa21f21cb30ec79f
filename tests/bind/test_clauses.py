"""Strategy, window, threshold, output and RETURN."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest

from augury.bind import bind
from augury.errors import QueryError
from augury.ir import syntax
from augury.ir.predicate import Aggregate, Arithmetic, Compare, Element, ListLength, Literal, Ref
from augury.ir.query import CountWindow, Returned, TimeWindow, Window
from augury.ir.terms import OutputMode, Strategy
from augury.schema import FLOAT, INT, STRING, EventSchema, list_of
from augury.source import Source


def test_what_is_not_written_has_its_default(bound: Any) -> None:
    query = bound("PATTERN A a")
    assert (query.strategy, query.output) == (Strategy.SKIP_TILL_ANY_MATCH, OutputMode.ALL)
    assert (query.window, query.threshold, query.returns, query.into) == (None, None, (), None)
    assert (query.conjuncts, query.partition_by, query.key) == ((), (), ())


@pytest.mark.parametrize("strategy", list(Strategy))
def test_strategy(bound: Any, strategy: Strategy) -> None:
    query = bound(f"PATTERN SEQ(A a, B+ b[], NOT(C c)) WHERE {strategy}(c, b[], a) {{ [symbol] }}")
    assert query.strategy is strategy


@pytest.mark.parametrize(
    "listed, expected",
    [
        ("a, b[]", []),
        ("a", ["A209"]),
        ("a, b", ["A209"]),
        ("a[], b[]", ["A209"]),
        ("a, b[], c, c", ["A209", "A209"]),
        ("a, b[], a", ["A209"]),
    ],
)
def test_listed_variables(codes: Any, listed: str, expected: list[str]) -> None:
    assert codes(f"PATTERN SEQ(A a, B+ b[]) WHERE skip_till_next_match({listed}) {{ }}") == expected


def test_an_empty_list_leaves_out_everything() -> None:
    query = syntax.Query(syntax.Component("a"), strategy=Strategy.STRICT_CONTIGUITY, listed=())
    assert _codes(query) == ["A209"]


def test_partition_contiguity_needs_a_partition(codes: Any) -> None:
    assert codes("PATTERN SEQ(A a, B b) WHERE partition_contiguity { }") == ["A411"]
    assert codes("PATTERN SEQ(A a, B b) WHERE partition_contiguity { [symbol] }") == []
    assert codes("PATTERN SEQ(A a, B b) WHERE partition_contiguity { [symbl] }") == ["A202"]


TICKS = pa.schema([("ts", pa.int64()), ("type", pa.string())])


@pytest.mark.parametrize(
    "within, unit, window",
    [
        ("1 hour", "s", TimeWindow(3600)),
        ("1 hour", "ms", TimeWindow(3_600_000)),
        ("1500 ms", "s", TimeWindow(1)),
        ("0 seconds", "s", TimeWindow(0)),
        ("1 hour", "D", TimeWindow(0)),
        ("20 EVENTS", "s", CountWindow(20)),
        ("h", "s", TimeWindow(90)),
        ("h", "ms", TimeWindow(90_000)),
        ("n", "ms", TimeWindow(7)),
    ],
)
def test_window(bound: Any, within: str, unit: str, window: Window) -> None:
    parameters = {"h": timedelta(seconds=90), "n": 7}
    query = bound(f"PATTERN A a WITHIN {within}", arrow=TICKS, options={"time_unit": unit}, parameters=parameters)
    assert query.window == window


@pytest.mark.parametrize(
    "within, expected",
    [
        ("0 EVENTS", ["A412"]),
        ("text", ["A412"]),
        ("yes", ["A412"]),
        ("back", ["A412"]),
        ("minus", ["A412"]),
        ("missing", ["A205"]),
        ("nothing", ["A309"]),
        ("long", ["A308"]),
    ],
)
def test_impossible_window(codes: Any, within: str, expected: list[str]) -> None:
    parameters = {
        "text": "an hour",
        "yes": True,
        "back": timedelta(-1),
        "minus": -1,
        "nothing": None,
        "long": timedelta(days=999_999_999),
    }
    options = {"time_unit": "ns"}
    assert codes(f"PATTERN A a WITHIN {within}", arrow=TICKS, options=options, parameters=parameters) == expected


# -- THRESHOLD ---------------------------------------------------------------------------------------------------------

LOSSY = "PATTERN SEQ(x, NOT(y), C z) WHERE x.symbol['A'] = 'A' AND y.symbol = 'B'"


def test_default_of_a_missing_event(bound: Any) -> None:
    query = bound(f"{LOSSY} AND x.volume[z.volume] = z.volume WITHIN 12 hours THRESHOLD 0.80")
    assert query.threshold == 0.8
    first, _, joined = query.conjuncts
    assert first.expr == Compare("=", Ref("x", "symbol", STRING, default=Literal("A", STRING)), Literal("A", STRING))
    assert joined.expr.left == Ref("x", "volume", INT, default=Ref("z", "volume", INT))
    assert joined.variables == ("x", "z")


@pytest.mark.parametrize("value", [1, 1.0, 0.001, "p"])
def test_threshold(bound: Any, value: object) -> None:
    query = bound(f"PATTERN A a WITHIN 1 hour THRESHOLD {value}", parameters={"p": 0.5})
    assert query.threshold == (0.5 if value == "p" else value)


@pytest.mark.parametrize(
    "query, expected",
    [
        ("A a WITHIN 1 hour THRESHOLD 0", ["A413"]),
        ("A a WITHIN 1 hour THRESHOLD 1.01", ["A413"]),
        ("A a WITHIN 1 hour THRESHOLD yes", ["A413"]),
        ("A a WITHIN 1 hour THRESHOLD text", ["A413"]),
        ("A a WITHIN 1 hour THRESHOLD missing", ["A205"]),
        ("A a THRESHOLD 0.5", ["A414"]),
        ("A a WITHIN 5 EVENTS THRESHOLD 0.5", ["A414"]),
        ("A a WITHIN missing THRESHOLD 0.5", ["A205"]),
        ("A a WHERE skip_till_any_match { } WITHIN 1 hour THRESHOLD 0.5 OUTPUT NONOVERLAP", []),
        ("A a WHERE skip_till_next_match { } WITHIN 1 hour THRESHOLD 0.5 OUTPUT COUNT", ["A414", "A414"]),
        ("SEQ(A a, AND(B b, C c)) WITHIN 1 hour THRESHOLD 0.5", ["A414"]),
        ("SEQ(A? a, C c) WITHIN 1 hour THRESHOLD 0.5", ["A414"]),
        ("SEQ(A a, NOT(SEQ(B b, D d)), C c) WITHIN 1 hour THRESHOLD 0.5", ["A414"]),
        ("SEQ(A a, NOT(C c)) WITHIN 1 hour THRESHOLD 0.5", []),
        ("NOT(A a) WITHIN 1 hour THRESHOLD 0.5", ["A406"]),
        ("SEQ(a, NOT(b), c) WHERE a.price > 1 WITHIN 1 hour THRESHOLD 0.5", ["A417", "A417"]),
        ("SEQ(A a, NOT(B b), C c) WHERE abs(a.price) < c.price WITHIN 1 hour THRESHOLD 0.5", ["A416"]),
        ("SEQ(A a, NOT(B b), C c) WHERE b.price < c.price WITHIN 1 hour THRESHOLD 0.5", []),
        ("SEQ(A a, C c) WHERE a.price[c.symbol] < c.price WITHIN 1 hour THRESHOLD 0.5", ["A301"]),
        ("SEQ(A a, C c) WHERE a.price[q.price] < c.price WITHIN 1 hour THRESHOLD 0.5", ["A201"]),
        ("SEQ(A a, C c) WHERE a.ts['1970-01-01'] < c.ts WITHIN 1 hour THRESHOLD 0.5", []),
        ("SEQ(A a, C c) WHERE a.ts[c.micros] < c.ts WITHIN 1 hour THRESHOLD 0.5", ["A314"]),
    ],
)
def test_lossy(codes: Any, query: str, expected: list[str]) -> None:
    assert codes(f"PATTERN {query}", parameters={"yes": True, "text": "0.5"}) == expected


# -- RETURN ------------------------------------------------------------------------------------------------------------


def test_returned_items(bound: Any) -> None:
    query = bound(
        """PATTERN SEQ(A a, B+ b[], C c)
           RETURN a.symbol, b.len AS rises, c.price - a.price AS gain, b.price, b[i].volume AS sizes, b[last].price AS
                  top, avg(b[].price) AS mean, a.history, b[i].len INTO Rally"""
    )
    prices, sizes = (Ref("b", n, list_of(t), Element.EACH) for n, t in (("price", FLOAT), ("volume", INT)))
    gain = Arithmetic("-", Ref("c", "price", FLOAT), Ref("a", "price", FLOAT), FLOAT)
    mean = Aggregate("avg", "b", Ref("b", "price", FLOAT, Element.EACH), False, FLOAT)
    assert query.returns == (
        Returned("symbol", Ref("a", "symbol", STRING), STRING),
        Returned("rises", ListLength("b"), INT),
        Returned("gain", gain, FLOAT),
        Returned("price", prices, list_of(FLOAT)),
        Returned("sizes", sizes, list_of(INT)),
        Returned("top", Ref("b", "price", FLOAT, Element.LAST), FLOAT),
        Returned("mean", mean, FLOAT),
        Returned("history", Ref("a", "history", list_of(FLOAT)), list_of(FLOAT)),
        Returned("len", Ref("b", "len", list_of(INT), Element.EACH), list_of(INT)),
    )
    assert query.into == "Rally"


@pytest.mark.parametrize(
    "items, expected",
    [
        ("a.price, b.price AS price", ["A210"]),
        ("1 + 1", ["A211"]),
        ("b.len", []),
        ("a.price AS end", ["A212"]),
        ("a.price AS probability, a.price AS count", ["A212", "A212"]),
        ("n.price", ["A418"]),
        ("count(n) AS n", ["A403"]),
        ("count(m) AS n", ["A418"]),
        ("sum(m[].price) AS n", ["A418"]),
        ("m.price", ["A418"]),
        ("m.len AS k", ["A418"]),
        ("b.price * 2 AS d", ["A419"]),
        ("b[i-1].price AS p", ["A419"]),
        ("b[].price AS p", ["A402"]),
        ("b[..i-1].price AS p", ["A402"]),
        ("max(b[..i-1].price) + 1 AS p", ["A422"]),
        ("max(b[..i-1].price) AS p, count(b[..i]) AS q", []),
        ("sum(m[..i].price) AS p", ["A418"]),
        ("a.*", []),
        ("b.*", ["A419"]),
        ("n.*", ["A418"]),
        ("a.*, a.price", ["A210"]),
        ("b.pric", ["A202"]),
        ("b.price[a.price] AS p", ["A415"]),
        ("z.price", ["A201"]),
    ],
)
def test_return_error(codes: Any, items: str, expected: list[str]) -> None:
    assert codes(f"PATTERN SEQ(A a, B+ b[], NOT(C n), NOT(D+ m[])) RETURN {items}") == expected


@pytest.mark.parametrize(
    "items, expected",
    [
        ("b.volume, sum(a.price) AS p", []),
        ("sum(a.volume) / count(*) AS mean, b.price - avg(a.price) AS gain", []),
        ("min(a.symbol) AS s, max(a.delay) AS d, count(a.history) AS n", []),
        ("a.price, b.volume", ["A421"]),
        ("a.price - b.price AS gain", ["A421"]),
        ("stddev(a.price) AS p, first(a.price) AS f", ["A421", "A421"]),
        ("sum(a.price * b.price) AS p", ["A423"]),
        ("sum(a) AS p, count(a) AS n", ["A423", "A423"]),
        ("sum(a[].price) AS p", ["A401"]),
        ("sum(a.symbol) AS p", ["A315"]),
        ("sum(sum(a.price)) AS p", ["A404"]),
        ("sum(*) AS p", ["A316"]),
        ("sum(a.price)", ["A211"]),
        ("count() AS count", ["A212"]),
        ("sum(n.price) AS p, n.price AS q", ["A418", "A418"]),
    ],
)
def test_return_of_a_count(codes: Any, items: str, expected: list[str]) -> None:
    assert codes(f"PATTERN SEQ(A a, NOT(C n), B b) OUTPUT COUNT RETURN {items}") == expected


@pytest.mark.parametrize(
    "pattern, item, expected",
    [
        ("SEQ(A a, B+ b[])", "b[last].price AS p", []),
        ("SEQ(A a, B+ b[])", "sum(b[].price) / count(b[]) AS p", []),
        ("SEQ(A a, B+ b[])", "b[1].price AS p, b.len AS n, b.price AS all", ["A421", "A421", "A421"]),
        ("SEQ(A a, B+ b[])", "avg(b[..i-1].price) AS p", ["A422"]),
        ("SEQ(A+ a[], B b)", "a[last].price AS p", ["A421"]),
        ("SEQ(A a, B? b)", "b.price", ["A421"]),
        ("AND(A a, B b)", "b.price", ["A421"]),
        ("SEQ(AND(A a, C c), B b)", "b.price", []),
        ("SEQ(OR(A a, C c), B b)", "b.price", []),
        ("OR(SEQ(A a, B b), SEQ(C c, D b))", "b.price", []),
        ("OR(SEQ(A a, B b), SEQ(C c, D d))", "b.price", ["A421"]),
    ],
)
def test_what_completes_all_matches(codes: Any, pattern: str, item: str, expected: list[str]) -> None:
    assert codes(f"PATTERN {pattern} OUTPUT COUNT RETURN {item}") == expected


def test_types_of_totals(bound: Any) -> None:
    items = "sum(a.volume) AS i, sum(a.price) AS f, avg(a.volume) AS m, min(a.ts) AS t, count() AS n, sum(a.wait) AS w"
    returned = bound(f"PATTERN SEQ(A a, B b) OUTPUT COUNT RETURN {items}").returns
    types = ["integer", "float", "float", "timestamp[ms]", "integer", "duration[s]"]
    assert [str(r.type) for r in returned] == types


def test_into_needs_return() -> None:
    assert _codes(syntax.Query(syntax.Component("a"), into="Rally")) == ["A420"]


def test_a_duration_that_no_unit_holds() -> None:
    long = syntax.Binary(">", syntax.Duration(2**64 + 1), syntax.Duration(1))
    assert _codes(syntax.Query(syntax.Component("a"), where=long)) == ["A308"]


def _codes(query: syntax.Query) -> list[str]:
    with pytest.raises(QueryError) as caught:
        bind(query, EventSchema.from_arrow(TICKS), Source(""))
    return [d.code for d in caught.value.diagnostics]
