"""Random queries, tables and arguments: an AuguryError or a result, in time and in little memory."""

from __future__ import annotations

import pytest

from tests.fuzz.runner import run

SEED = 20_261_116


@pytest.mark.parametrize("part, runs", [("queries", 1_200), ("tables", 400), ("arguments", 400)])
def test_nothing_but_an_error_of_augury(part: str, runs: int) -> None:
    report = run(part, SEED, 0, runs)
    assert [str(failure) for failure in report.failures] == []
    if part == "queries":
        # Most of the text has to pass the front end, or little of what is behind it is tested.
        assert report.refused < 0.5 * runs


@pytest.mark.slow
@pytest.mark.parametrize("part, runs", [("queries", 12_000), ("tables", 4_000), ("arguments", 4_000)])
def test_many_more(part: str, runs: int) -> None:
    report = run(part, SEED + 1, 0, runs)
    assert [str(failure) for failure in report.failures] == []
