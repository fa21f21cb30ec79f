"""`%%augury` and `%%match_recognize` in a real IPython shell."""

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


FALL = """SELECT * FROM ticks MATCH_RECOGNIZE (
    ORDER BY day MEASURES LAST(DOWN.day) AS bottom PATTERN (DOWN+ UP) DEFINE DOWN AS price < PREV(price))"""
TICKS = [{"day": 1, "price": 9}, {"day": 2, "price": 7}, {"day": 3, "price": 8}]


def test_the_value_of_a_cell_of_sql_is_its_rows(shell: Any, tmp_path: Path) -> None:
    shell.user_ns["ticks"] = TICKS
    found = shell.run_cell_magic("match_recognize", "ticks -o kept", FALL)
    assert found.to_arrow().to_pylist() == [{"bottom": 2}]
    assert shell.user_ns["kept"] is found
    file = tmp_path / "days.jsonl"
    file.write_text("\n".join(json.dumps(tick) for tick in TICKS))
    assert shell.run_cell_magic("match_recognize", f"ticks={file}", FALL).to_arrow().equals(found.to_arrow())


@pytest.mark.parametrize(
    "line, cell, message",
    [("ticks", FALL.replace("price <", "prize <"), "A711"), ("ticks=nowhere", FALL, "A644"), ("", FALL, "TABLE")],
)
def test_errors_of_sql_are_messages_without_a_traceback(shell: Any, line: str, cell: str, message: str) -> None:
    from IPython.core.error import UsageError

    shell.user_ns["ticks"] = TICKS
    with pytest.raises(UsageError, match=message):
        shell.run_cell_magic("match_recognize", line, cell)
