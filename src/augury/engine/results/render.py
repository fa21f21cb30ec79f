"""Matches as text and HTML for people."""

from __future__ import annotations

import datetime as dt
import html
import shutil
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
from rich.cells import cell_len

from augury.engine.results.values import to_shown

MAX_CELL_CHARACTERS = 48
"""Characters of a cell that are shown."""

DEFAULT_WIDTH = 120  # characters per line without a terminal

MAX_TABLE_ROWS = 20
"""Rows of a table that are shown."""

MIN_CELL_WIDTH = 8  # terminal columns that a cell keeps when a table is too wide


def cell(value: Any, longest: int | None = MAX_CELL_CHARACTERS) -> str:
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


def terminal_width() -> int:
    """Characters per line of the terminal."""
    return shutil.get_terminal_size((DEFAULT_WIDTH, 24)).columns


def first_rows(table: pa.Table) -> str:
    """The first rows of a table as text that fits the terminal, and how many more there are.

    >>> print(first_rows(pa.table({"x": range(30)}).slice(8)))  # doctest: +ELLIPSIS
    x
    --
    8
    ...
    27
    ... and 2 more
    """
    shown = table.slice(0, MAX_TABLE_ROWS)
    columns = [[cell(value) for value in to_shown(column.combine_chunks())] for column in shown.columns]
    text = text_table(table.column_names, list(zip(*columns, strict=True)), terminal_width())
    more = table.num_rows - shown.num_rows
    return f"{text}\n... and {more} more" if more else text


def text_table(header: Sequence[str], rows: Sequence[Sequence[str]], width: int | None = None) -> str:
    """Columns aligned under their names; within `width`, by cutting long cells and then leaving out columns.

    >>> print(text_table(["a", "long"], [["xyz", "1"]]))
    a    long
    ---  ----
    xyz  1
    >>> print(text_table(["first", "second", "third"], [["x" * 20, "y" * 20, "z"]], 24))
    first     second    …
    --------  --------  -
    xxxxxxx…  yyyyyyy…  …
    """
    lines = [list(header), *map(list, rows)]
    widths = [max(cell_len(line[i]) for line in lines) for i in range(len(header))]
    if width is not None:
        lines, widths = _fitted(lines, widths, width)
    lines.insert(1, ["-" * w for w in widths])
    return "\n".join(
        "  ".join(text + " " * (width - cell_len(text)) for text, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def _fitted(lines: list[list[str]], widths: list[int], width: int) -> tuple[list[list[str]], list[int]]:
    """Cut cells down to `MIN_CELL_WIDTH`, the widest columns first; then leave out columns from the right."""
    widths = list(widths)
    while _total(widths) > width and max(widths) > MIN_CELL_WIDTH:
        widths[widths.index(max(widths))] -= 1
    shown = len(widths)
    while shown > 1 and _total([*widths[:shown], 1][: len(widths)]) > width:
        shown -= 1
    if shown < len(widths):
        widths = [*widths[:shown], 1]
        lines = [[*line[:shown], "…"] for line in lines]
    return [[_cut(text, w) for text, w in zip(line, widths, strict=True)] for line in lines], widths


def _total(widths: Sequence[int]) -> int:
    return sum(widths) + 2 * (len(widths) - 1)


def _cut(text: str, width: int) -> str:
    if cell_len(text) <= width:
        return text
    while cell_len(text) > width - 1:
        text = text[:-1]
    return text + "…"


def html_table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table as HTML under a title; every text is escaped."""
    head = "".join(f"<th>{html.escape(h)}</th>" for h in header)
    body = "".join("<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in row) + "</tr>" for row in rows)
    return f"<div><p>{html.escape(title)}</p><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
