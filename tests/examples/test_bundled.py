"""Every example finds what is kept beside it and what its script has laid into the events; its page tells the truth."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from importlib.util import module_from_spec, spec_from_file_location
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from examples.make_pictures import STYLES, picture
from typer.testing import CliRunner

import augury
from augury.cli import app
from augury.testing.tables import blocks
from tests.engine.streams import table_rows
from tests.examples.bundled import BUNDLED, EXAMPLES, FOLDERS, Example

GENERATED = [folder for folder in FOLDERS if folder.name != "shoplifting"]  # that one has a file of its own


def test_the_examples_are_there() -> None:
    assert {folder.name for folder in FOLDERS} == {
        *("chemotherapy", "fraud", "funnel", "logins", "shoplifting", "silence", "stocks", "traffic"),
    }


@pytest.mark.parametrize("example", BUNDLED, ids=lambda example: example.name)
def test_matches(example: Example) -> None:
    ran = CliRunner().invoke(app, ["match", str(example.query), str(example.events), "--output", "csv"])
    assert ran.exit_code == 0, ran.output
    assert ran.stdout == example.matches.read_text(encoding="utf-8")


@pytest.mark.parametrize("example", BUNDLED, ids=lambda example: example.name)
def test_the_reference_agrees(example: Example) -> None:
    text = example.query.read_text(encoding="utf-8")
    found, expected = (augury.match(example.events, text, plan=plan).to_arrow() for plan in (None, "reference"))
    assert table_rows(found) == table_rows(expected)
    assert found.num_rows > 0


@pytest.mark.parametrize("folder", GENERATED, ids=lambda folder: folder.name)
def test_what_the_script_lays_into_the_events_is_found(folder: Path) -> None:
    written = subprocess.run([sys.executable, folder / "make_events.py"], capture_output=True, check=True)
    assert written.stdout == (folder / "events.csv").read_bytes()
    rows, planted = _made_by(folder / "make_events.py")
    assert len({row[0] for row in rows}) == len(rows), "two events at the same time have no order"
    for query, keys in planted.items():
        found = augury.match(folder / "events.csv", (folder / f"{query}.augury").read_text(encoding="utf-8"))
        assert sorted(found.to_arrow().column(2).to_pylist()) == sorted(keys)
    assert {query.stem for query in folder.glob("*.augury")} == set(planted)


def _made_by(script: Path) -> tuple[list[tuple[Any, ...]], dict[str, list[Any]]]:
    spec = spec_from_file_location(f"{script.parent.name}_events", script)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    rows, planted = module.make()
    return rows, planted


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_page(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A page shows events of the file, every query as it is, and what the command prints."""
    monkeypatch.chdir(folder)
    page = folder / "README.md"
    shown = blocks(page)
    assert [b.text for b in shown if b.language == "augury"] == [
        q.read_text(encoding="utf-8") for q in _queries_in_order(page)
    ]
    events = next(p for p in (folder / "events.csv", folder / "readings.jsonl") if p.exists())
    lines = events.read_text(encoding="utf-8").splitlines()
    sample = next(b for b in shown if b.language in ("csv", "json")).text.splitlines()
    assert sample == [line for line in lines if line in sample]
    commands = [(b, after) for b, after in pairwise(shown) if b.language == "sh"]
    assert len(commands) == len(list(folder.glob("*.augury")))
    for command, printed in commands:
        ran = CliRunner().invoke(app, shlex.split(command.text)[1:])
        assert ran.exit_code == 0, ran.output
        assert ran.stdout == printed.text


def _queries_in_order(page: Path) -> list[Path]:
    names = re.findall(r"^augury match (\S+\.augury) ", page.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(names) == sorted(query.name for query in page.parent.glob("*.augury"))
    return [page.parent / name for name in names]


@pytest.mark.parametrize("page", sorted(EXAMPLES.rglob("README.md")), ids=lambda page: page.parent.name)
def test_links_lead_to_files(page: Path) -> None:
    targets = re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8"))
    assert targets or page.parent.name == "row-patterns"
    assert [t for t in targets if not (page.parent / t).exists()] == []


@pytest.mark.parametrize("name", STYLES)
def test_pictures_are_drawn_from_the_matches(name: str) -> None:
    kept = (EXAMPLES / f"{name}.svg").read_text(encoding="utf-8")
    assert kept == picture(name, STYLES[name]), "run `make pictures`"


def test_every_query_has_a_picture() -> None:
    assert sorted(STYLES) == [example.name for example in BUNDLED]
