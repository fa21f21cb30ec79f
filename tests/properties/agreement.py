"""What the properties of every family share: how many examples, and what it is to agree with the reference."""

from __future__ import annotations

import pyarrow as pa
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st

from augury.compiler import CompiledQuery
from augury.ir.terms import OutputMode
from augury.runtime.state import Kernel
from augury.testing.evaluate import reference_matches, run
from augury.testing.streams import cuts
from tests.thorough import rounds

OUTPUTS = (OutputMode.ALL, OutputMode.ALL, OutputMode.NONOVERLAP)

CHOSEN = (
    OutputMode.ALL,
    OutputMode.NONOVERLAP,
    OutputMode.LATEST,
    OutputMode.FIRST,
    OutputMode.LONGEST,
    OutputMode.LONGEST_NONOVERLAP,
    OutputMode.NONOVERLAP_FROM,
)
"""Outputs that may be paced by EVERY or ONCE."""

PLAIN = settings(suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow])

COMPILED = settings(PLAIN, max_examples=2, phases=(Phase.explicit, Phase.reuse, Phase.generate))
"""A failure is cheaper to shrink with the plain twin of the test, where an example does not cost a second."""

MUCH_COMPILED = settings(COMPILED, max_examples=rounds(8, 40))


def agrees(kernel: Kernel, query: CompiledQuery, events: pa.Table, data: st.DataObject) -> None:
    """Whatever the batches, and whether or not the state is saved between them, the matches are the reference's."""
    found = run(kernel, query.bound.schema, data.draw(cuts(events)), save=data.draw(st.booleans()))
    assert found == reference_matches(query.bound, events)
