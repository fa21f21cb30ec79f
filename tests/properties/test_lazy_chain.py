"""Lazy chains agree with the reference, whatever the batches and the order of evaluation, also when it changes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from augury.codegen.lazy.chain import emit_lazy_chain
from augury.ir.terms import Strategy
from augury.kernels.lazy.kernel import STRETCH_EVENTS, LazyKernel
from augury.options import Options
from augury.plan import ChainBranch, LazyChainPlan, Negation
from augury.planner.chain_steps import changed
from augury.planner.hints import NO_HINTS
from augury.testing.evaluate import compiled, family_plan
from augury.testing.queries import queries, step_queries, timeout_queries
from augury.testing.streams import dense_streams, streams
from tests.properties.agreement import CHOSEN, COMPILED, MUCH_COMPILED, OUTPUTS, PLAIN, agrees

ANY = (Strategy.SKIP_TILL_ANY_MATCH,)
QUERIES = queries(outputs=OUTPUTS, strategies=ANY)
STREAMS = streams(max_size=10)


def evaluations(plan: LazyChainPlan) -> st.SearchStrategy[tuple[tuple[str, ...], ...]]:
    """An order for each branch, lists last."""
    return st.tuples(*map(_evaluation, plan.branches))


def _evaluation(branch: ChainBranch) -> st.SearchStrategy[tuple[str, ...]]:
    singles = [c.variable for c in branch.components if not c.iterated]
    lists = [c.variable for c in branch.components if c.iterated]
    return st.builds(lambda one, other: (*one, *other), st.permutations(singles), st.permutations(lists))


def plans(plan: LazyChainPlan) -> st.SearchStrategy[LazyChainPlan]:
    """The same chains in another order, with negation either way, with and without what makes searches short."""
    variables = sorted({c.variable for b in plan.branches for c in b.components})
    some = st.frozensets(st.sampled_from(variables))
    names = sorted(v.name for v in plan.query.variables)
    # Most ways to search are one of several conditions: left to chance, they would hardly meet.
    any_of = st.just(frozenset(names)) | st.frozensets(st.sampled_from(names))
    return st.builds(
        lambda orders, **how: changed(plan, orders, **how),
        evaluations(plan),
        negation=st.sampled_from(Negation),
        indexed=st.booleans(),
        selected=any_of,
        sorted=some,
        kept=any_of,
        blocked=any_of,
        led=any_of,
    )


def check(jit: bool, text: str, events: pa.Table, data: st.DataObject, *, orders: int) -> None:
    """The order stays, or it changes at random from step to step, in a `tree` also within one.

    It becomes one of `orders`, since each is a kernel of its own.
    """
    query = compiled(text, events, Options(plan="reference"))
    built = family_plan("lazy-chain", query.rewritten, NO_HINTS)
    assume(isinstance(built, LazyChainPlan))
    assert isinstance(built, LazyChainPlan)
    plan = data.draw(plans(built), label="plan")
    how = data.draw(st.sampled_from(["fixed", "adaptive", "tree"] if orders else ["fixed"]), label="how")
    others = [
        replace(data.draw(plans(plan), label="other plan"), negation=plan.negation, indexed=plan.indexed)
        for _ in range(orders)
    ]

    def any_other(p: LazyChainPlan, rates: Mapping[str, float]) -> LazyChainPlan:
        assert rates.keys() == {c.variable for b in p.branches for c in b.components}
        assert min(rates.values()) >= 0
        return data.draw(st.sampled_from(others), label="next plan")

    options = Options(jit=jit, counters=data.draw(st.booleans()), compressed=data.draw(st.booleans()))
    follows = None if how == "fixed" else any_other
    stretch = data.draw(st.sampled_from([1, 2, STRETCH_EVENTS]), label="stretch")
    # Long chains are divided into several functions; here short ones are, too.
    divided = {"inline_states": data.draw(st.sampled_from([0, 8]), label="inline states")}
    divided["states_per_function"] = data.draw(st.integers(1, 3), label="states per function")
    source = emit_lazy_chain(plan, counters=options.counters, **divided)
    kernel = LazyKernel(
        plan,
        options,
        source,
        better=follows,
        tree=how == "tree",
        piece_events=2,
        noise_events=0,
        stretch_events=stretch,
    )
    agrees(kernel, query, events, data)


@PLAIN
@given(QUERIES, STREAMS, st.data())
def test_plain_python_agrees_with_the_reference(text: str, events: pa.Table, data: st.DataObject) -> None:
    check(False, text, events, data, orders=4)


@PLAIN
@given(queries(outputs=CHOSEN, strategies=ANY, paces=True), STREAMS, st.data())
def test_chosen_matches_agree_with_the_reference(text: str, events: pa.Table, data: st.DataObject) -> None:
    check(False, text, events, data, orders=1)


@PLAIN
@given(step_queries(strategies=ANY, steps=False, outputs=OUTPUTS, elements=True), dense_streams(max_size=9), st.data())
def test_elements_by_their_number_agree_with_the_reference(text: str, events: pa.Table, data: st.DataObject) -> None:
    check(False, text, events, data, orders=1)


@PLAIN
@given(timeout_queries(strategies=ANY, steps=False), dense_streams(max_size=8), st.data())
def test_timeouts_agree_with_the_reference(text: str, events: pa.Table, data: st.DataObject) -> None:
    check(False, text, events, data, orders=1)


@COMPILED
@given(QUERIES, STREAMS, st.data())
def test_compiled_code_agrees_with_the_reference(text: str, events: pa.Table, data: st.DataObject) -> None:
    check(True, text, events, data, orders=0)


@pytest.mark.slow
@MUCH_COMPILED
@given(QUERIES, STREAMS, st.data())
def test_much_compiled_code_agrees_with_the_reference(text: str, events: pa.Table, data: st.DataObject) -> None:
    check(True, text, events, data, orders=1)
