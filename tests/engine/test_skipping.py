"""What no match can hold is left out before the kernels see it, and nothing else."""

from __future__ import annotations

import random
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import augury
from augury.engine.arrivals import Arrivals, arrive, in_order
from augury.engine.exchange.codes import with_codes
from augury.engine.group import Group, one_group
from augury.engine.job import job_of
from augury.engine.skipping import skip_impossible
from augury.options import Roles, make_options
from augury.source import Source
from tests.thorough import THOROUGH

SKIPPED = [
    "PATTERN SEQ(A a, B b, A c) WHERE [k] AND b.x < a.x * 0.9 AND c.x > a.x * 1.5 WITHIN 9 seconds",
    "PATTERN SEQ(A a, B b) WHERE [k] AND a.x - b.x >= 7 WITHIN 5 seconds",
    "PATTERN SEQ(A a, B b) WHERE [k] AND a.n = b.n - 1 AND a.x < b.x WITHIN 30 seconds",
    "PATTERN SEQ(A a, B b) WHERE a.x / 2 > b.x + 3 AND -a.n < 40 WITHIN 3 seconds",
    "PATTERN AND(A a, B b) WHERE [k] AND a.n > b.n WITHIN 5 seconds",
    "PATTERN AND(A a, B b, C c) WHERE [k] AND a.x > b.x + c.x + 2 WITHIN 8 seconds",
    "PATTERN SEQ(A a, B+ b[], C c) WHERE [k] AND a.n > c.n + 20 AND b[i].x > 3 WITHIN 20 seconds",
    "PATTERN SEQ(A a, B? b, C c) WHERE [k] AND a.n > c.n + 20 AND b.x > 8 WITHIN 6 seconds",
    "PATTERN SEQ(OR(A a, B b), C c) WHERE [k] AND c.n * 2 > c.x + 90 WITHIN 6 seconds",
    "PATTERN SEQ(x, y) WHERE [k] AND x.n > y.n + 60 WITHIN 4 seconds",
    "PATTERN SEQ(A a, B b) WHERE [k] AND a.x * b.x < -5 WITHIN 4 seconds OUTPUT COUNT",
]
NOT_SKIPPED = [
    "PATTERN SEQ(A a, NOT(C n), B b) WHERE [k] AND a.x < b.x WITHIN 5 seconds",
    "PATTERN SEQ(A a, B b) WHERE skip_till_next_match { [k] AND a.x < b.x } WITHIN 5 seconds",
    "PATTERN SEQ(A a, B b) WHERE [k] AND a.x < b.x WITHIN 5 EVENTS",
    "PATTERN SEQ(A a, B b) WHERE [k] AND a.x < b.x",
    "PATTERN SEQ(A a, B b) WHERE [k] AND a.x < b.x WITHIN 5 seconds OUTPUT LATEST",
    "PATTERN SEQ(A a, B b) WHERE [k] AND a.x != b.x AND a.k < b.k WITHIN 5 seconds",
    "PATTERN SEQ(A a, B b) WHERE [k] AND a.x % 2 < b.x WITHIN 5 seconds",
    "PATTERN SEQ(A a, B? b) WHERE [k] AND a.x < b.x WITHIN 5 seconds",
    "PATTERN SEQ(A a, B+ b[]) WHERE [k] AND b[i].x > a.x WITHIN 5 seconds",
]


def stream(seed: int, size: int = 240) -> pa.Table:
    """Events of a few keys, with values of all kinds that a number can have."""
    chance = random.Random(seed)
    odd = [None, float("nan"), float("inf"), float("-inf"), 0.0, -0.0]
    level = {f"k{n}": chance.choice([-20.0, 1.0, 5.0, 100.0]) for n in range(6)}
    keys = [chance.choice([*level, None]) for _ in range(size)]
    return pa.table(
        {
            "ts": sorted(chance.randrange(size) for _ in range(size)),
            "type": [chance.choice(["A", "B", "C", "D", None]) for _ in range(size)],
            "k": keys,
            "x": pa.array(
                [chance.choice(odd) if chance.random() < 0.02 else level[k or "k0"] + chance.gauss(0, 4) for k in keys],
                pa.float64(),
            ),
            "n": pa.array([chance.choice([None, *range(99)]) for _ in range(size)], pa.int64()),
            "row": range(size),
        }
    )


