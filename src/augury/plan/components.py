"""Parts shared by the plans of several families."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from augury.ir.pattern import BoundEvent
from augury.ir.predicate import Conjunct, Element, Expr, Nth, Ref, map_children
from augury.ir.terms import Strategy


@dataclass(frozen=True, slots=True)
class Computed:
    """A column that the host computes for each event, because a kernel cannot; `expr` reads it as variable `e`."""

    name: str
    expr: Expr


@dataclass(frozen=True, slots=True)
class Component:
    """A state of the automaton, with its looping state if it is iterated.

    A conjunct belongs to the component whose variable is bound last: `alone` reads one event of this component and
    nothing else, `take` is tested when an event joins, `whole` when the list is complete. A conjunct on numbered
    elements (`b[3]`) is in both where the list may end before them. An event `until` ends the list: it is not one of
    the elements and does not lie between them.
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
        """The conjuncts of `take` for an event that joins as the first one of the component, or as a later one."""
        v = self.variable
        if begins:
            return tuple(j for j in self.take if v not in j.from_second and v not in j.decided_at)
        return tuple(j for j in self.take if v in j.each or v in j.decided_at)


@dataclass(frozen=True, slots=True)
class Absence:
    """A negated part: single events with the conjuncts tested when each is bound, searched for once a match is known.

    `after` and `before` are variables bound by then; `order` holds among the part's own components. `open` parts can
    still occur after the match's last event, so the match waits for its window to close. A part of one event with
    `beside` is the next event behind those of `after`, or without any the one before those of `before`, in the stream
    or in the partition, as that strategy says. With `since`, the search starts behind that event instead of behind
    `after`; with `silence`, it spans that many ticks behind `after`, or before `before`, whatever the window. The event
    that ends a list (UNTIL) must be absent `among` its elements, and be none of them.
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


def as_written(e: Expr, computed: Iterable[Computed]) -> Expr:
    """`e` as it was written, with computed columns expanded to their expressions."""
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
