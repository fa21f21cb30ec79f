"""Concurrent events are counted within the partitions of a query."""

from __future__ import annotations

import warnings

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
