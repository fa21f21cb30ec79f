"""The cells of `nums`, by family: the numbers that a kernel and its caller tell each other, then what it counts.

Compiled functions name them too, so that this file is the first part of the prelude.
"""

from __future__ import annotations

from enum import IntEnum


class Cell(IntEnum):
    """Cells that mean the same in every kernel; those before `PREDICATES` are the family's own."""

    PREDICATES = 8
    """The first counter: how many conditions were evaluated."""
    RUNS = 9
    BUFFER_WRITES = 11
    STOP = 15
    """Not 0 if the kernel is to come back at once; the cell that `augury.budget` writes."""


class KeyCell(IntEnum):
    """Cells of the numbering of keys."""

    KEYS = 6
    """How many keys have a number."""


class RunCell(IntEnum):
    """Cells of a kernel with runs: how far its pools are filled, then what it counts."""

    NODES = 0
    EDGES = 1
    FREE = 2
    """Runs that are free."""
    FOUND = 3
    """Nodes that end matches, not written out yet."""
    LIVE = 4
    """Runs that are not free."""
    STAMP = 5
    """Events that the table of merged runs has been used for."""
    PREDICATES = 8
    RUNS = 9
    PEAK_RUNS = 10
    BUFFER_WRITES = 11
    MERGED = 12
    """Of event sets, the instances looked at."""


class ChainCell(IntEnum):
    """Cells of a kernel of lazy chains."""

    MATCHES = 0
    """Matches that were written."""
    EVENTS = 1
    """Events of these."""
    FULL = 2
    """What had no room left (`augury.codegen.lazy.source`)."""
    LIMIT = 3
    """How many lists there may be for one partial match."""
    SO_FAR = 4
    """Matches there were when there was no room, those of the outermost event included."""
    PREDICATES = 8
    BUFFER_WRITES = 11
    BOUNDS = 12
    """Comparisons of lists that leading coefficients have decided."""


class LinkCell(IntEnum):
    """Cells of a kernel of linked chains."""

    LINKS = 0
    LISTS = 1
    CHAINS = 2
    FINALS = 3
    """Final lists, or events that complete matches."""
    MATCHES = 4
    """Matches that `combine` has written."""
    EVENTS = 5
    """Events of these, where matches have lists."""
    TOO_MANY_STEPS = 6
    """1 if a walk was given up."""
    WALKED = 7
    """Matches that the walk from one event has found."""
    PREDICATES = 8
    TEMPORARY_MATCHES = 9
    COPIES = 10


class QueueCell(IntEnum):
    """Cells of a kernel of lossy streams."""

    FOUND = 0
    """Matches that were written, or would have been with more room."""
    FREE = 1
    """Entries that are free."""
    LIMIT = 2
    """How many matches end the work."""
    NO_ROOM = 3
    """How many matches there was no room for, 0 if there was."""
    BOUNDS = 8
    ARRIVALS = 9
    PEAK_ENTRIES = 10
    EXTENSIONS = 11
    PREDICATES = 12
    MATCHES = 13


FIRST_COUNTER = 8
"""Cells from here on count what a kernel does; a state that is built anew keeps them."""

CELLS = 16
"""Cells of every kernel."""
