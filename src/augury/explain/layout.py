"""Pieces of text that several explanations share."""

from __future__ import annotations

from collections.abc import Sequence

from augury.ir.query import BoundQuery, CountWindow, TimeWindow
from augury.schema import UNITS
from augury.source import NOWHERE, Source, Span

UNIT_NAMES = {"ns": "nanosecond", "us": "microsecond", "ms": "millisecond", "s": "second", "D": "day"}


def aligned(rows: Sequence[Sequence[str]], indent: str = "  ") -> list[str]:
    """The cells of each row under those of the row before.

    >>> aligned([["a", "1"], ["long", ""]])
    ['  a     1', '  long']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [indent + "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]


def window_text(query: BoundQuery) -> str:
    """WITHIN, as the evaluators count it."""
    match query.window:
        case None:
            return "none"
        case CountWindow(events):
            return f"{events} consecutive events"
        case TimeWindow(ticks):
            unit = UNIT_NAMES[query.schema.time_unit]
            return f"{ticks} ticks of one {unit} ({ticks * UNITS[query.schema.time_unit] / 1e9:g} seconds)"


def place(source: Source, span: Span | None) -> str:
    """Where something was written, or nothing if a rule derived it.

    >>> from augury.source import Source, Span
    >>> place(Source("SEQ(A a,\\nB b)"), Span(9, 12)), place(Source(""), None)
    ('(query 2:1)', '')
    """
    if span is None or span == NOWHERE:
        return ""
    line, column = source.position(span.start)
    return f"({source.name} {line}:{column})"
