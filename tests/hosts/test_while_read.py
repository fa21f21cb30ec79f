"""Files that are matched while they are read, and matches that go to a file as they are found."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import augury
from augury.engine.cut.portions import PortionSize
from augury.engine.results import files
from augury.engine.scan import file_scan
from augury.errors import HostError, TooManyMatches
from augury.hosts.local import finite, sink
from augury.runtime.row_matches import RowMatches
from augury.runtime.shared import MatchParts

QUERIES = [
    "SEQ(A a, B b) WITHIN 4 seconds",
    "SEQ(A a, NOT(C n), B b) WHERE a.x <= b.x WITHIN 5 seconds",
    "SEQ(A a, B b, NOT(C n)) WITHIN 3 seconds",
    "PATTERN SEQ(A a, B+ b[], C c) WHERE skip_till_next_match { [k] } WITHIN 6 seconds",
    "SEQ(A a, B b) WITHIN 4 seconds OUTPUT COUNT",
    "PATTERN SEQ(a, b+[], c) WHERE partition_contiguity { [k] AND b[i].x > a.x }",
    "PATTERN SEQ(A a, B b) WHERE strict_contiguity { a.x < b.x }",
    "PATTERN SEQ(A a, B b, C c) WHERE skip_till_next_match { [k] AND a.x < c.x }",
]


@pytest.fixture
def small_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of a few events is as long as one of millions."""
    monkeypatch.setattr(file_scan, "MAX_WHOLE_ROWS", 8)
    monkeypatch.setattr(file_scan, "SAMPLED_ROW_GROUPS", 2)
    monkeypatch.setattr(finite, "MIN_ROWS_READ_IN_PIECES", 8)
    monkeypatch.setattr(finite, "PortionSize", partial(PortionSize, 5, 5))
    monkeypatch.setattr(sink, "MATCHES_PER_FETCH", 7)
    monkeypatch.setattr(files, "ROW_GROUP_BYTES", 1000)


Written = Callable[[pa.Table], Path]


@pytest.fixture
def written(tmp_path: Path) -> Written:
    def write(table: pa.Table) -> Path:
        path = tmp_path / "events.parquet"
        pq.write_table(table, path, row_group_size=6)
        return path

    return write


