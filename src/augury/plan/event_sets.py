"""The plan of sequenced event sets (paper 002): components in a partial order, bound as their events come."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from augury.ir.predicate import Conjunct
from augury.ir.query import BoundQuery
from augury.plan.components import Absence, Component, Computed
from augury.plan.family import FamilyName

MAX_VARIABLES = 40
"""Variables of one branch at most: the state of an instance is one word, a bit per variable and the branch number."""


@dataclass(frozen=True, slots=True)
class SetBranch:
    """One SES automaton; components in pattern order, with the conjuncts on one event alone.

    `order` holds (u, v) iff all events of u precede all of v. `conjuncts` are those over several events, closed under
    equality: what an instance has bound decides where each is tested. `exclusive` if no event fits two components, so
    that no state has two transitions for one event (paper 002, lemma 1). A `sequential` alternative is a SEQ of single
    events: it matches as soon as it is complete, and its conjuncts are those that were written.
    """

    components: tuple[Component, ...]
    order: frozenset[tuple[str, str]]
    conjuncts: tuple[Conjunct, ...]
    absent: tuple[Absence, ...]
    exclusive: bool
    sequential: bool = False

    def before(self, variable: str) -> tuple[int, ...]:
        """The components that must be complete before `variable` begins."""
        return tuple(k for k, c in enumerate(self.components) if (c.variable, variable) in self.order)

    def after(self, variable: str) -> tuple[int, ...]:
        """The components whose first event closes the list of `variable`."""
        return tuple(k for k, c in enumerate(self.components) if (variable, c.variable) in self.order)


@dataclass(frozen=True, slots=True)
class EventSetsPlan:
    """An automaton over sets of bound variables for each branch, whose instances are matches when they expire.

    States are never enumerated: an instance holds a bit mask of the variables it has bound. With `filter`, events that
    fit no component are skipped before any instance is visited (paper 002, section 4.5).
    """

    query: BoundQuery
    branches: tuple[SetBranch, ...]
    computed: tuple[Computed, ...]
    filter: bool
    family: ClassVar[FamilyName] = "event-sets"
