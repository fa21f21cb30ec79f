"""The cells of `nums`, by family: numbers exchanged between a kernel and its caller, then counters.

Compiled functions refer to them by name, so this file is the first part of the prelude.
"""

from __future__ import annotations

from enum import IntEnum


class Cell(IntEnum):
    """Cells with the same meaning in every kernel; those before `PREDICATES` belong to the family."""

    PREDICATES = 8
    """The first counter: conditions evaluated."""
    RUNS = 9
    BUFFER_WRITES = 11
    STOP = 15
    """Nonzero if the kernel should return at once; written by `augury.budget`."""


class KeyCell(IntEnum):
    """Cells of the functions that number keys."""

    KEYS = 6
    """Keys that have a number."""


class RunCell(IntEnum):
    """Cells of a kernel with runs: the fill of its pools, then counters."""

    NODES = 0
    EDGES = 1
    FREE = 2
    """Free runs."""
    FOUND = 3
    """Nodes that end matches, not yet written out."""
    LIVE = 4
    """Runs in use."""
    STAMP = 5
    """Events that the table of merged runs has been used for."""
    PREDICATES = 8
    RUNS = 9
    PEAK_RUNS = 10
    BUFFER_WRITES = 11
    MERGED = 12
    """Runs merged; for event sets, instances visited."""


class ChainCell(IntEnum):
    """Cells of a kernel of lazy chains."""

    MATCHES = 0
    """Matches written."""
    EVENTS = 1
    """Events of the matches written."""
    FULL = 2
    """The array that was full (codes in `augury.codegen.lazy.source`)."""
    LIMIT = 3
    """Lists allowed for one partial match."""
    SO_FAR = 4
    """Matches found when an array was full, including those of the current outermost event."""
    PREDICATES = 8
    BUFFER_WRITES = 11
    BOUNDS = 12
    """Comparisons of lists decided by leading coefficients."""


class LinkCell(IntEnum):
    """Cells of a kernel of linked chains."""

    LINKS = 0
    LISTS = 1
    CHAINS = 2
    FINALS = 3
    """Final lists, or events that complete matches."""
    MATCHES = 4
    """Matches written by `combine`."""
    EVENTS = 5
    """Events of these matches, where they have lists."""
    TOO_MANY_STEPS = 6
    """1 if a walk was given up because it took too many steps."""
    WALKED = 7
    """Matches found by the walk from one event."""
    PREDICATES = 8
    TEMPORARY_MATCHES = 9
    COPIES = 10


class QueueCell(IntEnum):
    """Cells of a kernel of lossy streams."""

    FOUND = 0
    """Matches written, or found while there was no room."""
    FREE = 1
    """Free entries."""
    LIMIT = 2
    """Number of matches after which to stop."""
    NO_ROOM = 3
    """Matches that there was no room for."""
    BOUNDS = 8
    ARRIVALS = 9
    PEAK_ENTRIES = 10
    EXTENSIONS = 11
    PREDICATES = 12
    MATCHES = 13


FIRST_COUNTER = 8
"""The first cell that counts work; a rebuilt state keeps the counters."""

CELLS = 16
"""Cells in `nums` of every kernel."""
