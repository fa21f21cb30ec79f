"""The model of what an event costs: the line that it is, and a run that measures every stage."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from benchmarks.scale import COLUMNS, Cost, main, state_bytes, write_stream


def test_the_model_is_the_line_through_the_smallest_and_the_largest_stream() -> None:
    cost = Cost.fitted({2_000: 9.0, 1_000: 2.0, 3_000: 4.0})
    assert (cost.fixed, cost.event) == pytest.approx((1.0, 0.001))
    assert cost.of(10_000) == pytest.approx(11.0)


def test_streams_are_in_order_and_states_grow_with_their_window(tmp_path: Path) -> None:
    path = tmp_path / "stream.parquet"
    write_stream(path, 3_000)
    stream = pq.read_table(path)
    assert stream.column_names == list(COLUMNS)
    assert stream["ts"].to_pylist() == [1000 * k for k in range(3_000)]
    assert 8 <= state_bytes(path) < 1_000


@pytest.mark.slow
def test_a_run_has_a_line_for_each_stage(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--events", "1000", "2000", "3000", "--rounds", "1"]) == 0
    shown = capsys.readouterr().out
    assert [stage in shown for stage in ("read", "match", "write", "1 thread", "2 threads", "state:")] == [True] * 6