def stream(n: int) -> pa.Table:
    """Events that are in order, some of them concurrent."""
    return pa.table(
        {
            "ts": [k * 2 // 3 for k in range(n)],
            "type": [("A", "B", "A", "C", "B", "A", "B")[k % 7] for k in range(n)],
            "x": [(k * k) % 5 for k in range(n)],
            "k": [("p", "q", None)[k // 7 % 3] for k in range(n)],
            "note": [f"event {k}" for k in range(n)],
        }
    )


@pytest.mark.parametrize("text", QUERIES)
@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
def test_the_matches_are_those_of_the_whole(text: str, threads: int, small_ranges: None, written: Written) -> None:
    table = stream(300)
    found = augury.match(written(table), text, threads=threads, jit=False)
    assert isinstance(found.found, MatchParts)
    assert len(found.found.parts) > 5
    whole = augury.match(table, text, jit=False)
    assert list(found) == list(whole)
    assert found.to_arrow() == whole.to_arrow()


@pytest.mark.usefixtures("small_ranges")
@settings(max_examples=20)
@given(data=st.data())
def test_so_they_are_in_random_streams(data: st.DataObject, tmp_path_factory: pytest.TempPathFactory) -> None:
    n = data.draw(st.integers(20, 60))
    gaps = data.draw(st.lists(st.sampled_from([0, 0, 1, 1, 2, 9]), min_size=n, max_size=n))
    kinds = data.draw(st.lists(st.sampled_from("ABC"), min_size=n, max_size=n))
    table = pa.table({"ts": [sum(gaps[: k + 1]) for k in range(n)], "type": kinds, "x": [1] * n, "k": ["p"] * n})
    path = tmp_path_factory.mktemp("random") / "events.parquet"
    pq.write_table(table, path, row_group_size=data.draw(st.integers(1, 15)))
    text = data.draw(st.sampled_from(QUERIES[:2]))
    assert list(augury.match(path, text, jit=False)) == list(augury.match(table, text, plan="reference"))


def test_warnings_are_those_of_the_whole(small_ranges: None, written: Written) -> None:
    table = stream(60)
    text = "SEQ(A a, B b, D d) WHERE skip_till_next_match { a.x < b.x } WITHIN 5 seconds"
    path = written(table)
    with pytest.warns(augury.AuguryWarning) as some:
        augury.match(path, text, jit=False)
    with pytest.warns(augury.AuguryWarning) as all_of_them:
        augury.match(table, text, jit=False)
    assert [str(w.message) for w in some] == [str(w.message) for w in all_of_them]
    assert any("concurrent" in str(w.message) for w in some)
    assert any("no event is of type `D`" in str(w.message) for w in some)


COMPILED = [
    "SEQ(A a, B b, C c) WHERE a.x <= c.x WITHIN 60 seconds",
    "AND(A a, B b) WITHIN 20 seconds",
    "SEQ(A a, B+ b[], C c) WITHIN 12 seconds",
    "SEQ(A a, NOT(B n), C c) WITHIN 60 seconds",
]


@pytest.mark.parametrize("text", COMPILED)
@pytest.mark.parametrize("shuffled", [False, True], ids=["in order", "shuffled"])
@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
def test_compiled_kernels_report_rows_alone(
    text: str, shuffled: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Events that were sorted have rows that do not ascend: those kernels look the times up at once."""
    table = stream(1500)
    if shuffled:
        table = table.take(np.random.default_rng(4).permutation(1500))
    whole = augury.match(table, text, plan="lazy-chain", jit=True, threads=1)
    monkeypatch.setattr(finite, "PortionSize", partial(PortionSize, 400, 400))
    found = augury.match(table, text, plan="lazy-chain", jit=True, threads=2)
    assert isinstance(found.found, MatchParts)
    assert len(found.found.parts) > 2
    assert any(isinstance(part, RowMatches) for part in found.found.parts) is not shuffled
    assert list(found) == list(whole)
    assert found.to_arrow() == whole.to_arrow()
    assert found[7] == whole[7]
    assert found[3:11].to_arrow() == whole[3:11].to_arrow()
    found.sink_parquet(tmp_path / "matches.parquet")
    assert pq.read_table(tmp_path / "matches.parquet") == whole.to_arrow()


@pytest.mark.parametrize("text", [COMPILED[0], "SEQ(A a, D d) WITHIN 5 seconds"])
def test_a_later_call_matches_while_it_reads(
    text: str, written: Written, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(finite, "MIN_ROWS_READ_IN_PIECES", 8)
    monkeypatch.setattr(finite, "PortionSize", partial(PortionSize, 50, 50))
    ways, while_read = [], finite.while_read

    def noted(*args: Any, **named: Any) -> finite.MatchesWhileRead | None:
        ways.append(while_read(*args, **named))
        return ways[-1]

    monkeypatch.setattr(finite, "while_read", noted)
    path = written(stream(200))

    def call() -> tuple[pa.Table, list[str]]:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            found = augury.match(path, text, plan="lazy-chain", cache_dir=tmp_path / "cache")
        return found.to_arrow(), [str(warning.message) for warning in told]

    first = call()
    augury.match(stream(200), text, plan="lazy-chain", jit=True, cache_dir=tmp_path / "cache")
    assert call() == call() == first
    assert [way is not None for way in ways] == [False, False, True, True]


def test_a_stream_that_is_not_in_order_is_sorted_if_it_fits(small_ranges: None, written: Written) -> None:
    table = stream(60)
    table = pa.concat_tables([table.slice(30), table.slice(0, 30)])
    path = written(table)
    found = augury.match(path, QUERIES[0], jit=False)
    assert found == augury.match(table, QUERIES[0], jit=False)
    with pytest.raises(HostError, match="A672"):
        augury.match(path, QUERIES[0], max_memory="1 KB")


def test_a_plan_is_chosen_from_a_sample(small_ranges: None, written: Written) -> None:
    query = augury.compile("SEQ(A a, B b, C c) WITHIN 10 seconds", written(stream(600)))
    assert "measured on 12 of 600 events" in query.explain()


def test_progress_is_told_in_rows(small_ranges: None, written: Written) -> None:
    from augury.engine.sources.schemas import known_events
    from augury.hosts.local.query import run
    from augury.options import Options, Roles
    from augury.source import Source

    told: list[tuple[int, int]] = []
    known = known_events(written(stream(60)), Roles())
    assert known is not None
    run(known, Source(QUERIES[0]), Options(jit=False, progress=lambda done, total: told.append((done, total))))
    assert told[-1] == (60, 60)
    assert told == sorted(told)


# -- files of matches --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", [*QUERIES, "SEQ(A a, B b) WHERE [k]", "SEQ(A a, B b) WITHIN 5 seconds OUTPUT NONOVERLAP"]
)
@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
def test_a_sink_has_the_rows_of_the_result(text: str, small_ranges: None, written: Written, tmp_path: Path) -> None:
    table = stream(100)
    path, out = written(table), tmp_path / "matches.parquet"
    whole = augury.match(table, text, jit=False)
    assert augury.compile(text, path, jit=False).sink_parquet(path, out) == len(whole)
    assert pq.read_table(out) == whole.to_arrow()
    whole.sink_parquet(out)
    assert pq.read_table(out) == whole.to_arrow()


def test_no_half_file_is_left(small_ranges: None, written: Written, tmp_path: Path) -> None:
    path, out = written(stream(100)), tmp_path / "matches.parquet"
    query = augury.compile(QUERIES[0], path, max_matches=50, jit=False)
    with pytest.raises(TooManyMatches):
        query.sink_parquet(path, out)
    assert [file.name for file in tmp_path.iterdir()] == ["events.parquet"]
    out.write_text("what was there before")
    with pytest.raises(TooManyMatches):
        query.sink_parquet(path, out)
    assert out.read_text() == "what was there before"
    with pytest.raises(HostError, match="A562"):
        augury.match(path, QUERIES[0]).sink_parquet(tmp_path / "nowhere" / "matches.parquet")


def test_a_query_scans_files_of_its_columns(written: Written) -> None:
    path = written(stream(30))
    found = augury.compile(QUERIES[0], path).match(path)
    assert isinstance(found.log, file_scan.ParquetLog)
    assert found == augury.match(stream(30), QUERIES[0])
    # Of other columns a table is made that has those of the query.
    other = augury.compile(QUERIES[0], stream(30).select(["note", "k", "x", "type", "ts"]).schema)
    assert other.match(path) == found
