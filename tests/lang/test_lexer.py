"""Colours for queries: Pygments and TextMate know the words of the grammar, all of them."""

from __future__ import annotations

import json
import os
import pty
import re
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from pygments.lexers import get_lexer_by_name, get_lexer_for_filename
from pygments.token import Keyword, Name, Number, Operator, Token

from augury.lang.lexer import AuguryLexer, token_kinds
from augury.lang.textmate import textmate_grammar
from augury.lang.words import CLAUSES, CONSTANTS, OPERATORS, terminals
from augury.testing.syntax import programs

ROOT = Path(__file__).parents[2]
QUERIES = sorted((ROOT / "tests" / "papers").glob("*.query"))


def test_every_word_of_the_grammar_has_a_colour() -> None:
    coloured = {*CLAUSES, *OPERATORS, *CONSTANTS, "GROUP", "STRATEGY", "UNIT", "EVENTS"}
    assert set(terminals()) == coloured
    grammar = (ROOT / "src" / "augury" / "lang" / "grammar.lark").read_text(encoding="utf-8")
    # No terminal of words is written in a way that is not found.
    written = set(re.findall(r"^([A-Z_]+)[.0-9]*: .*\(\?a:", grammar, flags=re.MULTILINE))
    assert written - coloured == {"NAME", "PERCENT"}


@pytest.mark.parametrize("word", sorted({*CLAUSES, *OPERATORS, *CONSTANTS}))
def test_keywords_in_any_case(word: str) -> None:
    for text in (word, word.lower(), word.title()):
        ((kind, value),) = token_kinds(text)
        assert value == text
        assert kind.split()[:2] in (Keyword.split()[:2], Operator.split()[:2])


def test_registered_with_pygments() -> None:
    assert isinstance(get_lexer_by_name("augury"), AuguryLexer)
    assert isinstance(get_lexer_for_filename("theft.augury"), AuguryLexer)


def test_what_stands_for_what() -> None:
    found = token_kinds("PATTERN SEQ(Shelf|Rack s, `my type`+ b[]) WHERE s.price > avg(b.price) WITHIN 12 hours")
    kinds = {value: kind for kind, value in found}
    assert kinds["Shelf"] is kinds["Rack"] is kinds["`my type`"] is Name.Class
    assert kinds["price"] is Name.Attribute
    assert kinds["avg"] is Name.Function
    assert (kinds["12"], kinds["hours"]) == (Number, Keyword.Type)


@pytest.mark.parametrize("file", QUERIES, ids=lambda file: file.stem)
def test_queries_of_the_papers_have_no_unknown_tokens(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    tokens = list(AuguryLexer(stripnl=False, ensurenl=False).get_tokens(text))
    assert "".join(value for _, value in tokens) == text
    assert [value for kind, value in tokens if kind is Token.Text or kind is Token.Error] == []


@settings(max_examples=15)
@given(programs())
def test_any_query_keeps_its_text(program: object) -> None:
    text = str(program)
    assert "".join(value for _, _, value in AuguryLexer().get_tokens_unprocessed(text)) == text


def test_the_textmate_grammar_is_the_one_for_this_language() -> None:
    file = ROOT / "editors" / "augury.tmLanguage.json"
    assert json.loads(file.read_text(encoding="utf-8")) == textmate_grammar()


def test_textmate_patterns_find_the_words() -> None:
    found = set()
    for text in ("PATTERN", "seq(", "skip-till-any-match", "12 hours", "NULL", "and"):
        for pattern in textmate_grammar()["patterns"]:
            # Flags in the middle of an expression are Oniguruma's way; Python wants them in front.
            expression = pattern.get("match", pattern.get("begin")).replace("(?i)", "")
            if re.match(expression, text, re.IGNORECASE):
                found.add((text, pattern.get("name", "number and unit")))
                break
    assert found == {
        ("PATTERN", "keyword.control.augury"),
        ("seq(", "keyword.control.augury"),
        ("skip-till-any-match", "support.constant.strategy.augury"),
        ("12 hours", "number and unit"),
        ("NULL", "constant.language.augury"),
        ("and", "keyword.operator.logical.augury"),
    }


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
def test_the_command_line_colours_queries_on_a_terminal_only() -> None:
    import subprocess

    command = [sys.executable, "-m", "augury.cli", "explain", "pattern seq(A a, B b)"]
    piped = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert piped == "PATTERN   SEQ(A a, B b)\n"
    leader, follower = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": "80"}
    subprocess.run(command, stdout=follower, stdin=follower, env=environment, check=True)
    os.close(follower)
    shown = os.read(leader, 10_000).decode()
    os.close(leader)
    assert "\x1b[" in shown
    assert re.sub(r"\x1b\[[0-9;]*m", "", shown).split() == piped.split()
