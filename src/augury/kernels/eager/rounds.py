"""Matches of automata with groups: the events that rounds begin with are those of the group."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from augury.kernels.common.expanded import Expanded
from augury.kernels.common.restoring import read_pending
from augury.kernels.eager.checks import component_codes, transitions
from augury.plan import EagerNfaPlan, NfaBranch
from augury.runtime.batch import Integers
from augury.runtime.checks import require
from augury.runtime.events import EventStore


@dataclass(frozen=True, slots=True, eq=False)
class RoundCodes:
    """The meaning of the codes in matches with groups: components, then the groups of each branch.

    `group` is by component the code of the group that a round of begins with it, or -1; a list that a round begins with
    is `iterated`, and begins one with its first element. `inside` is the code of the group that a component is in.
    `negated` is by component the number by which generated code knows what must be absent in a round that begins with
    it, or -1. What may follow what, and what a match begins and ends with, is in `follows`, `first` and `last`.
    """

    variables: tuple[str, ...]
    branches: tuple[int, ...]
    group: Integers
    iterated: npt.NDArray[np.bool_]
    inside: Integers
    negated: Integers
    follows: npt.NDArray[np.bool_]
    first: npt.NDArray[np.bool_]
    last: npt.NDArray[np.bool_]

    @classmethod
    def of(cls, plan: EagerNfaPlan) -> RoundCodes:
        names = dict(plan.names)
        variables = [names.get(c.variable, c.variable) for branch in plan.branches for c in branch.components]
        branches = [b for b, branch in enumerate(plan.branches) for _ in branch.components]
        group = np.full(len(variables), -1, dtype=np.int64)
        iterated = np.array([c.iterated for branch in plan.branches for c in branch.components])
        last = np.array([_ends(b, j) for b in plan.branches for j in range(len(b.components))])
        inside, negated, number = group.copy(), group.copy(), len(plan.branches)
        for b, branch in enumerate(plan.branches):
            base = branches.index(b)
            for loop in branch.loops:
                group[[base + r.first for r in loop.rounds]] = len(variables)
                inside[base + loop.first : base + loop.last + 1] = len(variables)
                variables.append(loop.variable)
                branches.append(b)
                for r in loop.rounds:
                    negated[base + r.first] = number if r.absent else -1
                    number += 1
        follows, first = transitions(plan)
        return cls(tuple(variables), tuple(branches), group, iterated, inside, negated, follows, first, last)

    @property
    def negates(self) -> bool:
        """Whether anything must be absent in a round."""
        return bool((self.negated >= 0).any())

    def added(self, found: Expanded) -> Expanded:
        """The matches with the events that rounds begin with bound to their groups as well."""
        if not len(found):
            return found
        codes = component_codes(found.codes, len(self.group))
        same = np.zeros(len(codes), dtype=bool)
        same[1:] = codes[1:] == codes[:-1]
        same[found.offsets[:-1]] = False
        at = np.flatnonzero((self.group[codes] >= 0) & ~(same & self.iterated[codes]))
        events, groups = found.events[at], self.group[codes[at]]
        offsets = found.offsets + np.searchsorted(at, found.offsets)
        return Expanded(offsets, np.insert(found.events, at, events), np.insert(codes, at, groups))

    def one_by_one(self, found: Expanded) -> tuple[Integers, Integers, Expanded, Expanded]:
        """Every round of the matches in which something must be absent.

        Its match, the number of what must be absent, all that the match binds, and that without the other rounds.
        """
        begins = np.flatnonzero(found.codes >= len(self.group))
        numbers = self.negated[found.codes[begins + 1]]
        round_of = np.searchsorted(begins, np.arange(len(found.codes)), side="right") - 1
        group_of = np.concatenate([self.inside, np.arange(len(self.group), len(self.variables))])[found.codes]
        wanted = np.flatnonzero(numbers >= 0)
        match = np.searchsorted(found.offsets, begins[wanted], side="right") - 1
        whole = found.take(match)
        lengths = np.diff(whole.offsets)
        entries = np.repeat(found.offsets[match] - whole.offsets[:-1], lengths) + np.arange(len(whole.codes))
        own = np.repeat(wanted, lengths)
        group = np.repeat(found.codes[begins[wanted]], lengths)
        bound = (group_of[entries] != group) | (round_of[entries] == own)
        before = np.concatenate([[0], np.cumsum(bound)])
        return match, numbers[wanted], whole, Expanded(before[whole.offsets], whole.events[bound], whole.codes[bound])

    def sizes(self, found: Expanded) -> Integers:
        """How many events each match binds: those that rounds begin with once."""
        before = np.concatenate([[0], np.cumsum(found.codes < len(self.group))])
        return np.diff(before[found.offsets])


def _ends(branch: NfaBranch, j: int) -> bool:
    """Whether a match may end with component j."""
    ending = branch.round_ending(j)
    return not branch.after(j) and (ending is None or ending[1].ends)


def restore_rounds(
    tables: Mapping[str, pa.Table], events: EventStore, branch_of: Integers, rounds: RoundCodes
) -> Expanded:
    """The matches that wait: each binds events as the automaton of one branch may, and its groups to their rounds."""
    saved = read_pending(tables, events, branch_of)
    components = len(rounds.group)
    bound = saved.codes < components
    before = np.concatenate([[0], np.cumsum(bound)])
    found = Expanded(before[saved.offsets], saved.events[bound], saved.codes[bound])
    require(np.diff(found.offsets) > 0, "a match that waits has no events")
    inside = np.ones(len(found.events), dtype=bool)
    inside[found.offsets[:-1]] = False
    at = np.flatnonzero(inside)
    require(found.events[at] > found.events[at - 1], "the events of a match that waits are out of order")
    require(rounds.follows[found.codes[at - 1], found.codes[at]], "a match that waits lacks a component")
    ends = found.codes[found.offsets[1:] - 1]
    require(rounds.first[found.codes[found.offsets[:-1]]] & rounds.last[ends], "a match that waits lacks a component")
    again = rounds.added(found)
    require(len(again.codes) == len(saved.codes), "a match that waits has other rounds than its events")
    require((again.codes == saved.codes) & (again.events == saved.events), "a match that waits has other rounds")
    return saved
