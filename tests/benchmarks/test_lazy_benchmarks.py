"""The benchmark of lazy evaluation: its streams, its answers, and what becomes of wrong and of missing ones."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from augury.errors import AuguryError
from benchmarks.lazy.__main__ import main, report, voided
from benchmarks.lazy.bars import UNLISTED, minute_bars
from benchmarks.lazy.count import expected, times_over
from benchmarks.lazy.figures import Skipped, gains
from benchmarks.lazy.measure import (
    EAGER,
    Row,
    Setting,
    Unavailable,
    Variant,
    chain,
    check,
    generated_code,
    kernel_of,
    measure,
    measure_against,
    one_pass,
)
from benchmarks.lazy.queries import Condition, Correlated, Query, Rising, conjunction, disjunction, second, sequence
from benchmarks.lazy.streams import (
    HISTORY,
    MINUTE,
    REGIONS,
    by_ratio,
    ratio_stream,
    region_stream,
    repeated,
    rotations,
    switching_stream,
)
from benchmarks.lazy.workload import iteration, paper_queries
from benchmarks.limit.driver import TYPES, compiler, written_by_hand
from benchmarks.measure import WrongAnswer, cut
from benchmarks.targets import Figure

REFERENCE = Variant("reference", {"plan": "reference", "jit": False})
CONDITIONS = (Correlated(0.3), Rising(60))


def shapes(condition: Condition) -> list[Query]:
    """A small query of every shape that the benchmark has."""
    types = ["T1", "T2", "T3"]
    return [
        sequence("SEQ3", types, condition, 1),
        conjunction("AND2", types[:2], condition, 0.5),
        conjunction("AND3", types, condition, 0.5),
        second(sequence("NEG SEQ3", types, condition, 1), "none"),
        second(conjunction("NEG AND3", types, condition, 0.5), "none"),
        iteration("ITER3", types, condition, 1),
        iteration("ITER4", ["T1", "T2", "T1", "T3"], condition, 1),
        disjunction("OR2SEQ2", [["T1", "T3"], ["T2", "T3"]], condition, 0.5),
    ]


def test_the_same_seed_gives_the_same_stream() -> None:
    assert region_stream(500, per_minute=50, seed=3).equals(region_stream(500, per_minute=50, seed=3))
    assert not region_stream(500, per_minute=50, seed=3).equals(region_stream(500, per_minute=50, seed=4))


def test_types_are_as_frequent_as_they_should_be() -> None:
    table = ratio_stream(3, 100, 50_000, per_minute=100)
    counts = np.array([np.sum(np.asarray(table["type"].to_pylist()) == t) for t in by_ratio(3, 100)])
    assert counts / counts.sum() == pytest.approx(np.array([100, 10, 1]) / 111, abs=0.003)
    time = table["ts"].cast(pa.int64()).to_numpy()
    assert (np.diff(time) > 0).all()
    assert 50_000 / (time[-1] / MINUTE) == pytest.approx(100, rel=0.02)
    regions = np.asarray(region_stream(20_000, per_minute=100)["type"].to_pylist())
    assert np.mean(regions == "NorthAmericanCompany") == pytest.approx(5662 / sum(REGIONS.values()), abs=0.01)


def test_each_type_is_the_rarest_in_one_segment() -> None:
    table = switching_stream(rotations(by_ratio(3, 100)), 5_000, per_minute=100)
    types = np.asarray(table["type"].to_pylist()).reshape(3, 5_000)
    counts = np.array([[np.sum(segment == t) for t in by_ratio(3, 100)] for segment in types])
    assert sorted(counts.argmin(axis=1).tolist()) == [0, 1, 2]


def test_a_history_ends_with_the_price_and_moves_on_by_one() -> None:
    table = ratio_stream(2, 3, 2_000, per_minute=100)
    history = table["history"].combine_chunks().flatten().to_numpy().reshape(-1, HISTORY)
    assert (history[:, -1] == table["price"].to_numpy()).all()
    tails = {tuple(h[1:]) for h in history}
    # All but the first event of each of the 80 companies continue the history of another.
    assert sum(tuple(h[:-1]) in tails for h in history) == len(history) - 80


@pytest.mark.parametrize("condition", CONDITIONS)
def test_the_expected_answers_are_those_of_the_reference(condition: Condition) -> None:
    table = ratio_stream(3, 3, 120, per_minute=30, seed=5)
    for query in shapes(condition):
        answer = expected(query, table)
        assert answer.matches > 5, query.name
        check(kernel_of(query.text, table, REFERENCE, None), cut(table, 50), answer)


def test_concurrent_events_do_not_follow_one_another() -> None:
    table = ratio_stream(3, 3, 120, per_minute=30, seed=6)
    # As in the bars: whole minutes, here of four seconds, and ticks of a second.
    table = table.set_column(0, "ts", pa.array(table["ts"].cast(pa.int64()).to_numpy() // 4_000))
    for query in shapes(Rising(60)):
        query = replace(query, minutes=query.minutes / 4)
        answer = expected(query, table)
        assert answer.matches > 5, query.name
        check(kernel_of(query.text, table, REFERENCE, None), cut(table, 120), answer)


def test_a_repeated_stream_has_as_many_times_the_matches() -> None:
    table = ratio_stream(3, 3, 200, per_minute=30)
    query = sequence("SEQ3", ["T1", "T2", "T3"], Rising(60), 1)
    longer = repeated(table, 3, 2 * MINUTE)
    assert expected(query, longer) == times_over(expected(query, table), 3, 200)


def test_every_query_of_the_paper_is_accepted() -> None:
    table = region_stream(200, per_minute=100)
    names = []
    for condition in CONDITIONS:
        for query in paper_queries(condition, 20):
            kernel_of(query.text, table, REFERENCE, None)
            names.append(query.name)
    assert len(set(names)) == 13


def test_a_wrong_answer_voids_its_row(tmp_path: Path) -> None:
    table = ratio_stream(3, 3, 300, per_minute=30)
    query = sequence("SEQ3", ["T1", "T2", "T3"], Rising(60), 1)
    right = expected(query, table)
    setting = Setting(tmp_path, rounds=1, scale=1)
    plain = Variant("eager", {**EAGER.options, "jit": False})
    (row,) = measure(query, table, "1:3", [plain], setting)
    assert (row.matches, row.void, row.missing) == (right.matches, None, None)
    assert row.cpu_seconds > 0
    assert row.peak_bytes > 0
    assert row.counters["predicates"] > row.matches
    (row,) = measure_against(replace(right, rows=right.rows + 1), query, table, "1:3", [plain], setting)
    assert row.void is not None
    assert row.cpu_seconds == 0.0
    (figure,) = gains("ratios", [row, row], least=10)
    assert isinstance(figure, Figure)
    assert figure.reached is False
    assert voided([row], [figure]) == ["SEQ3 rising, 1:3, eager", figure.what]


def test_what_cannot_be_run_is_skipped(tmp_path: Path) -> None:
    table = ratio_stream(3, 3, 100, per_minute=30)
    query = conjunction("AND3", ["T1", "T2", "T3"], Rising(60), 1)
    with pytest.raises(Unavailable, match="eager-nfa"):
        kernel_of(query.text, table, EAGER, None)
    with pytest.raises(Unavailable, match="no option `colour`"):
        kernel_of(query.text, table, Variant("blue", {"colour": "blue"}), None)
    rows = measure(query, table, "1:3", [EAGER], Setting(tmp_path, rounds=1, scale=1))
    assert rows[0].missing is not None
    (skipped,) = gains("ratios", rows)
    assert isinstance(skipped, Skipped)
    assert voided(rows, []) == []
    assert report(rows, [], [skipped], quick=True)["skipped"] != []


def test_the_chain_goes_from_the_rarest_to_the_most_frequent_with_lists_last() -> None:
    table = ratio_stream(3, 30, 1_000, per_minute=30)
    query = sequence("SEQ3", ["T1", "T2", "T3"], Rising(60), 1)
    assert chain(query, table).options["order"] == ("c", "b", "a")
    assert chain(second(query, "list"), table).options["order"] == ("c", "a", "b")
    negated = chain(second(query, "none"), table, "first-chance")
    assert negated.options == {"plan": "lazy-chain", "order": ("c", "a"), "negation": "first-chance"}


def test_gains_compare_with_the_eager_row() -> None:
    eager = Row("1:30", "NEG SEQ5", "rising", 20, "eager", 100, 5, 1.0, 1.0, counters={"predicates": 1000})
    first = replace(eager, variant="chain FC", cpu_seconds=0.05, counters={"predicates": 20})
    post = replace(eager, variant="chain PP", cpu_seconds=0.2, counters={"predicates": 500})
    speed, fewer, *_ = gains("ratios", [eager, first, post], least=10, fewer=10)
    assert isinstance(speed, Figure)
    assert isinstance(fewer, Figure)
    assert [speed.value, speed.reached] == [pytest.approx(20), True]
    assert [fewer.value, fewer.reached] == [pytest.approx(50), True]
    bounded = replace(first, counters={"predicates": 20, "bounds": 480})
    _, fewer, in_all, *_ = gains("ratios", [eager, bounded], least=10, fewer=10)
    assert isinstance(fewer, Figure)
    assert isinstance(in_all, Figure)
    assert [fewer.value, in_all.value, in_all.target] == [pytest.approx(50), pytest.approx(2), None]
    (slow, *_) = gains("ratios", [eager, replace(first, cpu_seconds=0.5)], least=10)
    assert isinstance(slow, Figure)
    assert slow.reached is False


def test_time_in_generated_code_is_part_of_the_time_of_a_step() -> None:
    table = ratio_stream(3, 3, 400, per_minute=30)
    query = sequence("SEQ3", ["T1", "T2", "T3"], Rising(60), 1)
    kernel = kernel_of(query.text, table, EAGER, None, jit=False)
    with generated_code() as spent:
        whole = one_pass(kernel, cut(table, 400), expected(query, table).matches)
    assert 0 < sum(spent) < whole.cpu
    calls = len(spent)
    one_pass(kernel, cut(table, 400), expected(query, table).matches)
    assert len(spent) == calls
    with pytest.raises(WrongAnswer):
        one_pass(kernel, cut(table, 400), 1)


@pytest.mark.skipif(compiler() is None, reason="needs g++")
@pytest.mark.parametrize("condition", [Rising(60), Correlated(0.3)])
def test_programs_written_by_hand_find_the_same(condition: Condition, tmp_path: Path) -> None:
    table = ratio_stream(3, 10, 2_000, per_minute=50)
    query = sequence("SEQ3", TYPES, condition, 2)
    answer = expected(query, table)
    assert answer.matches > 100
    found = written_by_hand(query, table, answer, 1, tmp_path)
    assert {w.variant for w in found} >= {"chain", "hoisted"}
    with pytest.raises(WrongAnswer):
        written_by_hand(query, table, replace(answer, matches=answer.matches + 1), 1, tmp_path)


def test_without_the_bars_there_is_nothing_to_read(tmp_path: Path) -> None:
    assert minute_bars(10, data=tmp_path) is None


def test_bars_have_a_region_and_a_full_history() -> None:
    table = minute_bars(3)
    if table is None:
        pytest.skip("needs ../shared/data")
    types = table["type"].to_pylist()
    assert {"NorthAmericanCompany", "EuropeanCompany", UNLISTED} <= set(types)
    assert types.count("NorthAmericanCompany") > 20 * types.count("EuropeanCompany")
    history = table["history"].combine_chunks().flatten().to_numpy().reshape(-1, HISTORY)
    assert (history[:, -1] == table["price"].to_numpy()).all()
    assert len(np.unique(table["ts"].to_numpy())) <= 4


def test_no_such_section() -> None:
    with pytest.raises(SystemExit):
        main(["--quick", "nowhere"])


def test_errors_of_queries_are_not_taken_for_missing_plans() -> None:
    table = ratio_stream(3, 3, 100, per_minute=30)
    with pytest.raises(AuguryError):
        kernel_of("PATTERN SEQ(T1 a, T2 b) WHERE a.nothing > 1 WITHIN 1 minute", table, EAGER, None)
