"""Any input becomes one table, and bad input says what is wrong with it."""

from __future__ import annotations

import datetime as dt
import decimal
import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

import augury
from augury.engine.sources.column_types import engine_table
from augury.engine.sources.events import read_events
from augury.errors import HostError

ROWS = [{"ts": 1, "type": "A", "x": 1.5}, {"ts": 2, "type": "B", "x": None}]
TABLE = pa.table({"ts": [1, 2], "type": ["A", "B"], "x": [1.5, None]})


NINE = dt.datetime(2026, 3, 14, 9, 0, 2)


def jsonl(rows: list[dict[str, Any]]) -> bytes:
    return "".join(json.dumps(r) + "\n" for r in rows).encode()


def csv_bytes() -> bytes:
    sink = io.BytesIO()
    pa.csv.write_csv(TABLE, sink)
    return sink.getvalue()


def write_parquet(path: Path) -> None:
    pa.parquet.write_table(TABLE, path)


def write_ipc(path: Path) -> None:
    with pa.ipc.new_file(path, TABLE.schema) as writer:
        writer.write_table(TABLE)


def write_stream(path: Path) -> None:
    with pa.ipc.new_stream(path, TABLE.schema) as writer:
        writer.write_table(TABLE)


def write_parquet_directory(path: Path) -> None:
    path.mkdir()
    pa.parquet.write_table(TABLE.slice(0, 1), path / "0.parquet")
    pa.parquet.write_table(TABLE.slice(1, 1), path / "1.parquet")


@pytest.mark.parametrize(
    "events",
    [
        TABLE,
        TABLE.to_batches()[0],
        pa.RecordBatchReader.from_batches(TABLE.schema, TABLE.to_batches()),
        [TABLE.slice(0, 1).to_batches()[0], TABLE.slice(1, 1).to_batches()[0]],
        TABLE.to_pandas().set_index(pd.Index([7, 9])),
        pl.DataFrame(ROWS),
        pl.DataFrame(ROWS).lazy(),
        ROWS,
        iter(ROWS),
        [{"ts": np.int32(1), "type": "A", "x": np.float32(1.5)}, {"ts": 2, "type": "B"}],
    ],
    ids=["table", "batch", "reader", "batches", "pandas", "polars", "lazy", "dicts", "iterator", "numpy"],
)
def test_objects(events: Any) -> None:
    assert read_events(events, "ts").to_pylist() == ROWS


@pytest.mark.parametrize(
    "name, write",
    [
        ("e.parquet", write_parquet),
        ("directory", write_parquet_directory),
        ("e.arrow", write_ipc),
        ("e.feather", write_ipc),
        ("e.arrows", write_stream),
        ("e.csv", lambda p: p.write_bytes(csv_bytes())),
        ("E.CSV", lambda p: p.write_bytes(csv_bytes())),
        ("e.csv.gz", lambda p: p.write_bytes(gzip.compress(csv_bytes()))),
        ("e.jsonl", lambda p: p.write_bytes(jsonl(ROWS))),
        ("e.ndjson", lambda p: p.write_bytes(b"\xef\xbb\xbf\n" + jsonl(ROWS))),
        ("e.json", lambda p: p.write_bytes(json.dumps(ROWS).encode())),
        ("e.jsonl.gz", lambda p: p.write_bytes(gzip.compress(jsonl(ROWS)))),
        ("ereignisse-é.jsonl", lambda p: p.write_bytes(jsonl(ROWS))),
    ],
)
def test_files(tmp_path: Path, name: str, write: Callable[[Path], None]) -> None:
    write(tmp_path / name)
    assert read_events(tmp_path / name, "ts").to_pylist() == ROWS
    assert read_events(str(tmp_path / name), "ts").to_pylist() == ROWS


