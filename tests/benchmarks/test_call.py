"""The workloads of the whole call: Augury, Polars and DuckDB count the same matches, and a wrong count is not timed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.call.__main__ import Engine, check
from benchmarks.call.engine import variants
from benchmarks.call.workloads import WORKLOADS
from benchmarks.measure import WrongAnswer

NAMES = ("INTC", "RIMM", "QQQ", "MSFT", "ORCL", "CSCO", "AMAT", "YHOO")


@pytest.fixture(scope="module")
def ticks(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Random trades of 45 seconds, with few prices, volumes and keys, so that all workloads have matches."""
    chance, size = np.random.default_rng(7), 900
    name, side = chance.choice(NAMES, size), chance.choice(["BUY", "SELL"], size)
    table = pa.table(
        {
            "seq": np.arange(size, dtype=np.int32),
            "id": np.arange(size),
            "ts_ms": np.arange(size) * 50,
            "ts_us": np.arange(size) * 50_000,
            "name": name,
            "side": side,
            "price": chance.integers(1, 9, size) / 4,
            "volume": chance.choice([100, 200, 1000], size),
            "typ": [f"{n}_{s[0]}" for n, s in zip(name, side, strict=True)],
            "key": chance.integers(0, 40, size),
        }
    )
    path = tmp_path_factory.mktemp("ticks") / "ticks.parquet"
    pq.write_table(table, path)
    return str(path)


@pytest.mark.parametrize("name", WORKLOADS)
def test_all_engines_find_the_same(name: str, ticks: str) -> None:
    counts = {engine: {count(ticks) for count in variants(engine, name)} for engine in ("augury", "polars", "duckdb")}
    assert len(counts["augury"]) == 1
    assert counts["augury"] == counts["polars"] == counts["duckdb"]
    assert min(counts["augury"]) > 0


def test_a_wrong_count_is_not_timed() -> None:
    check("W2", WORKLOADS["W2"], 1, {"augury": 291, "polars": 291})
    with pytest.raises(WrongAnswer, match="W2 over 1 days"):
        check("W2", WORKLOADS["W2"], 1, {"augury": 290, "polars": 290})
    with pytest.raises(WrongAnswer, match="key over 1 days"):
        check("key", WORKLOADS["key"], 1, {"augury": 1, "polars": 2})


def test_an_engine_that_fails_is_not_out_of_time(tmp_path: Path) -> None:
    engine = Engine("polars", tmp_path / "missing.parquet")
    with pytest.raises(WrongAnswer, match="W1: polars ended with status 1 before it answered"):
        engine.run("W1", timeout=60)
    engine.close()
