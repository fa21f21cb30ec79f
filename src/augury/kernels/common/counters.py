"""The names of counters, from the cells that hold them."""

from __future__ import annotations

from enum import IntEnum

from augury.native.cells import FIRST_COUNTER


def counters_of(cells: type[IntEnum]) -> tuple[str, ...]:
    """The counters in the cells of `nums` from `FIRST_COUNTER` on, by name.

    >>> from augury.native.cells import LinkCell
    >>> counters_of(LinkCell)
    ('predicates', 'temporary_matches', 'copies')
    """
    return tuple(cell.name.lower() for cell in cells if cell >= FIRST_COUNTER)
