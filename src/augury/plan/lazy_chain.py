"""The plan of lazy chain automata (paper 000): the components of each branch in the order they are evaluated."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar, NamedTuple

from augury.ir.branches import in_order, is_total
from augury.ir.predicate import Conjunct, Expr, Ref
from augury.ir.query import BoundQuery, TimeWindow
from augury.plan.components import Absence, Component, Computed
from augury.plan.family import FamilyName
from augury.plan.statistics import StreamStatistics


class Negation(StrEnum):
    """When negated parts are looked for (paper 000, section 4.4)."""

    POST_PROCESSING = "post-processing"
    FIRST_CHANCE = "first-chance"


@dataclass(frozen=True, slots=True)
class Key:
    """An equality that finds candidates by an index: `column` of the step's event is `other_column` of `other`'s."""

    column: str
    other: str
    other_column: str


@dataclass(frozen=True, slots=True)
class Bound:
    """A comparison that a sorted search uses: `column` of the step's event is `operator` `value`, which is known.

    With `shift`, which is known as well, that is so of the column and the shift together: `a.price + 5 > b.price`. With
    `less` the shift is taken from it.
    """

    column: str
    operator: str
    value: Expr
    shift: Expr | None = None
    less: bool = False


@dataclass(frozen=True, slots=True)
class Near:
    """A dot product of a list of the step's event that has to be large: `own` with `other`, which is known.

    It is at least `least`, or with `sign` -1 at most `-least`; `conjunct` says whether `least` itself is enough.
    With `led`, a bound by the leading coefficients of both lists comes first.
    """

    conjunct: Conjunct
    own: Ref
    other: Ref
    least: float
    sign: int
    led: bool = False


@dataclass(frozen=True, slots=True)
class ChainStep:
    """A state of the chain: it takes `component` from the input buffer or from the stream.

    `after` and `before` are the ordering filters, the variables bound by then that precede and succeed every event
    taken here. The conjuncts of `component` are those that it completes; `absent` are the negated parts whose
    dependencies it completes (First-Chance negation, section 4.4).
    """

    component: Component
    after: tuple[str, ...]
    before: tuple[str, ...]
    absent: tuple[Absence, ...]
    key: Key | None
    bounds: tuple[Bound, ...] = ()
    """On one column."""
    near: Near | None = None
    """What 64 candidates at a time are compared by, before each that passes is tested."""
    searches: tuple[ChainStep, ...] = ()
    """The states that look for the parts of `absent`, in the same order."""


@dataclass(frozen=True, slots=True)
class ChainBranch:
    """One chain: `components` in pattern order, and `evaluation`, the order in which they are bound, lists last.

    `order` holds (u, v) iff all events of u precede all of v. Components carry only the conjuncts on one event alone;
    the planner places the others in the `steps`, the states of the chain (`planner.chain_steps`), and so it does with
    `spacing`, the conditions on times that follow from EACH and FOR. The negated parts `at_the_end` are looked for once
    the chain is complete. What a `partial` one finds is no match, but the beginning of one (OUTPUT TIMEOUTS), which may
    end within a list.
    """

    components: tuple[Component, ...]
    order: frozenset[tuple[str, str]]
    absent: tuple[Absence, ...]
    evaluation: tuple[str, ...]
    spacing: tuple[Conjunct, ...] = ()
    steps: tuple[ChainStep, ...] = ()
    at_the_end: tuple[Absence, ...] = ()
    partial: bool = False

    @property
    def sequential(self) -> bool:
        """Whether the order is total, as for a SEQ of components."""
        return is_total(self.order, self.components)

    @property
    def in_sequence(self) -> tuple[Component, ...]:
        """The components of a sequential branch, earlier ones first."""
        return tuple(self[v] for v in in_order((c.variable for c in self.components), self.order))

    def __getitem__(self, variable: str) -> Component:
        return next(c for c in self.components if c.variable == variable)


class ChainVariant(NamedTuple):
    """What tells two plans of one query apart: the order of evaluation of each branch, and how variables are searched.

    The fields after `orders` are those of `LazyChainPlan`. Kernels are kept by it, since a stream may change its plan.
    """

    orders: tuple[tuple[str, ...], ...]
    selected: frozenset[str]
    sorted: frozenset[str]
    kept: frozenset[str]
    abreast: frozenset[str]
    led: frozenset[str]


@dataclass(frozen=True, slots=True)
class LazyChainPlan:
    """Chains over shared input buffers, one for each branch, each evaluated in ascending order of frequency.

    `conjuncts` are those over several events. `estimated` holds for each branch the partial matches of a window that
    the cost model expects at each step. An `adaptive` plan changes its order when the stream leaves `statistics`.
    Candidates of the variables in `selected` are compared many at a time, those in `sorted` are searched for by value
    where a comparison allows it, and those in `kept` are tested once for each first event, where that decides. Lists of
    those `abreast` are stored in blocks, so that a dot product of one list is computed with 64 of them at a time; of
    those `led` too, blocks hold their leading coefficients, by which the product is bounded.
    """

    query: BoundQuery
    branches: tuple[ChainBranch, ...]
    conjuncts: tuple[Conjunct, ...]
    computed: tuple[Computed, ...]
    negation: Negation
    statistics: StreamStatistics
    estimated: tuple[tuple[float, ...], ...] = ()
    indexed: bool = True
    adaptive: bool = True
    selected: frozenset[str] = frozenset()
    sorted: frozenset[str] = frozenset()
    kept: frozenset[str] = frozenset()
    abreast: frozenset[str] = frozenset()
    led: frozenset[str] = frozenset()
    family: ClassVar[FamilyName] = "lazy-chain"

    @property
    def unary(self) -> bool:
        """Whether order and a window of time, or none, are all that joins the events of a match.

        Then the input buffers are the factorised result: matches are counted and written out from them.
        """
        if len(self.branches) != 1 or self.conjuncts or self.query.partition_by:
            return False
        (branch,) = self.branches
        single = not any(c.iterated for c in branch.components)
        return (
            branch.sequential
            and single
            and not branch.absent
            and not branch.spacing
            and isinstance(self.query.window, TimeWindow | None)
        )

    @property
    def variant(self) -> ChainVariant:
        orders = tuple(b.evaluation for b in self.branches)
        return ChainVariant(orders, self.selected, self.sorted, self.kept, self.abreast, self.led)


@dataclass(frozen=True, slots=True)
class LazyTreePlan:
    """A tree of all evaluation orders, of which each step of the stream takes the one that its rates ask for.

    `chain` has the order to begin with; what the live window holds of each component decides about the next ones.
    """

    chain: LazyChainPlan
    family: ClassVar[FamilyName] = "lazy-tree"

    @property
    def query(self) -> BoundQuery:
        return self.chain.query
