"""The laws of groups: whatever the plan, the cut or the saved state, and however the query is written."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import augury
from augury.bind import bind
from augury.ir.terms import OutputMode
from augury.ir.text import query_text
from augury.ir.unbind import unbind_query
from augury.kernels.eager.kernel import EagerKernel
from augury.lang import parse_query
from augury.options import Options
from augury.plan import EagerNfaPlan
from augury.rewrite import RULES
from augury.source import Source
from augury.testing.evaluate import compiled, family_plan, kernel_of, reference_matches, run
from augury.testing.queries import group_queries
from augury.testing.streams import cuts, dense_streams
from augury.testing.tables import parse_stream
from tests.properties.agreement import CHOSEN, MUCH_COMPILED, agrees
from tests.thorough import rounds

EXAMPLES = settings(
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow], max_examples=rounds(40, 3000)
)
STREAMS = dense_streams(max_size=8)


@EXAMPLES
@given(group_queries(), STREAMS)
def test_a_rewrite_rule_never_changes_the_matches(text: str, events: pa.Table) -> None:
    query = compiled(text, events).bound
    before = reference_matches(query, events)
    for rule in RULES:
        query = rule(query)
        assert reference_matches(query, events) == before, rule.__name__


@EXAMPLES
@given(group_queries(), STREAMS, st.data())
def test_batch_boundaries_and_saved_states_are_invisible(text: str, events: pa.Table, data: st.DataObject) -> None:
    kernel, schema = kernel_of(text, events)
    assert run(kernel, schema, data.draw(cuts(events)), save=data.draw(st.booleans())) == run(kernel, schema, [events])


@EXAMPLES
@given(group_queries(), STREAMS)
def test_what_is_bound_is_written_down_again(text: str, events: pa.Table) -> None:
    query = compiled(text, events).bound
    source = Source(query_text(unbind_query(query)))
    assert replace(bind(parse_query(source), query.schema, source), source=query.source) == query


@pytest.mark.filterwarnings("ignore::augury.AuguryWarning")
@EXAMPLES
@given(group_queries(), STREAMS)
def test_rounds_are_told_apart(text: str, events: pa.Table) -> None:
    """A result has the events of each round together: those of an earlier one before those of a later one."""
    query = compiled(text, events).bound
    expected = sorted(found.rows for found in reference_matches(query, events))
    names = [v.name for v in query.variables if not v.negated]
    found = []
    for match in augury.match(events, text):
        by_round = [{v: _rows(own) for v, own in one.items()} for one in match.rows["g"] or []]
        bound = [[row for rows in one.values() for row in rows] for one in by_round]
        assert all(bound)
        assert all(max(one) < min(other) for one, other in pairwise(bound))
        inside = {v: tuple(row for one in by_round for row in one[v]) for v in names if query[v].group}
        outside = {v: _rows(match.rows[v]) for v in names if v in ("a", "d")}
        parts: dict[str, tuple[int, ...]] = {"g": tuple(map(min, bound)), **inside, **outside}
        found.append(tuple(parts[v] for v in names))
    assert sorted(found) == expected


def check_eager(options: Options, text: str, events: pa.Table, data: st.DataObject) -> None:
    query = compiled(text, events)
    plan = family_plan("eager-nfa", query.rewritten)
    assume(isinstance(plan, EagerNfaPlan))
    assert isinstance(plan, EagerNfaPlan)
    agrees(EagerKernel(plan, options), query, events, data)


OUTPUTS = (OutputMode.ALL, OutputMode.ALL, OutputMode.COUNT, *CHOSEN[3:])


@settings(EXAMPLES, max_examples=rounds(100, 5000))
@given(group_queries(outputs=OUTPUTS), dense_streams(max_size=9), st.data())
def test_the_loops_of_the_eager_automaton_agree(text: str, events: pa.Table, data: st.DataObject) -> None:
    check_eager(Options(jit=False), text, events, data)


@pytest.mark.slow
@settings(MUCH_COMPILED)
@given(group_queries(outputs=OUTPUTS), dense_streams(max_size=9), st.data())
def test_so_they_do_compiled(text: str, events: pa.Table, data: st.DataObject) -> None:
    check_eager(Options(jit=True), text, events, data)


def _rows(bound: object) -> tuple[int, ...]:
    """The rows that a variable is bound to."""
    match bound:
        case int():
            return (bound,)
        case list():
            return tuple(bound)
        case _:
            return ()


def test_a_condition_on_each_element_of_a_list_and_on_all_rounds_is_left_to_the_reference() -> None:
    text = "PATTERN SEQ(A+ a[], SEQ(B b, C c)+ g[]) WHERE a[i].x > g.len"
    events = parse_stream("a1(x=1) a2(x=2) b3(x=0) c4(x=0) b5(x=0) c6(x=0)")
    with pytest.raises(augury.UnsupportedPlan, match="each element of a list and on all rounds of a group"):
        augury.match(events, text, plan="eager-nfa")
    assert [match.rows["a"] for match in augury.match(events, text)] == [[1]] * 3
