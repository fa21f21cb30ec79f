"""What events may come in: frames, indexes, rows that leave something out, and what is refused."""

from __future__ import annotations

import datetime as dt
import json
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import augury
from augury import EventSchema, HostError, Matcher

QUERY = "SEQ(A a, B b) WITHIN 1 hour"
ROWS = [{"ts": 1, "type": "A", "x": 1}, {"ts": 2, "type": "B"}]
TIMES = pd.to_datetime(["2026-01-01T10:00:00", "2026-01-01T10:30:00"])


# -- columns that are left out -----------------------------------------------------------------------------------------


def test_dicts_may_leave_attributes_out() -> None:
    assert len(augury.match(ROWS, QUERY, jit=False)) == 1
    stream = Matcher(QUERY, ROWS, jit=False)
    assert len(stream.feed(ROWS)) == 1
    assert len(stream.feed([])) == 0


@pytest.mark.parametrize("name", ["ts", "type", "seq"])
def test_but_not_time_type_or_order(name: str) -> None:
    whole = [{"ts": 1, "type": "A", "seq": 1, "x": 1}, {"ts": 2, "type": "B", "seq": 2, "x": 2}]
    options: dict[str, Any] = {"order_by": ["ts", "seq"], "jit": False}
    lacking = [whole[0], {k: v for k, v in whole[1].items() if k != name}]
    calls: list[Callable[[], object]] = [
        lambda: augury.match(lacking, QUERY, **options),
        lambda: augury.match(lacking[::-1], QUERY, **options),
        lambda: Matcher(QUERY, whole, **options).feed(lacking),
    ]
    for call in calls:
        with pytest.raises(HostError, match=rf"error\[A532\]: row [01] has no `{name}`"):
            call()
    with pytest.raises(HostError, match=rf"error\[A540\]: these events do not fit the schema: they lack `{name}`"):
        Matcher(QUERY, whole, **options).feed(lacking[1:])


def test_a_table_that_lacks_a_column_is_refused() -> None:
    table = pa.Table.from_pylist([{"ts": 1, "type": "A", "x": 1}])
    stream = Matcher(QUERY, table, jit=False)
    for events in (table.drop(["x"]), table.drop(["x"]).to_pandas(), pl.DataFrame(table.drop(["x"]))):
        with pytest.raises(HostError, match=r"error\[A540\]: these events do not fit the schema: they lack `x`"):
            stream.feed(events)


# -- frames as schemas -------------------------------------------------------------------------------------------------


def schemas(folder: Path) -> list[Any]:
    table = pa.Table.from_pylist([{"ts": 1, "type": "A", "x": 1}, {"ts": 2, "type": "B", "x": 2}])
    (folder / "events.jsonl").write_text("\n".join(json.dumps(row) for row in table.to_pylist()))
    return [
        table,
        table.schema,
        table.to_batches()[0],
        table.to_reader(),
        table.to_pandas(),
        pl.DataFrame(table),
        pl.DataFrame(table).lazy(),
        table.to_pylist(),
        EventSchema.from_arrow(table.schema),
        folder / "events.jsonl",
        str(folder / "events.jsonl"),
    ]


def test_whatever_has_columns_serves_as_a_schema(tmp_path: Path) -> None:
    for given in schemas(tmp_path):
        assert "plan" in augury.explain(QUERY, given)
    for given in schemas(tmp_path):
        assert augury.compile(QUERY, given).program.last.bound.schema.names == ("ts", "type", "x")
    for given in schemas(tmp_path):
        assert len(Matcher(QUERY, given, jit=False).feed(ROWS)) == 1


def test_a_reader_that_serves_as_a_schema_keeps_its_events() -> None:
    reader = pa.Table.from_pylist(ROWS).to_reader()
    augury.explain(QUERY, reader)
    assert len(augury.match(reader, QUERY, jit=False)) == 1


