"""The benchmark of event sets and covers: its streams are what they say, and its answers are checked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.chemotherapy import brute_force_instances, chemotherapy_stream
from benchmarks.sets import letters, main


def test_the_same_seed_gives_the_same_stream() -> None:
    assert chemotherapy_stream(3, 2, seed=4).equals(chemotherapy_stream(3, 2, seed=4))
    assert not chemotherapy_stream(3, 2, seed=4).equals(chemotherapy_stream(3, 2, seed=5))


def test_a_stream_has_the_share_of_irrelevant_events_that_was_asked_for() -> None:
    table = chemotherapy_stream(5, 2, times=2, irrelevant=0.9)
    types = table["type"].to_pylist()
    assert types.count("X") == pytest.approx(0.9 * len(types), abs=2)
    assert types.count("C") == 5 * 2 * 2
    assert table["ts"].to_pylist() == sorted(table["ts"].to_pylist())


def test_brute_force_starts_an_instance_for_each_permutation_that_begins_so() -> None:
    table = chemotherapy_stream(1, 1)
    # One event of each type: six begin an instance of 120 automata each, all of them within eleven days.
    assert brute_force_instances(table, ("C", "D", "P", "V", "R", "L")) == 6 * 120
    assert brute_force_instances(table, ("C",)) == 1


def test_types_in_a_row() -> None:
    types = letters(100, run=5)["type"].to_pylist()
    assert all(types[k : k + 5] == types[k : k + 1] * 5 for k in range(0, 100, 5))


def test_a_section_is_measured_and_written(tmp_path: Path) -> None:
    assert main(["--quick", "003-0", "--json", str(tmp_path / "sets.json")]) == 0
    figures = json.loads((tmp_path / "sets.json").read_text())
    assert [(f["value"], f["reached"]) for f in figures] == [(13, True), (10, True), (24, True), (21, True)]
    with pytest.raises(SystemExit):
        main(["--quick", "004-1"])


def test_recorded_data_that_is_not_there_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--quick", "003-t", "--data", str(tmp_path)]) == 0
    assert "no recorded traffic" in capsys.readouterr().out
