"""What groups cost an automaton, by counting: work grows with the stream, and runs that are outdone are given up."""

from __future__ import annotations

import random

import pyarrow as pa

from augury.kernels.stream import StreamKernel
from augury.options import Options
from augury.runtime.batch import EventBatch, time_ticks
from augury.runtime.shared import enumerated
from augury.testing.evaluate import kernel_of


def work(text: str, table: pa.Table) -> tuple[dict[str, int], int]:
    """The counters of a query that has gone through a stream, and how many matches it has found."""
    kernel, schema = kernel_of(text, table, Options(plan="eager-nfa", jit=False, counters=True))
    assert isinstance(kernel, StreamKernel)
    time = time_ticks(table, schema)
    state, found = kernel.step(kernel.start(), EventBatch(table, time, time), table.num_rows)
    return kernel.counters(state), len(enumerated(found))


def test_work_grows_linearly_with_the_stream() -> None:
    text = """
        PATTERN SEQ(A a, SEQ(B b, C c)+ g[], D d)
        WHERE   skip_till_next_match { [k] AND g[i].b.x >= g[i-1].b.x }
        WITHIN  60 seconds
    """
    chosen = random.Random(5)
    rows = [(t, chosen.choice("ABCD"), chosen.randrange(3), chosen.randrange(4)) for t in range(2_000)]
    table = pa.table({name: [row[k] for row in rows] for k, name in enumerate(("ts", "type", "k", "x"))})
    half, matches = work(text, table.slice(0, 1_000))
    whole, more = work(text, table)
    assert 0 < 1.7 * matches < more
    for counted in ("predicates", "runs", "buffer_writes"):
        assert whole[counted] <= 2.3 * half[counted]
    assert whole["peak_runs"] <= 1.3 * half["peak_runs"]


def test_a_run_that_is_outdone_is_given_up() -> None:
    text = "PATTERN SEQ(A a, SEQ(B b, C c)+ g[], D d) WHERE skip_till_next_match {}"
    rounds = 500
    types = ["A", *("B", "C") * rounds, "D"]
    counters, matches = work(text, pa.table({"ts": range(len(types)), "type": types}))
    assert matches == 1
    # One run goes round, and beside it there is one that waits for D, for a moment two.
    assert counters["peak_runs"] <= 3
    assert counters["runs"] == rounds + 1
