"""The plan of linked chains (paper 003): per component the chains of adjacent events, linked to those before them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from augury.ir.predicate import Conjunct
from augury.ir.query import BoundQuery
from augury.plan.components import Absence, Component, Computed


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
    family: ClassVar[str] = "linked"
