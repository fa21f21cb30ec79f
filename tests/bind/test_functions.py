"""The built-in functions: values, nulls and types."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury.ir.functions import BUILTINS, INTERNAL, corr, dot, standardise
from augury.schema import (
    BOOL,
    FLOAT,
    INT,
    INT_MAX,
    INT_MIN,
    NULL,
    OTHER,
    STRING,
    ColumnType,
    duration,
    list_of,
    timestamp,
)


@pytest.mark.parametrize(
    "name, arguments, value",
    [
        ("abs", (-3,), 3),
        ("abs", (-2.5,), 2.5),
        ("abs", (INT_MIN,), None),
        ("sqrt", (9,), 3.0),
        ("sqrt", (-1,), None),
        ("exp", (0,), 1.0),
        ("exp", (1000,), math.inf),
        ("exp", (-math.inf,), 0.0),
        ("ln", (math.e,), 1.0),
        ("ln", (0,), None),
        ("ln", (-1.0,), None),
        ("floor", (-1.5,), -2),
        ("floor", (1e19,), None),
        ("floor", (math.inf,), None),
        ("ceil", (-1.5,), -1),
        ("ceil", (-1e19,), None),
        ("ceil", (-math.inf,), None),
        ("round", (2.5,), 3.0),
        ("round", (-2.5,), -3.0),
        ("round", (0.49999999999999994,), 0.0),
        ("round", (1.25, 1), 1.3),
        ("round", (1250.0, -2), 1300.0),
        ("round", (7, 3), 7),
        ("round", (1250, -2), 1300),
        ("round", (-1250, -2), -1300),
        ("round", (INT_MAX, -1), None),
        ("round", (INT_MAX, -400), 0),
        ("round", (1.5, 400), 1.5),
        ("round", (1.5, -400), 0.0),
        ("round", (1e300, 300), 1e300),
        ("round", (math.inf,), math.inf),
        ("least", (3, None, 2), 2),
        ("least", (None, None), None),
        ("greatest", (3, None, 2.5), 3),
        ("greatest", (None,), None),
        ("coalesce", (None, "x", "y"), "x"),
        ("coalesce", (None,), None),
        ("length", ("naïve",), 5),
        ("length", ([1, None],), 2),
        ("lower", ("ÀB",), "àb"),
        ("upper", ("straße",), "STRASSE"),
        ("corr", ([1, 2, 4], [2, 4, 8]), 1.0),
        ("corr", ([1, 2], [1, 2, 3]), None),
        ("corr", ([1, 1], [1, 2]), None),
        ("dot", ([1.0, 2.0], [3.0, None]), None),
        ("dot", ([1.0], [3.0, 4.0]), None),
        ("dot", ([math.inf], [0.0]), None),
        ("standardise", ([1],), None),
        ("standardise", ([],), None),
        ("standardise", ([1, None, 3],), None),
        ("standardise", ([1.0, math.nan],), None),
        ("standardise", ([2, 2, 2],), None),
        ("standardise", ([1e308, -1e308],), None),
    ],
)
def test_value(name: str, arguments: tuple[Any, ...], value: Any) -> None:
    result = BUILTINS[name].compute(*arguments)
    assert result == (pytest.approx(value) if isinstance(value, float) else value)
    assert type(result) is type(value)


@pytest.mark.parametrize("name", sorted(set(BUILTINS) - {"least", "greatest", "coalesce"}))
def test_null_argument_gives_null(name: str) -> None:
    function = BUILTINS[name]
    for count in range(function.least, (function.most or 3) + 1):
        assert function.compute(*[None] * count) is None


lists = st.lists(st.one_of(st.integers(-(10**6), 10**6), st.floats(-1e6, 1e6)), max_size=6)


@given(lists, lists)
def test_corr_is_the_dot_product_of_standardised_rows(x: list[float], y: list[float]) -> None:
    left, right = standardise(x), standardise(y)
    assert corr(x, y) == (None if left is None or right is None else dot(left, right))


@given(lists.filter(lambda x: standardise(x) is not None))
def test_a_list_correlates_with_itself(x: list[float]) -> None:
    assert corr(x, x) == pytest.approx(1.0)


@given(st.integers(-(10**9), 10**9), st.integers(-6, 6))
def test_round_of_an_integer_is_the_nearest_multiple(x: int, places: int) -> None:
    result, step = BUILTINS["round"].compute(x, places), 10 ** max(0, -places)
    assert isinstance(result, int)
    assert result % step == 0
    assert abs(result - x) * 2 <= step
    assert abs(result - x) * 2 < step or abs(result) > abs(x) or step == 1


NUMBERS, LISTS = list_of(FLOAT), list_of(STRING)


@pytest.mark.parametrize(
    "name, types, result",
    [
        ("abs", (INT,), INT),
        ("abs", (duration("ms"),), duration("ms")),
        ("abs", (STRING,), None),
        ("sqrt", (INT,), FLOAT),
        ("sqrt", (BOOL,), None),
        ("floor", (FLOAT,), INT),
        ("floor", (NULL,), INT),
        ("round", (FLOAT, INT), FLOAT),
        ("round", (INT,), INT),
        ("round", (FLOAT, FLOAT), None),
        ("least", (INT, INT), INT),
        ("least", (INT, FLOAT), FLOAT),
        ("least", (STRING, NULL), STRING),
        ("least", (NULL,), NULL),
        ("greatest", (timestamp("s"), timestamp("s")), timestamp("s")),
        ("greatest", (BOOL, BOOL), None),
        ("greatest", (STRING, INT), None),
        ("coalesce", (BOOL, BOOL), BOOL),
        ("coalesce", (NUMBERS, NUMBERS), NUMBERS),
        ("length", (STRING,), INT),
        ("length", (LISTS,), INT),
        ("length", (OTHER,), None),
        ("lower", (STRING,), STRING),
        ("lower", (INT,), None),
        ("corr", (NUMBERS, list_of(INT)), FLOAT),
        ("corr", (NUMBERS, LISTS), None),
        ("corr", (NUMBERS, FLOAT), None),
        ("standardise", (NUMBERS,), NUMBERS),
        ("dot", (NUMBERS, NULL), FLOAT),
    ],
)
def test_type(name: str, types: tuple[ColumnType, ...], result: ColumnType | None) -> None:
    assert BUILTINS[name].result(types) == result


def test_internal_functions_are_built_in() -> None:
    assert INTERNAL.issubset(BUILTINS)
