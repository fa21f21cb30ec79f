"""SES automata agree with the reference, whatever the batches."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from augury.ir.terms import OutputMode, Strategy
from augury.kernels.sets.kernel import EventSetKernel
from augury.options import Options
from augury.plan import EventSetsPlan
from augury.testing.evaluate import compiled, family_plan, reference_matches, run
from augury.testing.queries import queries
from augury.testing.streams import cuts, streams
from tests.properties.agreement import COMPILED, MUCH_COMPILED, PLAIN

OUTPUTS = (OutputMode.ALL, OutputMode.ALL, OutputMode.NONOVERLAP, OutputMode.LATEST, OutputMode.COUNT)
STRATEGIES = (Strategy.SKIP_TILL_NEXT_MATCH,) * 4 + (Strategy.STRICT_CONTIGUITY, Strategy.PARTITION_CONTIGUITY)

SETS = queries(outputs=OUTPUTS, strategies=STRATEGIES, operators=("AND", "SETS"))


def agrees(options: Options, text: str, events: pa.Table, data: st.DataObject) -> None:
    query = compiled(text, events, Options(plan="reference"))
    plan = family_plan("event-sets", query.rewritten)
    assume(isinstance(plan, EventSetsPlan))
    assert isinstance(plan, EventSetsPlan)
    kernel = EventSetKernel(plan, options)
    found = run(kernel, query.bound.schema, data.draw(cuts(events)), save=data.draw(st.booleans()))
    assert found == reference_matches(query.bound, events)


@PLAIN
@given(SETS, streams(max_size=9), st.data())
def test_plain_python_agrees_with_the_reference(text: str, events: pa.Table, data: st.DataObject) -> None:
    agrees(Options(jit=False, counters=data.draw(st.booleans())), text, events, data)


@pytest.mark.slow
@COMPILED
@given(SETS, streams(max_size=9), st.data())
def test_compiled_code_agrees_with_the_reference(text: str, events: pa.Table, data: st.DataObject) -> None:
    agrees(Options(jit=True), text, events, data)


@pytest.mark.slow
@MUCH_COMPILED
@given(SETS, streams(max_size=9), st.data())
def test_much_compiled_code_agrees_with_the_reference(text: str, events: pa.Table, data: st.DataObject) -> None:
    agrees(Options(jit=True, counters=data.draw(st.booleans())), text, events, data)
