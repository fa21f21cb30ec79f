"""Parquet files are scanned: only what a query needs is read, and nothing of that can be seen in its matches."""

from __future__ import annotations

import os
import time
import warnings
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import augury
from augury.engine.scan.file_scan import MIN_AGE_NANOSECONDS, ParquetLog, ParquetScan, parquet_files
from augury.engine.scan.narrow import TableScan
from augury.engine.sources.footers import TAIL_BYTES, open_footer
from augury.engine.sources.schemas import event_schema
from augury.engine.sources.thrift import decode_struct
from augury.errors import AuguryWarning, HostError
from augury.options import Roles
from augury.runtime.shared import enumerated
from augury.testing.evaluate import compiled, reference_matches
from augury.testing.queries import queries
from augury.testing.streams import streams
from tests.complexity import calls_of
from tests.engine.streams import QUERIES, stream

ORDERED = stream().sort_by("ts")


def write(events: pa.Table, folder: Path, row_group: int = 50) -> Path:
    path = folder / "events.parquet"
    pq.write_table(events, path, row_group_size=row_group)
    return path


def scan_of(path: Path, **roles: Any) -> ParquetScan:
    files = parquet_files(path)
    assert files is not None
    return ParquetScan(files, event_schema(files.arrow, Roles(**roles)), threads=2)


@pytest.mark.parametrize("name", QUERIES)
@pytest.mark.parametrize("order_by", ["ts", ("ts", "seq")])
def test_files_have_the_matches_of_the_table(name: str, order_by: str | tuple[str, ...], tmp_path: Path) -> None:
    events, query = stream(), QUERIES[name]
    path = write(events, tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AuguryWarning)
        expected = augury.match(events, query, order_by=order_by, jit=False)
        found = augury.match(path, query, order_by=order_by, jit=False)
    assert isinstance(found.log, ParquetLog)
    assert found.to_arrow().equals(expected.to_arrow())
    assert [m.rows for m in found] == [m.rows for m in expected]
    assert found.warnings == expected.warnings


@given(queries(), streams(), st.integers(1, 9))
def test_any_query_finds_the_same_in_files(text: str, events: pa.Table, row_group: int) -> None:
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore", AuguryWarning)
        path = write(events, Path(folder), row_group)
        found = augury.match(path, text, jit=False).to_arrow()
        assert found.equals(augury.match(events, text, jit=False).to_arrow())


@given(queries(), streams())
def test_what_is_left_out_makes_no_difference(text: str, events: pa.Table) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AuguryWarning)
        found = augury.match(events, text, jit=False).found
    assert enumerated(found) == reference_matches(compiled(text, events).bound, events)


def test_only_what_can_matter_is_kept(tmp_path: Path) -> None:
    scan = scan_of(write(ORDERED, tmp_path))
    query = compiled("SEQ(A a, B b) WHERE a.x > 6 AND b.x < a.x WITHIN 5 seconds", ORDERED).rewritten
    events = scan.events(query)
    assert events.table.column_names == ["ts", "type", "x"]
    x, kind = ORDERED["x"].to_pylist(), ORDERED["type"].to_pylist()
    wanted = [k for k in range(len(x)) if kind[k] == "B" or (kind[k] == "A" and x[k] is not None and x[k] > 6)]
    assert events.rows.tolist() == wanted
    assert scan.events(query) is events, "it is read once"


@pytest.mark.parametrize("query", ["SEQ(A a, b)", "SEQ(A a, B b) WITHIN 5 events", QUERIES["contiguous"]])
def test_every_event_is_kept_where_it_can_matter(query: str) -> None:
    scan = TableScan(ORDERED, event_schema(ORDERED.schema, Roles()))
    assert len(scan.events(compiled(query, ORDERED).rewritten)) == len(ORDERED)


