"""What the tests of lazy chains share: streams, kernels in a given order, and a way to feed one to the other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import numpy as np
import pyarrow as pa

from augury.kernels.common.live import LiveTables
from augury.kernels.eager.kernel import EagerKernel
from augury.kernels.lazy.kernel import LazyKernel
from augury.kernels.lazy.state import LazyState
from augury.options import Options
from augury.plan import EagerNfaPlan, LazyChainPlan, Negation
from augury.planner.hints import Hints
from augury.runtime.batch import EventBatch, time_ticks
from augury.runtime.matches import MatchSet
from augury.runtime.shared import enumerated
from augury.runtime.state import FOREVER, RunState
from augury.testing.evaluate import compiled, family_plan, run

COUNTING = Options(jit=False, counters=True)

RISE = "PATTERN SEQ(A a, B b, C c) WHERE a.x < b.x AND b.x < c.x"


def plan_of(
    text: str,
    table: pa.Table,
    order: Iterable[str] | None = None,
    negation: Negation | None = None,
    options: Options = COUNTING,
) -> LazyChainPlan:
    """The chain of a query; for variables of one letter, `order` may be a string."""
    query = compiled(text, table, replace(options, plan="reference")).rewritten
    plan = family_plan("lazy-chain", query, Hints(order=None if order is None else tuple(order), negation=negation))
    assert isinstance(plan, LazyChainPlan), plan
    return plan


def kernel(
    text: str,
    table: pa.Table,
    order: Iterable[str] | None = None,
    negation: Negation | None = None,
    options: Options = COUNTING,
) -> LazyKernel:
    return LazyKernel(plan_of(text, table, order, negation, options), options)


def eager_matches(text: str, table: pa.Table) -> MatchSet:
    """The matches by the automaton, for streams that are too long for the reference."""
    plan = family_plan("eager-nfa", compiled(text, table, Options(plan="reference")).rewritten)
    assert isinstance(plan, EagerNfaPlan), plan
    return run(EagerKernel(plan, Options(jit=False)), plan.query.schema, [table])


def pieces(table: pa.Table, size: int) -> list[pa.Table]:
    return [table.slice(i, size) for i in range(0, table.num_rows, size)]


class Feed:
    """Takes a stream piece by piece, the watermark following the events."""

    def __init__(self, k: LazyKernel, state: RunState | None = None, row: int = 0) -> None:
        self.kernel, self.row = k, row
        self.state = k.start() if state is None else state
        self.found: list[MatchSet] = []

    def step(self, table: pa.Table, *, last: bool = False) -> MatchSet:
        time = time_ticks(table, self.kernel.plan.query.schema)
        rows = np.arange(self.row, self.row + table.num_rows)
        watermark = FOREVER if last else int(time[-1])
        self.state, found = self.kernel.step(self.state, EventBatch(table, rows, time), watermark)
        self.row += table.num_rows
        self.found.append(enumerated(found))
        return self.found[-1]

    def all(self, tables: Iterable[pa.Table]) -> Feed:
        for table in tables:
            self.step(table)
        return self

    @property
    def matches(self) -> MatchSet:
        return MatchSet.concat(self.found[0].variables, self.found)

    @property
    def counters(self) -> dict[str, int]:
        return self.kernel.counters(self.state)

    @property
    def live(self) -> LazyState:
        assert isinstance(self.state.tables, LiveTables)
        assert isinstance(self.state.tables.state, LazyState)
        return self.state.tables.state


def events(types: str, x: Iterable[float | None] | None = None, k: Iterable[object] | None = None) -> pa.Table:
    """One event a second, of a type for each letter."""
    columns = {"ts": pa.array(range(len(types)), pa.int64()), "type": pa.array(list(types), pa.string())}
    if x is not None:
        columns["x"] = pa.array(x, pa.float64())
    if k is not None:
        columns["k"] = pa.array(k)
    return pa.table(columns)


def ticks(size: int, keys: int = 1, weights: tuple[int, int, int] = (1, 1, 1), seed: int = 7) -> pa.Table:
    rng = np.random.default_rng(seed)
    types = rng.choice(["A", "B", "C"], size, p=np.array(weights) / sum(weights))
    return events("".join(types), rng.integers(0, 10, size).tolist(), [f"k{i}" for i in rng.integers(0, keys, size)])
