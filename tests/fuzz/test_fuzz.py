"""Random queries, tables, arguments and damaged files: an AuguryError or a result, in time and in little memory."""

from __future__ import annotations

import pytest

from tests.fuzz.runner import run
from tests.thorough import rounds

SEED = 20_261_116


@pytest.mark.parametrize("part, runs", [("queries", 500), ("tables", 200), ("arguments", 200), ("files", 300)])
def test_nothing_but_an_error_of_augury(part: str, runs: int) -> None:
    report = run(part, SEED, 0, runs)
    assert [str(failure) for failure in report.failures] == []
    if part == "queries":
        # Most of the text has to pass the front end, or little of what is behind it is tested.
        assert report.refused < 0.5 * runs
    if part == "files":
        # Were all of them refused, or none, little would have been tried.
        assert 0.2 * runs < report.refused < 0.9 * runs


@pytest.mark.slow
@pytest.mark.parametrize("part", ["queries", "tables", "arguments", "files"])
def test_many_more(part: str) -> None:
    report = run(part, SEED + 1, 0, rounds(3_000, 12_000) if part == "queries" else rounds(1_500, 4_000))
    assert [str(failure) for failure in report.failures] == []
