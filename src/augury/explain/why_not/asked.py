"""The question of `why_not`: a query, a part of its stream, and events that variables must bind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from augury.ir.branches import Branch, branches
from augury.ir.pattern import Event, Repeat, components, event_of, variable_of
from augury.ir.predicate import Conjunct
from augury.ir.query import BoundQuery
from augury.options import Options
from augury.reference.conditions import Conditions
from augury.reference.stream import Bindings, StreamEvent

MAX_TRIED_EVENTS = 50_000
"""Events that each search tries before it stops, which takes about a second."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question about `events`, which are in stream order.

    `pinned` are the variables restricted to given events: a single one must take its event, a list exactly its events.
    """

    query: BoundQuery
    events: Sequence[StreamEvent]
    pinned: Mapping[str, tuple[StreamEvent, ...]]
    options: Options
    effort: int = MAX_TRIED_EVENTS

    def conditions(self, events: Sequence[StreamEvent] | None = None) -> Conditions:
        """The conditions of the query over these events, by default all."""
        options = replace(self.options, max_partial_matches=self.effort)
        return Conditions.of(self.query, self.events if events is None else events, options)

    @property
    def unlimited(self) -> Conditions:
        """Conditions for a search that limits its own effort."""
        options = replace(self.options, max_partial_matches=2**63 - 1)
        return Conditions.of(self.query, self.events, options)

    @property
    def positive(self) -> tuple[str, ...]:
        """The variables that a match binds, in pattern order."""
        return tuple(v.name for v in self.query.variables if not v.negated)

    @property
    def component_of(self) -> dict[str, Event | Repeat]:
        """The component that binds each positive variable, as it was written."""
        return {variable_of(c): c for c in components(self.query.pattern, negated=False)}

    def every_branch(self) -> tuple[Branch, ...]:
        """The branches of the pattern that bind something."""
        return tuple(b for b in branches(self.query.pattern) if b.components)

    def open_branches(self) -> dict[Branch, Branch]:
        """The branches that can bind the pinned events, with lists of their length, and the branches as written."""
        return {pinned: b for b in self.every_branch() if (pinned := self._pin(b)) is not None}

    def _pin(self, branch: Branch) -> Branch | None:
        if not self.pinned.keys() <= set(branch.variables):
            return None
        found: list[Event | Repeat] = []
        for component in branch.components:
            v = variable_of(component)
            if v not in self.pinned:
                found.append(component)
                continue
            size = len(self.pinned[v])
            if not takes(component, size):
                return None
            found.append(replace(component, low=size, high=size) if isinstance(component, Repeat) else component)
        return replace(branch, components=tuple(found))

    def offered(self, variable: str) -> Sequence[StreamEvent]:
        """The events that a variable may take, before any test."""
        return self.pinned.get(variable, self.events)

    def one_event(self, variable: str, given: Conditions) -> list[Conjunct]:
        """The conditions on one event of a variable alone."""
        return [c for c in given.conjuncts if c.variables == (variable,) and c.one_event]

    def several_events(self, given: Conditions) -> list[Conjunct]:
        """The conditions over several events of the match."""
        positive = set(self.positive)
        return [
            c
            for c in given.conjuncts
            if c.variables and set(c.variables) <= positive and not (len(c.variables) == 1 and c.one_event)
        ]

    def is_asked_for(self, match: Bindings) -> bool:
        """Whether a match binds the pinned events."""
        return all(match.get(v) == events for v, events in self.pinned.items())


def takes(component: Event | Repeat, size: int) -> bool:
    """Whether a component can bind that many events.

    >>> takes(Event("a"), 1), takes(Repeat(Event("b"), 2, None), 1)
    (True, False)
    """
    if isinstance(component, Event):
        return size == 1
    return component.low <= size and (component.high is None or size <= component.high)


def type_text(component: Event | Repeat) -> str:
    """The types of a component, in words."""
    types = event_of(component).types
    return " or ".join(f"`{t}`" for t in types) or "any type"
