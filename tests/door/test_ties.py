"""Concurrent events are counted within the partitions of a query."""

from __future__ import annotations

import itertools
import random
import warnings
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pytest

import augury
from augury import AuguryWarning, Matcher

TICKERS = ["A", "B", "C", "D"]
BARS = pa.table(
    {
        "ts": [minute for minute in range(500) for _ in TICKERS],
        "ticker": TICKERS * 500,
        "close": [float(i % 7) for i in range(2000)],
    }
)
RISE = "PATTERN SEQ(a, b+[]) WHERE partition_contiguity { [ticker] AND b[i].close > a.close } WITHIN 3 seconds"


def told(query: str, events: pa.Table) -> list[str]:
    with warnings.catch_warnings(record=True) as record:
        warnings.simplefilter("always", AuguryWarning)
        stream = Matcher(query, events.schema, jit=False)
        whole = augury.match(events, query, jit=False)
        stream.feed(events)
    assert [str(w.message) for w in record] == list(whole.warnings) * 2
    return list(whole.warnings)


def test_ties_between_different_keys_are_none() -> None:
    assert told(RISE, BARS) == []
    assert told("SEQ(a, b) WHERE skip_till_next_match { [ticker] } WITHIN 3 seconds", BARS) == []


def test_ties_within_a_key_are_counted() -> None:
    again = pa.concat_tables([BARS, BARS.slice(4, 3)])
    (warning,) = told(RISE, again)
    assert warning.startswith("3 of the events are concurrent with an earlier one; partition_contiguity")


def test_events_whose_keys_are_all_null_are_in_no_partition() -> None:
    for kind in (pa.null(), pa.string(), pa.float64()):
        nothing = BARS.slice(0, 40).set_column(1, "ticker", pa.nulls(40, kind))
        assert told(RISE, nothing) == []


@pytest.mark.parametrize(
    "query",
    [
        "SEQ(a, b) WHERE skip_till_next_match { a.close < b.close } WITHIN 1 second",
        "SEQ(a, b) WHERE strict_contiguity { [ticker] } WITHIN 1 second",
    ],
)
def test_without_partitions_all_ties_count(query: str) -> None:
    (warning,) = told(query, BARS.slice(0, 40))
    assert warning.startswith("30 of the events are concurrent")


def test_a_column_that_orders_them_settles_ties() -> None:
    events = BARS.slice(0, 40).append_column("seq", pa.array([1, 2, 3, 3] * 10))
    with pytest.warns(AuguryWarning, match="10 of the events are concurrent"):
        augury.match(events, "SEQ(a, b) WHERE strict_contiguity {}", order_by=["ts", "seq"], jit=False)


def test_events_without_a_key_are_in_no_partition() -> None:
    events = pa.table({"ts": [1, 1, 1, 1], "k": [None, None, 1.0, float("nan")]})
    assert told("SEQ(a, b) WHERE skip_till_next_match { [k] }", events) == []


def counted(query: str, batches: Sequence[pa.Table], *, saved: bool = False, **roles: Any) -> int:
    """The ties that a matcher warns of, in all batches together."""
    tied = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AuguryWarning)
        stream = Matcher(query, batches[0].schema, jit=False, **roles)
        for batch in batches:
            tied += sum(int(text.split()[0]) for text in stream.feed(batch).warnings)
            stream = Matcher.restore(stream.snapshot()) if saved else stream
    return tied


def one_by_one(events: pa.Table) -> list[pa.Table]:
    return [events.slice(row, 1) for row in range(len(events))]


@pytest.mark.parametrize("saved", [False, True])
def test_ties_are_counted_across_batches(saved: bool) -> None:
    """The event at fault is neither the last one of the batch before, nor in that batch."""
    events = pa.concat_tables([BARS.slice(0, 8), BARS.slice(4, 1), BARS.slice(6, 3), BARS.slice(8, 4)])
    assert list(events["ts"].to_pylist()) == [0] * 4 + [1] * 7 + [2] * 5
    for batches in (one_by_one(events), [events.slice(0, 7), events.slice(7, 2), events.slice(9)]):
        assert counted(RISE, batches, saved=saved) == 4
    assert counted(RISE, one_by_one(BARS.slice(0, 40)), saved=saved) == 0


@pytest.mark.parametrize(
    "query",
    [RISE, "SEQ(a, b) WHERE strict_contiguity {}", "SEQ(a, b) WHERE skip_till_next_match { [ticker] AND [close] }"],
)
@pytest.mark.parametrize("roles", [{}, {"order_by": ["ts", "seq"]}])
def test_cutting_a_stream_changes_no_count_of_ties(query: str, roles: dict[str, Any]) -> None:
    draw = random.Random(7)
    for _ in range(30):
        rows = sorted(
            ((draw.randrange(4), draw.randrange(2)) for _ in range(20)), key=lambda row: row if roles else row[0]
        )
        events = pa.table(
            {
                "ts": [ts for ts, _ in rows],
                "ticker": [draw.choice(["A", "B", None]) for _ in rows],
                "close": [draw.choice([0.0, -0.0, 1.5, float("nan"), None]) for _ in rows],
                "seq": [seq for _, seq in rows],
            }
        )
        cuts = [0, *sorted(draw.sample(range(1, 20), draw.randrange(8))), 20]
        batches = [events.slice(start, stop - start) for start, stop in itertools.pairwise(cuts)]
        whole = counted(query, [events], **roles)
        assert counted(query, batches, **roles) == counted(query, one_by_one(events), **roles) == whole
