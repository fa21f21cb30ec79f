"""`%%augury` in a real IPython shell."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import augury

pytest.importorskip("IPython")

EVENTS = [{"ts": 1, "type": "A", "k": "x"}, {"ts": 2, "type": "B", "k": "x"}, {"ts": 3, "type": "B", "k": "y"}]
QUERY = "PATTERN SEQ(A a, B b)\nWHERE [k]"


@pytest.fixture
def shell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    from IPython.core.interactiveshell import InteractiveShell

    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    make: Any = InteractiveShell
    shell = make()
    shell.run_line_magic("load_ext", "augury")
    yield shell
    if shell.history_manager is not None:
        shell.history_manager.end_session()


def test_the_value_of_a_cell_is_its_matches(shell: Any) -> None:
    shell.user_ns["readings"] = EVENTS
    found = shell.run_cell_magic("augury", "readings -o found", QUERY)
    assert found == augury.match(EVENTS, QUERY)
    assert shell.user_ns["found"] is found


def test_events_of_a_file_and_a_page(shell: Any, tmp_path: Path) -> None:
    pytest.importorskip("bokeh")
    file = tmp_path / "events.jsonl"
    file.write_text("\n".join(json.dumps(event) for event in EVENTS))
    page = shell.run_cell_magic("augury", f"{file} --view", QUERY)
    assert page.title == "1 match in 3 events"


def test_a_line_that_cannot_be_read(shell: Any) -> None:
    from IPython.core.error import UsageError

    with pytest.raises(UsageError, match="events"):
        shell.run_cell_magic("augury", "", QUERY)


@pytest.mark.parametrize("line, cell, code", [("readings", "PATTERN SEQ(A a", "A1"), ("nowhere", QUERY, "A644")])
def test_errors_are_messages_without_a_traceback(shell: Any, line: str, cell: str, code: str) -> None:
    from IPython.core.error import UsageError

    shell.user_ns["readings"] = EVENTS
    with pytest.raises(UsageError, match=code):
        shell.run_cell_magic("augury", line, cell)
