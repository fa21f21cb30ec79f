"""The benchmark itself: its streams can be made again, its expected answers hold, and a wrong answer is not timed."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from augury.compiler import compile_program, load
from augury.options import Options
from augury.runtime.state import FOREVER
from augury.schema import EventSchema
from augury.source import Source
from benchmarks.kernels import main, report, voided
from benchmarks.markdown import results
from benchmarks.matrix import measure_pair
from benchmarks.measure import WrongAnswer, check, cut, kernel_for, timed_run, watched
from benchmarks.stock import repeated, stock_stream
from benchmarks.targets import Figure
from benchmarks.workload import ITERATORS, STRATEGIES, Iterator, Strategy, Tally, Workload, expected


def test_the_same_seed_gives_the_same_stream() -> None:
    assert stock_stream(500, seed=4).equals(stock_stream(500, seed=4))
    assert not stock_stream(500, seed=4).equals(stock_stream(500, seed=5))


def test_each_share_walks_up_with_the_given_probability() -> None:
    table = stock_stream(50_000, rise=0.6, symbols=3)
    symbol, price = table["symbol"].to_numpy(), table["price"].to_numpy()
    assert set(symbol) == {1, 2, 3}
    assert (price.min(), price.max()) == (1, 1000)
    # From 1000 up to 1 is a step up, hence the distance round the circle.
    moves = np.concatenate([np.diff(price[symbol == s]) for s in (1, 2, 3)])
    moves = (moves + 500) % 1000 - 500
    shares = [float(np.mean(moves == step)) for step in (1, -1, 0)]
    assert shares == pytest.approx([0.6, 0.2, 0.2], abs=0.01)


def test_a_repeated_stream_goes_on_in_time() -> None:
    table = repeated(stock_stream(100), 3)
    assert table["ts"].to_pylist() == list(range(300))
    assert table["price"].to_pylist()[:100] == table["price"].to_pylist()[200:]


@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize("iterator", ITERATORS)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_the_expected_answer_is_that_of_the_reference(strategy: Strategy, iterator: Iterator, timed: bool) -> None:
    table = stock_stream(300, seed=6)
    # Starts are rare on a stream as short as the reference can bear.
    table = table.set_column(2, "price", [(table["price"].to_numpy() // 4) * 100 % 1000 + 100])
    workload = Workload(strategy, iterator, 20, timed)
    options = Options(plan="reference", parameters=workload.parameters)
    query = compile_program(Source(workload.text), EventSchema.from_arrow(table.schema), options).last
    kernel = load(query, options)
    [(batch, _)] = cut(table, 300).parts
    _, matches = kernel.step(kernel.start(), batch, FOREVER)
    found = [sum(m.rows, ()) for m in matches]
    answer = expected(workload, table)
    assert answer == Tally(len(found), sum(map(len, found)), sum(map(sum, found)))
    assert answer.matches > 10


def test_a_wrong_answer_is_noticed() -> None:
    table = stock_stream(2000)
    workload = Workload("skip_till_next_match", "p1", 50)
    kernel, batches, answer = kernel_for(workload, table, None, jit=False), cut(table, 500), expected(workload, table)
    assert answer.matches > 0
    check(kernel, batches, answer)
    for wrong in (replace(answer, matches=answer.matches + 1), replace(answer, rows=answer.rows + 1)):
        with pytest.raises(WrongAnswer):
            check(kernel, batches, wrong)
    with pytest.raises(WrongAnswer):
        timed_run(kernel, batches, answer.matches - 1)


@pytest.fixture(scope="module")
def watched_kernels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the kernel is kept that is compiled once, whatever the size of the batches."""
    return tmp_path_factory.mktemp("kernels")


@pytest.mark.parametrize("jit, size", [(False, 2000), pytest.param(True, 2000, marks=pytest.mark.slow), (True, 200)])
def test_a_watched_kernel_finds_the_same(jit: bool, size: int, watched_kernels: Path) -> None:
    """Few matches are put in order without a compiler."""
    table = stock_stream(2000)
    workload = Workload("skip_till_next_match", "p1", 50)
    kernel, batches, answer = (
        kernel_for(workload, table, watched_kernels, jit=jit),
        cut(table, size),
        expected(workload, table),
    )
    code, support = watched(kernel)
    check(kernel, batches, answer)
    assert code.spent["advance"] > 0
    compiled = jit and size == 2000
    assert ("_plainly" in support.spent, "write_ordered_lists" in support.spent) == (not compiled, compiled)


def test_a_wrong_answer_voids_the_row(tmp_path: Path) -> None:
    workload = Workload("partition_contiguity", "p1", 50)
    # The stream that is run is not the one that the answer is for.
    rows = measure_pair(workload, stock_stream(2000), cut(stock_stream(2000, seed=2), 2000), tmp_path, rounds=1)
    assert [(r.merging, r.cpu_seconds) for r in rows] == [(False, 0.0), (True, 0.0)]
    assert all(r.void is not None and "instead of" in r.void for r in rows)
    assert sum("VOID" in line for line in results([report(rows, [], quick=True)])) == 1
    assert voided(rows, []) == ["s1 p1 w=50", "s1 p1 w=50"]
    assert voided([replace(r, void=None) for r in rows], []) == []


def test_a_figure_is_reached_on_its_side_of_the_target() -> None:
    gain = Figure("c", "gain", 2.5, "x", 2, at_least=True)
    cost = Figure("d", "cost", 120.0, "us", 100)
    assert [gain.reached, cost.reached, replace(gain, void="wrong").reached] == [True, False, False]
    assert replace(cost, target=None).reached is None


def test_no_such_section() -> None:
    with pytest.raises(SystemExit):
        main(["--quick", "z"])
