"""The pairs of the benchmark of rules, as Polars counts them, are those that the rules find."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

import augury
from benchmarks import live_rules
from benchmarks.measure import WrongAnswer
from benchmarks.rule_pairs import PAIRS


def drawn_ticks(count: int) -> pa.Table:
    random = np.random.default_rng(3)
    return pa.table(
        {
            "ts_us": np.cumsum(random.integers(0, 2, count)) * 1_000_000,
            "name": random.choice(["W", "X", "Y", "Z"], count),
            "side": random.choice(["BUY", "SELL"], count),
            "price": random.uniform(99, 101, count).round(2),
            "volume": random.integers(1, 400, count),
        }
    )


@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
def test_polars_counts_what_the_rules_find() -> None:
    ticks = drawn_ticks(3_000)
    rows = [row for row in live_rules.drawn_rules(ticks, len(live_rules.SHAPES)) if row["shape"] in PAIRS]
    found = augury.Rules.read(rows).match(ticks, **live_rules.OPTIONS)
    assert live_rules.check_polars(rows, found, ticks) > 0
    assert len(set(found.table["rule"].to_pylist())) > len(rows) / 2
    with pytest.raises(WrongAnswer):
        live_rules.check_polars(rows, found, ticks.slice(0, 1_000))
