"""The README does what it says: its snippets run, and print what stands below them."""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from contextlib import redirect_stdout
from itertools import pairwise
from pathlib import Path

from augury.testing.tables import blocks
from benchmarks.published import pages

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


def test_commands(tmp_path: Path) -> None:
    """In a folder of their own, since some write files; the examples are there as in a clone."""
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    # The command installed beside the interpreter that runs the tests.
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    for snippet, output in pairwise(blocks(README)):
        if snippet.language == "sh":
            environment = {**os.environ, "PATH": path}
            ran = subprocess.run(
                snippet.text, shell=True, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
            )
            assert ran.returncode == 0, ran.stderr
            assert ran.stdout == output.text, f"README.md:{output.line}"


def test_the_first_screen_names_the_two_commands() -> None:
    first_screen = README.read_text(encoding="utf-8").splitlines()[:40]
    assert any("make demo" in line for line in first_screen)
    assert any("make test" in line for line in first_screen)


def test_the_first_two_screens_lead_from_the_demo_to_a_picture_of_own_events() -> None:
    text = "\n".join(README.read_text(encoding="utf-8").splitlines()[:80])
    steps = ["make demo", "orders.csv", "slow.augury", "augury match", "augury view", "orders.html"]
    places = [text.find(step) for step in steps]
    assert -1 not in places
    assert places == sorted(places)


def test_eight_questions_lead_to_their_examples() -> None:
    text = README.read_text(encoding="utf-8")
    section = text[text.index("## Questions you can ask") : text.index("## Try it on a file")]
    targets = re.findall(r"^- .*\]\((examples/\w+/)\)", section, re.MULTILINE)
    assert len(set(targets)) == 8
    assert all((ROOT / target / "README.md").exists() for target in targets)


def test_links_lead_to_files() -> None:
    targets = re.findall(r"\]\(([^)\s#]+)[^)\s]*\)", README.read_text(encoding="utf-8"))
    assert [target for target in targets if not (ROOT / target).exists()] == []


def test_tables_of_figures_are_those_that_were_measured() -> None:
    for path, text in pages().items():
        assert path.read_text(encoding="utf-8") == text, f"{path.name}: run `python -m benchmarks.published`"
