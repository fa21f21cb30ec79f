"""The cells of `nums` that mean the same in every kernel."""

from __future__ import annotations

from enum import IntEnum


class Cell(IntEnum):
    """Cells of `nums` that kernels of all families share; those before `PREDICATES` are the family's own."""

    PREDICATES = 8
    """The first counter: how many conditions were evaluated."""
    RUNS = 9
    BUFFER_WRITES = 11
