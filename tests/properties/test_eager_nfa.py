"""The eager automaton agrees with the reference, whatever the batches, with runs merged or not."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from augury.codegen import EagerKernel
from augury.ir.terms import OutputMode
from augury.options import Options
from augury.plan import EagerNfaPlan
from augury.planner.eager_nfa import build_eager_nfa
from augury.testing.evaluate import compiled, reference_matches, run
from augury.testing.queries import queries
from augury.testing.streams import cuts, streams

OUTPUTS = (OutputMode.ALL, OutputMode.ALL, OutputMode.NONOVERLAP)
UNHURRIED = [HealthCheck.filter_too_much, HealthCheck.too_slow]
NO_SHRINKING = (Phase.explicit, Phase.reuse, Phase.generate)
"""A failure is cheaper to shrink with the plain twin of the test, where an example does not cost a second."""


def agrees(options: Options, text: str, events: pa.Table, data: st.DataObject) -> None:
    query = compiled(text, events)
    plan = build_eager_nfa(query.rewritten)
    assume(isinstance(plan, EagerNfaPlan))
    assert isinstance(plan, EagerNfaPlan)
    kernel = EagerKernel(plan, options)
    found = run(kernel, query.bound.schema, data.draw(cuts(events)), save=data.draw(st.booleans()))
    assert found == reference_matches(query.bound, events)


@pytest.mark.parametrize("merge", [False, True], ids=["unmerged", "merged"])
@settings(max_examples=600, deadline=None, suppress_health_check=UNHURRIED)
@given(queries(outputs=OUTPUTS), streams(max_size=10), st.data())
def test_plain_python_agrees_with_the_reference(merge: bool, text: str, events: pa.Table, data: st.DataObject) -> None:
    agrees(Options(jit=False, merge=merge), text, events, data)


@settings(max_examples=25, deadline=None, suppress_health_check=UNHURRIED, phases=NO_SHRINKING)
@given(queries(outputs=OUTPUTS), streams(max_size=10), st.booleans(), st.data())
def test_compiled_code_agrees_with_the_reference(text: str, events: pa.Table, merge: bool, data: st.DataObject) -> None:
    agrees(Options(jit=True, merge=merge), text, events, data)


@pytest.mark.slow
@settings(max_examples=300, deadline=None, suppress_health_check=UNHURRIED, phases=NO_SHRINKING)
@given(queries(outputs=OUTPUTS), streams(max_size=10), st.booleans(), st.data())
def test_much_compiled_code_agrees_with_the_reference(
    text: str, events: pa.Table, merge: bool, data: st.DataObject
) -> None:
    agrees(Options(jit=True, merge=merge, counters=data.draw(st.booleans())), text, events, data)