def test_the_plan_for_events_is_the_one_that_match_chooses() -> None:
    events = [{"ts": i, "type": "A" if i % 50 else "B", "x": i % 3} for i in range(2000)]
    query = "SEQ(A a, B b) WHERE a.x < b.x WITHIN 1 minute"
    matches = augury.match(events, query, jit=False)
    assert matches.compiled is not None
    assert augury.compile(query, events).program.last.choice.plan == matches.compiled.choice.plan


def test_times_as_text_are_parsed_in_a_frame_that_serves_as_a_schema() -> None:
    frame = pd.DataFrame({"ts": ["2026-01-01T10:00:00"], "type": ["A"]})
    assert augury.compile(QUERY, frame).program.last.bound.schema.time_unit == "us"


# -- pandas ------------------------------------------------------------------------------------------------------------


def test_the_index_of_a_frame_is_the_time_if_that_is_asked_for() -> None:
    named = pd.DataFrame({"type": ["A", "B"]}, index=pd.Index(TIMES, name="when"))
    unnamed = pd.DataFrame({"type": ["A", "B"]}, index=TIMES)
    for frame, time in ((named, "when"), (unnamed, "index")):
        found = augury.match(frame, QUERY, time=time, jit=False)
        assert [m.start for m in found] == [TIMES[0].to_pydatetime()]
        assert len(Matcher(QUERY, frame, time=time, jit=False).feed(frame)) == 1
        with pytest.raises(HostError, match=r"error\[A502\]: the events have no time column `ts`"):
            augury.match(frame, QUERY)


def test_the_levels_of_an_index_are_columns_if_one_is_the_time() -> None:
    levels = pd.MultiIndex.from_arrays([["x", "x"], TIMES], names=["ticker", "ts"])
    frame = pd.DataFrame({"type": ["A", "B"]}, index=levels)
    found = augury.match(frame, "SEQ(A a, B b) WHERE [ticker] RETURN a.ticker AS t", jit=False)
    assert found[0].values == {"t": "x"}


def test_a_column_comes_before_an_index_of_its_name() -> None:
    frame = pd.DataFrame({"ts": [1, 2], "type": ["A", "B"]}, index=pd.Index([7, 8], name="ts"))
    assert augury.match(frame, QUERY, jit=False)[0].start == 1


ODD_FRAMES: dict[str, Callable[[], Any]] = {
    "two columns of one name": lambda: pd.DataFrame([[1, "A", 2]], columns=["ts", "type", "ts"]),
    "columns that print alike": lambda: pd.DataFrame([[1, "A", 2, 3]], columns=["ts", "type", 1, "1"]),
    "mixed objects": lambda: pd.DataFrame({"ts": [1, 2], "type": ["A", "B"], "x": [1, "a"]}),
    "complex numbers": lambda: pd.DataFrame({"ts": [1], "type": ["A"], "x": [1j]}),
    "objects": lambda: pd.DataFrame({"ts": [1], "type": ["A"], "x": [object()]}),
    "columns on two levels": lambda: pd.DataFrame(
        [[1, "A"]], columns=pd.MultiIndex.from_tuples([("ts", ""), ("t", "y")])
    ),
    "periods": lambda: pd.DataFrame({"ts": pd.period_range("2020", periods=2, freq="D"), "type": ["A", "B"]}),
    "no columns": pd.DataFrame,
    "no columns but rows": lambda: pd.DataFrame(index=range(3)),
    "a lone surrogate": lambda: pd.DataFrame({"ts": [1], "type": ["\ud800"]}),
    "a surrogate in a name": lambda: pd.DataFrame({"ts": [1], "type": ["A"], "\ud800": [1]}),
    "polars objects": lambda: pl.DataFrame({"ts": [1], "type": ["A"], "x": pl.Series([object()], dtype=pl.Object)}),
    "dict rows with odd keys": lambda: [{1: 2}],
    "rows that are none": lambda: [{"ts": 1}, None],
    "rows of text": lambda: [{"ts": 1, "x": "\ud800"}],
    "rows with a surrogate": lambda: [{"ts": 1, "\ud800": 1}],
    "rows of complex numbers": lambda: [{"ts": 1, "x": 1j}],
    "rows beyond": lambda: [{"ts": 10**30}],
    "rows of columns": lambda: {"ts": [1, 2]},
    "a number": lambda: 5,
}
"""What is refused, or no more than empty."""

