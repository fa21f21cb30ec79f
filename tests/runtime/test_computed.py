"""Columns of expressions, against the evaluator row by row."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from augury.errors import HostError
from augury.ir.evaluate import evaluate
from augury.ir.functions import standardise
from augury.ir.predicate import Arithmetic, Call, Compare, Element, Expr, IsNull, Literal, Ref
from augury.runtime.computed import compute_column, standardise_rows, standardised
from augury.runtime.values import to_values
from augury.schema import BOOL, FLOAT, INT, STRING, ColumnType, list_of, timestamp

S, N, F = Ref("a", "s", STRING), Ref("a", "i", INT), Ref("a", "f", FLOAT)
H, T = Ref("a", "h", list_of(FLOAT)), Ref("a", "t", timestamp("us"))

EXPRESSIONS: list[Expr] = [
    Call("lower", (S,), STRING),
    Call("length", (S,), INT),
    Call("coalesce", (S, Literal("none", STRING)), STRING),
    IsNull(S),
    Compare("<", S, Literal("b", STRING)),
    Call("shout", (S, N), STRING),
    Call("half", (N,), FLOAT),
    Arithmetic("/", N, F, FLOAT),
    Arithmetic("+", N, Literal(2**63 - 1, INT), INT),
    Call("coalesce", (N, F), FLOAT),
    Call("coalesce", (T, Literal(3, timestamp("us"))), timestamp("us")),
    Call("length", (H,), INT),
    Call("standardise", (H,), list_of(FLOAT)),
    Call("coalesce", (H, H), list_of(FLOAT)),
    Call("length", (Ref("a", "s", STRING, Element.PREVIOUS),), INT),
    Call("length", (Ref("a", "s", STRING, Element.EACH),), INT),
]
FUNCTIONS: dict[str, Callable[..., Any]] = {"shout": lambda s, i: s * (i % 3), "half": lambda i: i / 2}

numbers = st.floats(allow_nan=True, allow_infinity=True) | st.sampled_from([0.0, -0.0, 1.0, 1e308, 5e-324])
rows = st.lists(
    st.tuples(
        st.none() | st.text(alphabet="aBß", max_size=2),
        st.none() | st.integers(-(2**63), 2**63 - 1),
        st.none() | numbers,
        st.none() | st.lists(st.none() | numbers, max_size=4),
        st.none() | st.integers(-9, 9),
    ),
    max_size=6,
)


def table_of(events: list[tuple[Any, ...]]) -> pa.Table:
    types = [pa.string(), pa.int64(), pa.float64(), pa.list_(pa.float64()), pa.timestamp("us")]
    return pa.table(
        {n: pa.array([e[k] for e in events], t) for k, (n, t) in enumerate(zip("sifht", types, strict=True))}
    )


@pytest.mark.parametrize("expr", EXPRESSIONS, ids=range(len(EXPRESSIONS)))
@given(events=rows)
def test_a_computed_column_is_what_the_evaluator_says(expr: Expr, events: list[tuple[Any, ...]]) -> None:
    table = table_of(events)
    values = {name: to_values(table[name]) for name in table.column_names}
    single = [
        evaluate(expr, {"a": [{n: v[i] for n, v in values.items()}]}, elements={"a": 0}, functions=FUNCTIONS)
        for i in range(len(events))
    ]
    expected = [float(v) if expr.type == FLOAT and isinstance(v, int) else v for v in single]
    assert list(map(repr, compute_column(expr, "a", table, FUNCTIONS).to_pylist())) == list(map(repr, expected))


@given(
    st.lists(st.none() | st.lists(st.none() | numbers, max_size=5), max_size=8),
    st.integers(0, 8),
)
def test_standardised_is_standardise_to_the_last_bit(lists: list[list[float | None] | None], start: int) -> None:
    array = pa.array(lists, pa.list_(pa.float64())).slice(start)
    expected = [None if v is None else standardise(v) for v in lists[start:]]
    assert list(map(repr, standardised(array, standardise_rows).to_pylist())) == list(map(repr, expected))


@given(st.lists(st.lists(st.floats(-1e6, 1e6), min_size=20, max_size=20), min_size=1, max_size=4))
def test_long_lists_are_summed_from_left_to_right(lists: list[list[float]]) -> None:
    assert standardised(pa.array(lists), standardise_rows).to_pylist() == [standardise(v) for v in lists]


@given(st.lists(st.lists(st.integers(-(2**63), 2**63 - 1), max_size=4), max_size=4))
def test_standardised_integers(lists: list[list[int]]) -> None:
    assert standardised(pa.array(lists, pa.list_(pa.int64())), standardise_rows).to_pylist() == [
        standardise(v) for v in lists
    ]


def test_a_function_of_one_string_is_asked_once_for_each_string() -> None:
    asked: list[str] = []

    def score(s: str) -> int:
        asked.append(s)
        return len(s)

    table = pa.table({"s": ["x", "yy", "x", None, "x"]})
    column = compute_column(Call("score", (S,), INT), "a", table, {"score": score})
    assert column.to_pylist() == [1, 2, 1, None, 1]
    assert asked == ["x", "yy"]


@pytest.mark.parametrize(
    "type, value",
    [(INT, 1.5), (INT, "1"), (FLOAT, "1.5"), (FLOAT, [1.0]), (BOOL, 1), (STRING, 1), (STRING, "\ud800")],
    ids=repr,
)
def test_a_function_that_breaks_its_annotation_is_an_error(type: ColumnType, value: Any) -> None:
    expr = Call("f", (N,), type)
    with pytest.raises(HostError, match=r"`f\(a\.i\)` is of type .* but one of its values is not") as e:
        compute_column(expr, "a", pa.table({"i": [1]}), {"f": lambda _: value})
    assert e.value.code == "A527"


def test_not_a_number_is_null() -> None:
    column = compute_column(Call("f", (N,), FLOAT), "a", pa.table({"i": [1]}), {"f": lambda _: math.nan})
    assert column.to_pylist() == [None]


def test_the_error_of_a_function_tells_its_arguments() -> None:
    with pytest.raises(HostError, match=r"`f` raised ZeroDivisionError: .* called as f\(0\)"):
        compute_column(Call("f", (N,), INT), "a", pa.table({"i": [0]}), {"f": lambda i: 1 // i})
