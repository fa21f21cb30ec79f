"""Queries that differ in values alone are one kernel: constants, windows, types and thresholds are no text of it."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import augury
from augury import LossModel, Uniform
from augury.plan import FamilyName
from augury.runtime.kernel_source import KernelSource

COLUMNS = pa.schema(
    [
        ("ts", pa.timestamp("ms")),
        ("type", pa.string()),
        ("symbol", pa.string()),
        ("price", pa.float64()),
        ("volume", pa.int64()),
        ("history", pa.list_(pa.float64())),
    ]
)

SHAPES: Mapping[str, tuple[FamilyName, str]] = {
    "a sequence": (
        "eager-nfa",
        "PATTERN SEQ({A} a, {B} b) WHERE skip_till_next_match {{ a.price > {x} AND b.volume < {n} "
        "AND b.symbol = '{s}' }} WITHIN {n} seconds",
    ),
    "a list and its sum": (
        "eager-nfa",
        "PATTERN SEQ({A}+ a[], {B} b) WHERE skip_till_any_match {{ sum(a[].price * {x}) < b.price + {n} }} "
        "WITHIN {n} EVENTS",
    ),
    "negation": (
        "eager-nfa",
        "PATTERN SEQ({A} a, NOT({C} c), {B} b) WHERE skip_till_any_match {{ c.price > {x} }} WITHIN {n} minutes",
    ),
    "a chain": (
        "lazy-chain",
        "PATTERN SEQ({A} a, {B} b, {C} c) WHERE a.price < b.price + {x} AND c.symbol IN ('{s}', 'y') WITHIN {n} hours",
    ),
    "a chain with a list": (
        "lazy-chain",
        "PATTERN SEQ({A} a, {B}+ b[], {C} c) WHERE b[i].price > {x} AND sum(b[].volume) > {n} WITHIN {n} seconds",
    ),
    "correlation": (
        "lazy-chain",
        "PATTERN SEQ({A} a, {B} b) WHERE corr(a.history, b.history) > 0.{n} WITHIN {n} minutes",
    ),
    "a set of events": (
        "event-sets",
        "PATTERN SEQ(AND({A} a, {B} b), {C} c) WHERE skip_till_next_match {{ a.price > {x} AND c.volume > {n} }} "
        "WITHIN {n} minutes",
    ),
    "the latest match": (
        "linked",
        "PATTERN SEQ({A} a, {B} b, {C} c) WHERE skip_till_any_match {{ b.price > a.price * {x} }} WITHIN {n} minutes "
        "OUTPUT LATEST",
    ),
}


def kernel(plan: FamilyName, query: str, **options: Any) -> KernelSource:
    compiled = augury.compile(query, COLUMNS, plan=plan, **options).program.last.kernel
    assert compiled is not None
    return compiled.source


def written(query: str, k: int) -> str:
    """A query with values that differ in their number of digits, in being whole, and in which of them are equal."""
    types = {"A": f"T{k}", "B": f"T{k if k % 3 == 0 else k + 1}", "C": f"Other{k}"}
    return query.format(**types, x=k + 2 if k % 2 else k + 0.25, n=11 + 7 * k, s="y" if k % 2 else f"symbol {k}")


@pytest.mark.parametrize("name", SHAPES)
def test_queries_that_differ_in_values_are_one_kernel(name: str) -> None:
    plan, query = SHAPES[name]
    # Whether two components can bind the same event decides how they are searched: that is part of the shape.
    sources = [kernel(plan, written(query, k)) for k in (1, 2, 4, 5, 7)]
    assert len({source.fingerprint for source in sources}) == 1
    assert len({source.entries for source in sources}) == 1
    assert len({tuple(map(bytes, source.sets)) for source in sources}) == len(sources)
    assert all([one.dtype for one in source.sets] == [one.dtype for one in sources[0].sets] for source in sources)


def test_a_lossy_query_is_one_kernel_whatever_its_threshold() -> None:
    loss = LossModel(0.3, {}, {"a": Uniform(0, 60), "b": Uniform(0, 60)})
    sources = [
        augury.compile(
            f"PATTERN SEQ(A a, B b, C c) WHERE c.price > {k} WITHIN 1{k} minutes THRESHOLD 0.2{k}", COLUMNS, loss=loss
        ).program.last.kernel
        for k in (1, 2, 3)
    ]
    assert len({source.source.fingerprint for source in sources if source is not None}) == 1


@pytest.mark.parametrize(
    "one, other",
    [
        ("a.price > 1", "a.price >= 1"),
        ("a.price > 1", "a.volume > 1"),
        ("a.volume > 1", "a.volume > 1.5"),
        ("a.price > 1 AND b.price > 1", "b.price > 1 AND b.price > 1"),
        ("a.volume IN (1, 2)", "a.volume IN (1, 2.5)"),
    ],
)
def test_what_is_tested_is_part_of_the_shape(one: str, other: str) -> None:
    first, second = (
        kernel("eager-nfa", f"PATTERN SEQ(A a, B b) WHERE skip_till_any_match {{ {text} }} WITHIN 1 hour")
        for text in (one, other)
    )
    assert first.fingerprint != second.fingerprint


QUERY = (
    "PATTERN SEQ(A a, B b) WHERE skip_till_any_match { a.price > least AND b.volume < most AND b.symbol = wanted } "
    "WITHIN span"
)


def values(k: int) -> dict[str, Any]:
    return {"least": k / 2, "most": 100 - k, "wanted": "xyz"[k % 3], "span": timedelta(milliseconds=5 + k)}


def events(n: int) -> pa.Table:
    rows = range(n)
    columns: dict[str, list[Any]] = {
        "ts": [4 * i for i in rows],
        "type": ["AB"[i % 2] for i in rows],
        "symbol": ["xyz"[i % 5 % 3] for i in rows],
        "price": [i % 17 / 1.0 for i in rows],
        "volume": [i * 7 % 100 for i in rows],
        "history": [None for _ in rows],
    }
    return pa.table(columns, schema=COLUMNS)


def compiled_for(count: int, plan: FamilyName, cache_dir: Path, every: int) -> list[int]:
    """How many functions were compiled for the query with each of so many values; every few of them are checked."""
    stream, compilations = events(60), []
    for k in range(count):
        options: dict[str, Any] = {"plan": plan, "parameters": values(k)}
        found = augury.match(stream, QUERY, **options, jit=True, counters=True, cache_dir=cache_dir)
        if k % every == 0:
            assert found == augury.match(stream, QUERY, **(options | {"plan": "reference"}))
        assert found.counters is not None
        compilations.append(found.counters["compilations"])
    return compilations


@pytest.mark.parametrize("plan", ["eager-nfa", "lazy-chain"])
def test_the_first_of_many_values_is_compiled(plan: FamilyName, tmp_path: Path) -> None:
    first, *others = compiled_for(12, plan, tmp_path, every=1)
    assert first > 0
    assert others == [0] * 11


@pytest.mark.slow
def test_a_thousand_values_compile_once(tmp_path: Path) -> None:
    first, *others = compiled_for(1_000, "eager-nfa", tmp_path, every=100)
    assert first > 0
    assert not any(others)
