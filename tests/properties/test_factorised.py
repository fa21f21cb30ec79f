"""Matches that are counted, chosen by OUTPUT LATEST or kept factorised are those of the reference."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from augury.families import machine_of
from augury.ir.query import BoundQuery
from augury.ir.terms import OutputMode, Strategy
from augury.options import Options
from augury.plan import FamilyName, Unsupported
from augury.runtime.batch import EventBatch, time_ticks
from augury.runtime.shared import SharedMatches, enumerated, matches_in
from augury.runtime.state import FOREVER, Kernel
from augury.testing.evaluate import compiled, family_plan, reference_matches, run
from augury.testing.queries import queries
from augury.testing.streams import cuts, streams
from tests.properties.agreement import COMPILED, PLAIN

SHARING: tuple[FamilyName, ...] = ("eager-nfa", "lazy-chain", "linked")

COUNTED = queries(outputs=(OutputMode.COUNT, OutputMode.LATEST))
JOINED = queries(outputs=(OutputMode.ALL,), strategies=(Strategy.SKIP_TILL_ANY_MATCH,), operators=("SEQ",), lists=False)


def kernel_for(query: BoundQuery, family: FamilyName, options: Options) -> Kernel | None:
    plan = family_plan(family, query)
    if isinstance(plan, Unsupported):
        return None
    machine = machine_of(plan)
    return machine.kernel(plan, options, machine.emit(plan, counters=options.counters))


def counts(options: Options, family: FamilyName, text: str, events: pa.Table, data: st.DataObject) -> None:
    query = compiled(text, events, Options(plan="reference"))
    kernel = kernel_for(query.rewritten, family, options)
    assume(kernel is not None)
    assert kernel is not None
    found = run(kernel, query.bound.schema, data.draw(cuts(events)), save=data.draw(st.booleans()))
    assert found == reference_matches(query.bound, events)


@pytest.mark.parametrize("family", ["eager-nfa", "lazy-chain"])
@PLAIN
@given(COUNTED, streams(max_size=10), st.data())
def test_counts_are_those_of_the_reference(
    family: FamilyName, text: str, events: pa.Table, data: st.DataObject
) -> None:
    counts(Options(jit=False), family, text, events, data)


@pytest.mark.slow
@COMPILED
@given(st.sampled_from(["eager-nfa", "lazy-chain"]), COUNTED, streams(max_size=10), st.data())
def test_counts_of_compiled_code(family: FamilyName, text: str, events: pa.Table, data: st.DataObject) -> None:
    counts(Options(jit=True), family, text, events, data)


@pytest.mark.parametrize("family", SHARING)
@PLAIN
@given(JOINED, streams(max_size=12), st.integers(0, 2**32))
def test_a_factorised_result_is_the_same_set(family: FamilyName, text: str, events: pa.Table, seed: int) -> None:
    query = compiled(text, events, Options(plan="reference"))
    kernel = kernel_for(query.rewritten, family, Options(jit=False, compressed=True))
    assume(kernel is not None and events.num_rows > 0)
    assert kernel is not None
    time = time_ticks(events, query.bound.schema)
    _, found = kernel.step(kernel.start(), EventBatch(events, np.arange(events.num_rows), time), FOREVER)
    assume(isinstance(found, SharedMatches))
    assert isinstance(found, SharedMatches)
    everything = reference_matches(query.bound, events)
    assert matches_in(found) == len(everything)
    assert enumerated(found) == everything
    assert found.sample(len(everything), seed) == everything
    some = found.sample(len(everything) // 2, seed)
    assert len(some) == len(set(some)) == len(everything) // 2
    assert set(some) <= set(everything)
    assert list(some) == list(found.sample(len(everything) // 2, seed))
