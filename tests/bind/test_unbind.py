"""What is bound can be written down again, and means the same when it is read back."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from augury.bind import bind
from augury.ir import syntax
from augury.ir.predicate import Literal
from augury.ir.query import BoundQuery
from augury.ir.text import expression_text, query_text
from augury.ir.unbind import iso, unbind, unbind_query
from augury.lang import parse, parse_query
from augury.schema import FLOAT, INT, INT_MIN, NULL, EventSchema, duration, list_of, timestamp
from augury.source import Source

PAPERS = sorted((Path(__file__).parents[1] / "papers").glob("*.query"))
STRINGS = ("type", "symbol", "ticker", "tag_id", "site", "from", "to", "L", "ID", "id", "receptor", "location")
NUMBERS = ("price", "volume", "x", "y", "val", "flow", "speed", "timestamp")
PAPER_SCHEMA = EventSchema.from_arrow(
    pa.schema(
        [
            ("ts", pa.timestamp("s")),
            *((name, pa.string()) for name in STRINGS),
            *((name, pa.float64()) for name in NUMBERS),
            ("history", pa.list_(pa.float64())),
        ]
    )
)
PAPER_PARAMETERS = {"T": 0.9, "h": timedelta(hours=1), "MSFT": "MSFT", "GOOG": "GOOG", "AAPL": "AAPL"}


def reread(query: BoundQuery, **names: Any) -> BoundQuery:
    """`query` written as text, parsed and bound again, under the source it came from."""
    source = Source(query_text(unbind_query(query)))
    return replace(bind(parse_query(source), query.schema, source, **names), source=query.source)


def test_there_are_paper_queries() -> None:
    assert len(PAPERS) >= 20


@pytest.mark.parametrize("path", PAPERS, ids=lambda path: path.stem)
def test_paper_query(path: Path) -> None:
    source = Source(path.read_text(encoding="utf-8"), path.stem)
    for query in parse(source).queries:
        bound = bind(query, PAPER_SCHEMA, source, parameters=PAPER_PARAMETERS)
        assert reread(bound) == bound


def spread(x: float, y: float) -> float:
    return abs(x - y)


QUERIES = [
    "A a",
    "SEQ(A a, B+ b[], C* c[], D? d, A{2,3} e[], B{2,} f[], C{4} g[], h, A|B i)",
    "AND(SEQ(A a, B b), SEQ(B b, C c), NOT(SEQ(A e, B f)))",
    "OR(SEQ(A a, NOT(B b)), AND(A a, SEQ(C c)))",
    "`my type` `a b`",
    "A a WHERE a.price > 1 OR a.halted AND NOT a.halted",
    "A a WHERE (a.price > 1 OR a.halted) AND a.volume != 3",
    "A a WHERE NOT ((a.price > 1 AND a.halted) AND a.volume = 1)",
    "A a WHERE a.price BETWEEN 1 AND 2 AND a.volume NOT BETWEEN -1 AND 5",
    "A a WHERE NOT (a.price BETWEEN 1 AND 2) AND NOT a.price IN (1, 2) AND NOT a.price IS NULL",
    "A a WHERE a.price IN (1, 2.5) AND a.symbol NOT IN ('it''s', '') AND a.price IS NULL OR a.symbol IS NOT NULL",
    "A a WHERE a.price >= 1 AND a.price <= 2 AND a.halted",
    "A a WHERE a.halted = TRUE OR FALSE",
    "A a WHERE -a.price < -5 AND 1 - (2 - a.volume) = a.volume % 3 * 2 / 1e-7",
    "A a WHERE coalesce(a.price, NULL, 0) > 0 AND corr(a.history, a.history) > 0.5",
    "A a WHERE spread(a.price, 1) > 2",
    "A a WHERE a.price > low AND a.price < high AND a.volume > least_integer",
    "A a WHERE a.ts > '2024-02-29T12:00:00.125' AND a.day = '1969-12-31' AND '2024-01-01' < a.micros",
    "A a WHERE a.micros > '2024-01-01T00:00:00.000001' AND a.ts - '2024-01-01' > -1 day",
    "SEQ(A a, B b) WHERE b.ts - a.ts < 5 minutes AND a.delay * 2 > 3 ms AND a.wait < 90 s",
    "SEQ(A a, B b) WHERE b.ts > a.ts + 1 hour AND b.ts - 250 ms < a.ts",
    "SEQ(A a, B+ b[]) WHERE b.price > a.price AND b[i].price > b[i-1].price AND b[1].price < b[last].price",
    "SEQ(A a, B+ b[]) WHERE b.len > 3 AND b[i].len > a.len AND count(b) > 2 AND count(b[..i-1]) < 9",
    "SEQ(A a, B+ b[]) WHERE avg(b[].price * 2 + b[].volume) > 1 AND b[i].price > max(b[..i-1].price) + 1",
    "SEQ(A a, B+ b[]) WHERE first(b[].symbol) = last(b[].symbol) AND stddev(b[].price) < sum(b[].volume)",
    "SEQ(A a, B b) WHERE strict_contiguity { a.price < b.price }",
    "SEQ(A a, B b) WHERE partition_contiguity(a, b) { [symbol] AND [volume] }",
    "SEQ(A a, B b) WHERE skip_till_next_match { } WITHIN 10 EVENTS OUTPUT NONOVERLAP",
    "SEQ(A a, B b) WITHIN 1500 ms OUTPUT COVER",
    "SEQ(A a, B b) WITHIN window OUTPUT LATEST",
    "SEQ(A a, B b) OUTPUT COUNT",
    "SEQ(A a, B+ b[]) OUTPUT COUNT RETURN sum(a.price * 2) / count() AS m, max(b[].volume) AS v, b[last].symbol AS s",
    "SEQ(x, NOT(B y), C z) WHERE x.symbol['A'] = 'A' AND x.volume[z.volume] = z.volume WITHIN 12 hours THRESHOLD 0.8",
    "SEQ(A a, B+ b[]) RETURN a.price, b.len AS n, b.volume, b[i].symbol AS s, avg(b[].price) - a.price AS gain INTO R",
    "SEQ(A a, B+ b[]) RETURN a.history, b[last].ts AS `last one`, NULL AS nothing",
]


@pytest.mark.parametrize("text", QUERIES)
def test_query(bound: Any, text: str) -> None:
    parameters = {"low": -2.5, "high": 7, "least_integer": INT_MIN, "window": timedelta(minutes=1)}
    functions = {"spread": spread}
    query = bound(f"PATTERN {text}", parameters=parameters, functions=functions)
    assert reread(query, functions=functions) == query


def test_patterns_and_conditions_print(bound: Any) -> None:
    query = bound("PATTERN SEQ(A a, B+ b[], NOT(C c)) WHERE avg(b[].price) > a.price")
    assert str(query.pattern) == "SEQ(A a, B+ b[], NOT(C c))"
    assert [str(c) for c in query.conjuncts] == ["avg(b[].price) > a.price"]


@pytest.mark.parametrize(
    "literal, text",
    [
        (Literal(None, NULL), "NULL"),
        (Literal(-5, INT), "-5"),
        (Literal(INT_MIN, INT), "-9223372036854775808"),
        (Literal(math.inf, FLOAT), "exp(1000)"),
        (Literal(-math.inf, FLOAT), "-exp(1000)"),
        (Literal(-0.0, FLOAT), "-0.0"),
        (Literal(-90, duration("s")), "-90 seconds"),
        (Literal(1, timestamp("ns")), "'1970-01-01T00:00:00.000000001'"),
        (Literal((1.5, 2.0), list_of(FLOAT)), "`[1.5, 2.0]`"),
    ],
)
def test_literal(literal: Literal, text: str) -> None:
    written = unbind(literal)
    assert expression_text(written) == text
    parsed = parse_query(Source(f"PATTERN A a WHERE a.x = {text}")).where
    assert isinstance(parsed, syntax.Binary)
    assert parsed.right == written


def test_what_was_brought_to_one_unit_still_reads(bound: Any) -> None:
    query = bound(
        "PATTERN A a WHERE a.ts < a.micros AND a.wait < 1500 ms AND a.day IN ('1970-01-01T12:00:00', '1970-01-02')"
    )
    printed = query_text(unbind_query(query))
    assert "a.ts * 1000 < a.micros" in printed
    assert parse_query(Source(printed)) == unbind_query(query)


@pytest.mark.parametrize(
    "nanoseconds, text",
    [
        (0, "1970-01-01"),
        (-1, "1969-12-31T23:59:59.999999999"),
        (10**9, "1970-01-01T00:00:01"),
        (10**6, "1970-01-01T00:00:00.001"),
    ],
)
def test_iso(nanoseconds: int, text: str) -> None:
    assert iso(nanoseconds) == text
