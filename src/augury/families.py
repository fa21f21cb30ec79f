"""One record a plan family: all that the compiler, the planner, explanations and tests know of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from augury.codegen.eager.nfa import EagerNfaSource, emit_eager_nfa
from augury.codegen.lazy.chain import emit_lazy_chain
from augury.codegen.lazy.source import LazyChainSource
from augury.codegen.linked.chains import LinkedSource, emit_linked
from augury.codegen.lossy.queues import LossySource, emit_lossy
from augury.codegen.sets.event_sets import emit_event_sets
from augury.ir.query import BoundQuery
from augury.kernels import EagerKernel, EventSetKernel, LazyKernel, LinkedKernel, LossyKernel
from augury.options import Options
from augury.plan import (
    EagerNfaPlan,
    EventSetsPlan,
    FamilyName,
    LazyChainPlan,
    LazyTreePlan,
    LinkedPlan,
    LossyPlan,
    Plan,
    ReferencePlan,
    Unsupported,
)
from augury.planner import describe, eager_nfa, event_sets, lazy_chain, linked, lossy, reference
from augury.planner.bids import Bid
from augury.planner.describe import Description
from augury.planner.hints import Hints
from augury.planner.searches import remembering
from augury.planner.supports import Supports
from augury.reference import ReferenceKernel
from augury.runtime.kernel_source import Emitted
from augury.runtime.state import Kernel

P = TypeVar("P", bound=Plan)
S = TypeVar("S", bound=Emitted | None)


def _nothing_to_measure(_query: BoundQuery) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Family(Generic[P, S]):
    """How one kind of plan is built, weighed, emitted, run and described.

    `build` is asked about queries all of whose features are in `supports`, and may still refuse them. `estimate` bids
    for a plan that was built. `emit` writes its source, with or without counters, None for an interpreter; `kernel`
    runs it. `describe` is given the plan, its source and the counters of a run. `measured` says whether statistics of
    the stream change the plan of a query.
    """

    plan: type[P]
    supports: Supports
    build: Callable[[BoundQuery, Hints], P | Unsupported]
    estimate: Callable[[P, Hints], Bid]
    emit: Callable[[P, bool], S]
    kernel: Callable[[P, Options, S], Kernel]
    describe: Callable[[P, S, Mapping[str, int] | None], Description]
    measured: Callable[[BoundQuery], bool] = _nothing_to_measure

    @property
    def name(self) -> FamilyName:
        """The name by which a caller asks for the family."""
        return self.plan.family


BETTER_ORDER_MARGIN = 1.25
"""How many times cheaper a new order must be: first it has to build up its partial matches."""


def _lazy_chain_kernel(plan: LazyChainPlan, options: Options, source: LazyChainSource) -> Kernel:
    better = remembering(BETTER_ORDER_MARGIN) if plan.adaptive else None
    return LazyKernel(plan, options, source, better=better)


def _lazy_tree_kernel(plan: LazyTreePlan, options: Options, source: LazyChainSource) -> Kernel:
    return LazyKernel(plan.chain, options, source, better=remembering(BETTER_ORDER_MARGIN), tree=True)


REFERENCE: Family[ReferencePlan, None] = Family(
    plan=ReferencePlan,
    supports=reference.SUPPORTS,
    build=reference.build_reference,
    estimate=reference.bid_reference,
    emit=lambda _plan, _counters: None,
    kernel=lambda plan, options, _source: ReferenceKernel(plan.query, options),
    describe=lambda _plan, _source, _counters: [],
)

EAGER_NFA: Family[EagerNfaPlan, EagerNfaSource] = Family(
    plan=EagerNfaPlan,
    supports=eager_nfa.SUPPORTS,
    build=eager_nfa.build_eager_nfa,
    estimate=eager_nfa.bid_eager_nfa,
    emit=lambda plan, counters: emit_eager_nfa(plan, counters=counters),
    kernel=EagerKernel,
    describe=describe.describe_eager_nfa,
)

LAZY_CHAIN: Family[LazyChainPlan, LazyChainSource] = Family(
    plan=LazyChainPlan,
    supports=lazy_chain.SUPPORTS,
    build=lazy_chain.build_lazy_chain,
    estimate=lazy_chain.bid_lazy_chain,
    emit=lambda plan, counters: emit_lazy_chain(plan, counters=counters),
    kernel=_lazy_chain_kernel,
    describe=describe.describe_lazy_chain,
    measured=lazy_chain.has_chain,
)

LAZY_TREE: Family[LazyTreePlan, LazyChainSource] = Family(
    plan=LazyTreePlan,
    supports=lazy_chain.TREE_SUPPORTS,
    build=lazy_chain.build_lazy_tree,
    estimate=lazy_chain.bid_lazy_tree,
    emit=lambda plan, counters: emit_lazy_chain(plan.chain, counters=counters),
    kernel=_lazy_tree_kernel,
    describe=describe.describe_lazy_tree,
    measured=lazy_chain.has_chain,
)

EVENT_SETS: Family[EventSetsPlan, EagerNfaSource] = Family(
    plan=EventSetsPlan,
    supports=event_sets.SUPPORTS,
    build=event_sets.build_event_sets,
    estimate=event_sets.bid_event_sets,
    emit=lambda plan, counters: emit_event_sets(plan, counters=counters),
    kernel=EventSetKernel,
    describe=describe.describe_event_sets,
)

LINKED: Family[LinkedPlan, LinkedSource] = Family(
    plan=LinkedPlan,
    supports=linked.SUPPORTS,
    build=linked.build_linked,
    estimate=linked.bid_linked,
    emit=lambda plan, counters: emit_linked(plan, counters=counters),
    kernel=LinkedKernel,
    describe=describe.describe_linked,
)

LOSSY: Family[LossyPlan, LossySource] = Family(
    plan=LossyPlan,
    supports=lossy.SUPPORTS,
    build=lossy.build_lossy,
    estimate=lossy.bid_lossy,
    emit=lambda plan, counters: emit_lossy(plan, counters=counters),
    kernel=LossyKernel,
    describe=describe.describe_lossy,
)

FAMILIES: Mapping[str, Family[Any, Any]] = MappingProxyType(
    {f.name: f for f in (REFERENCE, EAGER_NFA, LAZY_CHAIN, LAZY_TREE, EVENT_SETS, LINKED, LOSSY)}
)
"""Every family by its name. Of equal bids the earlier family wins."""


def family_of(plan: Plan) -> Family[Any, Any]:
    """The family that a plan belongs to.

    >>> FAMILIES["linked"] is LINKED
    True
    """
    return FAMILIES[plan.family]
