"""Aggregates over the matches of an event: exact, and without writing the matches out."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import augury
from augury.compiler import compile_program, load
from augury.errors import HostError
from augury.jit.tier import Tier
from augury.native.support import support_source
from augury.options import Options
from augury.plan import FamilyName
from augury.runtime.batch import EventBatch, time_ticks
from augury.runtime.state import FOREVER, Kernel
from augury.schema import EventSchema
from augury.source import Source

PLAIN = Options(jit=False, counters=True)


def blocks(types: str, size: int) -> pa.Table:
    """`size` events of each type but the last, which has one, type after type; `x` counts from 1 within a type."""
    names = [t for t in types[:-1] for _ in range(size)] + [types[-1]]
    return pa.table(
        {
            "ts": np.arange(len(names)),
            "type": names,
            "x": [*(k % size + 1 for k in range(len(names) - 1)), 1],
            "y": [*(0.1 * (k % size + 1) for k in range(len(names) - 1)), 0.1],
        }
    )


def kernel_of(text: str, events: pa.Table, plan: FamilyName) -> tuple[Kernel, EventSchema]:
    schema = EventSchema.from_arrow(events.schema)
    options = Options(jit=False, counters=True, plan=plan)
    return load(compile_program(Source(text), schema, options).last, options), schema


def work(text: str, events: pa.Table, plan: FamilyName) -> tuple[tuple[object, ...], int]:
    """The totals of the one completing event, and the steps that they took."""
    kernel, schema = kernel_of(text, events, plan)
    batch = EventBatch(events, np.arange(events.num_rows), time_ticks(events, schema))
    state, found = kernel.step(kernel.start(), batch, FOREVER)
    (one,) = found
    return (one.count, *one.totals), kernel.counters(state)["weighed"]  # type: ignore[attr-defined]


SEVEN = "SEQ(A a, B b, C c, D d, E e, F f, G g)"


def test_sums_over_a_million_million_sequences() -> None:
    text = f"{SEVEN} OUTPUT COUNT RETURN sum(a.x) AS s, avg(c.y) AS m, max(f.x) AS hi, min(b.y) AS lo"
    events = blocks("ABCDEFG", 100)
    (count, s, m, hi, lo), many = work(text, events, "lazy-chain")
    assert count == 10**12
    assert s == 10**10 * sum(range(1, 101))
    assert m == pytest.approx(0.1 * 50.5, rel=1e-15)
    assert (hi, lo) == (100, 0.1)
    (count, *_), few = work(text, blocks("ABCDEFG", 10), "lazy-chain")
    assert count == 10**6
    # Ten times the events are ten times the steps, for a million times the matches.
    assert many <= 10.5 * few


def test_sums_over_a_million_million_lists() -> None:
    text = "SEQ(A+ a[], B b) OUTPUT COUNT RETURN sum(a[].x) AS s, avg(a[].x) AS m, count(a[]) AS n, max(a[].y) AS hi"
    (count, s, m, n, hi), many = work(text, blocks("AB", 40), "eager-nfa")
    assert count == 2**40 - 1
    assert (s, n) == (2**39 * sum(range(1, 41)), 2**39 * 40)
    assert (m, hi) == (20.5, 4.0)
    (count, *_), few = work(text, blocks("AB", 20), "eager-nfa")
    assert count == 2**20 - 1
    assert many <= 2 * few


def test_sums_near_the_limit_of_64_bits_are_exact() -> None:
    text = "SEQ(A+ a[], B b) OUTPUT COUNT RETURN sum(a[].x) AS s, avg(a[].x) AS m, sum(a[].y) AS f, min(a[].x) AS lo"
    (count, s, m, f, lo), _ = work(text, blocks("AB", 53), "eager-nfa")
    assert (count, s, m, lo) == (2**53 - 1, 2**52 * 27 * 53, 27.0, 1)
    assert f == pytest.approx(2.0**52 * 0.1 * 27 * 53)
    with pytest.raises(HostError, match="sum"):
        work(text, blocks("AB", 60), "eager-nfa")


def test_large_integers_are_summed_exactly() -> None:
    events = pa.table({"ts": [1, 2, 3, 4], "type": ["A", "A", "A", "B"], "x": [2**62 + 1, -(2**62), 2**62 + 3, 0]})
    text = "SEQ(A a, B b) OUTPUT COUNT RETURN sum(a.x) AS s, max(a.x) AS hi, min(a.x) AS lo"
    for plan in ("reference", "eager-nfa", "lazy-chain"):
        (row,) = augury.match(events, text, plan=plan, jit=False).to_pylist()
        assert (row["s"], row["hi"], row["lo"]) == (2**62 + 4, 2**62 + 3, -(2**62)), plan


def test_extreme_values_are_values() -> None:
    events = pa.table(
        {"ts": [1, 2, 3], "type": ["A", "A", "B"], "x": [2**63 - 1, -(2**63), 0], "y": [math.inf, -0.0, 1.0]}
    )
    text = "SEQ(A a, B b) OUTPUT COUNT RETURN max(a.x) AS hi, min(a.x) AS lo, sum(a.y) AS s, min(a.y) AS least"
    for plan in ("reference", "eager-nfa", "lazy-chain"):
        (row,) = augury.match(events, text, plan=plan, jit=False).to_pylist()
        assert (row["hi"], row["lo"], row["s"], row["least"]) == (2**63 - 1, -(2**63), math.inf, 0.0), plan


def test_a_count_with_totals_is_an_event_for_later_queries() -> None:
    events = pa.table({"ts": [1, 2, 3, 4, 5], "type": ["A", "A", "B", "A", "B"], "x": [1, 2, 3, 4, 5]})
    program = """
        SEQ(A a, B b) WITHIN 1 hour OUTPUT COUNT RETURN sum(a.x) AS total, b.x AS own INTO Sum;
        PATTERN Sum s WHERE s.total > 3 RETURN s.total, s.own
    """
    assert augury.match(events, program).to_pylist() == [{"start": 5, "end": 5, "total": 7, "own": 5}]


# -- pairs of floats ---------------------------------------------------------------------------------------------------

NUMBERS = st.floats(-1e60, 1e60).filter(lambda x: x == 0 or abs(x) > 1e-60)
SUPPORT = Tier(support_source(), PLAIN)


@given(NUMBERS, NUMBERS, NUMBERS)
def test_pairs_are_twice_as_exact(x: float, a: float, b: float) -> None:
    high, low = SUPPORT("added", x, 0.0, *SUPPORT("multiplied", a, 0.0, b, 0.0))
    exact = Fraction(x) + Fraction(a) * Fraction(b)
    largest = max(abs(Fraction(x)), abs(Fraction(a) * Fraction(b)))
    assert abs(Fraction(high) + Fraction(low) - exact) <= largest / 2**100


@given(st.integers(-(2**49), 2**49), st.integers(-(2**49), 2**49), st.integers(-(2**98), 2**98))
def test_integers_are_exact(a: int, b: int, c: int) -> None:
    high = float(c)
    product = SUPPORT("multiplied", float(a), 0.0, float(b), 0.0)
    found = SUPPORT("added", high, float(c - int(high)), *product)
    assert sum(map(int, found)) == a * b + c
