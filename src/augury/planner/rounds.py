"""Rounds of groups: the components that an automaton has for the first and for further rounds of a group.

A further round has components other than those of the first round: it has conditions on the round before it, and a
gap of its own before it. Where neither makes a difference, both share one set of components.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from augury.ir.branches import AbsentPart, Branch, branches
from augury.ir.pattern import Event, Group, Pattern, Repeat, variable_of
from augury.ir.predicate import Aggregate, Conjunct, Element, InRound, Ref, variables, walk
from augury.ir.query import BoundQuery
from augury.ir.terms import Strategy
from augury.ir.written_out import choices
from augury.planner.components import UnsupportedQuery

Body = tuple[Event | Repeat, ...]
"""One way through a round: its components in order."""

_Absent = tuple[AbsentPart, ...]
"""Parts that must be absent from a round."""


@dataclass(frozen=True, slots=True)
class RoundCopy:
    """The components of one body of a group under names of their own, for first rounds, further rounds or both."""

    body: Body
    label: str
    initial: bool
    further: bool
    goes_on: bool = True
    ends: bool = True
    probes: bool = False

    def name(self, variable: str) -> str:
        return f"{self.label}.{variable}"

    @property
    def names(self) -> dict[str, str]:
        """The names of its components, by variable."""
        return {variable_of(c): self.name(variable_of(c)) for c in self.body}

    @property
    def all_names(self) -> dict[str, str]:
        """The names of its components, and of the events that end its lists."""
        ends = [c.until.variable for c in self.body if isinstance(c, Repeat) and c.until is not None]
        return self.names | {v: self.name(v) for v in ends}


@dataclass(frozen=True, slots=True)
class GroupRounds:
    """A group in one branch: the components of its rounds, and the parts that must be `absent` from them."""

    group: Group
    copies: tuple[RoundCopy, ...]
    absent: Mapping[Body, _Absent]
    takes_all: bool

    @property
    def variable(self) -> str:
        return self.group.variable

    @property
    def bodies(self) -> list[Body]:
        return list(dict.fromkeys(copy.body for copy in self.copies))

    def latest(self, variable: str) -> str:
        """The name of a variable in the last complete round."""
        return f"{self.variable}[last].{variable}"

    def always(self, variable: str) -> bool:
        """Whether every round binds a variable."""
        return all(any(variable_of(c) == variable for c in body) for body in self.bodies)

    @property
    def inside(self) -> dict[str, Event | Repeat]:
        """The components of all bodies by their variable."""
        return {variable_of(c): c for body in self.bodies for c in body}


BranchPart: TypeAlias = "Event | Repeat | GroupRounds"
"""A component of a branch, or a group with its rounds."""


def parts_of(
    query: BoundQuery, branch: Branch, by_name: Mapping[str, Group], conjuncts: Sequence[Conjunct]
) -> Iterator[BranchPart]:
    """The components and groups of a branch, in order."""
    behind_group = False
    for k, c in enumerate(branch.in_sequence):
        if variable_of(c) not in by_name:
            yield c
            behind_group = False
            continue
        followed = k + 1 < len(branch.components)
        order = [variable_of(x) for x in branch.in_sequence]
        group = by_name[variable_of(c)]
        deciding = [
            j
            for j in conjuncts
            if group.variable in j.whole and all(order.index(v) <= k for v in j.variables if v in order)
        ]
        rounds = _rounds(query, group, followed, conjuncts, deciding, apart=behind_group)
        behind_group = rounds.takes_all
        yield rounds


def _rounds(
    query: BoundQuery,
    group: Group,
    followed: bool,
    conjuncts: Sequence[Conjunct],
    deciding: Sequence[Conjunct],
    *,
    apart: bool,
) -> GroupRounds:
    """A group with the components of its rounds; `apart` if the first round needs components of its own.

    The `deciding` conditions over all rounds are tested when the last round is complete.
    """
    g = group.variable
    absent = dict(_body(query, choice) for choice in dict.fromkeys(choices(group.body)) if choice is not None)
    bodies = list(absent)
    if len({frozenset(map(variable_of, body)) for body in bodies}) < len(bodies):
        raise UnsupportedQuery("alternatives in a group that bind the same variables", group.span)
    before, between = query.strategy_of(g), query.strategy_of(g, inside=True)
    told_apart = any(
        isinstance(e, InRound) and e.group == g and e.round in (Element.PREVIOUS, Element.FIRST)
        for c in conjuncts
        for e in walk(c.expr)
    )
    apart = group.high == 1 or apart or before is not between or told_apart
    places = [(True, False), (False, True)][: 1 if group.high == 1 else 2] if apart else [(True, True)]
    takes_all = followed and not group.reluctant and group.low != group.high
    takes_all = takes_all and between is not Strategy.SKIP_TILL_ANY_MATCH
    selects = any(_selects(query, g, body, c) for c in deciding for body in bodies)
    kinds = [(True, False, False), (False, True, False)] if selects else [(True, True, False)]
    wanted = [(*place, *kind) for place in places for kind in kinds]
    if selects and takes_all and group.high != 1:
        wanted.append((False, True, False, False, True))
    copies = tuple(
        RoundCopy(body, _label(g, k if len(bodies) > 1 else 0, *how), *how)
        for how in wanted
        for k, body in enumerate(bodies, start=1)
    )
    return GroupRounds(group, copies, absent, takes_all)


def _label(group: str, way: int, initial: bool, further: bool, goes_on: bool, ends: bool, probes: bool) -> str:
    """The label of rounds in explanations and in generated code."""
    words = ["next" if probes else "i" if further else "first"]
    words += [] if goes_on or probes else ["last"]
    words += [f"way {way}"] if way else []
    return f"{group}[{', '.join(words)}]"


def _selects(query: BoundQuery, group: str, body: Body, c: Conjunct) -> bool:
    """Whether a condition over all rounds decides which event ends the last round.

    That is only so where the strategy takes the next event that fits: elsewhere an event is taken regardless.
    """
    last = body[-1]
    if len(body) > 1:
        strategies = {query.strategy_of(variable_of(last))}
    else:
        strategies = {query.strategy_of(group), query.strategy_of(group, inside=True)}
    if query.declarative or Strategy.SKIP_TILL_NEXT_MATCH not in strategies:
        return False
    summed = [e.argument for e in walk(c.expr) if isinstance(e, Aggregate) and e.rounds and e.argument is not None]
    if any(variable_of(last) in variables(argument) for argument in summed):
        # A condition that needs all events of a variable does not select single ones.
        return False
    read = [e.operand for e in walk(c.expr) if isinstance(e, InRound) and e.group == group]
    of_last = [e for operand in read for e in walk(operand) if variable_of(last) in variables(e)]
    if not isinstance(last, Repeat):
        return bool(of_last)
    # Other conditions on a list are tested when it is complete.
    if any(isinstance(e, Ref) and e.element is Element.FIRST for e in of_last):
        raise UnsupportedQuery(
            "a condition over all rounds that decides which event begins the list at the end of them", c.span
        )
    return False


def _body(query: BoundQuery, choice: Pattern) -> tuple[Body, _Absent]:
    (found,) = branches(choice) or (Branch(()),)
    if not found.components:
        raise UnsupportedQuery("a group whose rounds contradict themselves", choice.span)
    if not found.sequential or (found.sets and not query.declarative):
        raise UnsupportedQuery(
            "an AND in a group binds its parts in any order, an automaton only in one", query.pattern.span
        )
    for part in found.absent:
        if not (part.after and part.before):
            raise UnsupportedQuery("a NOT at the beginning or the end of the rounds of a group", part.body.span)
        if part.since is not None or part.silence is not None:
            raise UnsupportedQuery("a NOT with SINCE or FOR in a group", part.body.span)
    body = found.in_sequence
    if len(body) == 1 and isinstance(body[0], Repeat):
        raise UnsupportedQuery("a group of a single list, whose rounds nothing tells apart", body[0].span)
    return body, found.absent
