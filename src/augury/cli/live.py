"""The progress of a stream as a live table in the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from augury.engine.board import HEADER, RULE_HEADER, Board
from augury.printable import one_line

SHOWN_MATCHES = 5
"""Latest matches listed beside the tables."""

SHOWN_RULES = 10
"""Costliest rules listed in the terminal."""


def board_table(board: Board) -> Group:
    """The queries, their rules and their last matches; text from events is not parsed as markup."""
    tables = [_table(HEADER, board.rows())]
    rules = board.rules()
    if rules:
        tables += [_table(RULE_HEADER, rules[:SHOWN_RULES], texts=2)]
    last = [Text(f"{query}: {one_line(match)}", overflow="ellipsis", no_wrap=True) for query, match in board.matches()]
    return Group(*tables, *last[:SHOWN_MATCHES])


def _table(header: Sequence[str], rows: Sequence[Sequence[str]], texts: int = 1) -> Table:
    """Rows under a header; the first columns are text, the others numbers."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for k, name in enumerate(header):
        table.add_column(name, justify="right" if k >= texts else "left")
    for row in rows:
        table.add_row(*(Text(one_line(cell)) for cell in row))
    return table


@contextmanager
def shown_live(board: Board, console: Console) -> Iterator[Callable[[], None]]:
    """Keep the table in the terminal up to date while the context is open; yields a function that redraws it."""
    with Live(board_table(board), console=console, auto_refresh=False) as live:
        yield lambda: live.update(board_table(board), refresh=True)
