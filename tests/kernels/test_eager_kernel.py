"""What the eager automaton costs and keeps, by its counters and the size of its memory."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

import numpy as np
import pyarrow as pa
import pytest

from augury.errors import HostError, TooManyMatches
from augury.kernels.eager.kernel import EagerKernel
from augury.options import Options
from augury.plan import EagerNfaPlan
from augury.runtime.batch import EventBatch, time_ticks
from augury.runtime.shared import FoundMatches, SharedMatches, matches_in
from augury.runtime.state import FOREVER, RunState
from augury.schema import EventSchema
from augury.testing.evaluate import compiled, family_plan, reference_matches, run


def kernel(text: str, table: pa.Table, **options: object) -> EagerKernel:
    chosen = Options(jit=False, **options)  # type: ignore[arg-type]
    plan = family_plan("eager-nfa", compiled(text, table, chosen).rewritten)
    assert isinstance(plan, EagerNfaPlan), plan
    return EagerKernel(plan, chosen)


def once(k: EagerKernel, table: pa.Table) -> tuple[RunState, FoundMatches]:
    time = time_ticks(table, k.plan.query.schema)
    return k.step(k.start(), EventBatch(table, np.arange(table.num_rows), time), FOREVER)


def ticks(size: int, keys: int = 1, seed: int = 7) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table(
        {
            "ts": np.arange(size),
            "type": rng.choice(["A", "B", "C"], size),
            "k": [f"k{i}" for i in rng.integers(0, keys, size)],
            "x": rng.integers(0, 10, size),
        }
    )


def test_memory_does_not_grow_with_the_stream() -> None:
    text = "PATTERN SEQ(A a, B+ b[], C c) WHERE skip_till_next_match { [k] AND b[i].x > b[i-1].x } WITHIN 40 seconds"
    stream = ticks(12_000, keys=5)
    k = kernel(text, stream)
    state = k.start()
    sizes = []
    for i in range(0, stream.num_rows, 500):
        part = stream.slice(i, 500)
        time = time_ticks(part, k.plan.query.schema)
        state, _ = k.step(state, EventBatch(part, np.arange(i, i + 500), time), int(time[-1]))
        sizes.append(len(state.to_bytes()))
    assert max(sizes[12:]) <= 1.2 * max(sizes[4:12])
    assert state.oldest_row > 11_000


@pytest.mark.parametrize("merge", [False, True])
def test_cost_by_event_is_flat(merge: bool) -> None:
    text = "PATTERN SEQ(A a, B+ b[], C c) WHERE skip_till_next_match { [k] AND b[i].x > a.x } WITHIN 40 seconds"
    cost = []
    for size in (1_000, 10_000):
        stream = ticks(size)
        k = kernel(text, stream, counters=True, merge=merge)
        state, _ = once(k, stream)
        cost.append(k.counters(state)["predicates"] / size)
    assert cost[1] < 1.3 * cost[0]


def test_many_keys_cost_no_more_than_one() -> None:
    text = "PATTERN SEQ(A a, B b, C c) WHERE skip_till_any_match { [k] AND a.x < b.x AND b.x < c.x } WITHIN 30 seconds"
    cost = {}
    for keys in (1, 1_000):
        stream = ticks(5_000, keys)
        k = kernel(text, stream, counters=True)
        state, _ = once(k, stream)
        cost[keys] = k.counters(state)["predicates"]
    assert cost[1_000] < cost[1] / 100


def test_merging_keeps_the_matches_and_saves_runs() -> None:
    text = "PATTERN SEQ(A+ a[], B b) WHERE skip_till_next_match { a[i].x >= a[i-1].x AND b.x < 3 } WITHIN 60 seconds"
    stream = ticks(400)
    counts = {}
    found = {}
    for merge in (False, True):
        k = kernel(text, stream, counters=True, merge=merge)
        state, found[merge] = once(k, stream)
        counts[merge] = k.counters(state)
    assert found[True] == found[False]
    assert counts[True]["merged"] > 0 == counts[False]["merged"]
    assert counts[True]["peak_runs"] < counts[False]["peak_runs"] / 2


def test_members_of_a_merged_run_expire_one_by_one() -> None:
    text = "PATTERN SEQ(A+ a[], B b) WHERE skip_till_next_match {} WITHIN 4 seconds"
    stream = pa.table({"ts": [0, 2, 4, 5], "type": ["A", "A", "A", "B"]})
    k = kernel(text, stream)
    assert k.plan.merge
    assert [m.rows for m in once(k, stream)[1]] == [((1, 2), (3,)), ((2,), (3,))]


@pytest.mark.parametrize("window", ["20 seconds", "20 EVENTS"])
@pytest.mark.parametrize("merge", [False, True])
def test_runs_outlive_the_first_events_of_those_merged_with_them(window: str, merge: bool) -> None:
    # Some run is alive at any time, and what it knows of a[1] comes from runs whose a[1] is long forgotten.
    where = "a[1].x < 3 AND b.x = a[1].x + 5"
    text = f"PATTERN SEQ(A|B+ a[], A|B b) WHERE skip_till_next_match {{ {where} }} WITHIN {window}"
    stream = ticks(500)
    k = kernel(text, stream, merge=merge)
    assert k.plan.merge is merge
    parts = [stream.slice(i, 10) for i in range(0, stream.num_rows, 10)]
    found = run(k, k.plan.query.schema, parts, save=True)
    assert found == reference_matches(k.plan.query, stream)
    assert len(found) > 100


def test_a_count_window_bounds_the_histories_of_merged_runs() -> None:
    # Runs that never end by themselves: without its window a merged one would keep every event since the first.
    where = "[k] AND a[1].x < 2 AND b.x > 20"
    text = f"PATTERN SEQ(A|B+ a[], A|B b) WHERE skip_till_next_match {{ {where} }} WITHIN 30 EVENTS"
    stream = ticks(4_000, keys=2)
    k = kernel(text, stream)
    assert k.plan.merge
    state, _ = once(k, stream)
    tables = state.tables
    assert tables["runs"].num_rows > 0
    assert 0 < tables["nodes"].num_rows <= 2 * 30 + 2


def test_compressed_matches_are_counted_without_being_written_out() -> None:
    text = "PATTERN SEQ(A+ a[], B b) WHERE skip_till_any_match {}"
    stream = pa.table({"ts": range(61), "type": ["A"] * 60 + ["B"]})
    _, found = once(kernel(text, stream, compressed=True), stream)
    assert isinstance(found, SharedMatches)
    assert found.count() == 2**60 - 1
    first = list(islice(found, 3))
    assert len({m.rows for m in first}) == 3
    assert all(m.rows[1] == (60,) for m in first)


def test_compressed_matches_are_the_same_matches() -> None:
    text = "PATTERN SEQ(A+ a[], B b) WHERE skip_till_any_match { a[i].x >= a[i-1].x } WITHIN 12 seconds"
    stream = ticks(60)
    _, shared = once(kernel(text, stream, compressed=True), stream)
    _, plain = once(kernel(text, stream), stream)
    assert isinstance(shared, SharedMatches)
    assert shared.enumerate() == plain
    assert shared.count() == matches_in(plain) > 100


def test_an_explosion_of_runs_is_stopped() -> None:
    stream = pa.table({"ts": range(40), "type": ["A"] * 40, "x": range(40)})
    k = kernel("PATTERN SEQ(A+ a[], B b) WHERE sum(a[].x) < b.x", stream, max_partial_matches=1_000)
    state = k.start()
    batch = EventBatch(stream, np.arange(40), np.arange(40))
    with pytest.raises(TooManyMatches, match="more than 1000 partial matches at a time"):
        k.step(state, batch, 39)
    with pytest.raises(HostError, match="cannot be continued"):
        k.step(state, batch, 39)


def test_strings_keep_their_order_when_new_ones_come_between() -> None:
    stream = pa.table({"ts": range(6), "type": ["A", "A", "B", "A", "B", "B"], "s": ["m", "c", "n", "x", "d", "y"]})
    text = "PATTERN SEQ(A a, B b) WHERE a.s < b.s"
    k = kernel(text, stream)
    found = run(k, k.plan.query.schema, [stream.slice(i, 1) for i in range(6)], save=True)
    assert found == reference_matches(compiled(text, stream).bound, stream)
    assert len(found) == 6


# Compiled, they are called from a kernel: a function that Numba compiles, and one that it leaves to Python.
@pytest.mark.parametrize("jit", [False, True], ids=["plain", "compiled"])
@pytest.mark.parametrize(
    "predicate",
    [
        pytest.param("near(a.x, b.x)", marks=pytest.mark.slow),
        "ODD(a.x, b.x)",
        pytest.param("half(a.x) < b.x", marks=pytest.mark.slow),
        "near(half(b.x), a.x)",
    ],
)
def test_registered_functions(predicate: str, jit: bool) -> None:
    stream = pa.table({"ts": range(8), "type": ["A", "B"] * 4, "x": [1.0, 2.5, None, 3.0, 4.0, 4.5, 9.0, 9.5]})

    def near(a: float, b: float) -> bool:
        return abs(a - b) < 2

    def odd(a: float, b: float) -> bool:
        # Makes an object, which kernels themselves never do.
        return bool({"a": a}.get("a") == b - 1.5)

    def half(a: float) -> float:
        return a / 2

    functions: dict[str, Callable[..., object]] = {"Near": near, "odd": odd, "half": half}
    text = f"PATTERN SEQ(A a, B b) WHERE {predicate}"
    options = Options(functions=functions, jit=jit)
    expected = reference_matches(compiled(text, stream, options).bound, stream, options)
    assert len(expected) > 0
    plan = family_plan("eager-nfa", compiled(text, stream, options).rewritten)
    assert isinstance(plan, EagerNfaPlan)
    assert run(EagerKernel(plan, options), EventSchema.from_arrow(stream.schema), [stream]) == expected


def test_what_it_cannot_do_it_says() -> None:
    stream = ticks(1)
    reasons = {
        "PATTERN AND(A a, B b)": "in any order",
        "PATTERN SEQ(A a, B b) OUTPUT COVER": "OUTPUT COVER",
        "PATTERN SEQ(A a, NOT(B{2,} b[]), C c)": "one event does not decide",
        "PATTERN SEQ(A a, NOT(OR(B b, SEQ(B d, NOT(A e)))), C c) WHERE skip_till_next_match {}": "",
        "PATTERN SEQ(A+ a[], B b) WHERE a[i].x > max(a[..i-1].x) + b.x": "running aggregate",
        "PATTERN SEQ(A+ a[], NOT(B b), C c) WHERE avg(a[].x) < b.x": "aggregate in a condition on a negated",
        "PATTERN SEQ(A+ a[], B b) WHERE max(a[].k) < b.k": "least or greatest of strings",
    }
    for text, reason in reasons.items():
        plan = family_plan("eager-nfa", compiled(text, stream).rewritten)
        if reason:
            assert not isinstance(plan, EagerNfaPlan), text
            assert reason in plan.reason
        else:
            assert isinstance(plan, EagerNfaPlan), plan


@pytest.mark.parametrize(
    "where, asked",
    [
        ("a[i].x > a[i-1].x AND a[1].x > 3", False),
        ("a[i].x > a[i-1].x AND NOT a[i].x IN (3, 4)", False),
        # The first of a list is let in with no x, and compared with by the second.
        ("a[i].x > a[i-1].x", True),
        ("a[i].x > a[i-1].x AND (a[i].x > 3 OR a[i].k = 'k1')", True),
        ("a[i].x > a[i-1].x AND coalesce(a[i].x, 9) > 3", True),
        ("a[1].x > 3 AND c.x > a[a.len].x", True),
    ],
)
def test_whether_a_run_remembers_that_a_value_is_null(where: str, asked: bool) -> None:
    stream = ticks(400, keys=3).set_column(3, "x", pa.array([None if i % 3 == 0 else i % 10 for i in range(400)]))
    text = f"PATTERN SEQ(A+ a[], C c) WHERE skip_till_next_match {{ [k] AND {where} }} WITHIN 40 seconds"
    k = kernel(text, stream)
    assert any("null" in holds for _, holds in k.source.cells) is asked
    _, found = once(k, stream)
    assert found == reference_matches(k.plan.query, stream)
    assert matches_in(found)


def test_a_condition_on_what_ends_a_list_goes_through_another_list() -> None:
    """Each list that a condition goes through needs an array of its own, wherever the condition stands."""
    text = "SEQ(A{2} a[], A|B+ b[] UNTIL(B u)) WHERE skip_till_next_match { u.x = a.x } WITHIN 50 seconds"
    stream = ticks(200)
    k = kernel(text, stream)
    assert k.source.walks == 1
    _, found = once(k, stream)
    assert found == reference_matches(k.plan.query, stream)
    assert matches_in(found)
