"""Windows that follow from EACH and from differences of times bound what kernels and streams remember."""

from __future__ import annotations

import pyarrow as pa
import pytest

import augury
from augury.kernels.stream import StreamKernel
from augury.options import Options
from augury.plan import FamilyName
from augury.runtime.batch import EventBatch, time_ticks
from augury.testing.evaluate import kernel_of

EVENTS, BATCH = 1_500, 100

STREAM = pa.table({"ts": range(EVENTS), "type": ["A", "B", "C"] * (EVENTS // 3)})

CASES: dict[str, tuple[str, FamilyName]] = {
    "runs, differences": ("SEQ(A a, B b, C c) WHERE b.ts - a.ts <= 4 AND c.ts - b.ts <= 4", "eager-nfa"),
    "runs, each": ("SEQ(A a, B b, C c) WHERE skip_till_next_match {} WITHIN 4 seconds EACH", "eager-nfa"),
    "chains, differences": ("SEQ(A a, B b, C c) WHERE b.ts - a.ts <= 4 AND c.ts - b.ts <= 4", "lazy-chain"),
    "chains, each": ("AND(A a, B b, C c) WITHIN 4 seconds EACH", "lazy-chain"),
    "linked, differences": ("SEQ(A a, B b) WHERE b.ts - a.ts <= 4", "linked"),
}


@pytest.mark.parametrize("case", CASES)
def test_events_and_partial_matches_are_forgotten_without_within(case: str) -> None:
    text, plan = CASES[case]
    kernel, schema = kernel_of(f"PATTERN {text}", STREAM, Options(plan=plan, jit=False, counters=True))
    assert isinstance(kernel, StreamKernel)
    state, needed = kernel.start(), 0
    for at in range(0, EVENTS, BATCH):
        part = STREAM.slice(at, BATCH)
        time = time_ticks(part, schema)
        state, _ = kernel.step(state, EventBatch(part, time, time), int(time[-1]))
        live = kernel.live(state)
        needed = max(needed, live.events.length - live.horizon)
    assert 0 < needed <= 10
    if plan == "eager-nfa":
        assert kernel.counters(state)["peak_runs"] <= 12


def test_runs_of_a_list_without_end_are_over_when_nothing_is_near() -> None:
    text = "PATTERN SEQ(A a, A b, C+ c[]) WHERE skip_till_next_match {} WITHIN 2 seconds EACH"
    kernel, schema = kernel_of(text, STREAM, Options(plan="eager-nfa", jit=False, counters=True))
    assert isinstance(kernel, StreamKernel)
    time = time_ticks(STREAM, schema)
    state, _ = kernel.step(kernel.start(), EventBatch(STREAM, time, time), EVENTS)
    assert kernel.counters(state)["peak_runs"] <= 2


def test_a_matcher_lets_go_of_events_without_within() -> None:
    matcher = augury.Matcher("SEQ(A a, B b) WHERE b.ts - a.ts <= 4", STREAM.schema, jit=False)
    sizes = []
    for at in range(0, EVENTS, BATCH):
        assert len(matcher.feed(STREAM.slice(at, BATCH))) > 0
        sizes.append(len(matcher.snapshot()))
    assert max(sizes[5:]) <= 1.1 * max(sizes[:5])
