"""The benchmark of steps that differ: what it times is right."""

from __future__ import annotations

import pytest

import augury
from benchmarks.steps import QUERIES, stream


@pytest.mark.parametrize("name", QUERIES)
def test_the_queries_that_are_timed_find_what_the_reference_finds(name: str) -> None:
    table = stream(300)
    found = [
        augury.match(table, QUERIES[name], plan=plan, jit=False).to_pylist() for plan in ("eager-nfa", "reference")
    ]
    assert found[0] == found[1] != []
