"""What linked chains cost and keep (paper 003)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from augury.codegen import LinkedKernel
from augury.errors import HostError, TooManyMatches
from augury.options import Options
from augury.plan import LinkedPlan, Unsupported
from augury.planner.linked import build_linked
from augury.runtime.batch import EventBatch, time_ticks
from augury.runtime.shared import enumerated
from augury.runtime.state import FOREVER, RunState
from augury.testing.evaluate import compiled, run
from benchmarks.sets import example_counts


def stream(size: int, types: str = "ABCX", seed: int = 5) -> pa.Table:
    rng = np.random.default_rng(seed)
    return pa.table({"ts": np.arange(size), "type": rng.choice(list(types), size), "x": rng.integers(0, 10, size)})


def kernel(text: str, table: pa.Table, **options: object) -> LinkedKernel:
    plan = build_linked(compiled(text, table, Options(plan="reference")).rewritten)
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
        run(kernel(text, table, max_runs=50), compiled(text, table).bound.schema, [table])


@pytest.mark.parametrize(
    "text, reason",
    [
        ("SEQ(A a, B+ b[]) OUTPUT COVER", "the list `b` may lie in several chains at once"),
        ("AND(A a, B b) OUTPUT COVER", "an AND: its events may come in any order"),
        ("SEQ(A a, OR(B b, C c)) OUTPUT COVER", "alternatives, whose events are in the chains"),
        ("SEQ(A a, B b, NOT(C c)) WITHIN 5 seconds OUTPUT COVER", "a NOT that may still occur"),
        ("SEQ(A a, B b) WHERE skip_till_next_match {} OUTPUT COVER", "skip_till_next_match selects events"),
        ("SEQ(A a, B b) OUTPUT COUNT", "OUTPUT COUNT is not among ALL, COVER, LATEST"),
        ("A a OUTPUT COVER", "a single component has no chain to be linked to"),
    ],
)
def test_what_chains_cannot_tell(text: str, reason: str) -> None:
    plan = build_linked(compiled(f"PATTERN {text}", stream(1), Options(plan="reference")).rewritten)
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
    assert len(found) == len(everything) > 300
    assert enumerated(found) == everything


def test_a_state_of_another_family() -> None:
    k = kernel("PATTERN SEQ(A a, B b) OUTPUT COVER", stream(1))
    time = np.empty(0, dtype=np.int64)
    with pytest.raises(HostError, match="a state of `reference` version 1 cannot be continued by `linked`"):
        k.step(RunState("reference", 1, {}, {}), EventBatch(stream(0), time, time), FOREVER)
