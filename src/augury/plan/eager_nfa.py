"""The plan of the eager automaton NFA^b (paper 001, section 3)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import ClassVar

from augury.ir.query import BoundQuery
from augury.ir.terms import Strategy
from augury.plan.components import Absence, Component, Computed
from augury.plan.family import FamilyName
from augury.plan.folding import Folding


class Phase(Enum):
    """What a run does at a component."""

    WAITING = auto()
    """It has not bound the component yet."""
    BEHIND = auto()
    """Neither, and it has left the list before it, which must not have been able to take what the run ignores."""
    LOOPING = auto()
    """It goes on with the list of the component."""


@dataclass(frozen=True, slots=True)
class NfaState:
    """A state of one of the automata."""

    branch: int
    component: int
    phase: Phase

    @property
    def bound(self) -> int:
        """The component that a run in this state has bound last."""
        return self.component if self.phase is Phase.LOOPING else self.component - 1


@dataclass(frozen=True, slots=True)
class Gap:
    """The strategies of one component: of the gap before it, and of those inside its list, which may be `reluctant`."""

    before: Strategy
    inside: Strategy
    reluctant: bool = False


@dataclass(frozen=True, slots=True)
class NfaBranch:
    """One automaton: its components in order, the parts that must be absent, and what the gaps may hold.

    What a `partial` one finds is no match, but what a run had bound when it came to nothing (OUTPUT TIMEOUTS).
    """

    components: tuple[Component, ...]
    absent: tuple[Absence, ...]
    gaps: tuple[Gap, ...]
    partial: bool = False

    def splits(self, j: int) -> bool:
        """Whether the list of component j is left by a run of its own, beside the one that goes on with the list.

        Where the list and the gap behind it are alike, one run does both: it proceeds when the next one can begin.
        """
        if not self.components[j].iterated or j + 1 == len(self.components):
            return False
        return self.gaps[j].reluctant or self.gaps[j].inside is not self.gaps[j + 1].before

    def lingers(self, j: int) -> bool:
        """Whether a run that waits for component j has to look at what the list before it could have taken."""
        if j == 0 or not self.splits(j - 1) or self.gaps[j - 1].reluctant:
            return False
        # What a contiguous gap lets pass is of another partition, and no list could have taken that.
        skips = (Strategy.SKIP_TILL_NEXT_MATCH, Strategy.SKIP_TILL_ANY_MATCH)
        return self.gaps[j - 1].inside is not Strategy.SKIP_TILL_ANY_MATCH and self.gaps[j].before in skips

    def phases(self, j: int) -> tuple[Phase, ...]:
        """What runs do at component j; after a list that does not split they proceed straight into the next one."""
        found = []
        if j > 0 and (not self.components[j - 1].iterated or self.splits(j - 1)):
            found.append(Phase.WAITING)
        if self.lingers(j):
            found.append(Phase.BEHIND)
        if self.components[j].iterated:
            found.append(Phase.LOOPING)
        return tuple(found)


@dataclass(frozen=True, slots=True)
class EagerNfaPlan:
    """An automaton for each branch of the pattern, run side by side; `merge` joins equivalent runs.

    Where it does not, `unmerged` says why. With `folding`, `query` is one with groups written out.
    """

    query: BoundQuery
    branches: tuple[NfaBranch, ...]
    computed: tuple[Computed, ...]
    merge: bool
    unmerged: str = ""
    folding: Folding | None = None
    family: ClassVar[FamilyName] = "eager-nfa"

    @property
    def states(self) -> tuple[NfaState, ...]:
        """The states of all automata, in the order of their numbers."""
        return tuple(
            NfaState(b, j, phase)
            for b, branch in enumerate(self.branches)
            for j in range(len(branch.components))
            for phase in branch.phases(j)
        )
