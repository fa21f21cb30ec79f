"""The README does what it says: its snippets run, and print what stands below them."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from contextlib import redirect_stdout
from itertools import pairwise
from pathlib import Path

from augury.testing.tables import blocks

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"


def test_every_snippet_is_followed_by_its_output() -> None:
    languages = [block.language for block in blocks(README)]
    assert languages[::2] == [language for language in languages if language in ("python", "sh")]
    assert set(languages[1::2]) == {"text"}


def test_python_snippets() -> None:
    names: dict[str, object] = {}
    for snippet, output in pairwise(blocks(README)):
        if snippet.language == "python":
            printed = io.StringIO()
            with redirect_stdout(printed):
                exec(compile("\n" * (snippet.line - 1) + snippet.text, str(README), "exec"), names)
            assert printed.getvalue() == output.text, f"README.md:{output.line}"


def test_commands() -> None:
    # The command installed beside the interpreter that runs the tests.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    for snippet, output in pairwise(blocks(README)):
        if snippet.language == "sh":
            environment = {**os.environ, "PATH": path}
            ran = subprocess.run(
                snippet.text, shell=True, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
            )
            assert ran.returncode == 0, ran.stderr
            assert ran.stdout == output.text, f"README.md:{output.line}"


def test_the_first_screen_names_the_two_commands() -> None:
    first_screen = README.read_text(encoding="utf-8").splitlines()[:40]
    assert any("make demo" in line for line in first_screen)
    assert any("make test" in line for line in first_screen)
