"""The tables of the parser that come with the package are those of its grammar."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import lark
import pytest

from augury.ir.syntax import Program
from augury.lang import grammar as module
from augury.lang.grammar import GRAMMAR, TABLES, built, grammar, tables

FOLDER = Path(module.__file__).parent


def table(parser: lark.Lark) -> list[dict[str, tuple[str, object]]]:
    """What the parser does in each state, numbered by a walk from the first one in the order of the tokens."""
    # It has no public name; without it two parsers could be compared by examples only.
    found: Any = parser.parser.parser._parse_table
    numbers = dict.fromkeys(found.start_states.values(), 0)
    out = []
    for state in (walk := list(numbers)):
        actions: dict[str, tuple[str, object]] = {}
        for token, (action, target) in sorted(found.states[state].items(), key=lambda item: str(item[0])):
            if action.name == "Shift":
                if target not in numbers:
                    numbers[target] = len(numbers)
                    walk.append(target)
                actions[str(token)] = action.name, numbers[target]
            else:
                parts = tuple(str(part.name) for part in target.expansion)
                actions[str(token)] = action.name, (str(target.origin.name), parts, target.alias)
        out.append(actions)
    return out


def terminals(parser: lark.Lark) -> list[tuple[str, str, int]]:
    return sorted((t.name, t.pattern.to_regexp(), t.priority) for t in parser.terminals)


def test_golden_tables_are_those_of_the_grammar(pytestconfig: pytest.Config) -> None:
    made = built((FOLDER / GRAMMAR).read_text(encoding="utf-8"))
    if pytestconfig.getoption("--update-golden"):
        (FOLDER / TABLES).write_text(tables(), encoding="utf-8")
        grammar.cache_clear()
    stored = grammar()
    if stored.source_path != "<deserialized>":
        pytest.skip(f"the tables are for another release of Lark than {lark.__version__}")
    assert table(stored) == table(made)
    assert terminals(stored) == terminals(made)
    assert sorted(stored.lexer_conf.ignore) == sorted(made.lexer_conf.ignore)


def test_tables_come_with_the_pinned_release_of_lark() -> None:
    lines = (Path(__file__).parents[2] / "constraints.txt").read_text(encoding="utf-8").split()
    pins = dict(line.split("==") for line in lines if "==" in line)
    text = (FOLDER / GRAMMAR).read_text(encoding="utf-8")
    stored = json.loads((FOLDER / TABLES).read_text(encoding="utf-8"))
    assert stored["made"] == module.made_of(text, pins["lark"])


def test_another_release_of_lark_builds_the_parser_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lark, "__version__", "0")
    made = grammar.__wrapped__()
    assert made.source_path != "<deserialized>"
    program = made.parse("SEQ(A a, B b)")
    assert isinstance(program, Program)
    assert program == grammar().parse("SEQ(A a, B b)")
