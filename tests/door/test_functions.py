"""An exception of a registered function says which function, with which arguments, for which event."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import augury
from augury import HostError, Matcher
from augury.plan import FamilyName

EVENTS: list[dict[str, Any]] = [
    {"ts": 1, "type": "A", "x": 2, "name": "p"},
    {"ts": 2, "type": "C", "x": 0, "name": "q"},
    {"ts": 3, "type": "B", "x": 0, "name": "r"},
]


def inverse(x: int) -> float:
    return 1 / x


def ratio(x: int, y: int) -> float:
    if y == 0:
        raise ValueError("no ratio")
    return x / y


def refuse(name: str) -> bool:
    if name == "r":
        raise LookupError("no such name")
    return True


FUNCTIONS: dict[str, Callable[..., Any]] = {"inverse": inverse, "ratio": ratio, "refuse": refuse}
PLANS = ["reference", "eager-nfa", "lazy-chain", "linked"]


@pytest.mark.parametrize("plan", PLANS)
@pytest.mark.parametrize(
    "condition, words",
    [
        ("inverse(b.x) > 0", ["`inverse` raised ZeroDivisionError: division by zero", "inverse(0)", "x=0"]),
        ("refuse(b.name)", ["`refuse` raised LookupError: no such name", "refuse('r')", "name='r'"]),
        ("ratio(a.x, b.x) > 0", ["`ratio` raised ValueError: no ratio", "ratio(2, 0)"]),
    ],
)
def test_every_plan_tells(plan: FamilyName, condition: str, words: list[str]) -> None:
    query = f"SEQ(A a, B b) WHERE {condition} WITHIN 1 minute"
    stream = Matcher(query, EVENTS, plan=plan, functions=FUNCTIONS, jit=False)
    calls: list[Callable[[], object]] = [
        lambda: augury.match(EVENTS, query, plan=plan, functions=FUNCTIONS, jit=False),
        lambda: stream.feed(EVENTS),
    ]
    for call in calls:
        with pytest.raises(HostError) as caught:
            call()
        assert str(caught.value).startswith("error[A616]: the registered function ")
        for word in words:
            assert word in str(caught.value)
        assert isinstance(caught.value.__cause__, ZeroDivisionError | LookupError | ValueError)


def test_the_row_of_the_event_is_told_where_a_function_reads_one() -> None:
    with pytest.raises(HostError, match="row 2 of the events"):
        augury.match(EVENTS, "SEQ(A a, B b) WHERE inverse(b.x) > 0", functions={"inverse": inverse}, plan="eager-nfa")
    with pytest.raises(HostError, match="row 2 of the events"):
        augury.match(EVENTS, "SEQ(A a, B b) WHERE refuse(b.name)", functions={"refuse": refuse}, plan="eager-nfa")


def test_in_return_too() -> None:
    found = augury.match(EVENTS, "SEQ(A a, B b) RETURN inverse(b.x) AS y", functions={"inverse": inverse}, jit=False)
    with pytest.raises(HostError, match=r"inverse\(0\) for b \(x=0\)"):
        found.to_arrow()


def test_a_compiled_function_tells_its_name() -> None:
    def picky(x: int, y: int) -> float:
        if y == 0:
            raise ValueError("not zero")
        return x / y

    with pytest.raises(
        HostError, match=r"error\[A616\]: the registered function `picky`, compiled, raised ValueError: no"
    ):
        augury.match(EVENTS, "SEQ(A a, B b) WHERE picky(a.x, b.x) > 0", functions={"picky": picky}, jit=True)


def test_an_error_of_augury_passes_through() -> None:
    def asks(x: int) -> bool:
        raise HostError("A610", "not this")

    with pytest.raises(HostError, match="not this"):
        augury.match(EVENTS, "SEQ(A a, B b) WHERE asks(b.x)", functions={"asks": asks}, jit=False)
