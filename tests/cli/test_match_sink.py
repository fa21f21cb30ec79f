"""Matches that the command line writes to a Parquet file as they are found."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from typer.testing import CliRunner

import augury
from augury.cli.app import app

QUERY = "SEQ(A a, B b) WITHIN 5 seconds"
EVENTS = pa.table({"ts": list(range(40)), "type": ["A", "B"] * 20, "x": list(range(40))})


def test_matches_go_to_a_parquet_file(tmp_path: Path) -> None:
    events, out = tmp_path / "events.parquet", tmp_path / "matches.parquet"
    pq.write_table(EVENTS, events)
    done = CliRunner().invoke(app, ["match", QUERY, str(events), "--out", str(out)])
    assert (done.exit_code, done.output) == (0, "")
    assert pq.read_table(out) == augury.match(EVENTS, QUERY).to_arrow()


def test_what_goes_wrong_leaves_no_file(tmp_path: Path) -> None:
    events, out = tmp_path / "events.parquet", tmp_path / "matches.parquet"
    pq.write_table(EVENTS, events)
    done = CliRunner().invoke(app, ["match", QUERY, str(events), "--out", str(out), "--max-matches", "3"])
    assert done.exit_code == 1
    assert "A567" in done.output
    assert [file.name for file in tmp_path.iterdir()] == ["events.parquet"]
