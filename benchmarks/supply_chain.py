"""Goods that pass four readers on their way from the factory to the shop; some take another way."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

READERS = ("factory", "warehouse", "truck", "shop")

QUERY = """
PATTERN   SEQ(f, w, t, s)
WHERE     [tag] AND f.reader = 'factory' AND w.reader = 'warehouse' AND t.reader = 'truck' AND s.reader = 'shop'
WITHIN    48 hours
THRESHOLD {threshold}
"""

MEANS = (8.0, 6.0, 12.0)
"""Hours from each reader to the next, on average."""

SHAPE = 16.0
"""Of the distribution of these hours: they vary by a quarter."""


def supply_chain(items: int, *, seed: int = 1, detours: float = 0.04, gap: float = 180.0) -> pa.Table:
    """The complete readings, in order; each item avoids each reader but the last with probability `detours`.

    Items leave `gap` seconds apart on average. Hours from one reader to the next follow a gamma distribution.
    """
    random = np.random.default_rng(seed)
    start = np.cumsum(random.exponential(gap, items))
    steps = np.stack([random.gamma(SHAPE, mean * 3600 / SHAPE, items) for mean in MEANS], axis=1)
    times = start[:, None] + np.concatenate([np.zeros((items, 1)), np.cumsum(steps, axis=1)], axis=1)
    there = random.random((items, len(READERS))) >= detours
    there[:, -1] = True
    item, reader = np.nonzero(there)
    ts = times[item, reader].astype(np.int64)
    order = np.argsort(ts, kind="stable")
    names = np.array(READERS)[reader[order]]
    return pa.table({"ts": ts[order], "tag": item[order].astype(np.int64), "reader": pa.array(names.tolist())})


def dropped(table: pa.Table, rate: float, *, seed: int = 3) -> pa.Table:
    """The readings without those that were lost."""
    return table.filter(pa.array(np.random.default_rng(seed).random(len(table)) >= rate))


def complete_chains(table: pa.Table, hours: float = 48.0) -> int:
    """How many items were read by all four readers in time: each of them is one exact match.

    >>> complete_chains(pa.table({"ts": [0, 1, 2, 3], "tag": [7] * 4, "reader": list(READERS)}))
    1
    """
    reader = {name: k for k, name in enumerate(READERS)}
    times: dict[int, dict[int, int]] = {}
    for ts, tag, name in zip(*(table[c].to_pylist() for c in ("ts", "tag", "reader")), strict=True):
        times.setdefault(tag, {})[reader[name]] = ts
    whole = [[found[k] for k in range(len(READERS))] for found in times.values() if len(found) == len(READERS)]
    return sum(1 for t in whole if t == sorted(set(t)) and t[-1] - t[0] <= hours * 3600)
