"""Pieces that the plans of several families are made of."""

from __future__ import annotations

from dataclasses import dataclass

from augury.ir.predicate import Conjunct, Expr


@dataclass(frozen=True, slots=True)
class Computed:
    """A column the host computes once an event, because a kernel cannot: `expr` reads it as variable `e`."""

    name: str
    expr: Expr


@dataclass(frozen=True, slots=True)
class Component:
    """A state of the automaton, with its looping state if it is iterated.

    A conjunct stands where its last variable is bound: `alone` reads one event of this component and nothing else,
    `take` is tested when an event joins, `whole` when the list is complete.
    """

    variable: str
    types: tuple[str, ...]
    low: int
    high: int | None
    iterated: bool
    alone: tuple[Conjunct, ...]
    take: tuple[Conjunct, ...]
    whole: tuple[Conjunct, ...]


@dataclass(frozen=True, slots=True)
class Absence:
    """A negated part: single events, each with what is tested when it is bound, looked for once a match is known.

    `after` and `before` are variables bound by then; `order` holds among the part's own components. `open` parts can
    still occur after the match's last event, so the match waits for its window to close.
    """

    components: tuple[Component, ...]
    order: frozenset[tuple[str, str]]
    after: frozenset[str]
    before: frozenset[str]
    inner: tuple[Absence, ...]
    open: bool
