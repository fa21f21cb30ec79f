"""The words of the query language, read from its grammar so that no list of them can fall behind it."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

CLAUSES = ("PATTERN", "WHERE", "WITHIN", "THRESHOLD", "OUTPUT", "RETURN", "INTO")
OPERATORS = ("AND", "OR", "NOT", "IN", "BETWEEN", "IS", "AS", "FOR", "SINCE", "UNTIL", "EACH")
CONSTANTS = ("NULL", "TRUE", "FALSE")

_TERMINAL = re.compile(r"^(?P<name>[A-Z_]+)(?:\.\d+)?: /\(\?a:(?P<words>.+?)\)(?:\\b|\(\?=)", re.MULTILINE)


@cache
def terminals() -> dict[str, str]:
    """The grammar's terminals that are words, and the regular expression of each; case does not matter.

    >>> terminals()["GROUP"], terminals()["EVENTS"]
    ('sequence|seq|permute|and|or', 'events?')
    """
    grammar = files("augury.lang").joinpath("grammar.lark").read_text(encoding="utf-8")
    return {found["name"]: found["words"] for found in _TERMINAL.finditer(grammar)}


def any_of(names: tuple[str, ...]) -> str:
    """A regular expression for the words of several terminals.

    >>> any_of(("NULL", "TRUE"))
    'null|true'
    """
    return "|".join(terminals()[name] for name in names)
