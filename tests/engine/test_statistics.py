"""Rates and selectivities, measured on streams of which they are known."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import augury
from augury.engine.arrivals import Arrivals, arrive, in_order
from augury.engine.statistics.measure import SAMPLE_BLOCK_EVENTS, SAMPLE_BLOCKS, measure
from augury.ir.query import BoundQuery
from augury.plan import StreamStatistics
from augury.schema import EventSchema
from tests.complexity import calls_of


def sorted_events(table: pa.Table) -> Arrivals:
    schema = EventSchema.from_arrow(table.schema)
    return in_order(arrive(table, schema, 0), schema)


def bound(text: str, table: pa.Table, **functions: object) -> BoundQuery:
    return augury.compile(f"PATTERN {text}", table.schema, functions=functions).program.last.rewritten  # type: ignore[arg-type]


def measured(text: str, table: pa.Table) -> StreamStatistics:
    return measure(sorted_events(table), bound(text, table))


HISTORIES = ([1, 2, 3], [3, 2, 1], [1, 2, 3, 4], None)


def stream(size: int, seed: int = 3) -> pa.Table:
    """One event a second, nine A for each B."""
    random = np.random.default_rng(seed)
    return pa.table(
        {
            "ts": np.arange(size),
            "type": random.choice(["A", "B"], size, p=[0.9, 0.1]),
            "x": random.random(size),
            "n": random.integers(0, 4, size),
            "k": random.choice(["p", "q", "r", "s"], size),
            "h": pa.array([HISTORIES[i] for i in random.integers(0, 4, size)], pa.list_(pa.float64())),
        }
    )


TABLE = stream(5_000)


def test_rates_are_those_of_the_types() -> None:
    found = measured("SEQ(A a, B b, A|B c, d) WITHIN 1 minute", TABLE)
    types = TABLE["type"].to_pylist()
    ticks = len(TABLE) - 1
    expected = {"a": types.count("A"), "b": types.count("B"), "c": len(TABLE), "d": len(TABLE)}
    assert found.rates == pytest.approx({v: number / ticks for v, number in expected.items()})
    assert (found.total, found.ticks) == (len(TABLE) / ticks, ticks)
    assert found.source == "measured on all 5000 events"


@pytest.mark.parametrize(
    "condition, share",
    [
        ("a.x < 0.25", 0.25),
        ("0.25 > a.x AND a.n = 1", 0.25 * 0.25),
        ("a.k = 'p'", 0.25),
        ("a.n >= 2.5", 0.25),
        ("a.n != 2", 0.75),
        ("a.x + a.x < 0.5", 0.25),
        ("upper(a.k) = 'P' AND a.x < 0.5", 0.25 * 0.5),
        ("a.x < 0", 0.0),
    ],
)
def test_rates_are_after_the_conditions_on_one_event_alone(condition: str, share: float) -> None:
    found = measured(f"SEQ(A a, B b) WHERE {condition} WITHIN 1 minute", TABLE)
    assert found.rates["a"] == pytest.approx(0.9 * share, rel=0.3, abs=1e-3)
    assert found.rates["a"] > 0, "what never occurred may still come"
    assert found.selectivities == {}


@pytest.mark.parametrize(
    "condition, share",
    [
        ("a.x < b.x", 0.5),
        ("a.n = b.n", 0.25),
        ("a.x > 2 * b.x", 0.25),
        ("a.k = b.k OR a.x < b.x", 0.625),
        ("a.x < b.n", 0.75),
        ("a.x * 0.5 - 0.1 < b.x * b.x", 0.66),
        ("corr(a.h, b.h) > 0.9", 3 / 16),
        ("corr(a.h, b.h) < -0.9", 2 / 16),
        ("corr(l[i].h, a.h) > 0.9", 3 / 16),
        ("a.n < c.x + b.n", 0.625),
        ("l[i].x > l[i-1].x", 0.5),
        ("avg(l[].x) > a.x", 0.5),
        ("l[1].x < a.x", 0.5),
    ],
)
def test_selectivities(condition: str, share: float) -> None:
    found = measured(f"SEQ(A a, A b, A c, A+ l[]) WHERE {condition} WITHIN 1 minute", TABLE)
    (true,) = found.selectivities.values()
    assert true == pytest.approx(share, abs=0.12)


@pytest.mark.parametrize("length, least, most", [(30, 0.005, 0.05), (10, 1.0, 1.0)])
def test_what_leading_coefficients_leave(length: int, least: float, most: float) -> None:
    """Of walks a few, of short lists all: a bound would read as much of them as their product. Of one pair, none."""
    walks = np.random.default_rng(1).normal(size=(2_000, length)).cumsum(axis=1)
    table = pa.table({"ts": range(2_000), "type": ["A", "B"] * 1_000, "h": pa.array(walks.tolist())})
    for condition in ("corr(a.h, b.h) > 0.9", "-0.9 > corr(b.h, a.h)"):
        found = measured(f"SEQ(A a, B b) WHERE {condition} WITHIN 5 minutes", table)
        ((text, share),) = found.bounded.items()
        assert text in found.selectivities
        assert found.selectivities[text] < share or share == 1.0
        assert least <= share <= most
    assert measured("SEQ(A a, B b) WHERE a.ts < b.ts WITHIN 5 minutes", table).bounded == {}


def test_conditions_on_the_same_events_are_measured_one_after_the_other() -> None:
    """Each of the first two is true of about half of all pairs, both of one in ten."""
    found = measured("SEQ(A a, B b, A c) WHERE a.x < b.x AND b.x < a.x + 0.1 AND c.x < b.x WITHIN 1 minute", TABLE)
    a, near, c = (found.selectivities[text] for text in ("a.x < b.x", "b.x < a.x + 0.1", "c.x < b.x"))
    assert [a, c] == pytest.approx([0.5, 0.5], abs=0.05)
    assert a * near == pytest.approx(0.1, abs=0.04)


def test_a_condition_that_is_never_true_does_not_hide_the_others() -> None:
    found = measured("SEQ(A a, B b) WHERE a.x > b.x + 2 AND a.n = b.n WITHIN 1 minute", TABLE)
    assert found.selectivities["a.x > b.x + 2"] < 0.01
    assert found.selectivities["a.n = b.n"] == pytest.approx(0.25, abs=0.05)


def test_tuples_lie_in_a_window_and_in_order() -> None:
    """Prices rise all the time, so that in a sequence the later one is always higher; sessions last five seconds."""
    table = pa.table(
        {"ts": range(3_000), "type": ["A", "B"] * 1_500, "x": range(3_000), "k": [f"s{i // 5}" for i in range(3_000)]}
    )
    rising = measured("SEQ(A a, B b) WHERE a.x < b.x AND a.x + 100 < b.x AND a.k = b.k WITHIN 10 seconds", table)
    assert rising.selectivities["a.x < b.x"] == 1.0
    assert rising.selectivities["a.x + 100 < b.x"] < 0.01, "nothing beyond the window is looked at"
    assert rising.selectivities["a.k = b.k"] == pytest.approx(0.25, abs=0.1)
    counted = measured("SEQ(A a, B b) WHERE a.x + 100 < b.x WITHIN 20 EVENTS", table)
    assert counted.selectivities["a.x + 100 < b.x"] < 0.01
    assert measured("SEQ(A a, B b) WHERE a.x + 100 < b.x", table).selectivities["a.x + 100 < b.x"] > 0.75
    anywhere = measured("AND(A a, B b) WHERE a.x < b.x WITHIN 10 seconds", table)
    assert anywhere.selectivities["a.x < b.x"] == pytest.approx(0.5, abs=0.1)


def test_negated_events_are_measured_between_their_neighbours() -> None:
    table = pa.table({"ts": range(300), "type": ["A", "N", "B"] * 100, "x": range(300)})
    found = measured("SEQ(A a, NOT(N n), B b) WHERE n.x > a.x AND n.x < b.x AND n.x < 150 WITHIN 1 minute", table)
    assert found.selectivities == {"n.x > a.x": 1.0, "n.x < b.x": 1.0}
    assert found.rates["n"] == pytest.approx(50 / 299)


def test_the_share_of_pairs_that_agree_on_the_partition() -> None:
    found = measured("SEQ(A a, B b) WHERE [k] WITHIN 1 minute", TABLE)
    assert found.selectivities == {"[k]": pytest.approx(0.25, abs=0.05)}
    found = measured("SEQ(A a, B b) WHERE [k] AND [n] WITHIN 1 minute", TABLE)
    assert found.selectivities == {"[k] AND [n]": pytest.approx(1 / 16, abs=0.03)}
    assert measured("SEQ(A a, B b) WHERE [k] WITHIN 9 EVENTS", TABLE).selectivities == {}


def test_registered_functions_are_not_called_to_measure() -> None:
    calls = []

    def close(x: float, y: float) -> bool:
        calls.append((x, y))
        return True

    query = bound("SEQ(A a, B b) WHERE close(a.x, b.x) AND a.x < b.x WITHIN 1 minute", TABLE, close=close)
    found = measure(sorted_events(TABLE), query)
    assert list(found.selectivities) == ["a.x < b.x"]
    assert calls == []


def test_streams_without_anything_to_measure() -> None:
    assert measured("SEQ(A a, B b)", TABLE.slice(0, 0)) == StreamStatistics()
    absent = measured("SEQ(A a, Z z) WHERE a.x < z.x WITHIN 1 minute", TABLE)
    assert absent.rates["z"] == pytest.approx(0.5 / 4999)
    assert absent.selectivities == {}
    untyped = TABLE.drop_columns(["type"])
    query = augury.compile("PATTERN SEQ(a, b) WHERE a.x < b.x", untyped.schema).program.last.rewritten
    assert measure(sorted_events(untyped), query).selectivities["a.x < b.x"] == pytest.approx(0.5, abs=0.1)


def test_columns_that_only_derived_events_have_are_left_to_assumptions() -> None:
    program = "PATTERN SEQ(A a, B b) RETURN a.x AS top INTO T; PATTERN SEQ(T t, A c) WHERE t.top < c.x WITHIN 1 minute"
    last = augury.compile(program, TABLE.schema).program.last.rewritten
    assert measure(sorted_events(TABLE), last).selectivities == {}


def test_a_long_stream_is_sampled_and_always_alike() -> None:
    long = stream(10 * SAMPLE_BLOCKS * SAMPLE_BLOCK_EVENTS)
    events = sorted_events(long)
    query = bound("SEQ(A a, B b, A c) WHERE [k] AND a.x < b.x AND a.x + b.x < c.x AND c.x > 0.5 WITHIN 1 minute", long)
    found = measure(events, query)
    assert measure(events, query) == found
    assert calls_of(lambda: measure(events, query)) < 4_000
    assert found.source == f"measured on {SAMPLE_BLOCKS * SAMPLE_BLOCK_EVENTS} of {len(long)} events"
    assert found.rates == pytest.approx({"a": 0.9, "b": 0.1, "c": 0.45}, rel=0.05)
