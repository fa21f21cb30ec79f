"""The questions of `make bench-sql`: Augury, Polars and DuckDB find the same number of matches."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from benchmarks.measure import WrongAnswer
from benchmarks.sql import ENGINES, QUESTIONS, SCALES, Question, ask, measure, scale


def random_tables() -> dict[str, pa.Table]:
    """Small tables with the columns of the real ones, with few values, so that all questions have matches."""
    chance, size = np.random.default_rng(5), 600
    times, names = np.arange(size), chance.choice(["a", "b", "c"], size)
    price, volume = chance.integers(1, 9, size) / 4, chance.choice([100, 200, 1000, 5000], size)
    return {
        "ticks": pa.table({"name": names, "ts_us": times, "price": price, "volume": volume}),
        "bars": pa.table({"ticker": names, "ts": times, "close": price, "volume": volume}),
        "clicks": pa.table({"visitor": chance.integers(0, 20, size), "ts": times * 200}),
    }


@pytest.mark.parametrize("name", QUESTIONS)
def test_engines_find_the_same_matches(name: str) -> None:
    question = QUESTIONS[name]
    table = random_tables()[question.table]
    found = {ask(engine, question, table)[0] for engine in ENGINES}
    assert len(found) == 1
    assert found.pop() > 0


def test_a_wrong_count_is_not_timed() -> None:
    known = QUESTIONS["sessions"]
    wrong = Question(known.table, known.clause, lambda clicks: clicks.head(1), known.duckdb, {})
    with pytest.raises(WrongAnswer):
        measure(wrong, random_tables()["clicks"], quick=True)


@pytest.mark.slow
def test_the_cost_of_a_row_is_told_for_every_scale() -> None:
    found = scale(quick=True)
    assert len(found) == len(SCALES)
    assert all(nanoseconds > 0 for nanoseconds in found.values())
