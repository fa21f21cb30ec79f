"""Whatever holds events gives the same matches as the table of them, and only what is needed of it is read."""

from __future__ import annotations

import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import augury
from augury.engine.arrivals import Arrivals
from augury.engine.scan.file_scan import ParquetScan
from augury.engine.scan.projected import ProjectedScan
from augury.engine.sources.schemas import KnownColumns, known_events
from augury.errors import HostError
from augury.hosts.local.query import run
from augury.options import Roles, make_options
from augury.source import Source
from augury.testing.queries import queries
from augury.testing.streams import streams

SIZE = 300
EVENTS = pa.table(
    {
        "ts": range(SIZE),
        # Types come in stretches, so that row groups without some of them can be left out.
        "type": [("A", "B", "C", "D")[k // 10 % 4] for k in range(SIZE)],
        "k": [f"key {k % 3}" for k in range(SIZE)],
        "x": [float(k % 17) for k in range(SIZE)],
        "unused.and dotted": [k * k for k in range(SIZE)],
    }
)
PLAIN = EVENTS.rename_columns(["ts", "type", "k", "x", "unused"])
QUERIES = {
    "types": "SEQ(A a, B b) WITHIN 8 seconds",
    "key": "SEQ(A a, B b) WHERE [k] AND a.x < b.x WITHIN 15 seconds",
    "condition": "SEQ(A a, B b) WHERE a.x > 12 AND b.x = 3 WITHIN 20 seconds",
    "contiguous": "SEQ(A a, B b) WHERE strict_contiguity",
    "count": "SEQ(A+ a[], B b) WHERE skip_till_next_match WITHIN 5 EVENTS",
    "negation": "SEQ(A a, NOT(C c), B b) WITHIN 15 seconds",
    "into": "SEQ(A a, B b) WITHIN 3 seconds RETURN a.x AS x INTO Pair; SEQ(Pair p, C c) WITHIN 30 seconds",
}


def parts(folder: Path, events: pa.Table) -> list[Path]:
    folder.mkdir(exist_ok=True)
    paths = [folder / f"{k}.parquet" for k in range(3)]
    for k, path in enumerate(paths):
        pq.write_table(events.slice(100 * k, 100), path, row_group_size=10)
    return paths


def csv(folder: Path, events: pa.Table) -> str:
    for k in range(3):
        pa.csv.write_csv(events.slice(100 * k, 100), folder / f"{k}.csv")
    return str(folder / "?.csv")


def partitioned(folder: Path, events: pa.Table) -> ds.Dataset:
    half = folder / "halves" / "half=1"
    half.mkdir(parents=True)
    pq.write_table(events, half / "events.parquet")
    return ds.dataset(folder / "halves", partitioning="hive")


SOURCES: dict[str, Callable[[Path, pa.Table], Any]] = {
    "folder": lambda folder, events: parts(folder, events)[0].parent,
    "glob": lambda folder, events: str(parts(folder, events)[0].parent / "*.parquet"),
    "glob as a path": lambda folder, events: parts(folder, events)[0].parent / "[0-9].parquet",
    "list": parts,
    "tuple of strings": lambda folder, events: tuple(map(str, parts(folder, events))),
    "csv": csv,
    "data set": lambda folder, events: ds.dataset(parts(folder, events)),
    "data set in memory": lambda folder, events: ds.dataset(events),
    "reader": lambda folder, events: events.to_reader(max_chunksize=7),
    "stream": lambda folder, events: Stream(events),
    "polars": lambda folder, events: pl.DataFrame(events),
    "lazy": lambda folder, events: pl.DataFrame(events).lazy(),
    "lazy scan": lambda folder, events: pl.scan_parquet(parts(folder, events)),
    "duckdb": lambda folder, events: duckdb.connect().from_arrow(events),
}


class Stream:
    """Anything with a stream of Arrow's."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._table.__arrow_c_stream__(requested_schema)


def same(found: augury.Matches, expected: augury.Matches) -> None:
    assert len(expected) > 0
    assert [m.rows for m in found] == [m.rows for m in expected]
    assert found.to_arrow().to_pylist() == expected.to_arrow().to_pylist()


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("source", SOURCES)
def test_every_source_has_the_matches_of_the_table(source: str, query: str, tmp_path: Path) -> None:
    for number, events in enumerate((PLAIN, EVENTS) if query == "key" else (PLAIN,)):
        folder = tmp_path / str(number)
        folder.mkdir()
        expected = augury.match(events, QUERIES[query], jit=False)
        same(augury.match(SOURCES[source](folder, events), QUERIES[query], jit=False), expected)
        if query == "key":
            given = SOURCES[source](folder, events)
            compiled = augury.compile(QUERIES[query], given, jit=False)
            same(compiled.match(SOURCES[source](folder, events)), expected)
            assert "plan" in augury.explain(QUERIES[query], given)


@given(queries(), streams(), st.integers(1, 9))
def test_any_query_finds_the_same_in_any_source(text: str, events: pa.Table, piece: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", augury.AuguryWarning)
        expected = augury.match(events, text, jit=False)
        for source in (events.to_reader(max_chunksize=piece), pl.DataFrame(events).lazy(), ds.dataset(events)):
            found = augury.match(source, text, jit=False)
            assert [m.rows for m in found] == [m.rows for m in expected]
            assert found.to_arrow().to_pylist() == expected.to_arrow().to_pylist()
            assert found.warnings == expected.warnings


def scan_of(given: Any) -> Any:
    known = known_events(given, Roles())
    assert known is not None
    return known.scan


def read_by(scan: Any, query: str) -> None:
    """Match a query in a scan, as `match` does."""
    run(KnownColumns(scan.arrow, scan.schema, scan), Source(query), make_options(jit=False))


@pytest.mark.parametrize("source", ["folder", "glob", "list", "data set"])
def test_files_are_read_for_the_columns_and_row_groups_that_can_matter(source: str, tmp_path: Path) -> None:
    scan = scan_of(SOURCES[source](tmp_path, PLAIN))
    assert isinstance(scan, ParquetScan)
    read_by(scan, QUERIES["types"])
    # Of thirty row groups every fourth holds A, and every fourth B.
    assert scan.row_groups_read == 16
    assert scan.columns_read == {"ts", "type"}
    read_by(scan, QUERIES["contiguous"])
    assert scan.row_groups_read == 16 + 30


def test_types_that_no_component_names_are_not_read(tmp_path: Path) -> None:
    scan = scan_of(SOURCES["folder"](tmp_path, PLAIN))
    assert isinstance(scan, ParquetScan)
    read_by(scan, "PATTERN SEQ(a, b) WHERE strict_contiguity { b.x > a.x }")
    assert scan.columns_read == {"ts", "x"}
    read_by(scan, "PATTERN SEQ(a, b) WHERE strict_contiguity { b.x > a.x AND a.type != b.type }")
    assert scan.columns_read == {"ts", "x", "type"}


@pytest.mark.parametrize("source", ["data set in memory", "polars", "lazy", "lazy scan", "duckdb"])
def test_columns_that_nobody_needs_are_not_read(source: str, tmp_path: Path) -> None:
    scan = scan_of(SOURCES[source](tmp_path, PLAIN))
    assert isinstance(scan, ProjectedScan)
    read_by(scan, QUERIES["types"])
    assert scan.reader.read_names == {"ts", "type"}


@pytest.mark.parametrize("source", ["polars", "lazy", "lazy scan"])
def test_polars_picks_the_events_of_the_types(source: str, tmp_path: Path) -> None:
    scan = scan_of(SOURCES[source](tmp_path, PLAIN))
    read_by(scan, QUERIES["condition"])
    assert scan.reader.picked_rows == 160
    assert scan.reader.read_names == {"ts", "type", "x"}
    categories = pl.DataFrame(PLAIN).with_columns(pl.col("type").cast(pl.Categorical))
    same(augury.match(categories, QUERIES["key"], jit=False), augury.match(PLAIN, QUERIES["key"], jit=False))


def test_a_polars_frame_with_an_event_without_a_time() -> None:
    frame = pl.DataFrame({"ts": [1, 2, None, 4], "type": ["A", "B", "D", "D"]})
    with pytest.raises(HostError, match=r"A509.*row 2"):
        augury.match(frame.lazy(), "SEQ(A a, B b)")


@pytest.mark.parametrize("source", ["reader", "stream"])
def test_of_a_stream_what_can_matter_is_kept(source: str, tmp_path: Path) -> None:
    found = augury.match(SOURCES[source](tmp_path, PLAIN), QUERIES["types"], jit=False)
    assert isinstance(found.log, Arrivals)
    assert len(found.log) == 160
    assert found.log.arrow == PLAIN.schema
    every = augury.match(SOURCES[source](tmp_path, PLAIN), QUERIES["contiguous"], jit=False)
    assert isinstance(every.log, Arrivals)
    assert len(every.log) == SIZE


def test_a_stream_for_several_queries_is_read_once(tmp_path: Path) -> None:
    found = augury.match_all(PLAIN.to_reader(), {name: QUERIES[name] for name in ("types", "key", "into")}, jit=False)
    for name, matches in found.items():
        same(matches, augury.match(PLAIN, QUERIES[name], jit=False))


def test_a_stream_that_breaks_off() -> None:
    def batches() -> Iterator[pa.RecordBatch]:
        yield from PLAIN.to_batches(max_chunksize=100)[:1]
        raise pa.ArrowInvalid("the end of the line")

    for query in (QUERIES["types"], QUERIES["into"]):
        reader = pa.RecordBatchReader.from_batches(PLAIN.schema, batches())
        with pytest.raises(HostError, match=r"A531.*the reader of the events.*the end of the line"):
            augury.match(reader, query, jit=False)


def test_a_stream_warns_of_types_that_no_event_has() -> None:
    with pytest.warns(augury.AuguryWarning, match="no event is of type `X`; known: `A`, `B`, `C`, `D`"):
        augury.match(PLAIN.to_reader(max_chunksize=50), "SEQ(A a, X x)", jit=False)


def test_a_condition_leaves_row_groups_out(tmp_path: Path) -> None:
    events = pa.table({"ts": range(90), "type": ["A", "B"] * 45, "x": range(90), "y": [k / 7 for k in range(90)]})
    pq.write_table(events, tmp_path / "e.parquet", row_group_size=10)
    for condition, groups in {
        "a.x < 25 AND b.x < 25": 3,
        "a.x >= 80 AND 80 <= b.x": 1,
        "a.x = 45 AND b.x = 46": 1,
        "a.x > 1000 AND b.x > 5": 9,
        "a.y < 1.0 AND (b.y > 12.0 OR b.y < 1.0)": 2,
        "a.x + 1 < 5 AND b.x < 5": 9,
        "a.x != 3 AND b.x < 5": 9,
    }.items():
        scan = scan_of(tmp_path / "e.parquet")
        query = f"SEQ(A a, B b) WHERE {condition} WITHIN 100 seconds"
        read_by(scan, query)
        assert scan.row_groups_read == groups, condition
        table = augury.match(events, query, jit=False)
        assert [m.rows for m in augury.match(tmp_path / "e.parquet", query, jit=False)] == [m.rows for m in table]


def test_a_row_group_without_statistics_is_read(tmp_path: Path) -> None:
    pq.write_table(PLAIN, tmp_path / "e.parquet", row_group_size=10, write_statistics=False)
    scan = scan_of(tmp_path / "e.parquet")
    read_by(scan, QUERIES["types"])
    assert scan.row_groups_read == 30


def test_an_event_without_a_time_is_found_where_nothing_can_match(tmp_path: Path) -> None:
    events = pa.table({"ts": [1, 2, None, 4], "type": ["A", "B", "D", "D"]})
    pq.write_table(events, tmp_path / "e.parquet", row_group_size=2)
    with pytest.raises(HostError, match=r"A509.*row 2"):
        augury.match(tmp_path / "e.parquet", "SEQ(A a, B b)")


def test_a_data_set_with_a_filter_or_columns_of_folders(tmp_path: Path) -> None:
    filtered = ds.dataset(parts(tmp_path / "parts", PLAIN)).filter(ds.field("x") > 3)
    kept = filtered.to_table()
    same(augury.match(filtered, QUERIES["types"], jit=False), augury.match(kept, QUERIES["types"], jit=False))
    whole = partitioned(tmp_path, PLAIN)
    found = augury.match(whole, "SEQ(A a, B b) WHERE a.half = 1 WITHIN 8 seconds", jit=False)
    assert len(found) == len(augury.match(PLAIN, QUERIES["types"], jit=False))


@pytest.mark.parametrize("name", ["^.*$", 'a"b', "a.b", "*", "é", "select", "x y", "a[0]"])
def test_columns_of_any_name(name: str) -> None:
    events = pa.table({"ts": [1, 2], "type": ["A", "B"], name: [5, 6]})
    expected = augury.match(events, "SEQ(A a, B b)", jit=False).to_arrow().to_pylist()
    for source in (pl.DataFrame(events), duckdb.connect().from_arrow(events), ds.dataset(events)):
        assert augury.match(source, "SEQ(A a, B b)", jit=False).to_arrow().to_pylist() == expected


def test_categories_and_numbers_that_are_none_are_the_same_when_they_are_read_again() -> None:
    frame = pl.DataFrame(PLAIN).with_columns(
        pl.col("type").cast(pl.Categorical),
        pl.when(pl.col("x") > 3).then(pl.col("x")).otherwise(float("nan")).alias("x"),
    )
    query = "SEQ(A a, B b) WHERE a.x IS NULL AND b.x IS NULL WITHIN 20 seconds"
    found = augury.match(frame.lazy(), query, jit=False)
    assert [m.rows for m in found] == [m.rows for m in augury.match(frame.to_arrow(), query, jit=False)]
    assert found.to_arrow().num_rows > 0


def test_a_source_that_gives_other_events_when_it_is_read_again() -> None:
    calls = []

    def shuffled(frame: pl.DataFrame) -> pl.DataFrame:
        calls.append(frame.columns)
        return frame if len(calls) < 2 else frame.reverse()

    lazy = (
        pl.DataFrame(PLAIN)
        .lazy()
        .map_batches(shuffled, predicate_pushdown=False, projection_pushdown=False, slice_pushdown=False)
    )
    found = augury.match(lazy, QUERIES["types"], jit=False)
    with pytest.raises(HostError, match=r"A671.*the polars frame gave other values of `ts`"):
        found.to_arrow()


def test_a_source_that_gives_fewer_events_when_it_is_read_again() -> None:
    connection = duckdb.connect()
    connection.register("given", PLAIN)
    connection.execute("CREATE TABLE events AS FROM given")
    found = augury.match(connection.table("events"), QUERIES["types"], jit=False)
    connection.execute("DELETE FROM events WHERE ts > 250")
    with pytest.raises(HostError, match=r"A671.*the DuckDB relation gave 251 events instead of 300"):
        found.to_arrow()


def test_what_cannot_be_read_is_an_error_with_a_code(tmp_path: Path) -> None:
    with pytest.raises(HostError, match=r"A530.*no file that matches"):
        augury.match(tmp_path / "*.parquet", QUERIES["types"])
    with pytest.raises(HostError, match=r"A530.*none\.parquet"):
        augury.match([tmp_path / "none.parquet"], QUERIES["types"])
    parts(tmp_path, PLAIN)
    pq.write_table(PLAIN.drop_columns(["x"]), tmp_path / "3.parquet")
    with pytest.raises(HostError, match=r"A514.*3\.parquet` has another schema than"):
        augury.match(tmp_path / "*.parquet", QUERIES["types"])
    connection = duckdb.connect()
    connection.execute("CREATE TABLE events AS SELECT 1 AS ts, 'A' AS type")
    relation = connection.table("events")
    connection.execute("DROP TABLE events")
    with pytest.raises(HostError, match=r"A531.*DuckDB"):
        augury.match(relation, QUERIES["types"])
    with pytest.raises(HostError, match=r"A531.*polars"):
        augury.match(pl.scan_parquet(tmp_path / "0.parquet").select(pl.col("nothing")), QUERIES["types"])


def test_a_name_with_brackets_that_is_a_file(tmp_path: Path) -> None:
    pq.write_table(PLAIN, tmp_path / "events[1].parquet")
    assert len(augury.match(tmp_path / "events[1].parquet", QUERIES["types"], jit=False)) > 0


def test_the_command_line_takes_a_glob(tmp_path: Path) -> None:
    parts(tmp_path, PLAIN)
    call = [sys.executable, "-m", "augury.cli", "match", QUERIES["types"], str(tmp_path / "*.parquet")]
    found = subprocess.run(call, check=True, capture_output=True, text=True).stdout.splitlines()
    assert len(found) == len(augury.match(PLAIN, QUERIES["types"], jit=False))
