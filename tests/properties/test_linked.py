"""Linked chains agree with the reference, whatever the batches."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from augury.ir.terms import OutputMode, Strategy
from augury.kernels.linked.kernel import LinkedKernel
from augury.options import Options
from augury.plan import LinkedPlan
from augury.testing.evaluate import compiled, family_plan, reference_matches, run
from augury.testing.queries import queries
from augury.testing.streams import cuts, streams
from tests.properties.agreement import COMPILED, MUCH_COMPILED, PLAIN

OUTPUTS = (OutputMode.ALL, OutputMode.COVER, OutputMode.COVER, OutputMode.LATEST)

SEQUENCES = queries(outputs=OUTPUTS, strategies=(Strategy.SKIP_TILL_ANY_MATCH,), operators=("SEQ",), lists=False)
LISTS = queries(
    outputs=(OutputMode.ALL, OutputMode.LATEST), strategies=(Strategy.SKIP_TILL_ANY_MATCH,), operators=("SEQ",)
)


def agrees(options: Options, text: str, events: pa.Table, data: st.DataObject) -> None:
    query = compiled(text, events, Options(plan="reference"))
    plan = family_plan("linked", query.rewritten)
    assume(isinstance(plan, LinkedPlan))
    assert isinstance(plan, LinkedPlan)
    kernel = LinkedKernel(plan, options)
    found = run(kernel, query.bound.schema, data.draw(cuts(events)), save=data.draw(st.booleans()))
    assert found == reference_matches(query.bound, events)


@PLAIN
@given(SEQUENCES, streams(max_size=10), st.data())
def test_plain_python_agrees_with_the_reference(text: str, events: pa.Table, data: st.DataObject) -> None:
    agrees(Options(jit=False, counters=data.draw(st.booleans())), text, events, data)


@PLAIN
@given(LISTS, streams(max_size=9), st.data())
def test_lists_agree_with_the_reference(text: str, events: pa.Table, data: st.DataObject) -> None:
    assume("[]" in text)
    agrees(Options(jit=False, counters=data.draw(st.booleans())), text, events, data)


@pytest.mark.slow
@COMPILED
@given(st.one_of(SEQUENCES, LISTS), streams(max_size=10), st.data())
def test_compiled_code_agrees_with_the_reference(text: str, events: pa.Table, data: st.DataObject) -> None:
    agrees(Options(jit=True), text, events, data)


@pytest.mark.slow
@MUCH_COMPILED
@given(st.one_of(SEQUENCES, LISTS), streams(max_size=10), st.data())
def test_much_compiled_code_agrees_with_the_reference(text: str, events: pa.Table, data: st.DataObject) -> None:
    agrees(Options(jit=True, counters=data.draw(st.booleans())), text, events, data)