@pytest.mark.parametrize(
    "types",
    [
        pa.array(["A", None, "B", "C"]).dictionary_encode(),
        pa.array(["A", None, "B", "C"], pa.large_string()),
        pa.DictionaryArray.from_arrays(
            pa.array([0, None, 1, 2], pa.uint8()), pa.array(["A", "B", "C"], pa.large_string())
        ),
        pa.DictionaryArray.from_arrays(
            pa.array([126, None, 1, 2], pa.int8()), pa.array(["?", "B", "C", *"x" * 123, "A"])
        ),
    ],
    ids=str,
)
def test_types_in_any_form(types: pa.Array) -> None:
    events = pa.table({"ts": [1, 2, 3, 4], "type": types})
    query = compiled("SEQ(A a, B b)", events).rewritten
    assert TableScan(events, event_schema(events.schema, Roles())).events(query).rows.tolist() == [0, 2]
    assert [m.rows for m in augury.match(events, "SEQ(A a, B b)")] == [{"a": 0, "b": 2}]


@pytest.mark.parametrize("name", ["__augury_row", "_", "row"])
def test_columns_may_have_any_name(name: str, tmp_path: Path) -> None:
    events = pa.table({"ts": [1, 2, 3], "type": ["A", "B", "B"], name: [1, 7, 2], f"{name}_": [0, 0, 0]})
    query = f"SEQ(A a, B b) WHERE b.`{name}` > 5 AND a.`{name}_` = 0"
    scan = TableScan(events, event_schema(events.schema, Roles()))
    assert scan.events(compiled(query, events).rewritten).rows.tolist() == [0, 1]
    for source in (events, write(events, tmp_path)):
        assert [m.rows for m in augury.match(source, query)] == [{"a": 0, "b": 1}]


def test_an_event_that_is_left_out_needs_a_time_all_the_same(tmp_path: Path) -> None:
    events = pa.table({"ts": [1, 2, None, 4], "type": ["A", "B", "D", "B"]})
    for source in (events, write(events, tmp_path, row_group=2)):
        with pytest.raises(HostError, match=r"A509.*row 2"):
            augury.match(source, "SEQ(A a, B b)")


def test_a_number_that_is_too_large_is_found_in_its_row(tmp_path: Path) -> None:
    events = pa.table({"ts": [1, 2, 3], "type": ["A", "D", "B"], "x": pa.array([1, 2, 2**63], pa.uint64())})
    for source in (events, write(events, tmp_path, row_group=1)):
        with pytest.raises(HostError, match=r"A534.*row 2"):
            augury.match(source, "SEQ(A a, B b) WHERE a.x < b.x")


def test_a_folder_is_read_file_by_file(tmp_path: Path) -> None:
    for k in range(3):
        pq.write_table(ORDERED.slice(100 * k, 100), tmp_path / f"{k}.parquet", row_group_size=30)
    found = augury.match(tmp_path, QUERIES["by key"], jit=False)
    assert isinstance(found.log, ParquetLog)
    assert found.to_arrow().equals(augury.match(ORDERED, QUERIES["by key"], jit=False).to_arrow())
    assert found.log.everything().table.equals(ORDERED)


def test_what_arrow_has_to_put_together_is_read_at_once(tmp_path: Path) -> None:
    for k in "pq":
        (tmp_path / f"k={k}").mkdir()
        pq.write_table(pa.table({"ts": [1, 2], "type": ["A", "B"]}), tmp_path / f"k={k}" / "events.parquet")
    assert parquet_files(tmp_path) is None
    assert len(augury.match(tmp_path, "SEQ(A a, B b) WHERE [k]")) == 2


@pytest.mark.parametrize(
    "column",
    [{"a.b": [1, 2]}, {"v": pa.array(["x", "y"], pa.string_view())}],
    ids=["a dot", "a view"],
)
def test_columns_that_are_not_read_one_by_one(column: dict[str, Any], tmp_path: Path) -> None:
    events = pa.table({"ts": [1, 2], "type": ["A", "B"], **column})
    path = write(events, tmp_path)
    assert parquet_files(path) is None
    assert len(augury.match(path, "SEQ(A a, B b)").to_arrow()) == 1


