"""A code of a `HostError` stands for one thing, and the page of errors says which."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import augury

SOURCE = Path(augury.__file__).parent
PAGE = Path(__file__).parents[1] / "docs" / "language" / "errors.md"


def raised() -> Iterator[tuple[str, str]]:
    """Every call of `HostError` in the source: its code, and its message up to the first value put into it."""
    for file in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            match node:
                case ast.Call(
                    ast.Name(
                        "HostError"
                        | "UnsupportedPlan"
                        | "FunctionFailed"
                        | "BudgetExceeded"
                        | "NotEnoughMemory"
                        | "TooManyMatches"
                    ),
                    [ast.Constant(str(code)), message, *_],
                ):
                    yield code, beginning(message)


def beginning(message: ast.expr) -> str:
    match message:
        case ast.Constant(str(text)):
            return text
        case ast.JoinedStr([ast.Constant(str(text)), *_]):
            return text
        case ast.BinOp(left, ast.Add()):
            return beginning(left)
        case _:
            return ""


def test_a_code_has_one_meaning() -> None:
    meanings = defaultdict(list)
    for code, message in raised():
        meanings[code].append(message)
    # Where a code is raised in several places, the messages begin alike.
    beginnings = {code: {tuple(m.split()[:3]) for m in messages} for code, messages in meanings.items()}
    assert {code: found for code, found in beginnings.items() if len(found) > 1} == {}
    assert [code for code, messages in meanings.items() if len(messages) > 1 and len(messages[0].split()) < 3] == []


def test_no_code_is_raised_where_this_test_does_not_look() -> None:
    written = [
        code for file in SOURCE.rglob("*.py") for code in re.findall(r'"(A[56]\d\d)"', file.read_text(encoding="utf-8"))
    ]
    assert sorted(written) == sorted(code for code, _ in raised() if code[1] in "56")


def test_the_page_lists_every_code_once_and_in_order() -> None:
    listed = re.findall(r"^\| (A[56]\d\d) \|", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    assert listed == sorted({code for code, _ in raised() if code[1] in "56"})
