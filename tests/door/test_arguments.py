"""Every argument of every public function, given values of every wrong kind: it works, or is an error with a code."""

from __future__ import annotations

import datetime as dt
import decimal
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import augury
from augury import AuguryError, EventSchema, HostError, LossModel, Matcher, MatchOptions

EVENTS = [{"ts": i, "type": "AB"[i % 2], "x": i} for i in range(6)]
COLUMNS = pa.Table.from_pylist(EVENTS).schema
QUERY = "PATTERN SEQ(A a, B b) WITHIN 1 minute"

VALUES: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "zero": lambda: 0,
    "one": lambda: 1,
    "minus one": lambda: -1,
    "a huge integer": lambda: 10**5000,
    "a fraction": lambda: 1.5,
    "NaN": lambda: float("nan"),
    "infinity": lambda: float("inf"),
    "true": lambda: True,
    "no text": lambda: "",
    "text": lambda: "x",
    "a number as text": lambda: "5",
    "a NUL": lambda: "\0",
    "a lone surrogate": lambda: "\ud800",
    "bytes": lambda: b"x",
    "an empty list": list,
    "a list of text": lambda: ["x"],
    "a list of numbers": lambda: [1],
    "an empty dict": dict,
    "a dict": lambda: {"a": 1},
    "a dict by numbers": lambda: {1: 2},
    "a set": set,
    "an object": object,
    "a time": lambda: dt.datetime(2020, 1, 1),
    "a duration": lambda: dt.timedelta(1),
    "a decimal": lambda: decimal.Decimal(1),
    "an integer of NumPy": lambda: np.int64(3),
    "an array": lambda: np.array([1, 2]),
    "no time": lambda: pd.NaT,
    "a frame": lambda: pd.DataFrame({"a": [1]}),
    "a schema": lambda: COLUMNS,
    "a class": lambda: EventSchema,
    "a function": lambda: max,
    "a path that is not there": lambda: Path("nowhere.augury"),
    "a path with a NUL": lambda: Path("a\0b"),
    "an iterator": lambda: iter([]),
    "a complex number": lambda: 3j,
}

FUNCTIONS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "match": (augury.match, {"events": EVENTS, "query": QUERY}),
    "match_all": (augury.match_all, {"events": EVENTS, "queries": {"q": QUERY}}),
    "compile": (augury.compile, {"query": QUERY, "schema": COLUMNS}),
    "explain": (augury.explain, {"query": QUERY, "schema": COLUMNS}),
    "parse": (augury.parse, {"text": QUERY}),
    "Matcher": (Matcher, {"query": QUERY, "schema": COLUMNS}),
    "calibration": (augury.calibration, {"query": QUERY, "stream": EVENTS, "model": LossModel()}),
    "from_arrow": (EventSchema.from_arrow, {"arrow": COLUMNS}),
    "restore": (Matcher.restore, {"data": Matcher(QUERY, COLUMNS, jit=False).snapshot()}),
    "feed": (lambda events: Matcher(QUERY, COLUMNS, jit=False).feed(events), {}),
    "advance": (lambda watermark: Matcher(QUERY, COLUMNS, jit=False).advance(watermark), {}),
    "sample": (lambda size, seed=0: augury.match(EVENTS, QUERY, jit=False).sample(size, seed), {"size": 1}),
    "head": (lambda size: augury.match(EVENTS, QUERY, jit=False).head(size), {}),
    "parameter": (lambda p: augury.match(EVENTS, "SEQ(A a, B b) WHERE a.x < p", parameters={"p": p}), {}),
    "window": (lambda p: augury.match(EVENTS, "SEQ(A a, B b) WITHIN p", parameters={"p": p}), {}),
    "function": (lambda f: augury.match(EVENTS, "SEQ(A a, B b) WHERE f(a.x) < 3", functions={"f": f}), {}),
    "rate": (lambda rate: augury.match(EVENTS, QUERY, statistics={"rates": {"A": rate}}), {}),
}


def arguments_of(function: Callable[..., Any]) -> list[str]:
    """The names of all arguments, every option among them."""
    found: list[str] = []
    for name, parameter in inspect.signature(function).parameters.items():
        found += MatchOptions.__annotations__ if parameter.kind is inspect.Parameter.VAR_KEYWORD else [name]
    return found


ARGUMENTS = [(name, argument) for name, (function, _) in FUNCTIONS.items() for argument in arguments_of(function)]


# Each value of `jit` that works starts a compiler beside the stream.
SLOW = [("Matcher", "jit")]


@pytest.mark.parametrize(
    "name, argument", [pytest.param(*case, marks=[pytest.mark.slow] if case in SLOW else []) for case in ARGUMENTS]
)
def test_a_value_of_any_kind_works_or_is_an_error_with_a_code(
    name: str, argument: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A relative path that happens to be a good cache is made here.
    monkeypatch.chdir(tmp_path)
    function, given = FUNCTIONS[name]
    plain = {"jit": False} if "jit" in arguments_of(function) and argument != "jit" else {}
    for kind, value in VALUES.items():
        raised = error_of(lambda: function(**{**plain, **given, argument: value()}))  # noqa: B023
        if raised is not None:
            where = f"{name}({argument}=...) given {kind}: {type(raised).__name__}: {raised}"
            assert isinstance(raised, AuguryError), where
            assert re.match(r"error\[A\d{3}\]: ", str(raised)), where
            assert len(str(raised)) < 5_000, where


def error_of(call: Callable[[], object]) -> Exception | None:
    try:
        call()
    except Exception as e:
        return e
    return None


@pytest.mark.parametrize(
    "options, message",
    [
        ({"query": None}, "error[A610]: the argument `query` is the text of a query, or a Path to a file"),
        ({"time": 3}, "error[A610]: the argument `time` is the name of a column, not 3"),
        ({"type": 3}, "error[A610]: the argument `type` is the name of a column or None, not 3"),
        (
            {"order_by": 5},
            "error[A610]: the argument `order_by` is the name of a column or a list of such names, not 5",
        ),
        ({"order_by": ["ts", 5]}, "error[A610]: the argument `order_by[1]` is a string, not 5"),
        ({"max_matches": "5"}, "error[A522]: max_matches is a positive integer, not '5'"),
        ({"max_matches": True}, "error[A522]: max_matches is a positive integer, not True"),
        ({"loss": 5}, "error[A610]: the argument `loss` is a LossModel or None, not 5"),
        ({"jit": "no"}, "error[A610]: the argument `jit` is True, False or None, not 'no'"),
        ({"functions": {"f": 1}}, "error[A610]: the argument `functions['f']` is a function, not 1"),
        ({"parameters": [1]}, "error[A610]: the argument `parameters` is a dict of values by name, not a list"),
        ({"plan": "fast"}, "error[A611]: there is no plan `fast`"),
    ],
)
def test_the_message_names_the_argument(options: dict[str, Any], message: str) -> None:
    with pytest.raises(HostError) as caught:
        augury.match(**{"events": EVENTS, "query": QUERY, **options})
    assert str(caught.value).startswith(message)


def test_integers_and_booleans_of_numpy_are_integers_and_booleans() -> None:
    found = augury.match(EVENTS, QUERY, max_matches=np.int32(100), jit=np.False_, counters=np.True_)  # type: ignore[arg-type]
    assert found.counters is not None


def test_a_plan_that_cannot_run_a_query_has_a_code() -> None:
    with pytest.raises(augury.UnsupportedPlan, match=r"error\[A612\]: plan `lazy-chain` cannot run this query"):
        augury.match(EVENTS, "SEQ(A a, B b) WHERE strict_contiguity {}", plan="lazy-chain")
