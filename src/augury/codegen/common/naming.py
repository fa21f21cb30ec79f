"""Escapes text of users for generated code: identifiers, constants, comments.

Generated code is run, so no character of a name or a value gets into it but through one of these functions.
"""

from __future__ import annotations

import math

from augury.ir.predicate import Conjunct
from augury.printable import one_line
from augury.source import Source

LONGEST_REMARK = 200
"""Characters of a comment in generated code, after which it is cut off."""

MOST_LINES = 60
"""Lines of a query that the head of its kernel repeats."""


def constant(value: float) -> str:
    """A number as source text.

    >>> constant(-3), constant(0.5), constant(float("inf"))
    ('-3', '0.5', 'inf')
    """
    # A subclass of these could bring a `__repr__` of its own.
    match value:
        case bool():
            return str(int(value))
        case int():
            return int.__repr__(int(value))
        case float() if math.isnan(value):
            return "nan"
        case float():
            return float.__repr__(float(value))
    raise AssertionError(f"a {type(value).__name__} does not stand in generated code")


def remark(text: str) -> str:
    r"""A comment: one line of printable characters.

    >>> remark("a.name != 'bob\r  print()#'")
    "a.name != 'bob\\r  print()#'"
    """
    return one_line(text, LONGEST_REMARK)


def origin(c: Conjunct, source: Source) -> str:
    """A comment that says what was written, and where."""
    line, column = source.position(c.span.start)
    return f"{remark(c.brief)}   ({one_line(source.name, 40)} {line}:{column})"


def heading(source: Source) -> list[str]:
    """The text of a query as comments."""
    lines = source.text.strip().expandtabs(4).splitlines()
    shown = [remark(line.rstrip()) for line in lines[:MOST_LINES]]
    return [*shown, f"... and {len(lines) - MOST_LINES} more lines"] if len(lines) > MOST_LINES else shown
