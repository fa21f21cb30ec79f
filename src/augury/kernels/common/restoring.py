"""Restores the parts of a state that all families share: events, numbers of keys and strings, matches that wait.

A kernel has no bounds checks, so that all of it is checked here first, once and by whole arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from augury.jit.tier import Tier
from augury.kernels.common.expanded import Expanded
from augury.kernels.common.keys import KeyNumbers
from augury.runtime.batch import Integers
from augury.runtime.checks import ArraySpec, read_arrays, require
from augury.runtime.columns import Encoding
from augury.runtime.events import EventStore

ENCODING = "encoding."


def restore_stream(
    tables: Mapping[str, pa.Table], support: Tier, literals: Sequence[str], events: EventStore, keys: KeyNumbers
) -> Encoding:
    """Fill a new store and a new numbering of keys from a saved state; how its strings are encoded."""
    encoding = Encoding.from_tables(
        {name.removeprefix(ENCODING): table for name, table in tables.items() if name.startswith(ENCODING)}, literals
    )
    keys.restore(support, tables)
    events.restore(tables, strings=len(encoding.dictionary), partitions=len(keys))
    encoding.check_last(events.arrays, events.length)
    keys.check_places(events)
    return encoding


def restore_pending(tables: Mapping[str, pa.Table], events: EventStore, branch_of: Integers, fixed: int) -> Expanded:
    """The matches that wait: each binds events of one partition, in their order, to all components of one branch.

    `branch_of` are the branches of the components; `fixed` is how many events every match has, 0 if that differs.
    """
    found = read_pending(tables, events, branch_of)
    bindings, codes, offsets = found.events, found.codes, found.offsets
    lengths = np.diff(offsets)
    match = np.repeat(np.arange(len(lengths)), lengths)
    same = match[1:] == match[:-1]
    require(bindings[1:][same] > bindings[:-1][same], "the events of a match that waits are out of order")
    components = np.bincount(branch_of, minlength=1)
    distinct = np.unique(match * len(branch_of) + codes) // max(1, len(branch_of))
    there = np.bincount(distinct, minlength=len(lengths))
    require(there == components[branch_of[codes[offsets[:-1]]]], "a match that waits lacks a component")
    if fixed:
        # Each component once, in the order of the codes.
        require(lengths == fixed, "a match that waits has too many events")
        require(codes == np.tile(np.arange(fixed), len(lengths)), "a match that waits binds its events out of order")
    return found


def read_pending(tables: Mapping[str, pa.Table], events: EventStore, branch_of: Integers) -> Expanded:
    """The matches that wait: each binds events of one partition to components of one branch."""
    sizes = {"events": events.length, "components": len(branch_of)}
    bound = ArraySpec("events", low=0, refers_to="events"), ArraySpec("codes", low=0, refers_to="components")
    pending = read_arrays(tables, "pending", bound, sizes)
    bindings, codes = pending["events"], pending["codes"]
    ends = ArraySpec("", low=0, below=len(bindings) + 1, ascending=True)
    (offsets,) = read_arrays(tables, "pending_offsets", [ends]).values()
    require(len(offsets) > 0 and offsets[0] == 0 and offsets[-1] == len(bindings), "a match that waits is cut off")
    lengths = np.diff(offsets)
    require(lengths > 0, "a match that waits has no events")
    match = np.repeat(np.arange(len(lengths)), lengths)
    same = match[1:] == match[:-1]
    partition, branch = events.view("partition")[bindings], branch_of[codes]
    require(partition >= 0, "a match that waits has no partition")
    require(partition[1:][same] == partition[:-1][same], "a match that waits has two partitions")
    require(branch[1:][same] == branch[:-1][same], "a match that waits is one of two branches")
    return Expanded(offsets, bindings, codes)
