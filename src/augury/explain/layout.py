"""Layout of descriptions of plans as lines of text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from augury.planner.describe.table import Table


def laid_out(parts: Iterable[str | Table]) -> list[str]:
    """The lines of a description, its tables aligned.

    >>> laid_out(["runs", Table([["a", "1"], ["long", "2"]])])
    ['runs', '  a     1', '  long  2']
    """
    lines: list[str] = []
    for part in parts:
        lines += [part] if isinstance(part, str) else aligned(part.rows, part.indent)
    return lines


def aligned(rows: Sequence[Sequence[str]], indent: str = "  ") -> list[str]:
    """The cells of each row, padded to columns.

    >>> aligned([["a", "1"], ["long", ""]])
    ['  a     1', '  long']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [indent + "  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)).rstrip() for row in rows]
