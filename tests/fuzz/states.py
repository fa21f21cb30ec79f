"""Streams on their way through a query, one for each plan and kind of state: what the fuzzers save and corrupt."""

from __future__ import annotations

import random
import warnings
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import pyarrow as pa

from augury import Exponential, LossModel, Matcher
from augury.errors import AuguryWarning
from augury.plan import FamilyName

SCHEMA = pa.schema(
    [
        ("ts", pa.int64()),
        ("type", pa.string()),
        ("k", pa.string()),
        ("v", pa.int64()),
        ("x", pa.float64()),
        ("h", pa.list_(pa.float64())),
    ]
)


@dataclass(frozen=True)
class Case:
    """A query under a plan, fed `before` events until it is saved, and `after` events later."""

    query: str
    options: dict[str, Any] = field(default_factory=dict)
    before: int = 36
    after: int = 16


LOSS = LossModel(rate=0.2, rates={"c": 0.1}, delays={v: Exponential(4.0) for v in "abcd"})

ANY, NEXT = "skip_till_any_match", "skip_till_next_match"

CASES: dict[str, tuple[Case, ...]] = {
    "eager-nfa": (
        Case(
            f"PATTERN SEQ(A+ a[], B b) WHERE {ANY} {{ [k] AND a[i].v < b.v AND a[i].v > a[i-1].v }} WITHIN 16 seconds"
        ),
        Case(f"PATTERN SEQ(A a, B+ b[], NOT(D d)) WHERE {ANY} {{ a.k < b[i].k }} WITHIN 8 seconds OUTPUT NONOVERLAP"),
        Case(f"PATTERN SEQ(A a, B b, C c) WHERE {NEXT} {{ [k] AND a.k <= c.k }} WITHIN 9 events"),
        Case(f"PATTERN SEQ(A a, B+ b[], C c) WHERE {ANY} {{ sum(b[].v) < 200 AND a.v != c.v }} OUTPUT COUNT", {}, 24),
        Case("PATTERN SEQ(A a, B b) WHERE strict_contiguity { [k] } WITHIN 5 events"),
        Case(f"PATTERN SEQ(A a, B b, C c) WHERE {ANY} {{ corr(a.h, c.h) > 0.1 }} WITHIN 12 seconds", {"lateness": 2}),
        Case(
            f"PATTERN SEQ(A a, SEQ(B b, C+ c[])+ g[], D d) WHERE {NEXT} {{ g[i].b.k <= g[i-1].b.k"
            " AND sum(g[].c[].v) > 9 } WITHIN 16 seconds"
        ),
        Case(
            f"PATTERN SEQ(A a, SEQ(B b, C? c){{1,3}} g[], NOT(D d)) WHERE {NEXT} {{ g.len < 3 }} WITHIN 8 seconds"
            " OUTPUT LONGEST"
        ),
    ),
    "lazy-chain": (
        Case(f"PATTERN SEQ(A a, B b, C c) WHERE {ANY} {{ [k] AND a.v < c.v }} WITHIN 16 seconds"),
        Case(f"PATTERN SEQ(A a, B b, NOT(D d)) WHERE {ANY} {{ a.k < b.k }} WITHIN 8 seconds OUTPUT NONOVERLAP"),
        Case(f"PATTERN SEQ(A a, B+ b[], C c) WHERE {ANY} {{ [k] }} WITHIN 12 seconds"),
        Case(f"PATTERN SEQ(A a, B b) WHERE {ANY} {{ [k] }} WITHIN 9 events OUTPUT LATEST"),
        Case(f"PATTERN SEQ(A a, C c) WHERE {ANY} {{ corr(a.h, c.h) > 0.1 }} WITHIN 12 seconds", {"lateness": 2}),
    ),
    "lazy-tree": (
        Case(f"PATTERN SEQ(A a, B b, C c) WHERE {ANY} {{ a.v < c.v AND b.x > 0.2 }} WITHIN 16 seconds"),
        Case(f"PATTERN SEQ(A a, NOT(D d), C c) WHERE {ANY} {{ [k] }} WITHIN 9 seconds"),
    ),
    "event-sets": (
        Case(f"PATTERN AND(A a, B+ b[], C c) WHERE {NEXT} {{ [k] AND a.v < c.v }} WITHIN 14 seconds"),
        Case(f"PATTERN SEQ(AND(A a, B b), C+ c[]) WHERE {NEXT} {{ a.k <= b.k }} WITHIN 9 events OUTPUT NONOVERLAP"),
    ),
    "linked": (
        Case(f"PATTERN SEQ(A a, B b, C c) WHERE {ANY} {{ [k] }} WITHIN 14 seconds OUTPUT COVER"),
        Case(f"PATTERN SEQ(A a, B b, C c) WHERE {ANY} {{ [k] AND a.v < c.v }} WITHIN 14 seconds"),
        Case(f"PATTERN SEQ(A a, B+ b[]) WHERE {ANY} {{ [k] }} WITHIN 9 seconds OUTPUT LATEST"),
    ),
    "lossy": (
        Case(
            f"PATTERN SEQ(A a, B b, NOT(D d), C c) WHERE {ANY} {{ [k] }} WITHIN 14 seconds THRESHOLD 0.01",
            {"loss": LOSS},
        ),
        Case(
            f"PATTERN SEQ(A a, B b, C c) WHERE {ANY} {{ b.v > 20 }} WITHIN 9 seconds THRESHOLD 0.1 OUTPUT NONOVERLAP",
            {"loss": LOSS},
            24,
        ),
    ),
    "reference": (
        Case(f"PATTERN SEQ(A a, B b) WHERE {ANY} {{ [k] }} WITHIN 8 seconds OUTPUT NONOVERLAP", {}, 16, 8),
        Case(f"PATTERN SEQ(A a, B+ b[]) WHERE {NEXT} {{ a.v < b[i].v }} WITHIN 8 seconds", {"lateness": 2}, 16, 8),
    ),
}
"""Plans with their cases; a case is saved in the middle of its stream, where there is most to save."""


def events(first: int, count: int) -> list[dict[str, Any]]:
    """Events number `first` and following of the stream that all cases have."""
    found = []
    for n in range(first, first + count):
        one = random.Random(n)
        found.append(
            {
                "ts": n // 2,
                "type": one.choice("ABCD"),
                "k": one.choice(["x", "y", None]),
                "v": one.randrange(100),
                "x": one.random(),
                "h": [one.random() for _ in range(4)],
            }
        )
    return found


@cache
def saved(plan: FamilyName, number: int, jit: bool = False) -> bytes:
    """The snapshot of a case."""
    case = CASES[plan][number]
    stream = Matcher(
        case.query, SCHEMA, plan=plan, jit=jit, max_matches=20_000, max_partial_matches=20_000, **case.options
    )
    with warnings.catch_warnings():
        # Concurrent events are part of it.
        warnings.simplefilter("ignore", AuguryWarning)
        for first in range(0, case.before, 12):
            stream.feed(events(first, min(12, case.before - first)))
    return stream.snapshot()
