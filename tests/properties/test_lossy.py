"""The lossy plan agrees with the reference: the same matches, and their scores to 1e-9, whatever the batches."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from augury.kernels.lossy.kernel import LossyKernel
from augury.options import Options
from augury.plan import LossyPlan
from augury.planner.hints import Hints
from augury.testing.evaluate import compiled, family_plan, reference_matches, run
from augury.testing.lossy import LossyCase, differences, lossy_cases
from augury.testing.streams import cuts, streams
from tests.properties.agreement import COMPILED, PLAIN
from tests.thorough import rounds


def agrees(case: LossyCase, events: pa.Table, data: st.DataObject, *, jit: bool) -> None:
    options = Options(jit=jit, loss=case.model, counters=data.draw(st.booleans()))
    query = compiled(case.text, events, options)
    plan = family_plan("lossy", query.rewritten, Hints(loss=case.model))
    assume(isinstance(plan, LossyPlan))
    assert isinstance(plan, LossyPlan)
    kernel = LossyKernel(plan, options)
    found = run(kernel, query.bound.schema, data.draw(cuts(events)), save=data.draw(st.booleans()))
    assert differences(found, reference_matches(query.bound, events, options), 1e-9) == []


@PLAIN
@given(lossy_cases(), streams(max_size=7), st.data())
def test_plain_python_agrees_with_the_reference(case: LossyCase, events: pa.Table, data: st.DataObject) -> None:
    agrees(case, events, data, jit=False)


@pytest.mark.slow
@COMPILED
@given(lossy_cases(most=3), streams(max_size=8), st.data())
def test_compiled_code_agrees_with_the_reference(case: LossyCase, events: pa.Table, data: st.DataObject) -> None:
    agrees(case, events, data, jit=True)


@pytest.mark.slow
@settings(PLAIN, max_examples=rounds(300, 1_500))
@given(lossy_cases(), streams(max_size=9), st.data())
def test_much_plain_python_agrees_with_the_reference(case: LossyCase, events: pa.Table, data: st.DataObject) -> None:
    agrees(case, events, data, jit=False)