FINE_FRAMES: dict[str, Callable[[], Any]] = {
    "categories": lambda: pd.DataFrame({"ts": [1, 2], "type": pd.Categorical(["A", "B"])}),
    "intervals": lambda: pd.DataFrame({"ts": [1, 2], "type": ["A", "B"], "x": pd.interval_range(0, 2)}),
    "nullable": lambda: pd.DataFrame({"ts": pd.array([1, 2], "Int64"), "type": pd.array(["A", "B"], "string")}),
    "decimals": lambda: pd.DataFrame({"ts": [1, 2], "type": ["A", "B"], "x": [Decimal("1.5"), Decimal(2)]}),
    "numbers as names": lambda: pd.DataFrame([[1, "A", 5], [2, "B", 5]], columns=["ts", "type", 7]),
    "polars categories": lambda: pl.DataFrame({"ts": [1, 2], "type": pl.Series(["A", "B"], dtype=pl.Categorical)}),
    "polars enums": lambda: pl.DataFrame({"ts": [1, 2], "type": pl.Series(["A", "B"], dtype=pl.Enum(["A", "B"]))}),
    "polars decimals": lambda: pl.DataFrame({"ts": [1, 2], "type": ["A", "B"], "x": [Decimal("1.5"), Decimal(2)]}),
    "polars lists": lambda: pl.DataFrame({"ts": [1, 2], "type": ["A", "B"], "x": [[1], [2]]}),
    "polars times": lambda: pl.DataFrame(
        {"ts": [1, 2], "type": ["A", "B"], "x": [dt.time(1), dt.timedelta(1)][:1] * 2}
    ),
    "arrays": lambda: [{"ts": 1, "type": "A", "x": np.array([1.0])}, {"ts": 2, "type": "B", "x": np.array([2.0])}],
}


@pytest.mark.parametrize("name", ODD_FRAMES)
def test_odd_events_are_refused_with_a_code(name: str) -> None:
    for call in (
        lambda: augury.match(ODD_FRAMES[name](), QUERY, jit=False),
        lambda: Matcher(QUERY, ODD_FRAMES[name](), jit=False),
    ):
        if name in ("no columns", "no columns but rows"):
            continue
        with pytest.raises(augury.AuguryError, match=r"^error\[A[56]\d\d\]: "):
            call()
    with pytest.raises(augury.AuguryError, match=r"^error\[A[56]\d\d\]: "):
        augury.explain(QUERY, ODD_FRAMES[name]())


@pytest.mark.parametrize("name", FINE_FRAMES)
def test_unusual_events_are_read(name: str) -> None:
    found = augury.match(FINE_FRAMES[name](), QUERY, jit=False)
    assert len(found) == 1
    assert "1 match" in repr(found)


# -- times and durations -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("lateness", ["10 minutes", "600 s", dt.timedelta(minutes=10), np.timedelta64(10, "m"), 600])
def test_a_delay_in_every_form(lateness: Any) -> None:
    stream = Matcher(QUERY, pa.schema([("ts", pa.int64()), ("type", pa.string())]), lateness=lateness, jit=False)
    assert len(stream.feed([{"ts": 0, "type": "A"}, {"ts": 1, "type": "B"}])) == 0
    assert len(stream.feed([{"ts": 601, "type": "C"}])) == 0
    assert len(stream.feed([{"ts": 602, "type": "C"}])) == 1


@pytest.mark.parametrize(
    "lateness", ["soon", "-1 second", "", "10 moons", dt.timedelta(-1), -1, 1.5, np.timedelta64("NaT")]
)
def test_what_is_no_delay_is_refused(lateness: Any) -> None:
    with pytest.raises(HostError, match=r"^error\[A525\]: lateness is a duration or a whole number of ticks"):
        Matcher(QUERY, pa.schema([("ts", pa.int64())]), type=None, lateness=lateness)


