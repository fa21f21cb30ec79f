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
    """The time at which negated parts are searched for (paper 000, section 4.4)."""

    POST_PROCESSING = "post-processing"
    FIRST_CHANCE = "first-chance"


@dataclass(frozen=True, slots=True)
class Key:
    """An equality to look candidates up by: `column` of the step's event equals `other_column` of the event `other`."""

    column: str
    other: str
    other_column: str


@dataclass(frozen=True, slots=True)
class Bound:
    """A comparison that a sorted search uses: `column` of the step's event is `operator` a `value` known by then.

    With `shift`, also known by then, the column plus the shift is compared: `a.price + 5 > b.price`. With `less` the
    shift is subtracted.
    """

    column: str
    operator: str
    value: Expr
    shift: Expr | None = None
    less: bool = False


@dataclass(frozen=True, slots=True)
class NearLists:
    """A condition that a list of the step's event, `own`, has a large dot product with a list known by then, `other`.

    The product is at least `least`, or with `sign` -1 at most `-least`; `conjunct` says whether `least` is included.
    With `led`, an upper bound from the leading coefficients of both lists is tested first.
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
    """Comparisons on one column, for a sorted search."""
    near: NearLists | None = None
    """The dot product that 64 candidates are compared by at once, before each that passes is tested."""
    searches: tuple[ChainStep, ...] = ()
    """The states that search for the parts of `absent`, in the same order."""


@dataclass(frozen=True, slots=True)
class ChainBranch:
    """One chain: `components` in pattern order, and `evaluation`, the order in which they are bound, lists last.

    `order` holds (u, v) iff all events of u precede all of v. Components carry only the conjuncts on one event alone;
    the planner places the others in the `steps`, the states of the chain (`planner.chain_steps`), together with
    `spacing`, the conditions on times from EACH and FOR. The negated parts `at_the_end` are searched for once the chain
    is complete. A `partial` branch finds no matches but beginnings of matches (OUTPUT TIMEOUTS), which may end within
    a list.
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
    """The parts in which two plans of one query may differ: evaluation orders, and search methods of variables.

    The fields after `orders` are those of `LazyChainPlan`. It is the key of compiled kernels, since a stream may change
    its plan.
    """

    orders: tuple[tuple[str, ...], ...]
    selected: frozenset[str]
    sorted: frozenset[str]
    kept: frozenset[str]
    blocked: frozenset[str]
    led: frozenset[str]


@dataclass(frozen=True, slots=True)
class LazyChainPlan:
    """Chains over shared input buffers, one for each branch, each evaluated in ascending order of frequency.

    `conjuncts` are those over several events. `estimated` holds the partial matches of a window that the cost model
    expects at each step of each branch. An `adaptive` plan changes its order when the stream departs from `statistics`.
    Candidates of variables in `selected` are compared as vectors, those in `sorted` are searched by value where a
    comparison allows it, and those in `kept` are tested once for each first event, where that decides. Lists of
    variables in `blocked` are stored in blocks, so that the dot products of one list with 64 of them are computed at
    once; for those also in `led`, blocks hold the leading coefficients, which bound the product.
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
    blocked: frozenset[str] = frozenset()
    led: frozenset[str] = frozenset()
    family: ClassVar[FamilyName] = "lazy-chain"

    @property
    def unary(self) -> bool:
        """Whether matches are restricted only by order and by a time window, or by order alone.

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
        return ChainVariant(orders, self.selected, self.sorted, self.kept, self.blocked, self.led)


@dataclass(frozen=True, slots=True)
class LazyTreePlan:
    """A tree of all evaluation orders, of which each step of the stream takes the one that its rates ask for.

    `chain` has the order to begin with; the counts of each component in the live window decide the next ones.
    """

    chain: LazyChainPlan
    family: ClassVar[FamilyName] = "lazy-tree"

    @property
    def query(self) -> BoundQuery:
        return self.chain.query