@pytest.mark.parametrize(
    "name, content, code, message",
    [
        ("none.csv", None, "A530", "there is no file"),
        ("e.xlsx", b"x", "A539", "cannot be read from a file such as"),
        ("e.parquet", b"not parquet", "A531", "cannot be read"),
        ("e.arrow", b"not arrow", "A531", "cannot be read"),
        ("e.csv.gz", b"not gzip", "A531", "cannot be read"),
        ("e.jsonl.gz", gzip.compress(b'{"ts": 1}' * 99, mtime=0)[:30], "A531", "cannot be read"),
        ("e.jsonl", b'{"ts": 1}\n\n[1, 2]\n', "A532", "line 3 of `e.jsonl` is not a JSON object"),
        ("e.jsonl", b'{"ts": 1}\n{"ts": \n', "A532", "line 2 of `e.jsonl` is not a JSON object"),
        ("e.jsonl", b'{"ts": ' + b"[" * 100_000 + b"}\n", "A532", "line 1 of `e.jsonl`"),
        ("e.jsonl", b"\xff\xfe{", "A531", "not UTF-8"),
        ("e.json", b"[1]", "A532", "item 0 of `e.json`"),
        (
            "e.jsonl",
            b'{"ts": 1, "x": 1}\n{"ts": 2, "x": "a"}\n',
            "A533",
            "integer in line 1 of `e.jsonl`, string in line 2",
        ),
        (
            "e.jsonl",
            b'{"ts": 1, "x": 9223372036854775808}\n',
            "A534",
            "`x` holds the integer 9223372036854775808 in line 1",
        ),
        ("e.jsonl", b'{"ts": ' + b"9" * 5000 + b"}\n", "A532", "line 1 of `e.jsonl` cannot be read"),
        (
            "e.csv",
            b"ts,x\n1,2\n2,99999999999999999999\n",
            "A534",
            "`x` holds the integer 99999999999999999999 in row 1",
        ),
        ("e.csv", b"ts,x\n1,2,3\n", "A531", "is not a table of comma-separated values"),
    ],
)
def test_bad_files(tmp_path: Path, name: str, content: bytes | None, code: str, message: str) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(HostError) as raised:
        read_events(tmp_path / name, "ts")
    assert raised.value.code == code
    assert message in str(raised.value)


@pytest.mark.parametrize(
    "events, code, message",
    [
        ([{"ts": 1}, 5], "A532", "row 1 is a int, not a mapping"),
        ([{"ts": 1, 2: 3}], "A532", "row 0 has the key 2"),
        ([{}, {}], "A532", "none of the 2 events has any column"),
        ([{"ts": 1, "x": 1}, {"ts": 2}, {"ts": 2, "x": "a"}], "A533", "types: integer in row 0, string in row 2"),
        ([{"ts": 1, "x": True}, {"ts": 2, "x": 1}], "A533", "boolean in row 0, integer in row 1"),
        ([{"ts": 1, "x": [1]}, {"ts": 2, "x": ["a"]}], "A533", "column `x` cannot be read"),
        ([{"ts": NINE}, {"ts": NINE.replace(tzinfo=dt.UTC)}], "A533", "time zone in row 1"),
        ([{"ts": 1, "x": 2**63}], "A534", "`x` holds the integer 9223372036854775808 in row 0"),
        ([{"ts": 1, "x": 0.5}, {"ts": 1, "x": 10**400}], "A534", "about 2^1329 in row 1"),
        ([{"ts": "2026-03-14"}, {"ts": "yesterday"}], "A535", "`yesterday` of column `ts` in row 1"),
        ([{"ts": "2026-03-14T09:00:00Z"}, {"ts": "2026-03-14T09:00:00"}], "A538", "zone in row 0 and none in row 1"),
        ([TABLE, TABLE.drop_columns(["x"])], "A514", "batch 1 has another schema than batch 0"),
        (pd.DataFrame({"ts": [1, 2], "x": [1, "a"]}), "A533", "mixed types"),
        (7, "A539", "cannot be read from 7"),
        ({"ts": [1]}, "A539", "cannot be read from a dict"),
    ],
)
def test_bad_objects(events: Any, code: str, message: str) -> None:
    with pytest.raises(HostError) as raised:
        read_events(events, "ts")
    assert raised.value.code == code
    assert message in str(raised.value)


@pytest.mark.parametrize(
    "texts, arrow, first",
    [
        (["2026-03-14T09:00:02.120", "2026-03-14 10:00:00"], pa.timestamp("us"), NINE.replace(microsecond=120000)),
        (["2026-03-14T09:00:02Z", "2026-03-14T09:00:02+02:00"], pa.timestamp("us", "UTC"), NINE.replace(tzinfo=dt.UTC)),
        (["2026-03-14", None], pa.timestamp("us"), dt.datetime(2026, 3, 14)),
        (["20260314T090002", "2026-03-14"], pa.timestamp("us"), NINE),
    ],
)
def test_text_times(texts: list[str | None], arrow: pa.DataType, first: dt.datetime) -> None:
    column = read_events([{"ts": t} for t in texts], "ts")["ts"]
    assert column.type == arrow
    assert column[0].as_py() == first