def group_of(query: str, events: pa.Table) -> Group:
    return one_group(job_of(Source(query), events.schema, Roles(), make_options(jit=False)))


def in_group(events: pa.Table, group: Group) -> Arrivals:
    coded = with_codes(events, [name for name in group.coded if name in events.column_names])
    return in_order(arrive(coded, group.schema, 0), group.schema)


def left(events: pa.Table, group: Group, *cuts: int) -> pa.Table:
    """What is left of events that are looked at in parts, which are cut where no two are concurrent."""
    time = events["ts"].to_numpy()
    ends = sorted({int(np.searchsorted(time, time[c])) for c in cuts})
    bounds = [0, *ends, len(events)]
    parts = [
        skip_impossible(
            in_group(events.slice(a, b - a), group),
            group.requirements,
            group.schema.type,
            group.key,
            first=a == 0,
            last=b == len(events),
        ).table
        for a, b in pairwise(bounds)
    ]
    return pa.concat_tables([events.take(pa.array(part["row"].to_numpy())) for part in parts])


def found(events: pa.Table, query: str) -> list[Any]:
    return sorted(map(repr, augury.match(events, query).to_pylist()))


# Each query has a match in one of the first three.
SEEDS = range(12) if THOROUGH else (5, 7, 8)


@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
@pytest.mark.parametrize("query", SKIPPED)
def test_matches_are_those_of_all_events(query: str) -> None:
    kept, matches, total = 0, 0, 0
    for seed in SEEDS:
        events = stream(seed)
        group = group_of(query, events)
        assert group.requirements
        expected = found(events, query)
        rest = left(events, group)
        assert found(rest, query) == expected, seed
        for cuts in ((80,), (40, 120, 200), range(10, 240, 10)):
            assert found(left(events, group, *cuts), query) == expected, (seed, cuts)
        kept, matches, total = kept + len(rest), matches + len(expected), total + len(events)
    assert matches
    assert kept < total


@pytest.mark.parametrize("query", NOT_SKIPPED)
def test_where_other_events_may_decide_nothing_is_left_out(query: str) -> None:
    assert group_of(query, stream(0)).requirements == ()


def test_whole_numbers_beyond_floats_are_not_confused() -> None:
    big = 2**53
    query = "PATTERN SEQ(A a, B b) WHERE [k] AND a.n < b.n WITHIN 5 seconds"
    events = pa.table(
        {"ts": [1, 2], "type": ["A", "B"], "k": ["p", "p"], "n": [big, big + 1], "row": [0, 1]},
    )
    assert len(left(events, group_of(query, events))) == 2
    assert len(left(events.set_column(3, "n", pa.array([5, 5])), group_of(query, events))) == 0


def test_a_key_of_numbers_or_of_two_columns_has_groups_too() -> None:
    events = pa.table(
        {
            "ts": [1, 2, 3, 4] * 2,
            "type": ["A", "B"] * 4,
            "k": [1, 1, 2, 2, 3, 3, 4, 4],
            "j": list("ppppqqqq"),
            "x": [1.0, 2.0, 2.0, 1.0, 5.0, 4.0, 4.0, 5.0],
        }
    ).sort_by("ts")
    events = events.append_column("row", pa.array(range(8)))
    for key in ("[k]", "[k] AND [j]"):
        query = f"PATTERN SEQ(A a, B b) WHERE {key} AND a.x < b.x WITHIN 5 seconds"
        assert sorted(left(events, group_of(query, events))["k"].to_pylist()) == [1, 1, 4, 4]


@pytest.mark.parametrize("window", ["1 second", "100000 days"])
def test_times_may_be_as_far_apart_as_they_can(window: str) -> None:
    """Neither the length of a stream nor that of a window overflows."""
    query = f"PATTERN SEQ(A a, B b) WHERE [k] AND a.x < b.x WITHIN {window}"
    for last in (10, 2**61 - 1, 2**62 - 1):
        events = pa.table(
            {
                "ts": [-last, -last, last, last],
                "type": ["A", "B", "A", "B"],
                "k": ["p"] * 4,
                "x": [1.0, 2.0, 3.0, 4.0],
                "row": range(4),
            }
        )
        group = group_of(query, events)
        assert found(left(events, group), query) == found(events, query)