def test_no_events(tmp_path: Path) -> None:
    path = write(ORDERED.slice(0, 0), tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AuguryWarning)
        found = augury.match(path, QUERIES["by key"])
        expected = augury.match(ORDERED.slice(0, 0), QUERIES["by key"])
    assert found.to_arrow().equals(expected.to_arrow())


def test_a_file_that_changes_before_its_events_are_shown(tmp_path: Path) -> None:
    path = write(ORDERED, tmp_path)
    found = augury.match(path, QUERIES["by key"], jit=False)
    assert len(found) > 0
    write(ORDERED.slice(1), tmp_path)
    with pytest.raises(HostError, match=r"A670.*has changed"):
        found.to_arrow()
    os.remove(path)
    with pytest.raises(HostError, match=r"A531.*events\.parquet"):
        found.to_arrow()


def test_the_footer_of_a_file_that_stays_is_checked_once(tmp_path: Path) -> None:
    path = write(stream(), tmp_path)
    old = os.stat(path).st_mtime_ns - 10 * MIN_AGE_NANOSECONDS
    os.utime(path, ns=(old, old))
    first, again = (calls_of(lambda: parquet_files(path)) for _ in range(2))
    assert again < first / 5
    write(stream().slice(0, 60), tmp_path)
    assert scan_of(path).rows == 60


def test_a_file_of_the_same_size_and_time_is_another_one(tmp_path: Path) -> None:
    path = write(stream(), tmp_path)
    old, size = os.stat(path).st_mtime_ns - 10 * MIN_AGE_NANOSECONDS, os.stat(path).st_size
    os.utime(path, ns=(old, old))
    assert scan_of(path).rows == len(stream())
    time.sleep(0.05)
    path.write_bytes(b"PAR1".ljust(size, b"x"))
    os.utime(path, ns=(old, old))
    with pytest.raises((OSError, pa.ArrowException)):
        parquet_files(path)


def test_a_file_that_is_new_may_change_without_its_times_telling(tmp_path: Path) -> None:
    path = write(stream(), tmp_path)
    seen = os.stat(path).st_mtime_ns
    for rows in (60, 70):
        write(stream().slice(0, rows), tmp_path)
        os.utime(path, ns=(seen, seen))
        assert scan_of(path).rows == rows


def test_a_file_that_is_no_parquet(tmp_path: Path) -> None:
    path = tmp_path / "events.parquet"
    path.write_bytes(b"PAR1 and nothing else PAR1")
    with pytest.raises(HostError, match="A531"):
        augury.match(path, "SEQ(A a, B b)")


def test_a_damaged_row_group(tmp_path: Path) -> None:
    path = write(ORDERED, tmp_path)
    data = bytearray(path.read_bytes())
    data[4:400] = bytes(396)
    path.write_bytes(data)
    with pytest.raises(HostError, match="A531"):
        augury.match(path, "SEQ(A a, B b)")


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
@pytest.mark.parametrize("place", ["type", "k", "unused"])
def test_text_that_is_no_text(ending: str, place: str, tmp_path: Path) -> None:
    data = pa.array([b"A", b"\xd1"])
    columns = {name: pa.array(["A", "B"]) for name in ("type", "k", "unused")}
    columns[place] = pa.Array.from_buffers(pa.string(), 2, data.cast(pa.binary()).buffers())
    events, path = pa.table({"ts": [1, 2], **columns}), tmp_path / f"events.{ending}"
    if ending == "parquet":
        pq.write_table(events, path)
    else:
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, events.schema) as writer:
            writer.write_table(events)
    with pytest.raises(HostError, match=r"A531.*UTF8"):
        augury.match(path, "SEQ(A a, B b) WHERE a.k != b.k").to_arrow()


