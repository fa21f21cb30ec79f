"""The benchmark of lossy streams: its expected answers hold, and a wrong answer is not timed."""

from __future__ import annotations

import pytest

from augury.options import Options
from benchmarks.lossy import _pass, chain_model, cost_of_an_event, kernel_of
from benchmarks.measure import WrongAnswer, cut
from benchmarks.supply_chain import QUERY, complete_chains, dropped, supply_chain


def test_the_same_seed_gives_the_same_readings() -> None:
    assert supply_chain(50, seed=4).equals(supply_chain(50, seed=4))
    assert not supply_chain(50, seed=4).equals(supply_chain(50, seed=5))


def test_complete_chains_are_what_exact_matching_finds() -> None:
    table = dropped(supply_chain(400), 0.1)
    batches, chains = cut(table, 500), complete_chains(table)
    assert 200 < chains < 300
    exact = kernel_of(QUERY.split("THRESHOLD")[0], table, Options(plan="eager-nfa", jit=False))
    scored = kernel_of(QUERY.format(threshold=0.8), table, Options(jit=False, loss=chain_model()))
    for kernel in (exact, scored):
        _pass(kernel, batches, chains)
        with pytest.raises(WrongAnswer):
            _pass(kernel, batches, chains + 1)


def test_a_chain_that_takes_too_long_is_not_one() -> None:
    table = supply_chain(400, detours=0.0)
    assert complete_chains(table, hours=26) < complete_chains(table) == pytest.approx(400, abs=2)


@pytest.mark.slow
def test_the_cost_of_an_event_is_measured(tmp_path_factory: pytest.TempPathFactory) -> None:
    figures = {f.what: f for f in cost_of_an_event(2000, 1, tmp_path_factory.mktemp("kernels"))}
    assert figures["... complete chains found"].value > 1000
    assert figures["cost of an event at threshold 0.8 against exact matching"].target == 3
