"""How a stream is doing, as a table that stays in its place on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from augury.engine.board import HEADER, Board
from augury.printable import one_line

SHOWN_MATCHES = 5
"""The last matches that fit a terminal beside the table."""


def board_table(board: Board) -> Group:
    """The queries and their last matches; what the events hold is text, and no markup."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for k, name in enumerate(HEADER):
        table.add_column(name, justify="right" if k else "left")
    for row in board.rows():
        table.add_row(*(Text(one_line(cell)) for cell in row))
    last = [Text(f"{query}: {one_line(match)}", overflow="ellipsis", no_wrap=True) for query, match in board.matches()]
    return Group(table, *last[:SHOWN_MATCHES])


@contextmanager
def shown_live(board: Board, console: Console) -> Iterator[Callable[[], None]]:
    """Keep the table on a terminal up to date as long as this lasts; gives what redraws it."""
    with Live(board_table(board), console=console, auto_refresh=False) as live:
        yield lambda: live.update(board_table(board), refresh=True)
