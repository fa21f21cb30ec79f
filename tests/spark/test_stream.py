"""Streams: the same matches as the local engine, however they are cut into micro-batches."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import assume
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import augury.spark
from augury.ir.query import TimeWindow
from augury.testing.streams import cuts
from augury.testing.tables import parse_stream
from tests.agreement.cases import cases
from tests.drawn import drawn
from tests.engine.streams import local_rows, table_rows
from tests.engine.test_stream import group_of
from tests.spark.comparing import rows_of
from tests.spark.streaming import matches_of, read_files, run_to_end, write_files
from tests.thorough import quick, rounds

pytestmark = pytest.mark.needs("streams")

END = 1_000_000
"""The time of an event that closes every window."""


def with_end(events: pa.Table) -> pa.Table:
    last = [{"ts": END, "type": "End"}]
    return pa.concat_tables([events, pa.Table.from_pylist(last, schema=events.schema)])


def cut(events: pa.Table, size: int) -> list[pa.Table]:
    return [events.slice(first, size) for first in range(0, len(events), size)]


EVENTS = parse_stream(
    "a1@100(k=p,x=1) b2@101(k=q,x=2) a3@104(k=q,x=3) b4@102(k=p,x=5) c5@107(k=q,x=1) b6@105(k=q,x=7) "
    "a7@110(k=p,x=2) c8@109(k=p,x=9) b9@113(k=p,x=4) a10@112(k=q,x=0) b11@118(k=q,x=6) c12@117(k=p,x=3)"
)

QUERIES = {
    "by key": "PATTERN SEQ(A a, B b) WHERE [k] AND a.x < b.x WITHIN 5 seconds",
    "trailing NOT": "PATTERN SEQ(A a, NOT(C c)) WHERE [k] WITHIN 4 seconds RETURN a.id AS id, a.k AS k",
    "lists": "PATTERN SEQ(A a, B+ b[]) WHERE skip_till_next_match { [k] } WITHIN 9 seconds OUTPUT NONOVERLAP",
}


# The one by key is in `test_smoke`.
@pytest.mark.parametrize("query", quick(QUERIES, "trailing NOT"))
def test_a_stream_has_the_matches_of_the_table(spark: SparkSession, tmp_path: Path, query: str) -> None:
    tables = cut(with_end(EVENTS), 4)
    found = matches_of(spark, tables, query, tmp_path, lateness="10 seconds", buckets=3)
    expected = local_rows(EVENTS, query)
    assert rows_of(found) == expected
    assert sum(expected.values()) > 1


@pytest.mark.filterwarnings("default::augury.AuguryWarning")
def test_without_a_key_there_is_one_bucket_and_a_notice(spark: SparkSession, tmp_path: Path) -> None:
    query = "PATTERN SEQ(A a, NOT(C c), B b) WITHIN 6 seconds"
    with pytest.warns(augury.AuguryWarning, match="has no key"):
        found = matches_of(spark, cut(with_end(EVENTS), 7), query, tmp_path, lateness="10 seconds")
    assert rows_of(found) == local_rows(EVENTS, query)


BY_TIME = {
    "sequence": "PATTERN SEQ(A a, B b) WHERE a.x < b.x WITHIN 3 seconds",
    "NOT at both ends": "PATTERN SEQ(NOT(C c), A a, NOT(B b)) WHERE b.x > 5 WITHIN 2 seconds RETURN a.id AS id",
    "one by one": "PATTERN SEQ(A a, B+ b[]) WHERE skip_till_next_match { b[i].x > 1 } WITHIN 4 seconds",
    "counted": "PATTERN SEQ(A a, B b) WITHIN 4 seconds OUTPUT COUNT",
}


@pytest.mark.parametrize("query", quick(BY_TIME, "NOT at both ends"))
def test_without_a_key_a_stream_is_cut_by_time(spark: SparkSession, tmp_path: Path, query: str) -> None:
    found = matches_of(spark, cut(with_end(EVENTS), 4), query, tmp_path, lateness="10 seconds", buckets=2)
    expected = local_rows(EVENTS, query)
    assert rows_of(found) == expected
    assert sum(expected.values()) > 1


def test_what_cannot_be_cut_by_time_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    events = read_files(spark, write_files([EVENTS], tmp_path / "events"), EVENTS.schema)
    query = "PATTERN SEQ(A a, B b) WITHIN 4 seconds OUTPUT NONOVERLAP"
    with pytest.raises(augury.HostError, match=r"A575.*OUTPUT NONOVERLAP"):
        augury.spark.match(events, query, lateness="1 second", buckets=2)


@pytest.mark.slow
def test_a_late_event_of_several_ranges_is_shown_once(spark: SparkSession, tmp_path: Path) -> None:
    tables = [parse_stream(text) for text in ("a1@100 a2@110", "b3@103 b4@111", "b5@104 b6@200")]
    files = write_files(tables, tmp_path / "events")
    found = augury.spark.match(
        read_files(spark, files, tables[0].schema),
        "PATTERN SEQ(A a, B b) WITHIN 1 minute RETURN a.id AS a, b.id AS b",
        lateness="5 seconds",
        late="late",
        buckets=2,
    )
    run_to_end(found, tmp_path)
    rows = spark.read.schema(found.schema).parquet(str(tmp_path / "matches")).collect()
    assert sorted((r.a, r.b) for r in rows if r.late is None) == [("a1", "b4"), ("a2", "b4")]
    assert sorted(r.late.id for r in rows if r.late is not None) == ["b3", "b5"]


def test_late_events_are_counted_and_shown(spark: SparkSession, tmp_path: Path) -> None:
    tables = [
        parse_stream(text) for text in ("a1@100(k=p) a2@110(k=p)", "b3@103(k=p) b4@111(k=p)", "b5@104(k=p) b6@200(k=p)")
    ]
    files = write_files(tables, tmp_path / "events")
    found = augury.spark.match(
        read_files(spark, files, tables[0].schema),
        "PATTERN SEQ(A a, B b) WHERE [k] WITHIN 1 minute RETURN a.id AS a, b.id AS b",
        lateness="5 seconds",
        late="late",
    )
    progress = run_to_end(found, tmp_path)
    rows = spark.read.schema(found.schema).parquet(str(tmp_path / "matches")).collect()
    assert sorted((r.a, r.b) for r in rows if r.late is None) == [("a1", "b4"), ("a2", "b4")]
    assert sorted(r.late.id for r in rows if r.late is not None) == ["b3", "b5"]
    counted = [metrics for p in progress for metrics in p["observedMetrics"].values()]
    assert sum(m["late_events"] for m in counted) == 2
    assert sum(m["matches"] for m in counted) == 2


@st.composite
def stream_cases(draw: st.DrawFn) -> tuple[str, list[pa.Table]]:
    """A query with rare constructs whose matches a watermark decides, and events in micro-batches."""
    text, events = draw(cases())
    assume(isinstance(group_of(text, events).jobs[0].last.bound.window, TimeWindow))
    assume(len(events))
    return text, [batch for batch in draw(cuts(events)) if len(batch)]


def finds_something(case: tuple[str, list[pa.Table]]) -> bool:
    text, batches = case
    return len(batches) > 1 and len(augury.match(pa.concat_tables(batches), text)) > 0


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
@pytest.mark.parametrize("number", range(rounds(4, 100)))
def test_random_queries_on_a_stream_cut_at_random(spark: SparkSession, tmp_path: Path, number: int) -> None:
    text, batches = drawn(stream_cases(), number, finds_something)
    batches = [*batches, with_end(batches[0].slice(0, 0))]
    found = matches_of(spark, batches, text, tmp_path, lateness="0 seconds")
    expected = augury.match(pa.concat_tables(batches), text).to_arrow()
    # What begins with the last event is decided by the end of a stream alone, and this one has none.
    expected = expected.filter(pc.less(expected["start"], END))
    assert rows_of(found.where(F.col("start") < END)) == table_rows(expected), (text, batches)
