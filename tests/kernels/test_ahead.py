"""A kernel that was compiled from its signatures has nothing left to compile when it is called."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from augury.kernels.ahead import compile_ahead
from augury.kernels.eager.kernel import EagerKernel
from augury.kernels.lazy.kernel import LazyKernel
from augury.kernels.linked.kernel import LinkedKernel
from augury.kernels.lossy.kernel import LossyKernel
from augury.kernels.sets.kernel import EventSetKernel
from augury.kernels.stream import StreamKernel
from augury.loss import Exponential, LossModel
from augury.options import Options
from augury.plan import FamilyName, Unsupported
from augury.planner.hints import Hints
from augury.testing.evaluate import compiled, family_plan, run

KERNELS: dict[str, Any] = {
    "eager-nfa": EagerKernel,
    "event-sets": EventSetKernel,
    "lazy-chain": LazyKernel,
    "linked": LinkedKernel,
    "lossy": LossyKernel,
}


def events(size: int = 400) -> pa.Table:
    random = np.random.default_rng(5)
    return pa.table(
        {
            "ts": np.arange(size),
            "type": random.choice(list("ABCD"), size).tolist(),
            "k": random.choice(["x", "y"], size).tolist(),
            "x": random.random(size),
            "n": random.integers(0, 5, size),
        }
    )


def kernel(family: FamilyName, text: str, **options: Any) -> StreamKernel[Any]:
    table = events(8)
    loss = LossModel(0.3, {}, {v: Exponential(3.0) for v in "abcde"}) if family == "lossy" else None
    chosen = Options(jit=True, loss=loss, **options)
    bound = compiled(text, table, Options(plan="reference", loss=loss)).rewritten
    plan = family_plan(family, bound, Hints(loss=loss))
    assert not isinstance(plan, Unsupported), plan
    found: StreamKernel[Any] = KERNELS[family](plan, chosen)
    return found


def check(family: FamilyName, text: str, **options: Any) -> None:
    """Matches are found, and by functions that were compiled before."""
    k = kernel(family, text, **options)
    compile_ahead(k)
    for code in k.codes:
        # One form for each entry, and more of one that another calls with constants.
        assert code.compiled >= len(code.entries)
    before = [tier.compiled for tier in (*k.codes, k.support)]
    table = events()
    found = run(k, k.query.schema, [table.slice(0, 100), table.slice(100, 1), table.slice(101)])
    assert len(found) > 0
    assert [tier.compiled for tier in (*k.codes, k.support)] == before


def test_runs() -> None:
    check("eager-nfa", "SEQ(A a, NOT(D d), B+ b[], C c) WHERE [k] AND b[i].x > a.x AND d.n = a.n WITHIN 12 seconds")


@pytest.mark.slow
def test_lossy_streams() -> None:
    check("lossy", "SEQ(A a, NOT(D d), B b, C c, NOT(D e)) WHERE [k] WITHIN 12 seconds THRESHOLD 0.05")


@pytest.mark.slow
@pytest.mark.parametrize(
    "family, text",
    [
        ("eager-nfa", "SEQ(A a, B b) WHERE a.x < b.x WITHIN 9 EVENTS OUTPUT NONOVERLAP"),
        ("eager-nfa", "SEQ(A a, B b) WITHIN 9 seconds OUTPUT COUNT RETURN sum(b.x) AS s, min(a.n) AS m"),
        ("event-sets", "SEQ(AND(A a, B b), C c) WHERE skip_till_next_match { [k] AND a.x < c.x } WITHIN 12 seconds"),
        ("lazy-chain", "SEQ(A a, B b, C c) WHERE [k] AND a.x < b.x AND b.n < c.n WITHIN 12 seconds"),
        ("lazy-chain", "SEQ(A a, B+ b[], NOT(D d), C c) WHERE b[i].x > a.x AND d.n = a.n WITHIN 9 seconds"),
        ("lazy-chain", "SEQ(A a, B b) WITHIN 9 seconds OUTPUT COUNT RETURN sum(b.x) AS s, min(a.n) AS m"),
        ("linked", "SEQ(A a, B b, C c) WHERE [k] AND a.x < c.x WITHIN 12 seconds OUTPUT COVER"),
        ("linked", "SEQ(A a, B b, C c) WHERE a.x < c.x WITHIN 12 seconds"),
        ("linked", "SEQ(A a, B+ b[], C c) WHERE a.x < c.x WITHIN 12 seconds OUTPUT LATEST"),
        ("linked", "SEQ(A a, NOT(D d), B b, C c) WHERE a.x < c.x WITHIN 12 seconds OUTPUT LATEST"),
    ],
)
def test_other_plans(family: FamilyName, text: str) -> None:
    check(family, text)


def test_a_kernel_that_stays_plain_is_left_alone() -> None:
    k = EagerKernel(kernel("eager-nfa", "SEQ(A a, B b) WITHIN 5 seconds").plan, Options(jit=False))  # type: ignore[attr-defined]
    assert compile_ahead(k) == 0
    assert all(tier.plain for tier in (*k.codes, k.support))
