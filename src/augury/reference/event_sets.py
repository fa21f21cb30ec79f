"""Sequenced event sets (SEMANTICS section 5; SESExec and ConsumeEvent of paper 002, section 4.3).

The paper's sequence of sets is generalised to any partial order of the components: a variable can be bound once all
before it are bound, and a list grows until something after it has begun. For a sequence of sets this is the paper's
automaton.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from augury.ir.branches import Branch
from augury.ir.pattern import Event, Repeat, variable_of
from augury.reference.conditions import Conditions, ordered
from augury.reference.stream import Bindings, StreamEvent


@dataclass(frozen=True, slots=True)
class Instances:
    """The SES automaton of one branch; an instance is a mapping from variables to its bound events."""

    given: Conditions
    branch: Branch

    def execute(self, events: Sequence[StreamEvent]) -> Iterator[tuple[Bindings, bool]]:
        """The maximal matches, each with whether its window has expired; until then it may still grow."""
        alive: list[Bindings] = []
        for e in events:
            survivors: list[Bindings] = []
            for instance in [*alive, {}]:
                if self.given.within(instance, e) and self.given.near(instance, e):
                    moved = self.consume(instance, e)
                    survivors += moved
                    ended = not moved
                else:
                    ended = True
                if ended and self.accepts(instance):
                    yield instance, True
            alive = survivors
        for instance in alive:
            if self.accepts(instance):
                yield instance, False

    def consume(self, instance: Bindings, e: StreamEvent) -> list[Bindings]:
        """The instances after reading `e`, one for each transition that fires."""
        fired = [joined for c in self.branch.components if (joined := self.transition(instance, c, e)) is not None]
        if instance and self.given.may_ignore(self.given.query.strategy, instance, e, taken=bool(fired)):
            return [*fired, instance]
        return fired

    def transition(self, instance: Bindings, component: Event | Repeat, e: StreamEvent) -> Bindings | None:
        v = variable_of(component)
        if v in instance and not (isinstance(component, Repeat) and self.grows(instance, component)):
            return None
        if v not in instance and not all(self.enough(instance, u) for u in self.before(v)):
            return None
        if not (self.given.fits(component, e) and ordered(self.branch.order, instance, v, e)):
            return None
        if v in instance and not instance[v][-1].precedes(e):
            return None
        if not self.given.outlasts(self.branch, instance, v, e) or not self.given.goes_on(component, instance, e):
            return None
        open_before = self.open_lists(instance)
        joined = self.given.joins(instance, v, e, open_lists=open_before)
        if joined is None:
            return None
        open_after = self.open_lists(joined)
        closed = [u for u in (*open_before, v) if u not in open_after]
        return joined if self.given.complete(joined, closed, open_lists=open_after) else None

    def accepts(self, instance: Bindings) -> bool:
        return all(self.enough(instance, v) for v in self.branch.variables) and self.given.complete(
            instance, self.branch.variables
        )

    def before(self, variable: str) -> set[str]:
        return {u for u, v in self.branch.order if v == variable}

    def enough(self, instance: Bindings, variable: str) -> bool:
        """Whether `variable` holds its minimum number of events."""
        component = next(c for c in self.branch.components if variable_of(c) == variable)
        low = component.low if isinstance(component, Repeat) else 1
        return len(instance.get(variable, ())) >= low

    def grows(self, instance: Bindings, component: Repeat) -> bool:
        """Whether a list may take another event: nothing after it has begun, and it is not full."""
        v = component.body.variable
        full = component.high is not None and len(instance[v]) >= component.high
        return not full and not any(u == v and w in instance for u, w in self.branch.order)

    def open_lists(self, instance: Bindings) -> list[str]:
        """The lists of `instance` that may still grow."""
        return [
            variable_of(c)
            for c in self.branch.components
            if isinstance(c, Repeat) and variable_of(c) in instance and self.grows(instance, c)
        ]
