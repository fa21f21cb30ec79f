"""The plan of the eager automaton NFA^b (paper 001, section 3)."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import ClassVar

from augury.ir.predicate import Conjunct
from augury.ir.query import BoundQuery
from augury.ir.terms import Strategy
from augury.plan.components import Absence, Component, Computed
from augury.plan.family import FamilyName


class Phase(Enum):
    """The transitions of a run at a component."""

    WAITING = auto()
    """The run has not bound the component yet."""
    BEHIND = auto()
    """The run waits for the component and has left the list before, which must not be able to take what it ignores."""
    LOOPING = auto()
    """The run extends the list of the component."""


@dataclass(frozen=True, slots=True)
class NfaState:
    """A state of an automaton; a run that is `BEHIND` a list has left the list of component `left`."""

    branch: int
    component: int
    phase: Phase
    left: int = -1


@dataclass(frozen=True, slots=True)
class Gap:
    """The strategies of one component: before its first event, and inside its list, which may be `reluctant`."""

    before: Strategy
    inside: Strategy
    reluctant: bool = False


@dataclass(frozen=True, slots=True)
class Round:
    """One way through a round of a group: the components from `first` to `last`.

    A group begins with an `initial` round and goes on with `further` ones; a round may be both. The `absent` parts must
    not occur between its components, in any such round of a match.

    Where conditions over all rounds decide which event ends the last one, a run chooses beforehand whether a round is
    the last (`ends`, and not `goes_on`) or not (`goes_on`, and not `ends`). A round that `probes` is in no match: it
    only tests whether a further round could have been complete.
    """

    first: int
    last: int
    initial: bool
    further: bool
    absent: tuple[Absence, ...] = ()
    goes_on: bool = True
    ends: bool = True
    probes: bool = False


@dataclass(frozen=True, slots=True)
class Loop:
    """The group `variable`: a run takes `low` to `high` of its rounds, one after another.

    If it `takes_all`, no run leaves the group that could have completed a further round before what follows. `whole` is
    tested when the last round is complete. `latest` are the variables of the last complete round, each with the names
    it has in rounds: through them a run remembers the round before, and the last round once it has left the group.
    """

    variable: str
    low: int
    high: int | None
    rounds: tuple[Round, ...]
    takes_all: bool
    whole: tuple[Conjunct, ...]
    latest: tuple[tuple[Component, tuple[str, ...]], ...]

    @property
    def first(self) -> int:
        return self.rounds[0].first

    @property
    def last(self) -> int:
        return self.rounds[-1].last

    @property
    def again(self) -> tuple[int, ...]:
        """The first components of further rounds, if there may be one."""
        return () if self.high == 1 else tuple(r.first for r in self.rounds if r.further and not r.probes)

    @property
    def probed(self) -> tuple[int, ...]:
        """The first components of rounds that only test whether they could be complete."""
        return tuple(r.first for r in self.rounds if r.probes)


@dataclass(frozen=True, slots=True)
class NfaBranch:
    """One automaton: its components in order, the parts that must be absent, and the strategies of its gaps.

    What a `partial` one finds is no match, but what a run had bound when it timed out (OUTPUT TIMEOUTS). The components
    of a group are those of all its rounds, each in order; `loops` say how a run goes through them.
    """

    components: tuple[Component, ...]
    absent: tuple[Absence, ...]
    gaps: tuple[Gap, ...]
    partial: bool = False
    loops: tuple[Loop, ...] = ()

    @property
    def entries(self) -> tuple[int, ...]:
        """The components that a run may begin with."""
        return self._at(0)

    def round_ending(self, j: int) -> tuple[Loop, Round] | None:
        """The group and its round that end with component j."""
        return next(((loop, r) for loop in self.loops for r in loop.rounds if r.last == j), None)

    def after(self, j: int) -> tuple[int, ...]:
        """The components that may follow component j other than in a further round; none after the last component."""
        ending = self.round_ending(j)
        if ending is None:
            return self._at(j + 1)
        return self._at(ending[0].last + 1) if ending[1].ends else ()

    def follow(self, j: int) -> tuple[int, ...]:
        """The components that may follow component j."""
        ending = self.round_ending(j)
        if ending is None:
            return self.after(j)
        loop, round = ending
        further = loop.again if round.goes_on else loop.probed if round.ends else ()
        return (*further, *self.after(j))

    def before(self, j: int) -> tuple[int, ...]:
        """The components that component j may follow."""
        return (
            tuple(p for p in range(len(self.components)) if j in self.follow(p)) if self.loops else (j - 1,) * (j > 0)
        )

    def _at(self, j: int) -> tuple[int, ...]:
        """The component at place j, or the first components of the group that begins there."""
        loop = next((loop for loop in self.loops if loop.first == j), None)
        if loop is not None:
            return tuple(r.first for r in loop.rounds if r.initial)
        return (j,) if j < len(self.components) else ()

    def outdone(self, j: int) -> bool:
        """Whether a run that waits for component j has left a group that takes as many rounds as it can."""
        endings = ((self.round_ending(p), j in self.after(p)) for p in self.before(j))
        return any(ending is not None and ending[0].takes_all and left for ending, left in endings)

    def splits(self, j: int) -> bool:
        """Whether one run leaves the list of component j while another one extends it.

        Where list and following gap have the same strategy, one run does both: it proceeds when the next one can begin.
        """
        follow = self.follow(j)
        if not self.components[j].iterated or not follow:
            return False
        if len(follow) > 1 or self.round_ending(j) is not None:
            return True
        return self.gaps[j].reluctant or self.gaps[j].inside is not self.gaps[j + 1].before

    def lingers(self, p: int, j: int) -> bool:
        """Whether a run that waits for component j must check what the list of p before it could have taken."""
        if not self.splits(p) or self.gaps[p].reluctant:
            return False
        # Events skipped by a contiguous gap belong to another partition, so no list could have taken them.
        skips = (Strategy.SKIP_TILL_NEXT_MATCH, Strategy.SKIP_TILL_ANY_MATCH)
        return self.gaps[p].inside is not Strategy.SKIP_TILL_ANY_MATCH and self.gaps[j].before in skips

    def states(self, b: int, j: int) -> tuple[NfaState, ...]:
        """The states at component j of branch b; after a list that does not split, runs proceed to j directly."""
        found = []
        before = self.before(j)
        if any(not self.components[p].iterated or self.splits(p) for p in before):
            found.append(NfaState(b, j, Phase.WAITING))
        found += [NfaState(b, j, Phase.BEHIND, p) for p in before if self.lingers(p, j)]
        if self.components[j].iterated:
            found.append(NfaState(b, j, Phase.LOOPING))
        return tuple(found)

    def bound(self, s: NfaState) -> tuple[int, ...]:
        """The components of which a run in this state may have bound one last."""
        match s.phase:
            case Phase.LOOPING:
                return (s.component,)
            case Phase.BEHIND:
                return (s.left,)
            case Phase.WAITING:
                return self.before(s.component)


@dataclass(frozen=True, slots=True)
class EagerNfaPlan:
    """An automaton for each branch of the pattern, run side by side; `merge` joins equivalent runs.

    Where it does not, `unmerged` says why. `names` maps the variables in rounds to the variables of the query.
    """

    query: BoundQuery
    branches: tuple[NfaBranch, ...]
    computed: tuple[Computed, ...]
    merge: bool
    unmerged: str = ""
    names: tuple[tuple[str, str], ...] = ()
    family: ClassVar[FamilyName] = "eager-nfa"

    @property
    def states(self) -> tuple[NfaState, ...]:
        """The states of all automata, in the order of their numbers."""
        return tuple(
            state
            for b, branch in enumerate(self.branches)
            for j in range(len(branch.components))
            for state in branch.states(b, j)
        )

    @property
    def rounds(self) -> tuple[Round, ...]:
        """The rounds of all groups of all automata."""
        return tuple(r for branch in self.branches for loop in branch.loops for r in loop.rounds)

    @property
    def takes_all(self) -> bool:
        """Whether a run that has left a group is dropped if another one completes a further round of it."""
        return any(loop.takes_all for branch in self.branches for loop in branch.loops)

    @property
    def spread(self) -> int:
        """The most runs, nodes or edges that one run creates per event: it takes, proceeds, and may be merged."""
        return 3 + max(
            (len(b.follow(j)) for b in self.branches if b.loops for j in range(len(b.components))), default=0
        )

    @property
    def begun(self) -> int:
        """The most runs that one event begins."""
        return sum(1 + (len(b.follow(j)) if b.loops else b.splits(j)) for b in self.branches for j in b.entries)
