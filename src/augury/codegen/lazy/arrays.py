"""The arrays of a kernel of lazy chains: what each is for, and what decides how long it is."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Extent(StrEnum):
    """What decides how long an array is, and what it holds at first."""

    BUFFER = "an element for each event of a buffer, and some to spare that vectors may reach into"
    INDEX = "an element for each event of a buffer"
    BITS = "a word for each block of a buffer"
    LIST = "an element for each event of a buffer, and one for the empty list"
    BLOCKS = "the lists of a buffer in blocks"
    KEYS = "an element for each key, -1 at first"
    ROWS = "a row for each partial match"
    MATCHES = "matches that were found"
    FIXED = "as long as the kernel says"
    TABLE = "made by the state, cells of buffers, states or keys"


@dataclass(frozen=True, slots=True)
class LazyArray:
    """An array that generated functions take; it belongs to whatever of a buffer, state, pool or stage is named."""

    name: str
    extent: Extent
    buffer: int | None = None
    state: int | None = None
    """The state whose candidates it holds."""
    pool: int | None = None
    """The state whose partial matches wait in it."""
    stage: int | None = None
    """The state whose partial matches it hands to another function."""
    width: int = 0
    """Cells in a row, or the length of a fixed array; 0 for an array of one dimension."""
    column: str = ""
    """The column of the events that it has copies of, and the type of their values."""
    dtype: str = "int64"
    """The type of its values otherwise."""


def table(name: str) -> LazyArray:
    """An array that the state makes."""
    return LazyArray(name, Extent.TABLE)
