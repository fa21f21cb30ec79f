"""The eager automaton agrees with the reference, whatever the batches, with runs merged or not."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from augury.kernels.eager.kernel import EagerKernel
from augury.options import Options
from augury.plan import EagerNfaPlan
from augury.testing.evaluate import compiled, family_plan
from augury.testing.queries import queries, step_queries, timeout_queries
from augury.testing.streams import dense_streams, streams
from tests.properties.agreement import CHOSEN, COMPILED, MUCH_COMPILED, OUTPUTS, PLAIN, agrees


def check(options: Options, text: str, events: pa.Table, data: st.DataObject) -> None:
    query = compiled(text, events)
    plan = family_plan("eager-nfa", query.rewritten)
    assume(isinstance(plan, EagerNfaPlan))
    assert isinstance(plan, EagerNfaPlan)
    agrees(EagerKernel(plan, options), query, events, data)


@pytest.mark.parametrize("merge", [False, True], ids=["unmerged", "merged"])
@PLAIN
@given(queries(outputs=OUTPUTS), streams(max_size=10), st.data())
def test_plain_python_agrees_with_the_reference(merge: bool, text: str, events: pa.Table, data: st.DataObject) -> None:
    check(Options(jit=False, merge=merge), text, events, data)


@pytest.mark.parametrize("merge", [False, True], ids=["unmerged", "merged"])
@PLAIN
@given(step_queries(outputs=OUTPUTS), dense_streams(max_size=9), st.data())
def test_steps_that_differ_agree_with_the_reference(
    merge: bool, text: str, events: pa.Table, data: st.DataObject
) -> None:
    check(Options(jit=False, merge=merge), text, events, data)


@pytest.mark.parametrize("merge", [False, True], ids=["unmerged", "merged"])
@PLAIN
@given(step_queries(outputs=OUTPUTS, steps=False, elements=True), dense_streams(max_size=9), st.data())
def test_elements_by_their_number_agree_with_the_reference(
    merge: bool, text: str, events: pa.Table, data: st.DataObject
) -> None:
    check(Options(jit=False, merge=merge), text, events, data)


@pytest.mark.slow
@MUCH_COMPILED
@given(step_queries(outputs=OUTPUTS), dense_streams(max_size=9), st.data())
def test_compiled_steps_that_differ_agree_with_the_reference(text: str, events: pa.Table, data: st.DataObject) -> None:
    check(Options(jit=True), text, events, data)


@PLAIN
@given(queries(outputs=CHOSEN, paces=True), dense_streams(max_size=9), st.data())
def test_chosen_matches_agree_with_the_reference(text: str, events: pa.Table, data: st.DataObject) -> None:
    check(Options(jit=False), text, events, data)


@PLAIN
@given(timeout_queries(), dense_streams(max_size=8), st.data())
def test_timeouts_agree_with_the_reference(text: str, events: pa.Table, data: st.DataObject) -> None:
    check(Options(jit=False), text, events, data)


@pytest.mark.slow
@MUCH_COMPILED
@given(queries(outputs=CHOSEN, paces=True), dense_streams(max_size=9), st.data())
def test_compiled_choices_agree_with_the_reference(text: str, events: pa.Table, data: st.DataObject) -> None:
    check(Options(jit=True), text, events, data)


@COMPILED
@given(queries(outputs=OUTPUTS), streams(max_size=10), st.booleans(), st.data())
def test_compiled_code_agrees_with_the_reference(text: str, events: pa.Table, merge: bool, data: st.DataObject) -> None:
    check(Options(jit=True, merge=merge), text, events, data)


@pytest.mark.slow
@MUCH_COMPILED
@given(queries(outputs=OUTPUTS), streams(max_size=10), st.booleans(), st.data())
def test_much_compiled_code_agrees_with_the_reference(
    text: str, events: pa.Table, merge: bool, data: st.DataObject
) -> None:
    check(Options(jit=True, merge=merge, counters=data.draw(st.booleans())), text, events, data)
