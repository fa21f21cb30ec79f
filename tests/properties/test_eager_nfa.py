"""The eager automaton agrees with the reference, whatever the batches, with runs merged or not."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from augury.kernels import EagerKernel
from augury.options import Options
from augury.plan import EagerNfaPlan
from augury.testing.evaluate import compiled, family_plan
from augury.testing.queries import queries
from augury.testing.streams import streams
from tests.properties.agreement import COMPILED, MUCH_COMPILED, OUTPUTS, PLAIN, agrees


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
