"""Windows and places in the query as text."""

from __future__ import annotations

from augury.ir.query import BoundQuery, CountWindow, TimeWindow
from augury.schema import UNITS
from augury.source import NOWHERE, Source, Span

UNIT_NAMES = {"ns": "nanosecond", "us": "microsecond", "ms": "millisecond", "s": "second", "D": "day"}


def window_text(query: BoundQuery) -> str:
    """The WITHIN clause as the evaluators count it."""
    match query.window:
        case None:
            return "none"
        case CountWindow(events):
            return f"{events} consecutive events"
        case TimeWindow(ticks):
            unit = UNIT_NAMES[query.schema.time_unit]
            return f"{ticks} ticks of one {unit} ({ticks * UNITS[query.schema.time_unit] / 1e9:g} seconds)"


def place(source: Source, span: Span | None) -> str:
    """The place in the query where something was written; empty if a rule derived it.

    >>> from augury.source import Source, Span
    >>> place(Source("SEQ(A a,\\nB b)"), Span(9, 12)), place(Source(""), None)
    ('(query 2:1)', '')
    """
    if span is None or span == NOWHERE:
        return ""
    line, column = source.position(span.start)
    return f"({source.name} {line}:{column})"
