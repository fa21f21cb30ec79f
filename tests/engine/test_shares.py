"""Shares of the keys: equal keys are together, whatever else is in their batch."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from augury.engine.cut.by_key import key_shares


@pytest.mark.parametrize(
    "values",
    [
        pa.array(["a", "b", None, "a", "é"]),
        pa.array([1, 2, None, 1, -(2**63)]),
        pa.array([0.0, 1.5, None, -0.0, math.inf]),
        pa.array([True, False, None, True, False]),
        pa.array([Decimal("1.50"), Decimal("2.00"), None, Decimal("1.50"), Decimal("0.01")]),
        pa.array(
            [dt.datetime(2026, 1, 1), dt.datetime(2026, 1, 2), None, dt.datetime(2026, 1, 1), dt.datetime(1970, 1, 1)]
        ),
    ],
    ids=lambda column: str(column.type),
)
def test_equal_keys_are_in_one_share(values: pa.Array) -> None:
    events = pa.table({"k": values, "other": ["x"] * 5})
    share = key_shares(events, ("k", "other"), 1_000_003).tolist()
    assert share[0] == share[3]
    assert len({share[0], share[1], share[4]}) == (3 if values.type != pa.bool_() else 2)
    # Another task sees other events beside them.
    for row in range(5):
        assert key_shares(events.slice(row), ("k", "other"), 1_000_003).tolist() == share[row:]


def test_shares_are_about_the_same_size() -> None:
    keys: list[Any] = [pa.array(range(8_000)), pa.array([f"key {k}" for k in range(8_000)])]
    for column in keys:
        share = key_shares(pa.table({"k": column}), ("k",), 8).tolist()
        assert all(800 < share.count(k) < 1_200 for k in range(8))
