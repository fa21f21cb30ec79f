"""The plan of linked chains (paper 003): chains of adjacent events per component, linked to the component before."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from augury.ir.predicate import Conjunct, Element, Ref, walk
from augury.ir.query import BoundQuery
from augury.plan.components import Absence, Component, Computed
from augury.plan.family import FamilyName


@dataclass(frozen=True, slots=True)
class LinkedPlan:
    """Chains of adjacent events for each component of a sequence, linked where a match can go on from one to the next.

    `components` are in the order of the sequence, with the conjuncts on one event alone; `conjuncts` are the others.
    `apart` when no event fits two components: then only the chain of the latest event can still grow.
    """

    query: BoundQuery
    components: tuple[Component, ...]
    conjuncts: tuple[Conjunct, ...]
    absent: tuple[Absence, ...]
    computed: tuple[Computed, ...]
    apart: bool
    family: ClassVar[FamilyName] = "linked"

    @property
    def direct(self) -> bool:
        """Whether the events that a walk back finds behind an event depend only on it and on the completing event.

        Then a dead end is met once. Otherwise a walk may go through all subsets of a list before it knows that there is
        no match; without lists it never does.
        """
        lists = [c for c in self.components if c.iterated]
        last = self.components[-1].variable
        return all((c.low, c.high) == (1, None) for c in lists) and (
            not lists or all(_reads_neighbours(c, last) for c in self.conjuncts)
        )


def _reads_neighbours(c: Conjunct, last: str) -> bool:
    """Whether a conjunct reads one event or neighbours in a list, and besides these only the completing event."""
    refs = [e for e in walk(c.expr) if isinstance(e, Ref)]
    inner = {e.variable for e in refs if e.variable != last}
    if any(e.element in (Element.FIRST, Element.LAST) for e in refs if e.variable != last):
        return False
    if not inner:
        return True
    return len(inner) == 1 and all(e.element in (Element.SINGLE, Element.LAST) for e in refs if e.variable == last)
