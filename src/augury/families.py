"""One record per plan family: all that the compiler, the planner, explanations and tests know of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from augury.ir.query import BoundQuery
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
from augury.planner import eager_nfa, event_sets, lazy_chain, linked, lossy, reference
from augury.planner.bids import Bid
from augury.planner.describe.table import Description
from augury.planner.hints import Hints
from augury.planner.supports import Supports
from augury.runtime.kernel_source import Emitted
from augury.runtime.state import Kernel

if TYPE_CHECKING:
    from augury.codegen.eager.source import EagerNfaSource
    from augury.codegen.lazy.source import LazyChainSource
    from augury.codegen.linked.chains import LinkedSource
    from augury.codegen.lossy.queues import LossySource
    from augury.planner.draw.diagram import Diagram

P = TypeVar("P", bound=Plan)
S = TypeVar("S", bound=Emitted | None)
P_contra = TypeVar("P_contra", bound=Plan, contravariant=True)
S_co = TypeVar("S_co", bound=Emitted | None, covariant=True)
Counters = Mapping[str, int] | None


class Emit(Protocol[P_contra, S_co]):
    """Writes the source of a plan, with or without counters; None for an interpreter."""

    def __call__(self, plan: P_contra, *, counters: bool = False) -> S_co: ...


@dataclass(frozen=True, slots=True)
class Machine(Generic[P, S]):
    """The code generator and the kernel of a family: `kernel` runs what `emit` wrote."""

    emit: Emit[P, S]
    kernel: Callable[[P, Options, S], Kernel]


@dataclass(frozen=True, slots=True)
class Portrait(Generic[P, S]):
    """How plans of a family are shown: in words and as automata, with the counters of a run if there was one."""

    describe: Callable[[P, S, Counters], Description]
    draw: Callable[[P, Counters], tuple[Diagram, ...]]


def _nothing_to_measure(_query: BoundQuery) -> bool:
    return False


@dataclass(frozen=True, slots=True)
class Family(Generic[P, S]):
    """How one kind of plan is built, weighed, emitted, run and described.

    `build` is asked about queries all of whose features are in `supports`, and may still refuse them. `estimate` bids
    for a plan that was built. Every family bids for a query, but only one runs it: its `machine` is imported when it
    does, and its `portrait` when the plan is explained. `measured` says whether statistics of the stream change the
    plan of a query.
    """

    plan: type[P]
    supports: Supports
    build: Callable[[BoundQuery, Hints], P | Unsupported]
    estimate: Callable[[P, Hints], Bid]
    machine: Callable[[], Machine[P, S]]
    portrait: Callable[[], Portrait[P, S]]
    measured: Callable[[BoundQuery], bool] = _nothing_to_measure

    @property
    def name(self) -> FamilyName:
        """The name by which a caller asks for the family."""
        return self.plan.family


BETTER_ORDER_MARGIN = 1.25
"""How many times cheaper a new order must be: first it has to build up its partial matches."""


def _reference() -> Machine[ReferencePlan, None]:
    from augury.reference.kernel import ReferenceKernel

    def emit(plan: ReferencePlan, *, counters: bool = False) -> None:
        return None

    return Machine(emit, lambda plan, options, _: ReferenceKernel(plan.query, options))


def _reference_portrait() -> Portrait[ReferencePlan, None]:
    return Portrait(lambda *_: [], lambda *_: ())


def _eager_nfa() -> Machine[EagerNfaPlan, EagerNfaSource]:
    from augury.codegen.eager.nfa import emit_eager_nfa
    from augury.kernels.eager.kernel import EagerKernel

    return Machine(emit_eager_nfa, EagerKernel)


def _eager_nfa_portrait() -> Portrait[EagerNfaPlan, EagerNfaSource]:
    from augury.planner.describe.eager_nfa import describe_eager_nfa
    from augury.planner.draw.eager_nfa import draw_eager_nfa

    return Portrait(describe_eager_nfa, draw_eager_nfa)


def _lazy_chain() -> Machine[LazyChainPlan, LazyChainSource]:
    from augury.codegen.lazy.chain import emit_lazy_chain
    from augury.kernels.lazy.kernel import LazyKernel
    from augury.planner.searches import cached_improvements

    def kernel(plan: LazyChainPlan, options: Options, source: LazyChainSource) -> Kernel:
        better = cached_improvements(BETTER_ORDER_MARGIN) if plan.adaptive else None
        return LazyKernel(plan, options, source, better=better)

    return Machine(emit_lazy_chain, kernel)


def _lazy_chain_portrait() -> Portrait[LazyChainPlan, LazyChainSource]:
    from augury.planner.describe.lazy_chain import describe_lazy_chain
    from augury.planner.draw.lazy_chain import draw_lazy_chain

    return Portrait(describe_lazy_chain, draw_lazy_chain)


def _lazy_tree() -> Machine[LazyTreePlan, LazyChainSource]:
    from augury.codegen.lazy.chain import emit_lazy_chain
    from augury.kernels.lazy.kernel import LazyKernel
    from augury.planner.searches import cached_improvements

    def emit(plan: LazyTreePlan, *, counters: bool = False) -> LazyChainSource:
        return emit_lazy_chain(plan.chain, counters=counters)

    def kernel(plan: LazyTreePlan, options: Options, source: LazyChainSource) -> Kernel:
        return LazyKernel(plan.chain, options, source, better=cached_improvements(BETTER_ORDER_MARGIN), tree=True)

    return Machine(emit, kernel)


def _lazy_tree_portrait() -> Portrait[LazyTreePlan, LazyChainSource]:
    from augury.planner.describe.lazy_chain import describe_lazy_tree
    from augury.planner.draw.lazy_chain import draw_lazy_tree

    return Portrait(describe_lazy_tree, draw_lazy_tree)


def _event_sets() -> Machine[EventSetsPlan, EagerNfaSource]:
    from augury.codegen.sets.event_sets import emit_event_sets
    from augury.kernels.sets.kernel import EventSetKernel

    return Machine(emit_event_sets, EventSetKernel)


def _event_sets_portrait() -> Portrait[EventSetsPlan, EagerNfaSource]:
    from augury.planner.describe.event_sets import describe_event_sets
    from augury.planner.draw.event_sets import draw_event_sets

    return Portrait(describe_event_sets, draw_event_sets)


def _linked() -> Machine[LinkedPlan, LinkedSource]:
    from augury.codegen.linked.chains import emit_linked
    from augury.kernels.linked.kernel import LinkedKernel

    return Machine(emit_linked, LinkedKernel)


def _linked_portrait() -> Portrait[LinkedPlan, LinkedSource]:
    from augury.planner.describe.linked import describe_linked
    from augury.planner.draw.linked import draw_linked

    return Portrait(describe_linked, draw_linked)


def _lossy() -> Machine[LossyPlan, LossySource]:
    from augury.codegen.lossy.queues import emit_lossy
    from augury.kernels.lossy.kernel import LossyKernel

    return Machine(emit_lossy, LossyKernel)


def _lossy_portrait() -> Portrait[LossyPlan, LossySource]:
    from augury.planner.describe.lossy import describe_lossy
    from augury.planner.draw.lossy import draw_lossy

    return Portrait(describe_lossy, draw_lossy)


REFERENCE: Family[ReferencePlan, None] = Family(
    ReferencePlan,
    reference.SUPPORTS,
    reference.build_reference,
    reference.bid_reference,
    _reference,
    _reference_portrait,
)
EAGER_NFA: Family[EagerNfaPlan, EagerNfaSource] = Family(
    EagerNfaPlan,
    eager_nfa.SUPPORTS,
    eager_nfa.build_eager_nfa,
    eager_nfa.bid_eager_nfa,
    _eager_nfa,
    _eager_nfa_portrait,
)
LAZY_CHAIN: Family[LazyChainPlan, LazyChainSource] = Family(
    LazyChainPlan,
    lazy_chain.SUPPORTS,
    lazy_chain.build_lazy_chain,
    lazy_chain.bid_lazy_chain,
    _lazy_chain,
    _lazy_chain_portrait,
    measured=lazy_chain.has_chain,
)
LAZY_TREE: Family[LazyTreePlan, LazyChainSource] = Family(
    LazyTreePlan,
    lazy_chain.TREE_SUPPORTS,
    lazy_chain.build_lazy_tree,
    lazy_chain.bid_lazy_tree,
    _lazy_tree,
    _lazy_tree_portrait,
    measured=lazy_chain.has_chain,
)
EVENT_SETS: Family[EventSetsPlan, EagerNfaSource] = Family(
    EventSetsPlan,
    event_sets.SUPPORTS,
    event_sets.build_event_sets,
    event_sets.bid_event_sets,
    _event_sets,
    _event_sets_portrait,
)
LINKED: Family[LinkedPlan, LinkedSource] = Family(
    LinkedPlan, linked.SUPPORTS, linked.build_linked, linked.bid_linked, _linked, _linked_portrait
)
LOSSY: Family[LossyPlan, LossySource] = Family(
    LossyPlan, lossy.SUPPORTS, lossy.build_lossy, lossy.bid_lossy, _lossy, _lossy_portrait
)

FAMILIES: Mapping[str, Family[Any, Any]] = MappingProxyType(
    {f.name: f for f in (REFERENCE, EAGER_NFA, LAZY_CHAIN, LAZY_TREE, EVENT_SETS, LINKED, LOSSY)}
)
"""Every family by its name. Of equal bids the earlier family wins."""


def machine_of(plan: Plan) -> Machine[Any, Any]:
    """The code generator and the kernel of a plan's family, imported now."""
    return FAMILIES[plan.family].machine()


def portrait_of(plan: Plan) -> Portrait[Any, Any]:
    """How a plan is described and drawn; imports that code now."""
    return FAMILIES[plan.family].portrait()
