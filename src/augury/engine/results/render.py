"""Matches as text and HTML for people."""

from __future__ import annotations

import datetime as dt
import html
from collections.abc import Sequence
from typing import Any

from rich.cells import cell_len

LONGEST = 48
"""Characters of a cell that are shown."""


def cell(value: Any, longest: int | None = LONGEST) -> str:
    """One value on one line; what a terminal would not print is escaped.

    >>> cell({"ts": 1, "tag": "x"}), cell(None), cell("a\\nb")
    ('ts=1 tag=x', '', 'a\\\\nb')
    """
    match value:
        case None:
            text = ""
        case dict():
            text = " ".join(f"{k}={cell(v, None)}" for k, v in value.items() if v is not None)
        case list():
            text = "[" + ", ".join(cell(v, None) for v in value) + "]"
        case float():
            text = f"{value:.6g}" if longest is not None else repr(value)
        case dt.datetime():
            text = value.isoformat(sep=" ")
        case _:
            text = str(value)
    text = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)
    return text if longest is None or len(text) <= longest else text[: longest - 1] + "…"


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns aligned under their names.

    >>> print(text_table(["a", "long"], [["xyz", "1"]]))
    a    long
    ---  ----
    xyz  1
    """
    lines = [list(header), *map(list, rows)]
    widths = [max(cell_len(line[i]) for line in lines) for i in range(len(header))]
    lines.insert(1, ["-" * w for w in widths])
    return "\n".join(
        "  ".join(text + " " * (width - cell_len(text)) for text, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def html_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The same as HTML; every text is escaped."""
    head = "".join(f"<th>{html.escape(h)}</th>" for h in header)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in row) + "</tr>" for row in rows)
    return f"<div><p>{html.escape(title)}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