def test_a_name_in_the_footer_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "events.parquet"
    pq.write_table(ORDERED.rename_columns([*ORDERED.column_names[:-1], "named"]), path, store_schema=False)
    data = path.read_bytes()
    places = [k for k in range(len(data)) if data.startswith(b"named", k)]
    # In the schema, and in the one row group.
    assert len(places) == 2
    path.write_bytes(data[: places[0]] + b"nam\xd1d" + data[places[0] + 5 :])
    with pytest.raises(HostError, match=r"A531.*events\.parquet.*UTF-8"):
        augury.match(path, "SEQ(A a, B b) WHERE a.x > 3", jit=False)
    # What a row group calls its columns says nothing.
    path.write_bytes(data[: places[1]] + b"nam\xd1d" + data[places[1] + 5 :])
    augury.match(path, "SEQ(A a, B b) WHERE a.x > 3", jit=False).to_arrow()


def test_statistics_of_another_type_than_the_column(tmp_path: Path) -> None:
    path = tmp_path / "events.parquet"
    pq.write_table(pa.table({"ts": [1, 2], "type": ["A", "B"]}), path, store_schema=False)
    data = bytearray(path.read_bytes())
    # The physical type, INT64, of the first column: field 1 of its metadata, before the two encodings and its name.
    place = data.index(b"\x15\x04\x19", data.rindex(b"\x15\x04\x19\x35", 0, data.rindex(b"\x18\x02ts")) - 1)
    data[place + 1] = 0x0A
    path.write_bytes(data)
    assert pq.read_metadata(path).row_group(0).column(0).physical_type == "DOUBLE"
    # Arrow would end the process if it were asked for the statistics.
    with pytest.raises(HostError, match=r"A531.*events\.parquet"):
        augury.match(path, "SEQ(A a, B b)", jit=False)


def test_statistics_shorter_than_a_value_of_the_column(tmp_path: Path) -> None:
    path = tmp_path / "events.parquet"
    numbers = pa.array([1, 2], pa.int32())
    pq.write_table(pa.table({"ts": [1, 2], "type": ["A", "B"], "vv": numbers}), path, store_schema=False)
    data = bytearray(path.read_bytes())
    names = [k for k in range(len(data)) if data.startswith(b"\x18\x02vv", k)]
    # In the schema, and in the one row group: INT32 becomes INT64, and the statistics stay.
    assert len(names) == 2
    for name in names:
        data[data.rindex(b"\x15\x02", 0, name) + 1] = 0x04
    path.write_bytes(data)
    assert pq.read_metadata(path).row_group(0).column(2).physical_type == "INT64"
    # Arrow would end the process if it were asked for them.
    with pytest.raises(HostError, match=r"A531.*events\.parquet.*statistics"):
        augury.match(path, "SEQ(A a, B b) WHERE a.vv > 1", jit=False)


def test_a_row_group_with_fewer_rows_than_the_footer_says(tmp_path: Path) -> None:
    path = tmp_path / "events.parquet"
    pq.write_table(ORDERED, path)
    files = parquet_files(path)
    assert files is not None
    group = next(iter(files.row_groups))
    with pytest.raises(HostError, match=rf"A531.*a row group of {group.rows + 1} rows has {group.rows}"):
        files.read(replace(group, rows=group.rows + 1), ["x"])


def test_a_footer_longer_than_what_is_read_first(tmp_path: Path) -> None:
    path = tmp_path / "events.parquet"
    pq.write_table(ORDERED, path, row_group_size=1)
    assert pq.read_metadata(path).serialized_size > TAIL_BYTES
    assert open_footer(path).equals(pq.read_metadata(path))


def test_a_struct_of_thrift() -> None:
    # true, -3, "ab", [1, 2], {1: 7}, a double and a map that are passed over, and a field whose number is 21
    text = b"\x11\x15\x05\x18\x02ab\x19\x25\x02\x04\x1c\x15\x0e\x00\x17" + bytes(8)
    text += b"\x1b\x01\x55\x02\x04\x05\x2a\x02\x00"
    assert decode_struct(text) == {1: True, 2: -3, 3: b"ab", 4: [1, 2], 5: {1: 7}, 6: None, 7: None, 21: 1}
    for size in range(len(text)):
        with pytest.raises(IndexError):
            decode_struct(text[:size])
    for deep in (b"\x1c", b"\x19\x19"):
        with pytest.raises(IndexError, match="too deep"):
            decode_struct(deep * 1_000)
