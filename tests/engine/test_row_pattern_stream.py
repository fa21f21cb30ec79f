"""Row patterns over streams: what is written is what the reference decides about all rows that the watermark passed."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from augury.engine.row_patterns import evaluate, plan_row_pattern
from augury.engine.row_patterns.evaluate import MAX_STEPS
from augury.engine.row_patterns.planned import PlannedRowPattern
from augury.engine.row_patterns.sorting import sort_table
from augury.engine.row_patterns.stream import RowPatternStream, needed_columns, stream_column
from augury.engine.state.compression import compress, decompress
from augury.engine.stream import LateEvents
from augury.errors import AuguryError, HostError
from augury.ir.row_pattern import BoundRowPattern
from augury.jit.tier import Tier
from augury.native.row_pattern_support import row_pattern_support
from augury.options import Options
from augury.reference.row_pattern.output import SearchProgress, match_known_rows
from augury.reference.row_pattern.search import Budget
from augury.runtime.state import LONG_AGO, RunState
from augury.source import Span
from augury.testing.row_pattern_clauses import STREAM_ORDERS, clauses, tables
from augury.testing.row_patterns import bound_clause, comparable
from tests.engine.test_stream import Dictionaries
from tests.thorough import rounds

SECOND = 1_000_000


def stream_of(bound: BoundRowPattern, *, reference: bool = False) -> RowPatternStream:
    planned = PlannedRowPattern(bound, None, None, None) if reference else plan_row_pattern(bound)
    whole = Span(0, len(bound.source.text))
    return RowPatternStream(planned, whole, bound.output_schema, 1, MAX_STEPS, Options(jit=False))


class Run:
    """A stream of one bucket whose state is read back from bytes before every micro-batch."""

    def __init__(self, stream: RowPatternStream) -> None:
        self.stream, self.store = stream, Dictionaries()
        self.watermark = LONG_AGO
        self.written: list[pa.Table] = []
        self.late: list[pa.Table] = []

    def feed(self, rows: pa.Table | None, watermark: int) -> None:
        before, self.watermark = self.watermark, max(self.watermark, watermark)
        self.store.due.clear()
        events = None
        if rows is not None:
            bound = self.stream.bound
            events = pa.table({stream_column(c): rows.column(c) for c in needed_columns(bound)})
        for output in self.stream.advance(0, events, [self.store], before, self.watermark):
            (self.late if isinstance(output, LateEvents) else self.written).append(output.table)

    def rows(self) -> Counter[str]:
        return counted(self.written)


def counted(tables: list[pa.Table]) -> Counter[str]:
    return Counter(
        repr([comparable(v) for v in row])
        for t in tables
        for row in zip(*(c.to_pylist() for c in t.columns), strict=True)
    )


def decided(bound: BoundRowPattern, rows: pa.Table, watermark: int) -> Counter[str]:
    """What the reference writes for all rows before the watermark, each key in one go."""
    at = rows.column(bound.order_by[0].column).cast(pa.int64()).to_numpy()
    known = rows.filter(pa.array(at < watermark))
    table = sort_table(bound, known, Tier(row_pattern_support(), Options(jit=False)))
    budget = Budget(MAX_STEPS, bound)
    return counted(
        [
            match_known_rows(bound, table.partition(p), budget, SearchProgress(), watermark)[0]
            for p in range(len(table.starts) - 1)
        ]
    )


def arrivals(rows: pa.Table, delays: list[int]) -> pa.Table:
    """The rows as they come when each is so many seconds late."""
    due = [at.timestamp() + late for at, late in zip(rows["at"].to_pylist(), delays, strict=True)]
    return rows.take(pa.array(sorted(range(len(rows)), key=due.__getitem__), pa.int64()))


@st.composite
def streams(draw: st.DrawFn) -> tuple[str, pa.Table, list[int], int]:
    """A clause, rows in the order they come, where they are cut, and how late a row may be."""
    clause = draw(clauses(orders=STREAM_ORDERS))
    rows = draw(tables(14, timed=True))
    delay = draw(st.integers(0, 3))
    late = draw(st.lists(st.integers(0, delay), min_size=len(rows), max_size=len(rows)))
    cuts = draw(st.lists(st.integers(0, len(rows)), max_size=4).map(sorted))
    return clause, arrivals(rows, late), cuts, delay


def check_stream(clause: str, rows: pa.Table, cuts: list[int], delay: int, *, reference: bool) -> None:
    bound = bound_clause(clause, rows.schema)
    assume(not any(anchor.end for anchor in bound.anchors))
    run = Run(stream_of(bound, reference=reference))
    latest, expected = -100, Counter[str]()
    for first, end in zip([0, *cuts], [*cuts, len(rows)], strict=True):
        piece = rows.slice(first, end - first)
        if len(piece):
            latest = max(latest, int(max(at.timestamp() for at in piece["at"].to_pylist())))
        watermark = max(run.watermark, (latest - delay) * SECOND)
        try:
            expected = decided(bound, rows.slice(0, end), watermark)
        except AuguryError:
            # An error of the data may be found later, when it is certain that the search comes to it.
            return
        run.feed(piece if len(piece) else None, watermark)
        assert run.rows() == expected, f"{clause}\n{rows.to_pylist()}\n{cuts} {delay}"
    assert not run.late
    try:
        whole = counted([evaluate(bound, rows, plan="reference")])
    except AuguryError:
        return
    assert expected <= whole


@given(streams())
@settings(max_examples=rounds(120, 3000), deadline=None, suppress_health_check=list(HealthCheck))
def test_a_stream_cut_anywhere_writes_what_is_decided(given: tuple[str, pa.Table, list[int], int]) -> None:
    check_stream(*given, reference=False)


@given(streams())
@settings(max_examples=rounds(40, 1000), deadline=None, suppress_health_check=list(HealthCheck))
def test_the_reference_evaluator_runs_streams_as_well(given: tuple[str, pa.Table, list[int], int]) -> None:
    check_stream(*given, reference=True)


@pytest.mark.slow
@given(streams())
@settings(max_examples=rounds(500, 20_000), deadline=None, suppress_health_check=list(HealthCheck))
def test_a_stream_cut_anywhere_writes_what_is_decided_at_length(given: tuple[str, pa.Table, list[int], int]) -> None:
    check_stream(*given, reference=False)


def ticks(prices: str, first: int = 0) -> pa.Table:
    """One row a second: digits are prices, of key `a` if even, else `b` where a letter follows; here all of one key."""
    size = len(prices)
    return pa.table(
        {
            "k": pa.array(["a"] * size),
            "at": pa.array([(first + n) * SECOND for n in range(size)], pa.timestamp("us")),
            "x": pa.array([int(p) for p in prices], pa.int64()),
        }
    )


def run_of(clause: str) -> Run:
    text = f"PARTITION BY k ORDER BY at {clause}"
    return Run(stream_of(bound_clause(text, ticks("0").schema)))


def found(run: Run) -> list[tuple[Any, ...]]:
    return [row for t in run.written for row in zip(*(c.to_pylist() for c in t.columns[1:]), strict=True)]


FALL = "MEASURES FIRST(x) AS a, LAST(x) AS z PATTERN (S D+) DEFINE D AS x < PREV(x)"


def test_a_greedy_loop_waits_for_the_row_that_ends_it() -> None:
    run = run_of(FALL)
    run.feed(ticks("532"), 3 * SECOND)
    assert found(run) == []
    run.feed(ticks("4", 3), 4 * SECOND)
    assert found(run) == [(5, 2)]


def test_a_row_counts_once_the_watermark_has_passed_it() -> None:
    run = run_of(FALL)
    run.feed(ticks("5324"), 3 * SECOND)
    assert found(run) == []
    assert run.store.due == [3 * SECOND]
    run.feed(None, 3 * SECOND + 1)
    assert found(run) == [(5, 2)]


def test_a_reluctant_loop_does_not_wait() -> None:
    run = run_of(FALL.replace("D+", "D+?"))
    run.feed(ticks("532"), 3 * SECOND)
    assert found(run) == [(5, 3)]


def test_within_decides_when_the_watermark_is_too_far() -> None:
    run = run_of(FALL.replace("(S D+)", "(S D+) WITHIN INTERVAL '5' SECOND"))
    run.feed(ticks("532"), 3 * SECOND)
    assert run.store.due == [5 * SECOND]
    run.feed(None, 5 * SECOND)
    assert found(run) == []
    run.feed(None, 5 * SECOND + 1)
    assert found(run) == [(5, 2)]


def test_next_in_measures_waits_for_its_row() -> None:
    run = run_of("MEASURES LAST(A.x) AS a, NEXT(x) AS n PATTERN (A) DEFINE A AS x > 3")
    run.feed(ticks("5"), SECOND)
    assert found(run) == []
    run.feed(ticks("62", 1), 3 * SECOND)
    assert found(run) == [(5, 6), (6, 2)]


def test_next_in_conditions_waits_where_it_decides() -> None:
    run = run_of("MEASURES x AS a PATTERN (A) DEFINE A AS x > 3 AND NEXT(x) > 1")
    run.feed(ticks("25"), 2 * SECOND)
    assert found(run) == []
    # The first row is no candidate any more: whatever follows, it is too small.
    assert run.stream.bound.reads_back == 0
    run.feed(ticks("2", 2), 3 * SECOND)
    assert found(run) == [(5,)]


def test_what_is_decided_is_forgotten() -> None:
    run = run_of("MEASURES count(*) AS n PATTERN (A B) DEFINE A AS x = 1, B AS x = 2")
    run.feed(ticks("3334"), 4 * SECOND)
    assert run.store.saved is None
    run.feed(ticks("1", 4), 5 * SECOND)
    assert run.store.saved is not None
    run.feed(ticks("2", 5), 6 * SECOND)
    assert found(run) == [(2,)]
    assert run.store.saved is None


def test_match_numbers_and_the_first_row_are_remembered() -> None:
    run = run_of("MEASURES MATCH_NUMBER() AS n PATTERN (A) DEFINE A AS x = 1")
    for first, price in enumerate("1312"):
        run.feed(ticks(price, first), (first + 1) * SECOND)
    assert found(run) == [(1,), (2,)]
    run = run_of("MEASURES x AS x PATTERN (^A) DEFINE A AS x > 0")
    for first, price in enumerate("4567"):
        run.feed(ticks(price, first), (first + 1) * SECOND)
    assert found(run) == [(4,)]


def test_late_rows_take_no_part() -> None:
    run = run_of("MEASURES x AS x PATTERN (A) DEFINE A AS x > 0")
    run.feed(ticks("1", 5), 6 * SECOND)
    run.feed(ticks("2", 3), 6 * SECOND)
    assert found(run) == [(1,)]
    assert [t.num_rows for t in run.late] == [1]


def test_another_query_cannot_continue_a_state() -> None:
    run = run_of(FALL)
    run.feed(ticks("53"), 2 * SECOND)
    changed = run_of(FALL.replace("x < PREV(x)", "x <= PREV(x)"))
    changed.store = run.store
    with pytest.raises(HostError, match=r"A570.*another query"):
        changed.feed(ticks("2", 2), 3 * SECOND)


def test_an_error_in_the_rows_is_told_when_the_search_comes_to_it() -> None:
    run = run_of("MEASURES x AS x PATTERN (A B) DEFINE A AS x > 2, B AS 6 / x > 1")
    run.feed(ticks("03"), 2 * SECOND)
    with pytest.raises(AuguryError, match="A740"):
        run.feed(ticks("0", 2), 3 * SECOND)


@pytest.mark.parametrize(
    "column, value, reason",
    [
        ("rows", 7, "other rows than are kept"),
        ("candidate", 9, "farther than its rows"),
        ("mapped", 9, "farther than its rows"),
        ("number", 0, "less than 1"),
        ("forgotten", 3, "of 2"),
    ],
)
def test_a_state_whose_numbers_do_not_fit_is_refused(column: str, value: int, reason: str) -> None:
    run = run_of(FALL)
    run.feed(ticks("532"), 3 * SECOND)
    assert run.store.saved is not None
    state = RunState.from_bytes(decompress(run.store.saved))
    progress = state.tables["progress"]
    place = progress.column_names.index(column)
    wrong = progress.set_column(place, column, pa.array([value], progress.schema.field(column).type))
    changed = replace(state, tables={**state.tables, "progress": wrong})
    run.store.saved = compress(changed.to_bytes())
    with pytest.raises(HostError, match=rf"A595.*{reason}"):
        run.feed(None, 4 * SECOND)


def test_a_state_that_is_cut_off_is_refused() -> None:
    run = run_of(FALL)
    run.feed(ticks("532"), 3 * SECOND)
    assert run.store.saved is not None
    run.store.saved = run.store.saved[:-9]
    with pytest.raises(HostError, match="A573"):
        run.feed(None, 4 * SECOND)


PAGE = Path(__file__).parents[2] / "docs" / "language" / "match-recognize" / "streams.md"


def lines_of_the_page() -> list[tuple[str, ...]]:
    (table,) = re.findall(r"^\| clause .*\n\|[-|]+\n((?:\|.*\n)+)", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    rows = [re.split(r" *(?<!\\)\| *", line)[1:-1] for line in table.strip().splitlines()]
    return [tuple(cell.strip("`").replace("\\|", "|") for cell in row) for row in rows]


@pytest.mark.parametrize("clause, stream, written", lines_of_the_page())
@pytest.mark.parametrize("reference", [False, True])
def test_the_page_on_streams(clause: str, stream: str, written: str, reference: bool) -> None:
    schema = pa.schema([("at", pa.timestamp("us")), ("x", pa.string())])
    text = f"ORDER BY at MEASURES array_join(array_agg(x), '') AS found {clause}"
    run = Run(stream_of(bound_clause(text, schema), reference=reference))
    clock, told = 0, []
    for piece in stream.split(" / "):
        before = len(run.written)
        if piece.startswith("+"):
            clock += int(piece)
            run.feed(None, clock * SECOND)
        else:
            letters = piece.split()
            times = pa.array([(clock + k) * SECOND for k in range(len(letters))], pa.timestamp("us"))
            clock += len(letters)
            run.feed(pa.table([times, pa.array(letters)], schema=schema), (clock - 1) * SECOND + 1)
        told.append(" ".join(row for t in run.written[before:] for row in t.column(0).to_pylist()) or "-")
    assert " / ".join(told) == written
