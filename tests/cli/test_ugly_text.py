"""The command line with names and values that would run, or control a terminal, if they could."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from typer.testing import CliRunner

from augury.cli import app
from augury.testing.ugly import LINE_BREAKS, PLAIN_TROUBLE, quoted

NAMES = ["bob", "ann", "eve", "bob", "ann", "bob"]
QUERY = """PATTERN SEQ(A a, B b)
           WHERE skip_till_next_match { a.name != who OR b.name != who } WITHIN 1 hour"""


def readings(folder: Path, column: str = "name") -> str:
    path = folder / "events.parquet"
    types = ["A", "B", "A", "B", "A", "B"]
    pa.parquet.write_table(pa.table({"ts": list(range(6)), "type": types, column: NAMES}), path)
    return str(path)


def test_a_parameter_is_not_run(tmp_path: Path) -> None:
    for indent in (0, 4, 8, 12, 16, 20):
        who = f'who=bob\r{" " * indent}print("PWNED")#'
        result = CliRunner().invoke(app, ["match", QUERY, readings(tmp_path), "--param", who])
        assert result.exit_code == 0, result.output
        assert "PWNED" not in result.output
        assert len(result.stdout.splitlines()) == 3


def test_nor_in_a_process_of_its_own(tmp_path: Path) -> None:
    who = 'who=bob\r                print("PWNED")#'
    command = [sys.executable, "-m", "augury.cli", "match", QUERY, readings(tmp_path), "--param", who]
    done = subprocess.run(command, capture_output=True, check=True, timeout=120)
    assert b"PWNED" not in done.stdout + done.stderr
    assert len([json.loads(line) for line in done.stdout.splitlines()]) == 3


@pytest.mark.parametrize("line_break", LINE_BREAKS)
def test_what_is_explained_is_printable(tmp_path: Path, line_break: str) -> None:
    events = readings(tmp_path)
    for stage in ("syntax", "bound", "rewritten", "plan", "kernel"):
        query = QUERY.replace("a.name != who", f"a.name != 'x{line_break.replace(chr(10), '')}\x1b[31mprint(1)#'")
        result = CliRunner().invoke(
            app, ["explain", query, "--schema", events, "--stage", stage, "--param", "who=\x1b[2J"]
        )
        assert result.exit_code == 0, result.output
        assert result.stdout.replace("\n", "").isprintable()


@pytest.mark.parametrize("column", [name for name in PLAIN_TROUBLE if name not in ("ts", "type")][::3])
def test_columns_of_any_name(tmp_path: Path, column: str) -> None:
    query = QUERY.replace(".name", f".{quoted(column)}")
    for form in ("jsonl", "csv", "table"):
        arguments = ["match", query, readings(tmp_path, column), "--param", "who=bob", "--output", form]
        result = CliRunner().invoke(app, arguments)
        assert result.exit_code == 0, result.output
    assert result.stdout.replace("\n", "").isprintable()


def test_half_of_a_surrogate_pair_is_an_error_with_a_code(tmp_path: Path) -> None:
    result = CliRunner().invoke(app, ["match", QUERY, readings(tmp_path), "--param", r'who="\ud800"'])
    assert result.exit_code == 1
    assert "error[A291]" in result.output
