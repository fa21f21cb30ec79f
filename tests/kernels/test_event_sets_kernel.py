"""What SES automata cost and keep, by their counters and the size of their memory (paper 002)."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from augury.errors import HostError, TooManyMatches
from augury.kernels.sets.kernel import EventSetKernel
from augury.options import Options
from augury.plan import EventSetsPlan
from augury.runtime.batch import EventBatch, time_ticks
from augury.runtime.state import FOREVER, RunState
from augury.testing.evaluate import compiled, family_plan, run
from benchmarks.chemotherapy import MEDICATIONS, brute_force_instances, chemotherapy_stream, set_query
from benchmarks.sets import instances

LETTERS = "ABCDEFGHIJKLMNOP"


def plan_of(text: str, table: pa.Table) -> EventSetsPlan:
    plan = family_plan("event-sets", compiled(text, table, Options(plan="reference")).rewritten)
    assert isinstance(plan, EventSetsPlan), plan
    return plan


def kernel(text: str, table: pa.Table, **options: object) -> EventSetKernel:
    return EventSetKernel(plan_of(text, table), Options(jit=False, **options))  # type: ignore[arg-type]


def counters(k: EventSetKernel, table: pa.Table) -> dict[str, int]:
    time = time_ticks(table, k.plan.query.schema)
    return k.counters(k.step(k.start(), EventBatch(table, np.arange(table.num_rows), time), FOREVER)[0])


def events(types: str) -> pa.Table:
    return pa.table({"ts": range(len(types)), "type": list(types)})


@pytest.mark.parametrize("size", [2, 3, 4, 5, 6])
def test_exclusive_variables_need_factorially_fewer_instances_than_brute_force(size: int) -> None:
    table = chemotherapy_stream(6, 2)
    types = MEDICATIONS[:size]
    ours, _ = instances(set_query(types), table, jit=False)
    theirs = brute_force_instances(table, types)
    # The paper's table 1 has 1, 2, 6, 24 and 122 times fewer.
    assert theirs / ours >= {2: 1, 3: 2, 4: 6, 5: 24, 6: 100}[size]


def test_an_instance_of_exclusive_variables_never_branches() -> None:
    table = events("CABBACABCA")
    k = kernel("PATTERN SEQ(AND(A a, B b), C c) WHERE skip_till_next_match {}", table, counters=True)
    assert k.plan.branches[0].exclusive
    assert counters(k, table)["instances"] == sum(t in "AB" for t in "CABBACABCA")


def test_predicates_on_negated_events_are_counted() -> None:
    table = pa.table({"ts": range(5), "type": list("ANNBC"), "x": [5, 1, 2, 7, 9]})
    text = "PATTERN SEQ(AND(A a, B b), NOT(N n), C c) WHERE skip_till_next_match { n.x > a.x }"
    k = kernel(text, table, counters=True)
    assert counters(k, table)["predicates"] == 0
    between = table.set_column(0, "ts", pa.array([0, 4, 5, 3, 6])).sort_by("ts")
    assert counters(k, between)["predicates"] == 2


def test_conditions_tell_variables_of_one_type_apart() -> None:
    table = pa.table({"ts": [1], "type": ["A"], "x": [1], "s": ["u"]})
    text = "PATTERN AND(A a, A b) WHERE skip_till_next_match {{ {} }}"
    for condition, apart in [
        ("a.x < 3 AND b.x >= 3", True),
        ("a.x <= 3 AND b.x >= 3", False),
        ("a.s = 'u' AND b.s IN ('v', 'w')", True),
        ("a.s = 'u' AND b.s != 'u'", True),
        ("a.x = 1 AND b.x != 2", False),
        ("3 > a.x AND b.x BETWEEN 4 AND 5", True),
        ("a.x = b.x", False),
    ]:
        assert plan_of(text.format(condition), table).branches[0].exclusive == apart, condition


def test_the_filter_spares_nine_visits_of_ten() -> None:
    table = chemotherapy_stream(20, 1, irrelevant=0.9)
    plan = plan_of(set_query(("C", "D", "P"), group=True), table)
    visits = [
        counters(EventSetKernel(replace(plan, filter=on), Options(jit=False, counters=True)), table)["visits"]
        for on in (True, False)
    ]
    assert visits[1] >= 5 * visits[0]


def test_sixteen_variables_are_no_more_text_than_two_sets_of_eight() -> None:
    def text(n: int) -> str:
        return f"PATTERN AND({', '.join(f'{t} {t.lower()}' for t in LETTERS[:n])}) WHERE skip_till_next_match {{}}"

    order = "".join(np.random.default_rng(3).permutation(list(LETTERS)))
    wide, narrow = kernel(text(16), events(order)), kernel(text(8), events(order))
    assert len(wide.source.source.text) < 3 * len(narrow.source.source.text)
    found = run(wide, wide.plan.query.schema, [events(order)])
    assert [m.rows for m in found] == [tuple((order.index(t),) for t in LETTERS)]


def test_memory_does_not_grow_with_the_stream() -> None:
    rng = np.random.default_rng(5)
    size = 8_000
    stream = pa.table({"ts": np.arange(size), "type": rng.choice(list("ABCX"), size), "k": rng.integers(0, 5, size)})
    k = kernel("PATTERN SEQ(AND(A a, B+ b[]), C c) WHERE skip_till_next_match { [k] } WITHIN 40 seconds", stream)
    state, sizes = k.start(), []
    for i in range(0, size, 500):
        part = stream.slice(i, 500)
        time = time_ticks(part, k.plan.query.schema)
        state, _ = k.step(state, EventBatch(part, np.arange(i, i + 500), time), int(time[-1]))
        sizes.append(len(state.to_bytes()))
    assert max(sizes[8:]) <= 1.2 * max(sizes[2:8])


def test_an_explosion_is_stopped() -> None:
    table = events("A" * 40)
    text = "PATTERN AND(A+ a[], A+ b[], A c) WHERE skip_till_next_match {}"
    k = kernel(text, table, max_partial_matches=1000)
    with pytest.raises(TooManyMatches, match="more than 1000 instances at a time"):
        counters(k, table)


def test_a_state_of_another_family() -> None:
    k = kernel("PATTERN AND(A a, B b) WHERE skip_till_next_match {}", events("AB"))
    time = np.empty(0, dtype=np.int64)
    with pytest.raises(HostError, match="a state of `reference` version 1 cannot be continued by `event-sets`"):
        k.step(RunState("reference", 1, {}, {}), EventBatch(events(""), time, time), FOREVER)
