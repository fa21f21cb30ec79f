"""The benchmark of many rules: its rules are of twenty shapes, and what they find is compared with each alone."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

import augury
from augury.engine.rules.grouping import grouped
from augury.engine.sources.schemas import known_events
from augury.options import read_options
from benchmarks import live_rules
from benchmarks.call.workloads import TICKS
from benchmarks.measure import WrongAnswer

pytestmark = pytest.mark.skipif(not TICKS.exists(), reason="the ticks are not part of the repository")


def test_rules_of_the_benchmark_are_matched_together_and_checked() -> None:
    ticks = pq.read_table(TICKS).slice(0, 3_000)
    rows = live_rules.drawn_rules(pq.read_table(TICKS), 60)
    roles, options = read_options(live_rules.OPTIONS)
    known = known_events(ticks, roles)
    assert known is not None
    groups, alone = grouped(augury.Rules.read(rows), known.schema, options)
    assert len(groups) == len(live_rules.SHAPES)
    assert not alone
    chosen = rows[:4] + rows[20:24]
    found = augury.Rules.read(chosen).match(ticks, **live_rules.OPTIONS)
    assert live_rules.check(chosen, found, ticks) > 0
    with pytest.raises(WrongAnswer):
        live_rules.check(chosen, augury.Rules.read(chosen).match(ticks.slice(0, 10), **live_rules.OPTIONS), ticks)