def test_text_times_keep_nanoseconds() -> None:
    column = read_events([{"ts": "2026-03-14T09:00:02.123456789"}], "ts")["ts"]
    assert column.type == pa.timestamp("ns")
    assert column.cast(pa.int64())[0].as_py() % 1000 == 789


def test_string_column_other_than_time_stays() -> None:
    assert read_events([{"ts": 1, "day": "2026-03-14"}], "ts").schema.field("day").type == pa.string()


@pytest.mark.parametrize("events", [[], iter([]), pa.table({})])
def test_nothing_at_all_has_no_columns(events: Any) -> None:
    assert read_events(events, "ts").num_columns == 0


@pytest.mark.parametrize("name", ["e.jsonl", "e.csv"])
def test_empty_files_have_no_columns(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"\n")
    assert read_events(tmp_path / name, "ts").num_columns == 0


def test_csv_nulls_and_names_that_look_like_nulls(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text('ts,sym,note\n1,NA,""\n2,,x\n')
    assert read_events(tmp_path / "e.csv", "ts").to_pylist() == [
        {"ts": 1, "sym": "NA", "note": ""},
        {"ts": 2, "sym": None, "note": "x"},
    ]


@pytest.mark.parametrize(
    "text, unit",
    [("2026-03-14T09:00:02", "us"), ("2026-03-14 09:00:02.120", "us"), ("2026-03-14T09:00:02.123456789", "ns")],
)
def test_csv_times(tmp_path: Path, text: str, unit: str) -> None:
    (tmp_path / "e.csv").write_text(f"ts,x\n{text},1\n")
    column = read_events(tmp_path / "e.csv", "ts")["ts"]
    assert column.type == pa.timestamp(unit)
    assert column[0].as_py() >= NINE


def test_the_engine_reads_64_bit_numbers_and_plain_strings() -> None:
    table = pa.table(
        {
            "type": pa.array([7, None], pa.int8()),
            "u": pa.array([1, 2], pa.uint64()),
            "d": pa.array([decimal.Decimal("1.25"), None]),
            "h": pa.array([1.5, 2.5], pa.float16()),
            "c": pa.array(["x", "y"]).dictionary_encode(),
            "l": pa.array([[1], []], pa.list_(pa.uint8())),
            "s": pa.array([{"k": 1}, None]),
        }
    )
    read = engine_table(table, "type")
    assert read.to_pylist()[0] == {"type": "7", "u": 1, "d": 1.25, "h": 1.5, "c": "x", "l": [1], "s": {"k": 1}}
    assert read.schema.types[:5] == [pa.string(), pa.int64(), pa.float64(), pa.float64(), pa.string()]


def test_a_uint64_beyond_64_bits_is_named() -> None:
    table = pa.table({"u": pa.array([1, 2**63], pa.uint64())})
    with pytest.raises(HostError, match=r"`u` holds the integer 9223372036854775808 in row 11") as raised:
        engine_table(table, None, first_row=10)
    assert raised.value.code == "A534"


def test_a_type_column_that_is_no_text() -> None:
    with pytest.raises(HostError, match="cannot be used as the type column"):
        engine_table(pa.table({"kind": [{"a": 1}]}), "kind")


def test_string_views_can_be_read() -> None:
    table = pa.table({"ts": [1], "x": pa.array(["a"]).cast(pa.string_view())})
    assert read_events(table, "ts").schema.field("x").type == pa.string()


ENTRIES: list[list[str | None]] = [["A", None, "B"], ["B", "A"], [None, "A"]]


def encoded(entries: list[str | None]) -> pa.DictionaryArray:
    codes = [*range(len(entries)), None, *range(len(entries))]
    return pa.DictionaryArray.from_arrays(pa.array(codes, pa.int8()), pa.array(entries, pa.string()))


def test_nulls_in_dictionaries_are_nulls() -> None:
    """Valid Arrow, though Arrow itself does not join such dictionaries."""
    coded = pa.chunked_array([encoded(entries) for entries in ENTRIES])
    plain = pa.chunked_array([chunk.dictionary_decode() for chunk in coded.chunks])
    found = [
        list(augury.match(pa.table({"ts": range(len(coded)), "type": types}), "SEQ(A a, B b) WITHIN 9 events"))
        for types in (plain, coded)
    ]
    assert found[0] == found[1]
    assert len(found[0]) > 3
    table = pa.table({"ts": range(len(coded)), "type": coded})
    matcher = augury.Matcher("SEQ(A a, B b) WITHIN 9 events", table.schema)
    fed = [match for batch in table.to_batches() for match in matcher.feed(batch)] + [*matcher.finish()]
    assert fed == found[0]
