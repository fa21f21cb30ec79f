"""The commands of examples/row-patterns print what its page says."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from augury.cli import app

FOLDER = Path(__file__).parents[2] / "examples" / "row-patterns"
COMMAND = re.compile(r"```sh\naugury (.*?)\n```\n```text\n(.*?)```", re.DOTALL)
COMMANDS = COMMAND.findall((FOLDER / "README.md").read_text(encoding="utf-8"))


@pytest.mark.parametrize("command, expected", COMMANDS, ids=[command.split()[1] for command, _ in COMMANDS])
def test_command(command: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(FOLDER)
    result = CliRunner().invoke(app, shlex.split(command))
    assert result.exit_code == 0, result.output
    assert result.stdout == expected


def test_every_query_is_shown() -> None:
    assert sorted(command.split()[1] for command, _ in COMMANDS) == sorted(p.name for p in FOLDER.glob("*.sql"))
