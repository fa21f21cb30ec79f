"""The states of lazy chains as a tree: branches whose evaluation begins alike share their first states."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from augury.plan import Absence, ChainStep, LazyChainPlan


@dataclass(slots=True, eq=False)
class Node:
    """A state reached by taking the events of `path`; `completes` are the branches that are matched here."""

    number: int
    step: ChainStep
    path: tuple[str, ...]
    parent: Node | None
    children: list[Node] = field(default_factory=list)
    completes: list[int] = field(default_factory=list)

    @property
    def variable(self) -> str:
        return self.step.component.variable

    @property
    def order(self) -> frozenset[tuple[str, str]]:
        """The pairs of `path` of which the first precedes the second."""
        mine = {(u, self.variable) for u in self.step.after} | {(self.variable, u) for u in self.step.before}
        return frozenset(mine) if self.parent is None else self.parent.order | mine

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

    @property
    def branching(self) -> Iterator[Node]:
        """This node and all below it."""
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
        steps, rest = plan.steps(branch)
        after.append(rest)
        level, parent = roots, None
        for step in steps:
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


def identifiers(variables: Sequence[str]) -> dict[str, str]:
    """Names for variables inside generated code, without underscores.

    >>> identifiers(["a", "price_drop"])
    {'a': 'a', 'price_drop': 'v1'}
    """
    return {
        v: v if re.fullmatch(r"[A-Za-z][A-Za-z0-9]*", v) and not re.fullmatch(r"v\d+", v) else f"v{k}"
        for k, v in enumerate(variables)
    }
