"""What linked chains cost and keep (paper 003)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from augury.errors import HostError, TooManyMatches
from augury.kernels.linked.kernel import LinkedKernel
from augury.options import Options
from augury.plan import LinkedPlan, Unsupported
from augury.runtime.batch import EventBatch, time_ticks
from augury.runtime.shared import enumerated, matches_in
from augury.runtime.state import FOREVER, RunState
from augury.testing.evaluate import compiled, family_plan, run
from benchmarks.sets import example_counts


def stream(size: int, types: str = "ABCX", seed: int = 5) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table({"ts": np.arange(size), "type": rng.choice(list(types), size), "x": rng.integers(0, 10, size)})


def kernel(text: str, table: pa.Table, **options: object) -> LinkedKernel:
    plan = family_plan("linked", compiled(text, table, Options(plan="reference")).rewritten)
    assert isinstance(plan, LinkedPlan), plan
    return LinkedKernel(plan, Options(jit=False, **options))  # type: ignore[arg-type]


def test_temporary_matches_and_copies_of_the_example() -> None:
    """Section 3.2.1: 13 temporary matches and 10 copies, against 24 and 21."""
    assert example_counts() == ((13, 10), (24, 21))


@pytest.mark.parametrize("output", ["ALL", "COVER", "LATEST"])
def test_memory_does_not_grow_with_the_stream(output: str) -> None:
    table = stream(6_000)
    k = kernel(f"PATTERN SEQ(A a, B b, C c) WHERE a.x < c.x WITHIN 15 seconds OUTPUT {output}", table)
    state, sizes = k.start(), []
    for i in range(0, table.num_rows, 300):
        part = table.slice(i, 300)
        time = time_ticks(part, k.plan.query.schema)
        state, _ = k.step(state, EventBatch(part, np.arange(i, i + 300), time), int(time[-1]))
        sizes.append(len(state.to_bytes()))
    assert max(sizes[8:]) <= 1.2 * max(sizes[2:8])


@pytest.mark.parametrize("output", ["ALL", "COVER", "LATEST"])
def test_old_events_are_forgotten_without_a_trace(output: str) -> None:
    """Long enough that chains are built anew without the events that are past."""
    table = stream(40_000)
    k = kernel(f"PATTERN SEQ(A a, B b) WITHIN 3 seconds OUTPUT {output}", table)
    at_once = run(k, k.plan.query.schema, [table])
    pieces = run(k, k.plan.query.schema, [table.slice(i, 5_000) for i in range(0, 40_000, 5_000)])
    assert len(at_once) > 4_000
    assert pieces == at_once


def test_an_explosion_is_stopped() -> None:
    table = pa.table({"ts": range(60), "type": ["A", "B"] * 30, "x": range(60)})
    text = "PATTERN SEQ(A a, B b, A c, B d, A e)"
    with pytest.raises(TooManyMatches, match="more than 1000 matches"):
        run(kernel(text, table, max_matches=1000), compiled(text, table).bound.schema, [table])
    with pytest.raises(TooManyMatches, match="more than 50 combinations of chains"):
        run(kernel(f"{text} OUTPUT COVER", table, max_partial_matches=50), compiled(text, table).bound.schema, [table])
    lists = "PATTERN SEQ(A a, B+ b[], A c) WHERE b[i].x > b[i-1].x"
    with pytest.raises(TooManyMatches, match="more than 1000 matches"):
        run(kernel(lists, table, max_matches=1000), compiled(text, table).bound.schema, [table])
    never = "PATTERN SEQ(A a, B+ b[], A c) WHERE a.x > b[1].x"
    with pytest.raises(TooManyMatches, match="more than 500 ways back"):
        run(kernel(never, table, max_partial_matches=500), compiled(text, table).bound.schema, [table])


def test_a_dead_end_of_a_list_is_met_once() -> None:
    """Every subset of the forty leads to the A that does not fit: without a memory, 2^40 ways."""
    types = ["A", *"B" * 40, "A", "B", "C"]
    table = pa.table({"ts": range(len(types)), "type": types, "x": [9, *range(40, 0, -1), 1, 0, 3]})
    text = "PATTERN SEQ(A a, B+ b[], C c) WHERE b[i].x < b[i-1].x AND a.x < c.x"
    schema = compiled(text, table).bound.schema
    for output in ("LATEST", "ALL"):
        (found,) = run(kernel(f"{text} OUTPUT {output}", table, max_partial_matches=2_000), schema, [table])
        assert found.rows == ((41,), (42,), (43,))


def test_the_latest_of_a_million_million_lists() -> None:
    table = pa.table({"ts": range(42), "type": ["A", *"B" * 40, "C"], "x": [0] * 42})
    text = "PATTERN SEQ(A a, B+ b[], C c) OUTPUT LATEST"
    (found,) = run(kernel(text, table, max_partial_matches=1_000), compiled(text, table).bound.schema, [table])
    assert found.rows == ((0,), tuple(range(1, 41)), (41,))


@pytest.mark.parametrize(
    "text, reason",
    [
        ("SEQ(A a, B+ b[]) OUTPUT COVER", "the list `b` may lie in several chains at once"),
        ("SEQ(A a, B+ b[]) WHERE avg(b[].x) > a.x", "a list as a whole"),
        ("SEQ(A a, B+ b[]) WHERE b[1].x > 3", "the first element of a list"),
        ("SEQ(A+ a[], B+ b[]) WHERE a.x < b.x", "each element of one list with each of another"),
        ("SEQ(A a, NOT(C c), B+ b[]) OUTPUT LATEST", "a NOT beside a list"),
        ("AND(A a, B b) OUTPUT COVER", "an AND: its events may come in any order"),
        ("SEQ(A a, OR(B b, C c)) OUTPUT COVER", "alternatives, whose events are in the chains"),
        ("SEQ(A a, B b, NOT(C c)) WITHIN 5 seconds OUTPUT COVER", "a NOT that may still occur"),
        ("SEQ(A a, B b) WHERE skip_till_next_match {} OUTPUT COVER", "skip_till_next_match selects events"),
        ("SEQ(A a, B b) OUTPUT COUNT", "OUTPUT COUNT is not among ALL, COVER, LATEST"),
        ("A a OUTPUT COVER", "a single component has no chain to be linked to"),
    ],
)
def test_what_chains_cannot_tell(text: str, reason: str) -> None:
    plan = family_plan("linked", compiled(f"PATTERN {text}", stream(1), Options(plan="reference")).rewritten)
    assert isinstance(plan, Unsupported)
    assert reason in plan.reason


def test_compressed_matches_are_the_same() -> None:
    table = stream(80)
    text = "PATTERN SEQ(A a, B b, C c) WITHIN 25 seconds"
    schema = compiled(text, table).bound.schema
    time = time_ticks(table, schema)
    batch = EventBatch(table, np.arange(80), time)
    k = kernel(text, table, compressed=True)
    found = k.step(k.start(), batch, FOREVER)[1]
    everything = run(kernel(text, table), schema, [table])
    assert matches_in(found) == len(everything) > 300
    assert enumerated(found) == everything


def test_a_state_of_another_family() -> None:
    k = kernel("PATTERN SEQ(A a, B b) OUTPUT COVER", stream(1))
    time = np.empty(0, dtype=np.int64)
    with pytest.raises(HostError, match="a state of `reference` version 1 cannot be continued by `linked`"):
        k.step(RunState("reference", 1, {}, {}), EventBatch(stream(0), time, time), FOREVER)
