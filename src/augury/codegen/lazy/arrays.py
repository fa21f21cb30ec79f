"""The arrays of a kernel of lazy chains: what has a cell in each, and which generated functions take it.

How many buffers, states and keys there are depends on the query, so that owners are numbered: the events of buffer 0,
the partial matches that wait at state 2.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from augury.native.prelude_lists import BLOCK_LISTS
from augury.runtime.arrays import FLOAT64, INT64, UINT8, ArraySpec
from augury.runtime.cosines import LEADING

SPARE_ELEMENTS = 64
"""Unused elements at the end of an array, so that vector loads past the last one stay inside it."""

LONGEST, MATCHES, MATCH_EVENTS, PARTITIONS = "longest buffer", "matches", "events of matches", "partitions"
"""Owners of arrays that exist in every kernel."""


def buffer_owner(number: int) -> str:
    """The events of an input buffer."""
    return f"buffer {number}"


def state_owner(number: int) -> str:
    """The candidates of a state."""
    return f"state {number}"


def pool_owner(number: int) -> str:
    """The partial matches that wait at a state."""
    return f"pool {number}"


def stage_owner(number: int) -> str:
    """The partial matches of a state that one function hands to another."""
    return f"stage {number}"


def key_owner(column: str) -> str:
    """The values of a key column, or the partitions for `PARTITION`."""
    return f"keys {column}"


def block_owner(number: int) -> str:
    """The numbers of lists that are held in blocks."""
    return f"blocks {number}"


def buffered(name: str, buffer: int, *states: int, dtype: np.dtype[Any] = INT64) -> ArraySpec:
    """A number for each event of a buffer; selectors read to the end of a vector, and store vectors."""
    owner = buffer_owner(buffer)
    scope = (owner, *map(state_owner, states))
    return ArraySpec(name, dtype, owner=owner, more=SPARE_ELEMENTS, fill=None, scope=scope)


def indexed(name: str, buffer: int) -> ArraySpec:
    """A number for each event of a buffer, read one by one."""
    return ArraySpec(name, owner=buffer_owner(buffer), fill=None, scope=(buffer_owner(buffer),))


def marked_blocks(name: str, buffer: int, state: int) -> ArraySpec:
    """A word for each block of a buffer."""
    owner = buffer_owner(buffer)
    return ArraySpec(name, owner=owner, per_cell=BLOCK_LISTS, more=1, fill=None, scope=(owner, state_owner(state)))


def listed(name: str, buffer: int, width: int = 0, dtype: np.dtype[Any] = INT64) -> ArraySpec:
    """A cell for each length of a list of events of a buffer, the empty one included."""
    owner = buffer_owner(buffer)
    return ArraySpec(name, dtype, owner=owner, width=width, more=1, fill=None, scope=(owner,))


def keyed(name: str, column: str, scope: str) -> ArraySpec:
    """An array of numbers looked up by a key; -1 for a key without one."""
    return ArraySpec(name, owner=key_owner(column), fill=-1, scope=(scope,))


def waiting(name: str, owner: str, width: int = 0) -> ArraySpec:
    """A number, or a row, for each partial match of a pool or a stage."""
    return ArraySpec(name, owner=owner, width=width, fill=None, account="partial matches", scope=(owner,))


def turned_blocks(number: int, buffer: int) -> ArraySpec:
    """The lists of a buffer in blocks, turned on their side."""
    dtype = np.dtype(np.float32)
    return ArraySpec(f"block{number}", dtype, owner=block_owner(number), fill=None, scope=(buffer_owner(buffer),))


def leading_cosines(number: int, buffer: int) -> ArraySpec:
    return ArraySpec(f"cosine{number}", FLOAT64, more=LEADING, fill=None, scope=(buffer_owner(buffer),))


def counted(name: str, cells: int, width: int = 0) -> ArraySpec:
    """An array of a fixed length, or of rows of that length, that every function takes."""
    return ArraySpec(name, more=max(1, cells), width=width)


MASK = ArraySpec("mask", UINT8, owner=LONGEST, more=SPARE_ELEMENTS)
COUNT = ArraySpec("partition_events", owner=PARTITIONS)

FOUND = (
    # The first match begins at 0.
    ArraySpec("match_offset", owner=MATCHES, more=1, account="matches"),
    ArraySpec("match_event", owner=MATCH_EVENTS, fill=None, account="matches"),
    ArraySpec("match_component", owner=MATCH_EVENTS, fill=None, account="matches"),
)
"""Matches as they are found."""
