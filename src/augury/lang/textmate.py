"""The query language for editors that read TextMate grammars, such as VS Code."""

from __future__ import annotations

from typing import Any

from augury.lang.words import CLAUSES, CONSTANTS, OPERATORS, any_of, terminals


def textmate_grammar() -> dict[str, Any]:
    """The grammar as JSON holds it; `editors/augury.tmLanguage.json` is this."""
    return {
        "name": "Augury",
        "scopeName": "source.augury",
        "fileTypes": ["augury"],
        "patterns": [
            _match("comment.line.double-dash.augury", r"--[^\n]*"),
            {"name": "comment.block.augury", "begin": r"/\*", "end": r"\*/"},
            {"name": "string.quoted.single.augury", "begin": "'", "end": "'(?!')"},
            {"name": "string.quoted.double.augury", "begin": '"', "end": '"(?!")'},
            _match("variable.other.quoted.augury", "`(?:[^`]|``)*`"),
            _match("keyword.control.augury", _words(terminals()["GROUP"]) + r"(?=\s*\()"),
            _match("keyword.control.augury", _words(any_of(CLAUSES))),
            _match("constant.language.augury", _words(any_of(CONSTANTS))),
            _match("keyword.operator.logical.augury", _words(any_of(OPERATORS)) + "|[∧∨¬]"),
            _match("support.constant.strategy.augury", _words(terminals()["STRATEGY"])),
            {
                "match": r"\b([0-9]+(?:\.[0-9]+)?)\s*(" + _words(any_of(("UNIT", "EVENTS"))) + ")",
                "captures": {
                    "1": {"name": "constant.numeric.augury"},
                    "2": {"name": "keyword.other.unit.augury"},
                },
            },
            _match("constant.numeric.augury", r"\b[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?%?"),
            {"match": r"\.\s*(\w+)", "captures": {"1": {"name": "variable.other.property.augury"}}},
            _match("entity.name.function.augury", r"\b[^\W\d]\w*(?=\s*\()"),
            _match("keyword.operator.augury", r"==|!=|<>|<=|>=|[=<>≤≥≠+*/%?~!|−-]"),
        ],
    }


def _match(name: str, pattern: str) -> dict[str, str]:
    return {"name": name, "match": pattern}


def _words(alternatives: str) -> str:
    return rf"(?i)\b(?:{alternatives})\b"
