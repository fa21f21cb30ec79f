"""Cells and codes by which the search of a row pattern and its caller communicate."""

from __future__ import annotations

from enum import IntEnum


class Cell(IntEnum):
    """Cells of `nums`: where the search stands, then how it is to go on; cell 15 tells it to stop."""

    PARTITION = 0
    ROW = 1
    """The candidate that comes next."""
    NUMBER = 2
    """The number of the next match in its partition."""
    MAPPED = 3
    """The row after the last one that a match of the partition maps."""
    FOUND = 4
    """Matches and unmatched rows that are written."""
    USED = 5
    """States of mapped rows that are written."""
    UNTIL = 6
    """The candidate before which the search comes back."""
    STEPS = 7
    """Steps that a candidate may take, beside those for each row of its partition."""
    FIRST_FOUND = 8
    """FOUND when the partition began."""
    FIRST_USED = 9
    """USED when the partition began."""
    TRIED = 10
    """Steps of all candidates so far."""
    LOGGED = 11
    """Failures to be forgotten before the next candidate."""
    SKIP = 16
    """A `SkipMode`."""
    UNMATCHED = 17
    """Whether rows are written that no match maps."""
    WORDS = 18
    """Words of bits that each row has."""
    WITHIN = 19
    """Whether matches end before `reach` of their first row."""
    FALLIBLE = 20
    """Whether a condition can fail at some row, as `failures` says."""
    OPEN = 21
    """Whether rows may still come after the last one of a partition."""
    AHEAD = 22
    """How many rows ahead conditions read that may not be known yet."""
    PROBE = 23
    """How far from its first row a match has a row that must have a bit of PROBE_MASK."""
    PROBE_MASK = 24
    """0 if no such row is known."""


CELLS = 25
STEPS_A_ROW = 100
"""Steps at one candidate that a long match may take for each row of its partition."""


class SkipMode(IntEnum):
    """The row at which the search goes on after a match."""

    PAST_LAST = 0
    NEXT_ROW = 1
    FIRST = 2
    LAST = 3


class Status(IntEnum):
    """The reason why the search returned."""

    DONE = 0
    PAUSED = 1
    """It reached UNTIL, or was told to stop."""
    OUTPUT_FULL = 2
    """There is no room for one more match; it goes on with the same candidate."""
    PATH_FULL = 3
    """A match is longer than there is room for; it goes on with the same candidate."""
    FAILED = 4
    """A condition has failed, such as by a division by zero."""
    TOO_LONG = 5
    """A candidate took more steps than it may."""
    NOT_MAPPED = 6
    """SKIP leads to a variable that the match does not map."""
    FIRST_ROW = 7
    """SKIP leads to the first row of the match."""
    LOG_FULL = 8
    """There is no room for failures that hold for one candidate; it goes on with the same candidate."""
    WAITING = 9
    """The candidate depends on rows that are not known yet; only inside of the search, which goes on elsewhere."""
