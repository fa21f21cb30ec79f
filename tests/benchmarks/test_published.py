"""What is published of a run of the benchmark of the whole call."""

from __future__ import annotations

from benchmarks.call.__main__ import USUAL_ENGINES
from benchmarks.published import (
    MORE_QUESTIONS,
    QUESTIONS,
    call_figures,
    call_table,
    flink_table,
    front_flink,
    front_table,
    read,
    streamed_figures,
    streamed_table,
)


def run() -> dict[str, dict[str, dict[str, dict[str, float]]]]:
    """A run in the form in which the benchmark writes it; DuckDB ran out of time on the large stream."""
    seconds = {"augury": 0.125, "augury-jit": 0.5, "augury-1": 0.25, "polars": 0.5, "duckdb": 3.0}
    return {
        days: {
            name: {
                engine: {"first": 4.0, "again": seconds[engine] / slower, "peak": 5e8, "matches": 7}
                for engine in USUAL_ENGINES
                if days == "1" or engine != "duckdb"
            }
            for name in (*QUESTIONS, *MORE_QUESTIONS)
        }
        for days, slower in (("1", 10), ("20", 1))
    }


def test_figures_of_a_run() -> None:
    assert call_figures(run())["W1"] == {
        "matches": 7,
        "seconds": {"augury": 0.125, "polars": 0.5},
        "polars_to_augury": 4.0,
        "one_thread_to_two": 2.0,
        "peak_mb": {"augury": 500, "polars": 500},
        "small_ms": {"augury": 12, "polars": 50, "duckdb": 300},
    }


def test_tables_have_a_line_for_each_workload() -> None:
    figures = call_figures(run())
    assert list(call_table(figures))[2] == "| W1 | 7 | 0.125 / 0.500 | 4.00 | 2.0 | 500 / 500 | 12 / 50 / 300 |"
    assert list(front_table(figures))[2] == "| three types in order | 12 ms | 50 ms | 300 ms | 0.12 s | 0.50 s |"
    assert len(list(call_table(read("call")))) == 2 + len(QUESTIONS) + len(MORE_QUESTIONS)


def test_engines_that_ran_out_of_time_have_no_figures() -> None:
    needed = {"first": 9.0, "again": 7.04, "peak": 5e8, "matches": 1_000}
    figures = streamed_figures(
        {"400": {"W3": {"augury-sink": needed}, "W6": {"augury-sink": needed, "polars": needed}}}
    )
    assert list(streamed_table(figures))[2:] == [
        "| W3 | 1,000 | 7.0 / over 120 | 500 / - |",
        "| W6 | 1,000 | 7.0 / 7.0 | 500 / 500 |",
    ]


def test_tables_beside_flink() -> None:
    figures = {"W7": {"rows": 1_000, "matches": 3, "augury": 0.125, "flink": 25.0}}
    assert list(flink_table(figures))[2] == "| W7 | 1,000 | 0.125 s | 25.0 s | 200 |"
    assert list(front_flink(figures))[2] == "| rising trades, none left out | 1,000 | 0.125 s | 25.0 s |"
    assert len(list(front_flink(read("flink")))) == 2 + len(read("flink"))
