"""The benchmark of live streams: its answers are checked, and it says what it measured."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import augury
from benchmarks import live


def test_the_expected_matches_are_those_of_the_reference() -> None:
    table = live.drifting_stream(3_000, seed=3)
    found = augury.match(table, live.QUERY, time_unit="ms", plan="reference")
    assert len(found) == live.expected_matches(table) > 0


@pytest.mark.slow
def test_every_size_and_form_finds_them(tmp_path: Path) -> None:
    assert live.main(["--quick", "--json", str(tmp_path / "live.json")]) == 0
    figures = json.loads((tmp_path / "live.json").read_text())
    assert [(f["form"], f["batch"]) for f in figures] == [
        (form, batch) for batch in (1, 100, 1_000) for form in ("arrow", "dicts")
    ]
    assert len({f["matches"] for f in figures}) == 1
    assert [f["feeds"] for f in figures] == [3_000, 3_000, 30, 30, 3, 3]
