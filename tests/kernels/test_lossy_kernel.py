"""What the lossy kernel costs and keeps, by its counters and the size of its memory."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from augury.errors import HostError, TooManyMatches
from augury.kernels.common.live import LiveTables
from augury.kernels.lossy.kernel import LossyKernel
from augury.kernels.lossy.state import LossyState
from augury.loss import Exponential, LossModel
from augury.native.cells import CELLS, QueueCell
from augury.native.queues import expire, push, rank_bound
from augury.options import Options
from augury.plan import LossyPlan
from augury.planner.hints import Hints
from augury.runtime.batch import EventBatch, time_ticks
from augury.runtime.matches import MatchSet
from augury.runtime.state import FOREVER, RunState
from augury.testing.evaluate import compiled, family_plan, reference_matches, run
from augury.testing.lossy import differences


def kernel(text: str, table: pa.Table, model: LossModel, **options: object) -> LossyKernel:
    chosen = Options(jit=False, loss=model, **options)  # type: ignore[arg-type]
    plan = family_plan("lossy", compiled(text, table, chosen).rewritten, Hints(loss=model))
    assert isinstance(plan, LossyPlan), plan
    return LossyKernel(plan, chosen)


def state_of(state: RunState) -> LossyState:
    assert isinstance(state.tables, LiveTables)
    live = state.tables.state
    assert isinstance(live, LossyState)
    return live


def model_of(states: int, rate: float = 0.1) -> LossModel:
    return LossModel(rate, {}, {f"v{k}": Exponential(5.0) for k in range(states - 1)})


def chain(states: int, threshold: float) -> str:
    parts = ", ".join(f"T{k} v{k}" for k in range(states))
    return f"SEQ({parts}) WITHIN 20 seconds THRESHOLD {threshold}"


def cyclic(states: int, size: int) -> pa.Table:
    return pa.table({"ts": list(range(size)), "type": [f"T{k % states}" for k in range(size)]})


def counted(text: str, table: pa.Table, model: LossModel) -> dict[str, int]:
    k = kernel(text, table, model, counters=True)
    state, time = k.start(), time_ticks(table, k.plan.query.schema)
    state, _ = k.step(state, EventBatch(table, np.arange(len(time)), time), int(time[-1]))
    return k.counters(state)


def test_an_event_without_a_key_matches_where_nothing_has_to_equal_it() -> None:
    text = "SEQ(T0 v0, NOT(T1 v1)) WHERE v1.k = v0.k WITHIN 9 seconds THRESHOLD 0.001"
    events = pa.table(
        {
            "ts": [0, 1, 5, 6, 8],
            "type": ["T0", "T0", "T1", "T1", "T1"],
            "k": pa.array([None, "x", "x", None, "y"], pa.string()),
        }
    )
    model = LossModel(0.0, {}, {"v1": Exponential(2.0)})
    lossy = kernel(text, events, model)
    assert lossy.plan.hash_by == ("k",)
    query = compiled(text, events, lossy.options)
    found = run(lossy, query.bound.schema, [events])
    expected = reference_matches(query.bound, events, lossy.options)
    assert differences(found, expected, 1e-9) == []
    assert any(events["k"][row].as_py() is None for f in expected for bound in f.rows for row in bound or ())


@pytest.mark.parametrize("states", [3, 6, 12])
def test_above_the_square_of_the_loss_rate_an_event_costs_two_bounds_at_most(states: int) -> None:
    """Paper 004, section 5.1: linear in the states for all of them together, since no edge skips two."""
    size = 240
    found = counted(chain(states, 0.05), cyclic(states, size), model_of(states))
    assert 0 < found["bounds"] <= 2 * size
    assert found["arrivals"] <= size


def test_an_event_that_fits_every_component_costs_two_bounds_for_each() -> None:
    """With the edges above the threshold alone, the cost of an event grows with the states, not with their square."""
    table = pa.table({"ts": list(range(30)), "type": ["T"] * 30})
    per_event = []
    for states in (4, 8, 16):
        # The last component never comes, so that only arrivals are counted.
        parts = ", ".join(f"T v{k}" for k in range(states))
        text = f"SEQ({parts}, Z z) WITHIN 20 seconds THRESHOLD 0.05"
        per_event.append(counted(text, table, model_of(states + 1))["bounds"] / 30)
    # For each component an edge from the one before, and from the third on one that skips it.
    assert per_event == [2 * states - 3 for states in (4, 8, 16)]


def test_memory_is_linear_in_the_window() -> None:
    sizes = {}
    for window in (50, 100, 200, 400):
        text = f"SEQ(T0 v0, NOT(T1 n), T2 v2) WITHIN {window} seconds THRESHOLD 0.5"
        model = LossModel(0.1, {}, {"v0": Exponential(5.0), "n": Exponential(500.0)})
        found = counted(text, cyclic(3, 3 * window), model)
        sizes[window] = found["peak_entries"]
    # In a window, each third event is a T0 and each third a T1, which is watched.
    assert all(size == pytest.approx(window * 2 / 3, abs=3) for window, size in sizes.items())


def test_old_events_are_forgotten() -> None:
    table = cyclic(3, 300)
    k = kernel("SEQ(T0 v0, T1 v1, T2 v2) WITHIN 9 seconds THRESHOLD 0.05", table, model_of(3))
    state, schema = k.start(), k.plan.query.schema
    for at in range(0, 300, 10):
        part = table.slice(at, 10)
        time = time_ticks(part, schema)
        state, _ = k.step(state, EventBatch(part, np.arange(at, at + 10), time), int(time[-1]))
        assert state.oldest_row >= at
        restored = RunState.from_bytes(state.to_bytes())
        assert restored.tables["events"].num_rows <= 10
    assert state_of(state).used <= 3 * 10


def test_partitions_without_events_are_forgotten() -> None:
    """Every item has a tag of its own, and is seen for a minute only."""
    items, query = 3000, "SEQ(X x, Y y, Z z) WHERE [k] WITHIN 60 seconds THRESHOLD 0.05 OUTPUT NONOVERLAP"
    rows = sorted(
        (2 * n + d, name, n) for n in range(items) for d, name in ((0, "X"), (9, "Y"), (21, "Z")) if n % 5 or d
    )
    table = pa.table({name: [row[c] for row in rows] for c, name in enumerate(("ts", "type", "k"))})
    model = LossModel(0.2, {}, {v: Exponential(10.0) for v in "xy"})
    k = kernel(query, table, model)
    state, found, most = k.start(), 0, 0
    for at in range(0, len(rows), 500):
        part = table.slice(at, 500)
        time = part["ts"].to_numpy()
        state, matches = k.step(state, EventBatch(part, np.arange(at, at + len(part)), time), int(time[-1]))
        assert isinstance(matches, MatchSet)
        found += len(matches)
        state = RunState.from_bytes(state.to_bytes())
        most = max(most, state.tables["partitions"].num_rows)
    nothing = EventBatch(table.slice(0, 0), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
    last = k.step(state, nothing, FOREVER)[1]
    assert isinstance(last, MatchSet)
    found += len(last)
    assert found == items
    # A window holds some 30 items, a batch 170.
    assert most < 500


def test_a_queue_knows_its_greatest_bound() -> None:
    """Against the maximum over a list, while entries come and go."""
    n = 64
    entry_event, entry_older, entry_younger, best_older, best_younger = (np.zeros(n, dtype=np.int64) for _ in range(5))
    entry_bound, free_entries = np.zeros(n), np.arange(n)
    queue_youngest, queue_oldest, queue_best, queue_last_best = (np.full(1, -1, dtype=np.int64) for _ in range(4))
    entries = entry_event, entry_older, entry_younger
    best = best_older, best_younger
    nums = np.zeros(CELLS, dtype=np.int64)
    nums[QueueCell.FREE] = n
    random = np.random.default_rng(7)
    time = np.cumsum(random.integers(0, 3, 2000))
    inside: list[tuple[int, float]] = []
    for i, t in enumerate(time.tolist()):
        ends = queue_youngest, queue_oldest, queue_best, queue_last_best
        expire(0, t - 20, nums, time, *entries, *best, free_entries, *ends)
        u = float(random.choice([0.2, 0.4, 0.4, 0.8]))
        q = push(0, i, nums, *entries, free_entries, queue_youngest, queue_oldest)
        rank_bound(0, q, u, entry_bound, *best, queue_best, queue_last_best)
        inside = [(s, v) for s, v in inside if s >= t - 20] + [(t, u)]
        assert entry_bound[queue_best[0]] == max(v for _, v in inside)
        assert time[entry_event[queue_oldest[0]]] == inside[0][0]
        assert n - nums[QueueCell.FREE] == len(inside)


def test_many_partitions_and_long_batches_agree_with_short_ones() -> None:
    """Queues, partitions and output all grow, entries are used again, and events are moved together."""
    random = np.random.default_rng(3)
    size = 400
    table = pa.table(
        {
            "ts": np.cumsum(random.integers(0, 2, size)),
            "type": random.choice(["X", "R", "Y", "Z"], size).tolist(),
            "k": random.choice([f"k{n}" for n in range(90)], size).tolist(),
        }
    )
    text = "SEQ(X x, NOT(R r), Y y, Z z) WHERE [k] WITHIN 60 seconds THRESHOLD 0.02"
    for scoring in ("paper", "posterior"):
        model = LossModel(0.3, {}, {v: Exponential(30.0) for v in "xryz"}, scoring=scoring)
        k = kernel(text, table, model)
        schema = k.plan.query.schema
        whole = run(k, schema, [table])
        pieces = run(k, schema, [table.slice(at, 7) for at in range(0, size, 7)], save=True)
        expected = reference_matches(k.plan.query, table, Options(loss=model))
        assert len(expected) > 100
        assert differences(whole, expected, 1e-9) == differences(pieces, expected, 1e-9) == []


def test_output_grows_within_an_event() -> None:
    table = pa.table({"ts": list(range(80)), "type": ["A"] * 40 + ["B"] * 39 + ["C"]})
    k = kernel(
        "SEQ(A a, B b, C c) WITHIN 100 seconds THRESHOLD 0.9",
        table,
        LossModel(0.1, {}, {"a": Exponential(1.0), "b": Exponential(1.0)}),
    )
    found = run(k, k.plan.query.schema, [table])
    assert len(found) == 40 * 39
    state = k.start()
    state, _ = k.step(state, EventBatch(table, np.arange(80), np.arange(80)), 79)
    assert len(state_of(state).pool["match_events"]) >= 40 * 39


def test_an_explosion_ends_with_an_error() -> None:
    table = pa.table({"ts": list(range(60)), "type": ["A"] * 20 + ["B"] * 20 + ["C"] * 20})
    model = LossModel(0.1, {}, {v: Exponential(1.0) for v in "ab"})
    k = kernel("SEQ(A a, B b, C c) WITHIN 100 seconds THRESHOLD 0.9", table, model, max_matches=500)
    with pytest.raises(TooManyMatches, match="more than 500 matches"):
        run(k, k.plan.query.schema, [table])


def test_states_of_others_and_interrupted_ones_are_refused() -> None:
    table = cyclic(3, 9)
    k = kernel(chain(3, 0.5), table, model_of(3))
    batch = EventBatch(table, np.arange(9), time_ticks(table, k.plan.query.schema))
    with pytest.raises(HostError, match="A548"):
        k.step(RunState("eager-nfa", 1, {}, {}), batch, 9)
    state = k.start()
    state_of(state).broken = True
    with pytest.raises(HostError, match="A549"):
        k.step(state, batch, 9)


def test_a_match_that_waits_outlives_its_queue() -> None:
    """A trailing NOT is looked for when the window closes, long after other events have come and gone."""
    table = pa.table({"ts": [0, 1, 5, 30, 31, 90], "type": ["X", "Y", "R", "X", "Y", "Q"]})
    model = LossModel(0.2, {}, {"x": Exponential(5.0), "y": Exponential(5.0), "r": Exponential(50.0)})
    text = "SEQ(X x, Y y, NOT(R r)) WITHIN 20 seconds THRESHOLD 0.3"
    k = kernel(text, table, model)
    state, found = k.start(), []
    for row in range(6):
        part = table.slice(row, 1)
        # A watermark far behind the events keeps every match waiting.
        state, matches = k.step(state, EventBatch(part, np.array([row]), part["ts"].to_numpy()), 0)
        assert isinstance(matches, MatchSet)
        found.append(len(matches))
    assert found == [0] * 6
    nothing = EventBatch(table.slice(0, 0), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
    state, matches = k.step(state, nothing, 100)
    assert isinstance(matches, MatchSet)
    expected: MatchSet = reference_matches(k.plan.query, table, Options(loss=model))
    assert differences(matches, expected, 1e-9) == []
    assert [m.rows for m in matches] == [((3,), (4,))]
