"""Sampling of a long stream for `why_not`."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from augury.engine.arrivals import Arrivals
from augury.ir.query import BoundQuery
from augury.runtime.batch import Integers

MAX_EVENTS = 5_000
"""Events that are searched unless the caller sets another number."""


def sampled(events: Arrivals, query: BoundQuery, size: int, wanted: Integers) -> tuple[Arrivals, str]:
    """At most `size` events, including the rows `wanted`, and a description of which they are.

    For a query with a key these are all events of some keys, evenly spread. Otherwise, and around wanted rows, they are
    a contiguous part of the stream, since events in between may matter.
    """
    if len(events) <= size:
        return events, ""
    if len(wanted):
        return _around(events, query, size, events.positions(wanted))
    if not query.partition_by:
        return events.slice(0, size), f"the first {size:,}"
    keys = _keys(events, query)
    counts = np.bincount(keys[keys >= 0])
    few = np.linspace(0, len(counts) - 1, num=min(len(counts), size)).astype(np.int64)
    chosen = _spread(few, counts, size)
    if not len(chosen):
        return events.slice(0, size), f"the first {size:,}"
    return events.where(np.isin(keys, chosen)), f"all of {len(chosen):,} out of {len(counts):,} keys"


def _around(events: Arrivals, query: BoundQuery, size: int, positions: Integers) -> tuple[Arrivals, str]:
    """The events nearest to those at `positions`; if these share a key, the nearest with that key."""
    mask = np.ones(len(events), dtype=np.bool_)
    shared = ""
    if query.partition_by:
        keys = _keys(events, query)
        mine = np.unique(keys[positions])
        if len(mine) == 1 and mine[0] >= 0:
            mask, shared = keys == mine[0], " of the same key"
    places = np.flatnonzero(mask)
    if len(places) <= size:
        return events.take(places), f"all{shared}"
    low, high = np.searchsorted(places, [positions.min(), positions.max()])
    margin = max(0, size - int(high - low) - 1) // 2
    first = max(0, int(low) - margin)
    kept = np.union1d(places[first : int(high) + margin + 1], positions)
    return events.take(kept), f"those around the rows{shared}"


def _spread(order: Integers, counts: Integers, size: int) -> Integers:
    """Keys spread evenly over the whole range, as many as have at most `size` events together."""
    jumping = order[np.random.default_rng(0).permutation(len(order))]
    fits = np.cumsum(counts[jumping]) <= size
    return jumping[fits]


def _keys(events: Arrivals, query: BoundQuery) -> Integers:
    """The number of each event's key, -1 for an event without one."""
    found = np.zeros(len(events), dtype=np.int64)
    missing = np.zeros(len(events), dtype=np.bool_)
    for name in query.partition_by:
        column = events.table[name].combine_chunks()
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        codes = pc.dictionary_encode(column)
        indices = pc.fill_null(codes.indices, -1).to_numpy(zero_copy_only=False).astype(np.int64)
        missing |= indices < 0
        pairs = found * (len(codes.dictionary) + 1) + indices + 1
        found = np.unique(pairs, return_inverse=True)[1].astype(np.int64)
    found[missing] = -1
    present = np.unique(found[found >= 0])
    numbered = np.full(len(events), -1, dtype=np.int64)
    numbered[found >= 0] = np.searchsorted(present, found[found >= 0])
    return numbered
