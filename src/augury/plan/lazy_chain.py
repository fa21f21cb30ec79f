"""The plan of lazy chain automata (paper 000): the components of each branch in the order they are evaluated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from math import isfinite
from typing import ClassVar, NamedTuple

from augury.ir.branches import in_order, is_total
from augury.ir.predicate import (
    Aggregate,
    Arithmetic,
    Call,
    Compare,
    Conjunct,
    Element,
    Expr,
    Literal,
    Negate,
    Ref,
    variables,
    walk,
)
from augury.ir.query import BoundQuery, TimeWindow
from augury.plan.components import Absence, Component, Computed
from augury.plan.family import FamilyName
from augury.plan.implied import without_implied
from augury.plan.statistics import StreamStatistics
from augury.schema import Kind


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


@dataclass(frozen=True, slots=True)
class ChainBranch:
    """One chain: `components` in pattern order, and `evaluation`, the order in which they are bound, lists last.

    `order` holds (u, v) iff all events of u precede all of v. Components carry only the conjuncts on one event alone;
    the others are placed by `steps`.
    """

    components: tuple[Component, ...]
    order: frozenset[tuple[str, str]]
    absent: tuple[Absence, ...]
    evaluation: tuple[str, ...]

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


class Way(NamedTuple):
    """How a plan goes about it: the evaluation order of each branch, and the ways to search (see `LazyChainPlan`)."""

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
        return branch.sequential and single and not branch.absent and isinstance(self.query.window, TimeWindow | None)

    @property
    def way(self) -> Way:
        orders = tuple(b.evaluation for b in self.branches)
        return Way(orders, self.selected, self.sorted, self.kept, self.abreast, self.led)

    def in_order(self, evaluation: Sequence[tuple[str, ...]]) -> LazyChainPlan:
        """The same plan with its branches evaluated in other orders."""
        branches = tuple(replace(b, evaluation=e) for b, e in zip(self.branches, evaluation, strict=True))
        return replace(self, branches=branches)

    def steps(self, branch: ChainBranch) -> tuple[tuple[ChainStep, ...], tuple[Absence, ...]]:
        """The states of a chain, and the negated parts that are looked for once it is complete."""
        out: list[ChainStep] = []
        known: list[str] = []
        rest = list(branch.absent)
        for v in branch.evaluation:
            after = tuple(u for u in known if (u, v) in branch.order)
            before = tuple(u for u in known if (v, u) in branch.order)
            known.append(v)
            component = self._component(branch[v], known)
            # A list is complete only when the chain is, so nothing is looked for before.
            ready = [
                part
                for part in rest
                if self.negation is Negation.FIRST_CHANCE and not branch[v].iterated and _decided(part, branch, known)
            ]
            rest = [part for part in rest if part not in ready]
            key = self._key(component, known) if self.indexed else None
            bounds = self._bounds(component) if key is None and v in self.sorted else ()
            near = self.near(component, known[0]) if key is None and not bounds else None
            out.append(ChainStep(component, after, before, tuple(ready), key, bounds, near))
        return tuple(out), tuple(rest)

    def near(self, c: Component, first: str) -> Near | None:
        """The dot product that candidates of a state, or of a negated part, are found by, with the `first` event's list
        if there is such a one: that is computed once for each first event.
        """
        if c.variable not in self.abreast or c.iterated or self.query.partition_by:
            return None
        lists = {x.variable for b in self.branches for x in b.components if x.iterated}
        found = [near for j in c.take if (near := near_of(j, c.variable)) and near.other.variable not in lists]
        if not found:
            return None
        return replace(min(found, key=lambda near: near.other.variable != first), led=c.variable in self.led)

    def _component(self, c: Component, known: Sequence[str]) -> Component:
        mine = [j for j in self.conjuncts if c.variable in j.variables and set(j.variables) <= set(known)]
        whole = tuple(j for j in mine if c.variable in j.whole)
        c = replace(c, take=tuple(j for j in mine if c.variable not in j.whole), whole=whole)
        return self.leaving_implied(c, [u for u in known if u != c.variable])

    def leaving_implied(self, c: Component, bound: Sequence[str]) -> Component:
        """The component without the conjuncts that follow from others, or from what holds of the events `bound`."""
        # What the first event alone decides is tested once for each of those, if it can be: that costs least.
        first = {*bound[:1], c.variable} if c.variable in self.kept else set()
        once = [j for j in c.take if first.issuperset(j.variables)]
        before = [j for j in self.conjuncts if set(j.variables) <= set(bound)]
        needed = without_implied([j for j in c.take if not first.issuperset(j.variables)], [*before, *once])
        left = {*map(id, once), *map(id, needed)}
        return replace(c, take=tuple(j for j in c.take if id(j) in left))

    def _key(self, c: Component, known: Sequence[str]) -> Key | None:
        """The first equality with an event bound before; the partition, if there is one, is indexed anyway."""
        for j in c.take:
            if isinstance(j.expr, Compare) and j.expr.operator == "=" and not c.iterated:
                for mine, other in ((j.expr.left, j.expr.right), (j.expr.right, j.expr.left)):
                    if (
                        isinstance(mine, Ref)
                        and isinstance(other, Ref)
                        and mine.element is other.element is Element.SINGLE
                        and mine.variable == c.variable
                        and other.variable in known
                        and other.variable != c.variable
                        and mine.type == other.type
                    ):
                        return Key(mine.column, other.variable, other.column)
        return None

    def _bounds(self, c: Component) -> tuple[Bound, ...]:
        """The comparisons of a number of the step's event with what is known by then."""
        if c.iterated or self.query.partition_by:
            return ()
        return tuple(bound for _, bound in bounds_of(c))


