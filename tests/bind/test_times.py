"""Timestamps, durations and numbers that count time, brought to one unit."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest

from augury.ir.predicate import Arithmetic, Call, Compare, Expr, Literal, Member, Or, Ref
from augury.schema import FLOAT, INT, NULL, duration, timestamp

MS, US, S, D = timestamp("ms"), timestamp("us"), timestamp("s"), timestamp("D")
TS, LATER = Ref("a", "ts", MS), Ref("c", "ts", MS)
MICROS, DAY = Ref("a", "micros", US), Ref("a", "day", D)
DELAY, WAIT = Ref("a", "delay", duration("ms")), Ref("a", "wait", duration("s"))


def scaled(e: Expr, factor: int, type: Any) -> Arithmetic:
    return Arithmetic("*", e, Literal(factor, INT), type)


def only(bound: Any, where: str, **names: Any) -> Expr:
    (conjunct,) = bound(f"PATTERN SEQ(A a, C c) WHERE {where}", **names).conjuncts
    expr: Expr = conjunct.expr
    return expr


@pytest.mark.parametrize(
    "written, left, right",
    [
        ("a.ts < c.ts", TS, LATER),
        ("a.ts < a.micros", scaled(TS, 1000, US), MICROS),
        ("a.micros < a.ts", MICROS, scaled(TS, 1000, US)),
        ("a.day < a.ts", scaled(DAY, 86_400_000, MS), TS),
        ("a.ts < '1970-01-02'", TS, Literal(86_400_000, MS)),
        ("'1970-01-01T00:00:01.5' < a.ts", Literal(1500, MS), TS),
        ("a.ts < '1970-01-01 01:00:00+01:00'", TS, Literal(0, MS)),
        ("a.ts < '1970-01-01T00:00:00Z'", TS, Literal(0, MS)),
        ("a.ts < '1969-12-31T23:59:59.999'", TS, Literal(-1, MS)),
        ("a.day < '1970-01-03'", DAY, Literal(2, D)),
        ("a.day < '1970-01-01T12:00:00'", scaled(DAY, 86_400, S), Literal(43_200, S)),
        ("a.ts < '1970-01-01T00:00:00.000001'", scaled(TS, 1000, US), Literal(1, US)),
        ("a.micros < '1970-01-01T00:00:00,5'", MICROS, Literal(500_000, US)),
        ("a.delay < a.wait", DELAY, scaled(WAIT, 1000, duration("ms"))),
        ("a.delay < 5 minutes", DELAY, Literal(300_000, duration("ms"))),
        ("1500 ms < a.wait", Literal(1500, duration("ms")), scaled(WAIT, 1000, duration("ms"))),
        ("c.ts - a.ts < 5 minutes", Arithmetic("-", LATER, TS, duration("ms")), Literal(300_000, duration("ms"))),
        (
            "a.ts - a.micros < -1 ms",
            Arithmetic("-", scaled(TS, 1000, US), MICROS, duration("us")),
            Literal(-1000, duration("us")),
        ),
        (
            "a.ts - '1970-01-02' < 1 ms",
            Arithmetic("-", TS, Literal(86_400_000, MS), duration("ms")),
            Literal(1, duration("ms")),
        ),
        ("a.ts + 1 s < c.ts", Arithmetic("+", TS, Literal(1000, duration("ms")), MS), LATER),
        ("1 s + a.ts < c.ts", Arithmetic("+", Literal(1000, duration("ms")), TS, MS), LATER),
        ("a.ts - a.wait < c.ts", Arithmetic("-", TS, scaled(WAIT, 1000, duration("ms")), MS), LATER),
        (
            "a.delay + a.wait < 1 s",
            Arithmetic("+", DELAY, scaled(WAIT, 1000, duration("ms")), duration("ms")),
            Literal(1000, duration("ms")),
        ),
        ("a.delay * 2 < 1 s", Arithmetic("*", DELAY, Literal(2, INT), duration("ms")), Literal(1000, duration("ms"))),
        (
            "1.5 * a.delay < 1 s",
            Arithmetic("*", Literal(1.5, FLOAT), DELAY, duration("ms")),
            Literal(1000, duration("ms")),
        ),
        ("a.delay / 2 < 1 s", Arithmetic("/", DELAY, Literal(2, INT), duration("ms")), Literal(1000, duration("ms"))),
        ("a.delay / a.wait < 2", Arithmetic("/", DELAY, scaled(WAIT, 1000, duration("ms")), FLOAT), Literal(2, INT)),
        (
            "abs(c.ts - a.ts) < 1 s",
            Call("abs", (Arithmetic("-", LATER, TS, duration("ms")),), duration("ms")),
            Literal(1000, duration("ms")),
        ),
        (
            "least(a.delay, a.wait) < 1 s",
            Call("least", (DELAY, scaled(WAIT, 1000, duration("ms"))), duration("ms")),
            Literal(1000, duration("ms")),
        ),
        (
            "coalesce(a.wait, NULL, 10 ms) < 1 s",
            Call(
                "coalesce",
                (scaled(WAIT, 1000, duration("ms")), Literal(None, NULL), Literal(10, duration("ms"))),
                duration("ms"),
            ),
            Literal(1000, duration("ms")),
        ),
    ],
)
def test_one_unit(bound: Any, written: str, left: Expr, right: Expr) -> None:
    expr = only(bound, written)
    assert isinstance(expr, Compare)
    assert (expr.left, expr.right) == (left, right)


def test_in_with_one_unit_is_a_membership(bound: Any) -> None:
    assert only(bound, "a.day IN ('1970-01-02', '1970-01-03')") == Member(DAY, (Literal(1, D), Literal(2, D)))


def test_in_with_several_units_is_a_disjunction(bound: Any) -> None:
    expr = only(bound, "a.day IN ('1970-01-02', '1970-01-01T12:00:00')")
    assert expr == Or(
        (Compare("=", DAY, Literal(1, D)), Compare("=", scaled(DAY, 86_400, S), Literal(43_200, S))),
    )


TICKS = pa.schema([("ts", pa.int64()), ("type", pa.string()), ("wait", pa.duration("ms")), ("slow", pa.duration("s"))])
GAP = Arithmetic("-", Ref("c", "ts", INT), Ref("a", "ts", INT), INT)


@pytest.mark.parametrize(
    "unit, written, left, right",
    [
        ("s", "c.ts - a.ts < 5 minutes", GAP, Literal(300, INT)),
        ("ms", "c.ts - a.ts < 5 minutes", GAP, Literal(300_000, INT)),
        ("s", "1500 ms < c.ts - a.ts", Literal(1500, INT), scaled(GAP, 1000, INT)),
        ("s", "c.ts - a.ts < a.wait", scaled(GAP, 1000, INT), Ref("a", "wait", duration("ms"))),
        ("ms", "c.ts - a.ts < a.wait", GAP, Ref("a", "wait", duration("ms"))),
        ("ms", "c.ts - a.ts < a.slow", GAP, scaled(Ref("a", "slow", duration("s")), 1000, INT)),
        (
            "s",
            "c.ts < a.ts + 1 minute",
            Ref("c", "ts", INT),
            Arithmetic("+", Ref("a", "ts", INT), Literal(60, INT), INT),
        ),
        (
            "s",
            "c.ts > 1 minute + a.ts",
            Ref("c", "ts", INT),
            Arithmetic("+", Literal(60, INT), Ref("a", "ts", INT), INT),
        ),
        ("s", "(c.ts - a.ts) / 2 < 1500 ms", Arithmetic("/", GAP, Literal(2, INT), FLOAT), Literal(1.5, FLOAT)),
    ],
)
def test_integer_time_columns(bound: Any, unit: str, written: str, left: Expr, right: Expr) -> None:
    expr = only(bound, written, arrow=TICKS, options={"time_unit": unit})
    assert isinstance(expr, Compare)
    assert (expr.left, expr.right) == (left, right)


def test_float_time_columns_are_seconds(bound: Any) -> None:
    seconds = pa.schema([("ts", pa.float64()), ("type", pa.string())])
    gap = Arithmetic("-", Ref("c", "ts", FLOAT), Ref("a", "ts", FLOAT), FLOAT)
    assert only(bound, "c.ts - a.ts < 250 ms", arrow=seconds) == Compare("<", gap, Literal(0.25, FLOAT))
    shifted = Arithmetic("+", Ref("a", "ts", FLOAT), Literal(60, INT), FLOAT)
    assert only(bound, "c.ts < a.ts + 1 min", arrow=seconds) == Compare("<", Ref("c", "ts", FLOAT), shifted)


@pytest.mark.parametrize(
    "where, expected",
    [
        ("c.ts < a.ts + 1500 ms", ["A302"]),
        ("c.ts < a.ts + a.wait", ["A302"]),
        ("c.ts - a.ts < FOREVER", ["A308"]),
        ("FOREVER > c.ts - a.ts", ["A308"]),
    ],
)
def test_integer_times_that_do_not_fit(codes: Any, where: str, expected: list[str]) -> None:
    options = {"time_unit": "s" if "FOREVER" not in where else "us"}
    parameters = {"FOREVER": timedelta(days=999_999_999)}
    query = f"PATTERN SEQ(A a, C c) WHERE {where}"
    found = codes(query, arrow=TICKS, options=options, parameters=parameters)
    assert found == expected


@pytest.mark.parametrize(
    "where, expected",
    [
        ("a.ts > 'soon'", ["A307"]),
        ("'soon' < a.ts", ["A307"]),
        ("a.ts - 'soon' > 1 s", ["A307"]),
        ("a.ts > '1970-01-01T00:00:00.0000000001'", ["A307"]),
        ("a.ts > '0001-01-01T00:00:00+01:00'", ["A307"]),
        ("a.ts > a.symbol", ["A301"]),
        ("a.ts > 5", ["A301"]),
        ("a.volume > 5 minutes", ["A301"]),
        ("a.volume + 5 minutes > 5", ["A302"]),
        ("a.ts + a.ts > 5", ["A302"]),
        ("5 minutes - a.ts > 5", ["A302"]),
        ("a.delay % 2 > 1 s", ["A302"]),
        ("2 / a.delay > 1", ["A302"]),
        ("-a.ts > a.ts", ["A313"]),
        ("FOREVER > a.delay * 2", []),
        ("a.ts + FOREVER > '2024-01-01'", []),
        ("a.micros + FOREVER > '2024-01-01'", ["A308"]),
        ("least(a.delay, FOREVER, a.wait) > 1 s", []),
        ("greatest(a.ts, a.delay) > 1 s", ["A304"]),
        ("least(1 ns, FOREVER) > 1 s", ["A308"]),
    ],
)
def test_error(codes: Any, where: str, expected: list[str]) -> None:
    assert codes(f"PATTERN A a WHERE {where}", parameters={"FOREVER": timedelta(days=999_999_999)}) == expected
