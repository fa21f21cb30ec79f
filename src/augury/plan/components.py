"""Pieces that the plans of several families are made of."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from augury.ir.pattern import BoundEvent
from augury.ir.predicate import Conjunct, Element, Expr, Nth, Ref, map_children
from augury.ir.terms import Strategy


@dataclass(frozen=True, slots=True)
class Computed:
    """A column the host computes once an event, because a kernel cannot: `expr` reads it as variable `e`."""

    name: str
    expr: Expr


@dataclass(frozen=True, slots=True)
class Component:
    """A state of the automaton, with its looping state if it is iterated.

    A conjunct stands where its last variable is bound: `alone` reads one event of this component and nothing else,
    `take` is tested when an event joins, `whole` when the list is complete; what names elements by their number
    (`b[3]`) is in both where the list may be too short for it. No element of a list is an event `until`,
    and none such lies between its elements.
    """

    variable: str
    types: tuple[str, ...]
    low: int
    high: int | None
    iterated: bool
    alone: tuple[Conjunct, ...]
    take: tuple[Conjunct, ...]
    whole: tuple[Conjunct, ...]
    until: Component | None = None

    def tested(self, *, begins: bool) -> tuple[Conjunct, ...]:
        """The conjuncts of `take` for an event that joins, as the first one of the component or as a later one."""
        v = self.variable
        if begins:
            return tuple(j for j in self.take if v not in j.from_second and v not in j.decided_at)
        return tuple(j for j in self.take if v in j.each or v in j.decided_at)


@dataclass(frozen=True, slots=True)
class Absence:
    """A negated part: single events, each with what is tested when it is bound, looked for once a match is known.

    `after` and `before` are variables bound by then; `order` holds among the part's own components. `open` parts can
    still occur after the match's last event, so the match waits for its window to close. A part of one event
    that is looked for `beside` another is the next event behind those of `after`, or without any the one before those
    of `before`: of the stream, or of the partition, as the strategy says. With `since` the part is looked for behind
    that event instead of those `after`; with `silence` for so many ticks behind `after`, or before `before`, whatever
    the window. What ends a list (UNTIL) must be absent `among` its elements, and be none of them.
    """

    components: tuple[Component, ...]
    order: frozenset[tuple[str, str]]
    after: frozenset[str]
    before: frozenset[str]
    inner: tuple[Absence, ...]
    open: bool
    beside: Strategy | None = None
    since: BoundEvent | None = None
    silence: int | None = None
    among: str | None = None


def spelt(e: Expr, computed: Iterable[Computed]) -> Expr:
    """`e` as it was written: the columns that the host computes are expressions again."""
    by_name = {c.name: c.expr for c in computed}

    def written(e: Expr) -> Expr:
        if isinstance(e, Ref) and e.column in by_name:
            return _of(by_name[e.column], e.variable, e.element)
        return map_children(written, e)

    return written(e)


def _of(e: Expr, variable: str, element: Element | Nth) -> Expr:
    if isinstance(e, Ref):
        return replace(e, variable=variable, element=element)
    return map_children(lambda child: _of(child, variable, element), e)
