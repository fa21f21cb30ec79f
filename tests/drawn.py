"""One value of a Hypothesis strategy by its number, for tests in which an example is dear, or crosses processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

T = TypeVar("T")

EXAMPLES = 20
"""Values that are drawn for a number: the first one is the simplest there is, whatever the number."""


def drawn(strategy: st.SearchStrategy[T], number: int, wanted: Callable[[T], bool] = lambda _: True) -> T:
    """The last of some random values that is `wanted`, or the last of them if none is; the same for the same number."""
    values: list[T] = []

    @seed(number)
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def draw(value: T) -> None:
        values.append(value)

    draw()
    return next((value for value in reversed(values) if wanted(value)), values[-1])
