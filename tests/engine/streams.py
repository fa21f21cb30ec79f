"""Queries and a stream of events that hosts and parts of the engine are tried with, and what the local host finds."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import numpy as np
import pyarrow as pa

import augury

KEYED = "PATTERN SEQ(A a, B b, C c) WHERE [k] AND a.x < b.x AND b.x < c.x WITHIN 40 seconds"
KEYLESS = "PATTERN SEQ(A a, NOT(C n), B b) WHERE a.x + b.x = 7 AND n.x > a.x WITHIN 12 seconds"
QUERIES = {
    "by key": KEYED,
    "by a derived key": "PATTERN SEQ(A a, B b) WHERE a.k = b.k AND a.x < b.x WITHIN 9 seconds RETURN b.x - a.x AS d",
    "without a key": KEYLESS,
    "leading and trailing NOT": (
        "PATTERN SEQ(NOT(C m), A a, B b, NOT(C n)) WHERE a.x = b.x AND m.x = a.x AND n.x = b.x WITHIN 8 seconds"
    ),
    "next match": "PATTERN SEQ(A a, B+ b[], C c) WHERE skip_till_next_match { b[i].x > 2 } WITHIN 10 seconds",
    "contiguous": "PATTERN SEQ(A a, B+ b[]) WHERE strict_contiguity { a.x > 3 } WITHIN 10 seconds",
    "contiguous by key": "PATTERN SEQ(A a, B b) WHERE partition_contiguity { [k] } WITHIN 20 seconds",
    "lists": "PATTERN SEQ(A a, B{1,2} b[], C c) WHERE [k] AND b[i].x > a.x WITHIN 15 seconds",
    "latest": "PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 10 seconds OUTPUT LATEST",
    "counted": "PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 10 seconds OUTPUT COUNT",
    "totals": (
        "PATTERN SEQ(A a, B b) WITHIN 10 seconds OUTPUT COUNT RETURN sum(a.x) AS s, avg(a.x) AS m, b.k, max(a.ts) AS t"
    ),
    "a set": "PATTERN AND(A a, B b) WHERE a.x = b.x AND a.x > 5 WITHIN 6 seconds",
    "optional": "PATTERN SEQ(A a, B? b, C c) WHERE a.x = c.x AND b.x = a.x WITHIN 9 seconds",
}


def stream(size: int = 300, keys: int = 5) -> pa.Table:
    """Events in no order of time, some of them concurrent."""
    chance = random.Random(7)
    return pa.table(
        {
            "ts": [chance.randrange(size) for _ in range(size)],
            "seq": list(range(size)),
            "type": [chance.choice("ABCD") for _ in range(size)],
            "k": [chance.choice([*(f"k{n}" for n in range(keys)), None]) for _ in range(size)],
            "x": pa.array([chance.choice([*range(9), None]) for _ in range(size)], pa.int64()),
            "y": [chance.random() for _ in range(size)],
        }
    )


def table_rows(table: pa.Table) -> Counter[str]:
    """What a table holds, in no order."""
    return Counter(_text(row) for row in table.to_pylist())


def local_rows(events: pa.Table, query: str, **options: Any) -> Counter[str]:
    """What the local engine finds, likewise."""
    return table_rows(augury.match(events, query, **options).to_arrow())


def _text(row: dict[str, Any]) -> str:
    return repr(sorted(row.items()))


BY_SKEWED_KEY = "PATTERN SEQ(A a, B b) WHERE [k] AND a.x + b.x = 9 WITHIN 3 seconds RETURN a.n AS a, b.n AS b"


def skewed(size: int, share: float) -> pa.Table:
    """Events most of which have one key."""
    rng = np.random.default_rng(5)
    return pa.table(
        {
            "ts": np.arange(size) // 3,
            "type": rng.choice(["A", "B", "C"], size),
            "k": np.where(rng.random(size) < share, "heavy", rng.choice(["p", "q", "r", "s", "t", "u"], size)),
            "x": rng.integers(0, 10, size),
            "n": np.arange(size),
        }
    )
