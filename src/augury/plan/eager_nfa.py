"""The plan of the eager automaton NFA^b (paper 001, section 3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from augury.ir.query import BoundQuery
from augury.plan.components import Absence, Component, Computed
from augury.plan.family import FamilyName


@dataclass(frozen=True, slots=True)
class NfaBranch:
    """One automaton: its components in order, and the parts that must be absent."""

    components: tuple[Component, ...]
    absent: tuple[Absence, ...]


@dataclass(frozen=True, slots=True)
class EagerNfaPlan:
    """An automaton for each branch of the pattern, run side by side; `merge` joins equivalent runs.

    Where it does not, `unmerged` says why.
    """

    query: BoundQuery
    branches: tuple[NfaBranch, ...]
    computed: tuple[Computed, ...]
    merge: bool
    unmerged: str = ""
    family: ClassVar[FamilyName] = "eager-nfa"
