"""Kernels forget the keys and strings of events that are gone: memory follows the window, not the stream."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import augury
from augury import Exponential, LossModel
from augury.kernels.stream import MIN_KEYS_TO_LEAVE_OUT, StreamKernel
from augury.options import Options
from augury.plan import FamilyName
from augury.runtime.batch import EventBatch, time_ticks
from augury.runtime.shared import enumerated
from augury.runtime.state import FOREVER, RunState
from augury.testing.evaluate import kernel_of, run

ITEMS = 600
BATCH = 150


def ever_new(items: int = ITEMS) -> pa.Table:
    """Every item has a key and a name of its own, and is seen four times within a minute."""
    seen = ((0, "A"), (21, "B"), (52, "C"), (53, "D"))
    rows = sorted((10 * n + d, name, f"k{n}", f"n{n}", n) for n in range(items) for d, name in seen)
    columns = ("ts", "type", "k", "name", "number")
    return pa.table({name: [row[c] for row in rows] for c, name in enumerate(columns)})


STREAM = ever_new()

CASES: dict[str, tuple[str, FamilyName]] = {
    "eager": ("SEQ(A a, B b, C c) WHERE skip_till_any_match { [k] AND a.name = c.name }", "eager-nfa"),
    "eager merged": ("SEQ(A a, B+ b[], C c) WHERE skip_till_any_match { a.name = c.name }", "eager-nfa"),
    "eager strict": ("SEQ(C a, D b) WHERE strict_contiguity { [k] AND a.name = b.name }", "eager-nfa"),
    "eager nonoverlap": ("SEQ(A a, C c) WHERE [k]", "eager-nfa"),
    "eager negated": ("SEQ(A a, NOT(B b), C c) WHERE [k] AND b.number % 3 = 0", "eager-nfa"),
    "sets": ("SEQ(AND(A a, B b), C c) WHERE skip_till_next_match { [k] AND a.name = c.name }", "event-sets"),
    "latest": ("SEQ(A a, B b, C c) WHERE [k] AND a.name = b.name", "linked"),
    "cover": ("SEQ(A a, B b, C c) WHERE [k]", "linked"),
    "lazy": ("SEQ(A a, B b, C c) WHERE [k] AND a.name = b.name", "lazy-chain"),
    "lazy by name": ("AND(A a, B b, C c) WHERE a.name = b.name AND b.number = c.number", "lazy-chain"),
    "lossy": ("SEQ(A a, B b, C c) WHERE [k] AND a.name[c.name] = c.name", "lossy"),
}
ENDS = {"eager nonoverlap": " OUTPUT NONOVERLAP", "latest": " OUTPUT LATEST", "cover": " OUTPUT COVER"}


def options_of(plan: FamilyName) -> Options:
    model = LossModel(0.1, {}, {v: Exponential(30.0) for v in "ab"}) if plan == "lossy" else None
    return Options(plan=plan, jit=False, loss=model)


@pytest.mark.parametrize("case", CASES)
def test_keys_and_strings_without_events_are_forgotten(case: str) -> None:
    text, plan = CASES[case]
    options = options_of(plan)
    ending = " THRESHOLD 0.3" if plan == "lossy" else ENDS.get(case, "")
    kernel, schema = kernel_of(f"PATTERN {text} WITHIN 90 seconds{ending}", STREAM, options)
    assert isinstance(kernel, StreamKernel)
    assert kernel.family == plan
    whole = run(kernel, schema, [STREAM])
    assert len(whole) >= ITEMS // 2
    state, found, most = kernel.start(), set(), {"keys": 0, "strings": 0}
    for at in range(0, STREAM.num_rows, BATCH):
        part = STREAM.slice(at, BATCH)
        time = time_ticks(part, schema)
        rows = np.arange(at, at + part.num_rows)
        state, matches = kernel.step(state, EventBatch(part, rows, time), int(time[-1]))
        found |= set(enumerated(matches))
        kernel.compact(kernel.live(state), beyond=MIN_KEYS_TO_LEAVE_OUT)
        if at % (3 * BATCH) == 0:
            state = RunState.from_bytes(state.to_bytes())
        most = {name: max(n, kernel.remembered(state)[name]) for name, n in most.items()}
    nothing = EventBatch(STREAM.slice(0, 0), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
    found |= set(enumerated(kernel.step(state, nothing, FOREVER)[1]))
    assert found == set(whole)
    # A window holds 9 items: what is in reach is less than what is not worth forgetting.
    keyed = "[k]" in text
    assert most["keys"] <= (MIN_KEYS_TO_LEAVE_OUT + BATCH if keyed else 1)
    assert most["strings"] <= 2 * (MIN_KEYS_TO_LEAVE_OUT + BATCH)
    assert ITEMS > MIN_KEYS_TO_LEAVE_OUT + BATCH


def test_a_matcher_does_not_grow_with_ever_new_keys() -> None:
    query = "PATTERN SEQ(A a, B b) WHERE [k] AND b.name = a.name WITHIN 2 seconds"
    columns = pa.schema([("ts", pa.int64()), ("type", pa.string()), ("k", pa.string()), ("name", pa.string())])
    stream, found, sizes = augury.Matcher(query, columns, jit=False), 0, []
    for n in range(16):
        pairs = np.arange(5_000 * n, 5_000 * (n + 1))
        names = [f"{number:07}" for number in np.repeat(pairs, 2)]
        ts = np.repeat(pairs // 1000, 2)
        order = {"ts": ts + np.tile([0, 1], len(pairs)), "type": ["A", "B"] * len(pairs), "k": names, "name": names}
        table = pa.table(order).sort_by([("ts", "ascending"), ("type", "descending")])
        # The last second of a batch goes on in the next one: what has come is in order of time all the same.
        found += len(stream.feed(table.cast(columns)))
        sizes.append(len(stream.snapshot()))
    assert found > 0
    assert max(sizes[8:]) <= 1.1 * max(sizes[2:8])
