"""The laws of the reference evaluator."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from augury.ir.branches import branches
from augury.ir.terms import OutputMode, Strategy
from augury.options import Options
from augury.reference.any_match import any_matches
from augury.reference.conditions import Conditions
from augury.reference.runs import run_matches
from augury.reference.stream import Bindings, by_partition, stream
from augury.rewrite import RULES, rewrite
from augury.testing.evaluate import compiled, kernel_of, reference_matches, run
from augury.testing.queries import queries
from augury.testing.streams import cuts, streams

EXAMPLES = settings(suppress_health_check=[HealthCheck.filter_too_much])


@EXAMPLES
@given(queries(), streams())
def test_a_rewrite_rule_never_changes_the_matches(text: str, events: pa.Table) -> None:
    query = compiled(text, events).bound
    before = reference_matches(query, events)
    for rule in RULES:
        query = rule(query)
        assert reference_matches(query, events) == before, rule.__name__


@EXAMPLES
@given(queries(), streams(), st.data())
def test_batch_boundaries_are_invisible(text: str, events: pa.Table, data: st.DataObject) -> None:
    kernel, schema = kernel_of(text, events)
    assert run(kernel, schema, data.draw(cuts(events))) == run(kernel, schema, [events])


@EXAMPLES
@given(queries(), streams(), st.data())
def test_a_state_saved_and_restored_changes_nothing(text: str, events: pa.Table, data: st.DataObject) -> None:
    kernel, schema = kernel_of(text, events)
    batches = data.draw(cuts(events))
    assert run(kernel, schema, batches, save=True) == run(kernel, schema, batches)


@EXAMPLES
@given(queries(strategies=[Strategy.SKIP_TILL_ANY_MATCH], outputs=[OutputMode.ALL]), streams())
def test_runs_that_may_skip_anything_find_every_assignment(text: str, events: pa.Table) -> None:
    """Sections 3 and 4 of SEMANTICS agree where both speak: sequences under skip_till_any_match."""
    query = compiled(text, events).bound
    given_ = Conditions.of(query, stream(query, events, range(events.num_rows)), Options())
    variables = tuple(v.name for v in query.variables if not v.negated)

    def rows(bindings: Bindings) -> tuple[tuple[int, ...], ...]:
        return tuple(tuple(e.row for e in bindings.get(v, ())) for v in variables)

    for branch in branches(query.pattern):
        if not branch.components or not branch.sequential:
            continue
        by_runs = {rows(m) for part in by_partition(given_.events) for m in run_matches(given_, branch, part)}
        assert by_runs == {rows(m) for m in any_matches(given_, branch)}


@EXAMPLES
@given(queries(strategies=[Strategy.SKIP_TILL_ANY_MATCH], outputs=[OutputMode.ALL]), streams(max_size=6))
def test_a_partition_key_splits_the_stream_without_changing_the_matches(text: str, events: pa.Table) -> None:
    query = rewrite(compiled(text, events).bound)
    assume(query.key == ("k",))
    whole = {m.rows for m in reference_matches(query, events)}
    parts = set()
    keys = events.column("k").to_pylist()
    for key in {k for k in keys if k is not None}:
        rows = [i for i, k in enumerate(keys) if k == key]
        found = reference_matches(replace(query, partition_by=()), events.take(rows))
        parts |= {tuple(tuple(rows[r] for r in part) for part in m.rows) for m in found}
    assert parts == whole
