"""Snapshots with something changed are refused, or run and end; a child process that dies is found out."""

from __future__ import annotations

import pytest

from tests.fuzz.corrupt_state import fuzz
from tests.fuzz.states import CASES
from tests.thorough import rounds


@pytest.mark.parametrize("plan", CASES)
def test_a_corrupted_snapshot_is_refused_or_runs(plan: str) -> None:
    outcomes, wrong = fuzz(plan, 120, seed=11)
    assert wrong == []
    # Were all of them refused, or none, nothing would have been tried.
    assert min(outcomes["refused"], outcomes["ended"] + outcomes["stopped"]) > 20


@pytest.mark.slow
@pytest.mark.parametrize("plan", CASES)
def test_many_corrupted_snapshots(plan: str) -> None:
    assert fuzz(plan, rounds(1_200, 5_000), seed=12)[1] == []


@pytest.mark.slow
@pytest.mark.parametrize("plan", [plan for plan in CASES if plan != "reference"])
def test_compiled_code_started_from_corrupted_snapshots(plan: str) -> None:
    """Without bounds checks a number out of range would end the process."""
    assert fuzz(plan, rounds(300, 1_000), seed=13, jit=True)[1] == []
