"""Times as far from each other as they may be: no plan adds or subtracts beyond 64 bits."""

from __future__ import annotations

import pyarrow as pa
import pytest

import augury
from augury.plan import FamilyName

FAR = 2**62 - 1
TIMES = [-FAR, -FAR + 3, -FAR + 9, 0, 3, FAR - 9, FAR - 3, FAR]
EVENTS = pa.table({"ts": [time for time in TIMES for _ in "ABC"], "type": list("ABC") * len(TIMES)})
ANY, NEXT = "skip_till_any_match", "skip_till_next_match"
PLANS = [
    *[(plan, ANY, "SEQ(A a, NOT(C n), B b)") for plan in ("eager-nfa", "lazy-chain", "lazy-tree", "linked")],
    *[(plan, ANY, "SEQ(A a, B b, NOT(C n))") for plan in ("eager-nfa", "lazy-chain", "lazy-tree")],
    *[(plan, ANY, "SEQ(AND(A a, B b), C c)") for plan in ("lazy-chain", "lazy-tree")],
    *[("eager-nfa", NEXT, pattern) for pattern in ("SEQ(A a, NOT(C n), B b)", "SEQ(A a, B b, NOT(C n))")],
    ("event-sets", NEXT, "SEQ(AND(A a, B b), C c)"),
]


@pytest.mark.parametrize("ticks", [0, 5, FAR // 2, FAR])
@pytest.mark.parametrize("plan, strategy, pattern", PLANS)
def test_every_plan_agrees_with_the_reference(plan: FamilyName, strategy: str, pattern: str, ticks: int) -> None:
    query, w = f"PATTERN {pattern} WHERE {strategy} {{ }} WITHIN w", {"w": ticks}
    expected = augury.match(EVENTS, query, plan="reference", parameters=w).to_arrow()
    assert augury.match(EVENTS, query, plan=plan, parameters=w).to_arrow().equals(expected)


def test_a_window_that_reaches_beyond_is_refused() -> None:
    with pytest.raises(augury.QueryError) as raised:
        augury.match(EVENTS, "SEQ(A a, B b) WITHIN w", parameters={"w": FAR + 1})
    assert [problem.code for problem in raised.value.diagnostics] == ["A308"]
