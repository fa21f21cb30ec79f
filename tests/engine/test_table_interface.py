"""Matches as a table: for other libraries, for pandas, and on a terminal."""

from __future__ import annotations

import datetime as dt

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from rich.cells import cell_len

import augury
from augury import Matches

START = dt.datetime(2026, 3, 14, 9)
EVENTS = pa.Table.from_pylist(
    [
        {"ts": START + dt.timedelta(seconds=t), "type": "ABBAB"[t], "price": 10.0 * t, "name": f"event {t}"}
        for t in range(5)
    ]
)
PAIR = "PATTERN SEQ(A a, B b) WITHIN 1 minute"
LISTS = "PATTERN SEQ(A a, B+ b[]) WITHIN 1 minute"


def found(query: str = PAIR, *, compressed: bool = False) -> Matches:
    return augury.match(EVENTS, query, compressed=compressed)


@pytest.mark.parametrize("compressed", [False, True])
@pytest.mark.parametrize(
    "query", [PAIR, LISTS, f"{PAIR} RETURN a.price AS p", f"{PAIR} OUTPUT COUNT", "SEQ(A a, B? b)"]
)
def test_polars_duckdb_and_arrow_take_matches_as_they_are(query: str, compressed: bool) -> None:
    matches = found(query, compressed=compressed)
    expected = matches.to_arrow()
    assert expected.num_rows > 0
    frame = pl.DataFrame(matches)
    assert frame.columns == expected.column_names
    assert frame.rows() == pl.DataFrame(expected).rows()
    assert duckdb.execute("SELECT count(*) FROM matches").fetchall() == [(expected.num_rows,)]
    assert duckdb.execute("FROM matches").fetchall() == duckdb.execute("FROM expected").fetchall()
    assert pa.table(matches) == expected
    assert pa.RecordBatchReader.from_stream(matches).read_all() == expected


def test_nothing_is_a_table_too() -> None:
    for matches in (augury.match([], PAIR), augury.match(EVENTS, "SEQ(B a, A b) WITHIN 1 millisecond")):
        assert pl.DataFrame(matches).shape == (0, matches.to_arrow().num_columns)


def test_columns_that_are_asked_for_reach_into_events() -> None:
    matches = found()  # noqa: F841 - DuckDB finds it by its name
    rows = duckdb.execute("SELECT a.price, b.price FROM matches WHERE b.price > 10 ORDER BY ALL").fetchall()
    assert rows == [(0.0, 20.0), (0.0, 40.0), (30.0, 40.0)]


def test_compressed_matches_are_written_out_as_they_are_read() -> None:
    events = [{"ts": i, "type": "A"} for i in range(50)] + [{"ts": 50, "type": "B"}]
    matches = augury.match(events, "PATTERN SEQ(A+ a[], B b)", compressed=True)
    assert matches.count() == 2**50 - 1
    first = next(iter(matches.to_reader()))
    assert 0 < first.num_rows < 10**6


def test_a_flat_frame_has_a_column_for_each_attribute() -> None:
    frame = found().to_pandas(flat=True)
    events = ["ts", "type", "price", "name"]
    assert list(frame.columns) == ["start", "end", *(f"a.{c}" for c in events), *(f"b.{c}" for c in events)]
    assert frame["b.price"].tolist() == [10.0, 20.0, 40.0, 40.0]
    for column in ("start", "end", "a.ts", "b.ts"):
        assert pd.api.types.is_datetime64_any_dtype(frame[column])
    assert (frame["end"] - frame["start"]).max() == pd.Timedelta(seconds=4)
    assert frame.groupby("a.name")["b.price"].sum().to_dict() == {"event 0": 70.0, "event 3": 40.0}


def test_lists_stay_lists_and_what_is_not_bound_is_missing() -> None:
    frame = found(LISTS).to_pandas(flat=True)
    assert [20.0] in [list(prices) for prices in frame["b.price"]]
    assert all(np.issubdtype(times.dtype, np.datetime64) for times in frame["b.ts"])
    optional = augury.match(EVENTS.slice(3, 1), "PATTERN SEQ(A a, B? b)").to_pandas(flat=True)
    assert optional["b.price"].isna().tolist() == [True]
    either = augury.match(EVENTS.slice(0, 1), "PATTERN OR(A a, SEQ(B b, B+ c[]))").to_pandas(flat=True)
    assert either["c.price"].tolist() == [None]


def test_dates_are_dates_of_pandas() -> None:
    days = pa.table({"ts": pa.array([dt.date(2026, 1, 1), dt.date(2026, 1, 2)]), "type": ["A", "B"]})
    frame = augury.match(days, PAIR.replace("minute", "day")).to_pandas(flat=True)
    assert frame["a.ts"].tolist() == [pd.Timestamp(2026, 1, 1)]


def test_a_flat_frame_of_returned_items_is_the_same() -> None:
    matches = found(f"{PAIR} RETURN a.price AS p, b.name AS n")
    pd.testing.assert_frame_equal(matches.to_pandas(flat=True), matches.to_pandas())


@pytest.mark.parametrize("columns", [20, 40, 80, 200])
def test_a_repr_fits_the_terminal(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    columns_of_wide = {"ts": [1, 2], "type": ["A", "B"], "text": ["日本" * 40, "x" * 100]}
    wide = pa.table(columns_of_wide | {f"c{k}": [k, k] for k in range(9)})
    for matches in (
        found(),
        found(LISTS),
        augury.match(wide, "SEQ(A a, B b)"),
        augury.match(wide, "SEQ(a, b, NOT(c))"),
    ):
        lines = repr(matches).splitlines()
        assert max(map(cell_len, lines)) <= columns
        assert lines[0].endswith(("match", "matches"))
        assert lines[1].startswith("start")
    assert (max(map(cell_len, repr(found()).splitlines())) > 120) == (columns == 200), "no narrower than it has to be"


def test_matches_are_a_sequence_in_all_but_name() -> None:
    matches = found()
    assert list(reversed(matches)) == list(matches)[::-1]
    assert matches[1] in matches
    assert "nothing" not in matches
    assert matches[1:3] == matches[1:-1]
    assert matches[::-1][0] == matches[-1]
    assert len(matches[:0]) == 0