TURNED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""Comparisons, and what they are with their sides exchanged."""


def bounds_of(c: Component) -> list[tuple[Conjunct, Bound]]:
    """The conjuncts that bound a number of the component's event by what other variables tell, all the same one."""
    found = [(j, bound) for j in c.take if (bound := _bound(j, c.variable)) is not None]
    return [(j, bound) for j, bound in found if bound.column == found[0][1].column]


def _bound(j: Conjunct, variable: str) -> Bound | None:
    if not isinstance(j.expr, Compare) or j.expr.operator not in TURNED:
        return None
    sides = ((j.expr.left, j.expr.right, j.expr.operator), (j.expr.right, j.expr.left, TURNED[j.expr.operator]))
    for mine, value, operator in sides:
        if variable in variables(value) or not value.type.numeric:
            continue
        match mine:
            case Ref(column=column) if _own(mine, variable):
                return Bound(column, operator, value)
            case Arithmetic("+" | "-" as sign, Ref(column=column) as own, shift) if _own(own, variable):
                pass
            case Arithmetic("+" as sign, shift, Ref(column=column) as own) if _own(own, variable):
                pass
            case _:
                continue
        if variable not in variables(shift) and shift.type.numeric:
            return Bound(column, operator, value, shift, sign == "-")
    return None


def vectorises(j: Conjunct) -> bool:
    """Whether a conjunct is a comparison of numbers, without anything that may call a function or branch."""
    return isinstance(j.expr, Compare) and all(map(_plain, walk(j.expr)))


def _plain(e: Expr) -> bool:
    match e:
        case Compare() | Literal():
            return True
        case Ref(type=type):
            return type.kind in (Kind.INT, Kind.FLOAT, Kind.TIMESTAMP, Kind.DURATION, Kind.NULL)
        case Arithmetic(operator, type=type):
            return operator in "+-*" and type.kind is Kind.FLOAT
        case _:
            return False


def near_of(j: Conjunct, variable: str) -> Near | None:
    """`j` as a dot product of a list of `variable` with one of another that has to be large, if it is that."""
    product = large_product(j.expr)
    if product is None:
        return None
    left, right, least, sign = product
    if not (isinstance(left, Ref) and isinstance(right, Ref)) or left.variable == right.variable:
        return None
    own, other = (left, right) if left.variable == variable else (right, left)
    if own.variable != variable or {own.element, other.element} != {Element.SINGLE}:
        return None
    return Near(j, own, other, least, sign)


def large_product(e: Expr) -> tuple[Expr, Expr, float, int] | None:
    """Two lists, and what their dot product has to be at least: once, or -1 times the product."""
    match e:
        case Compare(operator, Call("dot", (left, right)), bound) if operator in TURNED:
            pass
        case Compare(operator, bound, Call("dot", (left, right))) if operator in TURNED:
            operator = TURNED[operator]
        case _:
            return None
    value, sign = _constant(bound), 1 if ">" in operator else -1
    return None if value is None else (left, right, sign * value, sign)


def _constant(e: Expr) -> float | None:
    """The number that is written there."""
    match e:
        case Literal(value=int() | float() as value) if not isinstance(value, bool) and isfinite(value):
            return float(value)
        case Negate(operand):
            positive = _constant(operand)
            return None if positive is None else -positive
        case _:
            return None


def _own(e: Ref, variable: str) -> bool:
    return e.variable == variable and e.type.kind is Kind.FLOAT


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


def _decided(part: Absence, branch: ChainBranch, known: Sequence[str]) -> bool:
    """Whether one search for one event decides about `part` as soon as `known` are bound."""
    if part.open or len(part.components) != 1 or part.inner:
        return False
    (c,) = part.components
    lists = {x.variable for x in branch.components if x.iterated}
    read = {v for j in c.take for v in variables(j.expr)} - {c.variable}
    needs = read | _nearest(part, branch)
    if lists & needs or any(isinstance(e, Aggregate) for j in c.take for e in walk(j.expr)):
        return False
    if not part.after or not part.before:
        # How far it looks back is known when the last event of the match is.
        needs |= {c.variable for c in branch.components}
    for x in branch.components:
        # An event of the match is not the negated one, so those that could be are bound first.
        beside = x.variable not in part.after | part.before
        if beside and (not x.types or not c.types or set(x.types) & set(c.types)):
            needs.add(x.variable)
    return needs <= set(known)


def _nearest(part: Absence, branch: ChainBranch) -> set[str]:
    """The variables next to a negated part; those further off follow from the order."""
    after = {u for u in part.after if not any((u, v) in branch.order for v in part.after)}
    before = {u for u in part.before if not any((v, u) in branch.order for v in part.before)}
    return after | before
