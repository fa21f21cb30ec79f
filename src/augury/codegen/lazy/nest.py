"""The states of lazy chains as a tree: branches whose evaluation begins alike share their first states."""

from __future__ import annotations

from collections.abc import Container, Iterator
from dataclasses import dataclass, field

from augury.ir.comparisons import MIRRORED
from augury.ir.predicate import Aggregate, Call, Compare, Conjunct, Expr, ListLength, Literal, Ref, variables
from augury.plan import Absence, ChainStep, Component, LazyChainPlan


@dataclass(slots=True, eq=False)
class Node:
    """A state reached by taking the events of `path`; `completes` are the branches that are matched here."""

    number: int
    step: ChainStep
    path: tuple[str, ...]
    parent: Node | None
    negated: bool = False
    """Whether the event looked for here must not be there."""
    children: list[Node] = field(default_factory=list)
    completes: list[int] = field(default_factory=list)
    order: frozenset[tuple[str, str]] = field(init=False)
    """The pairs of `path` of which the first precedes the second."""

    def __post_init__(self) -> None:
        mine = {(u, self.variable) for u in self.step.after} | {(self.variable, u) for u in self.step.before}
        self.order = frozenset(mine) if self.parent is None else self.parent.order | mine

    @property
    def variable(self) -> str:
        return self.step.component.variable

    @property
    def bound(self) -> tuple[str, ...]:
        """The variables that are bound when this state is looked for."""
        return self.path[:-1]

    @property
    def ancestors(self) -> tuple[Node, ...]:
        """The states passed before this one, the first one first."""
        return () if self.parent is None else (*self.parent.ancestors, self.parent)

    @property
    def iterated(self) -> bool:
        return self.step.component.iterated

    @property
    def may_come(self) -> bool:
        """Whether what is taken here may arrive after everything bound before it."""
        return not self.step.before

    @property
    def waits(self) -> bool:
        """Whether events of the stream are taken here, or by a list that only becomes complete with this one."""
        return self.may_come or (self.step.component.iterated and any(child.waits for child in self.children))

    @property
    def stores(self) -> bool:
        """Whether partial matches that have got here wait for events of the stream."""
        return not self.step.component.iterated and any(child.waits for child in self.children)

    def until(self, cuts: Container[int]) -> Iterator[Node]:
        """The nodes from this one downwards, without those below one of the `cuts`."""
        yield self
        for child in () if self.number in cuts else self.children:
            yield from child.until(cuts)

    @property
    def branching(self) -> Iterator[Node]:
        """All nodes from this one downwards."""
        yield self
        for child in self.children:
            yield from child.branching


@dataclass(frozen=True, slots=True, eq=False)
class Nest:
    """All states, and for each branch the negated parts that are looked for when it is matched."""

    roots: tuple[Node, ...]
    nodes: tuple[Node, ...]
    after: tuple[tuple[Absence, ...], ...]


def nest(plan: LazyChainPlan) -> Nest:
    """The states of every branch; equal states reached in the same way are one."""
    roots: list[Node] = []
    nodes: list[Node] = []
    after = []
    for b, branch in enumerate(plan.branches):
        after.append(branch.at_the_end)
        level, parent = roots, None
        for step in branch.steps:
            node = next((n for n in level if n.step == step), None)
            if node is None:
                path = (*(parent.path if parent else ()), step.component.variable)
                node = Node(len(nodes), step, path, parent)
                level.append(node)
                nodes.append(node)
            level, parent = node.children, node
        assert parent is not None
        parent.completes.append(b)
    return Nest(tuple(roots), tuple(nodes), tuple(after))


def cuts_of(states: Nest, inline_states: int, states_per_function: int) -> frozenset[int]:
    """The nodes after which a function ends: none if no chain has more than `inline_states`."""
    if all(len(n.path) <= inline_states for n in states.nodes):
        return frozenset()
    return frozenset(
        n.number for n in states.nodes if n.children and not n.iterated and len(n.path) % states_per_function == 0
    )


def one_way(j: Conjunct, c: Component) -> bool:
    """Whether `j`, once false for a list of `c`, is false for every longer one.

    That is so where an aggregate that only grows has to stay below a bound, or one that only shrinks above it; the
    bound must not depend on the list, nor the conjunct on the elements of another one.
    """
    if j.each:
        return False
    match j.expr:
        case Compare(operator, left, right) if operator in MIRRORED:
            for one, bound, sign in ((left, right, operator), (right, left, MIRRORED[operator])):
                if c.variable not in variables(bound) and (_grows(one, c) if "<" in sign else _shrinks(one, c)):
                    return True
            return False
        case _:
            return False


def _grows(e: Expr, c: Component) -> bool:
    match e:
        case ListLength(variable):
            return variable == c.variable
        case Aggregate(function="count" | "max", variable=variable, running=False):
            return variable == c.variable
        case Aggregate(function="sum", variable=variable, running=False, argument=argument) if argument is not None:
            return variable == c.variable and _never_negative(argument, c)
        case _:
            return False


def _shrinks(e: Expr, c: Component) -> bool:
    return isinstance(e, Aggregate) and e.function == "min" and e.variable == c.variable and not e.running


def _never_negative(e: Expr, c: Component) -> bool:
    """Whether no element has a value below zero, by what it is or by a condition on each element."""
    if isinstance(e, Call) and e.function in ("abs", "sqrt", "exp", "length"):
        return True
    for j in c.alone:
        match j.expr:
            case Compare(">" | ">=", Ref(column=column), Literal(value=int() | float() as least)):
                if isinstance(e, Ref) and e.column == column and least >= 0:
                    return True
            case _:
                pass
    return False