@pytest.mark.parametrize(
    "watermark", ["2026-01-01T12:00:00", dt.datetime(2026, 1, 1, 12), np.datetime64("2026-01-01T12:00"), TIMES[0]]
)
def test_a_watermark_in_every_form(watermark: Any) -> None:
    stream = Matcher(QUERY, pa.schema([("ts", pa.timestamp("us")), ("type", pa.string())]), lateness="1 day", jit=False)
    stream.feed([{"ts": "2026-01-01T09:00:00", "type": "A"}, {"ts": "2026-01-01T09:30:00", "type": "B"}])
    assert len(stream.advance(watermark)) == 1


@pytest.mark.parametrize("watermark", ["noon", "2026-01-01T12:00:00Z", 5, None, dt.timedelta(1)])
def test_what_is_no_watermark_is_refused(watermark: Any) -> None:
    stream = Matcher(QUERY, pa.schema([("ts", pa.timestamp("us")), ("type", pa.string())]), jit=False)
    with pytest.raises(HostError, match=r"^error\[A5(26|35)\]: "):
        stream.advance(watermark)


@pytest.mark.parametrize("length", ["10 seconds", dt.timedelta(seconds=10), np.timedelta64(10, "s"), "0.01 ks"])
def test_durations_as_parameters(length: Any) -> None:
    events = [{"ts": f"2026-01-01T10:00:{s:02}", "type": t} for s, t in ((0, "A"), (9, "B"), (20, "B"))]
    queries = ("SEQ(A a, B b) WHERE b.ts - a.ts <= d", "SEQ(A a, B b) WITHIN d")
    for query in queries:
        if length == "0.01 ks":
            with pytest.raises(augury.QueryError, match=r"is not a duration|a window cannot be of type string"):
                augury.match(events, query, parameters={"d": length}, jit=False)
        else:
            assert len(augury.match(events, query, parameters={"d": length}, jit=False)) == 1


@pytest.mark.parametrize(
    "moment", ["2026-01-01T10:00:05", dt.datetime(2026, 1, 1, 10, 0, 5), np.datetime64("2026-01-01T10:00:05")]
)
def test_times_as_parameters(moment: Any) -> None:
    events = [{"ts": f"2026-01-01T10:00:0{s}", "type": "A"} for s in range(8)]
    assert len(augury.match(events, "PATTERN A a WHERE a.ts > t", parameters={"t": moment}, jit=False)) == 2


# -- the command line --------------------------------------------------------------------------------------------------


def test_the_command_line_reports_odd_events(tmp_path: Path) -> None:
    (tmp_path / "events.jsonl").write_text('{"ts": 1, "type": "A"}\n{"ts": 1e400, "type": "B"}\n')
    call = [sys.executable, "-m", "augury.cli", "match", QUERY, str(tmp_path / "events.jsonl")]
    done = subprocess.run(call, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("error[A509]: 1 of 2 events have no time")


def test_integers_that_floats_do_not_hold_are_sampled_all_the_same() -> None:
    events = [{"ts": i, "type": "AB"[i % 2], "x": 2**63 - 1 - i, "y": 0.5} for i in range(20)]
    query = "SEQ(A a, B b) WHERE a.x * b.y < b.x + a.y WITHIN 1 hour"
    assert len(augury.match(events, query, jit=False)) == len(augury.match(events, query, plan="reference"))


def test_a_column_of_nulls_is_a_list_of_nothing() -> None:
    events = pa.table({"ts": [1, 2], "type": ["A", "B"], "l": [[1.0, 2.0]] * 2, "n": pa.nulls(2)})
    assert len(augury.match(events, "SEQ(A a, B b) WHERE corr(a.n, b.l) > 0.5", jit=False)) == 0
    assert len(augury.match(events, "SEQ(A a, B b) WHERE corr(a.n, b.l) IS NULL", jit=False)) == 1
