"""The query language for Ace, the editor of the playground: rules that colour it."""

from __future__ import annotations

from typing import Any

from augury.lang.words import CLAUSES, CONSTANTS, OPERATORS, any_of, terminals

NAME = r"(?:[^\W\d]\w*|`(?:[^`]|``)*`)"
NUMBER = r"\b[0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?"
QUANTIFIER = r"(?:\s*(?:[+*?]|\{\s*\d+\s*(?:,\s*\d*\s*)?\}))?"


def ace_rules() -> dict[str, list[dict[str, Any]]]:
    """The rules by state, as a highlighter of Ace takes them; case does not matter.

    >>> ace_rules()["start"][0]["token"]
    'comment'
    """
    reserved = rf"(?:{any_of((*CLAUSES, *OPERATORS, *CONSTANTS))})\b"
    return {
        "start": [
            _rule("comment", r"--.*$"),
            _rule("comment", r"\/\*", next="comment"),
            _rule("string", r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\""),
            _rule("keyword", rf"\b(?:{terminals()['GROUP']})(?=\s*\()"),
            _rule("keyword", rf"\b(?:{any_of(CLAUSES)})\b"),
            _rule("constant.language", rf"\b(?:{any_of(CONSTANTS)})\b"),
            _rule("keyword.operator", rf"\b(?:{any_of(OPERATORS)})\b|[∧∨¬]"),
            _rule("support.constant", rf"\b(?:{terminals()['STRATEGY']})\b"),
            _rule(
                ["constant.numeric", "text", "support.constant"],
                rf"({NUMBER})(\s*)((?:{any_of(('UNIT', 'EVENTS'))})\b)",
            ),
            _rule("constant.numeric", rf"{NUMBER}%?"),
            _rule("variable.parameter", rf"\.\s*{NAME}"),
            # A type stands before its variable.
            _rule(
                ["support.type", "keyword.operator", "text", "variable"],
                rf"({NAME})({QUANTIFIER})(\s+)(?!{reserved})({NAME}(?!\s*\())",
            ),
            _rule("support.function", rf"{NAME}(?=\s*\()"),
            _rule("variable", NAME),
            _rule("keyword.operator", r"==|!=|<>|<=|>=|[=<>≤≥≠+*/%?~!|−-]"),
        ],
        "comment": [
            _rule("comment", r"\*\/", next="start"),
            {"defaultToken": "comment"},
        ],
    }


def _rule(token: str | list[str], regex: str, **more: str) -> dict[str, Any]:
    return {"token": token, "regex": regex, "caseInsensitive": True, **more}
