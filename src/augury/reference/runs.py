"""NFA^b runs over a sequence of components (SEMANTICS section 4, paper 001 section 3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from augury.ir.branches import Branch
from augury.ir.pattern import Event, Repeat, variable_of
from augury.reference.conditions import Conditions, ordered
from augury.reference.stream import Bindings, StreamEvent


@dataclass(frozen=True, slots=True)
class Run:
    """A run at the component `at`: awaiting its first event, or looping over further ones."""

    at: int
    bindings: Bindings
    looping: bool


def run_matches(given: Conditions, branch: Branch, events: Sequence[StreamEvent]) -> Iterator[Bindings]:
    """Every accepting run; what must be absent is not looked at."""
    automaton = Automaton(given, _in_order(branch), branch.order)
    runs: list[Run] = []
    for e in events:
        survivors: list[Run] = []
        for run in [*runs, Run(0, {}, looping=False)]:
            moved, matched = automaton.consume(run, e)
            survivors += moved
            yield from matched
        runs = survivors


@dataclass(frozen=True, slots=True)
class Automaton:
    """The states of one branch: one for each component, the looping state of an iterated one beside it."""

    given: Conditions
    components: tuple[Event | Repeat, ...]
    order: frozenset[tuple[str, str]]

    def consume(self, run: Run, e: StreamEvent) -> tuple[list[Run], list[Bindings]]:
        """The runs that `run` becomes on reading `e`, and the matches it completes."""
        if not self.given.within(run.bindings, e):
            return [], []
        taken = self.take(run.at, run.bindings, e)
        moved, matched = ([], []) if taken is None else self.after_take(run.at, taken)
        if run.bindings and self.given.may_ignore(run.bindings, e, taken=taken is not None):
            moved.append(run)
        # The proceed edge, constrained: it is followed only when the next component can begin with this event. Moving
        # on when neither take nor ignore is possible cannot save the run: whoever may not ignore the event here may
        # not ignore it there.
        if run.looping and self.may_proceed(run):
            begun = self.take(run.at + 1, run.bindings, e)
            if begun is not None:
                further, more = self.after_take(run.at + 1, begun)
                moved += further
                matched += more
        return moved, matched

    def take(self, at: int, bindings: Bindings, e: StreamEvent) -> Bindings | None:
        """The begin or take edge: `e` bound to the component, if it can be."""
        component = self.components[at]
        v = variable_of(component)
        earlier = bindings.get(v, ())
        if isinstance(component, Repeat) and component.high is not None and len(earlier) >= component.high:
            return None
        if not (self.given.fits(component, e) and ordered(self.order, bindings, v, e)):
            return None
        if earlier and not earlier[-1].precedes(e):
            return None
        return self.given.joins(bindings, v, e)

    def after_take(self, at: int, bindings: Bindings) -> tuple[list[Run], list[Bindings]]:
        """Where a run stands once the component holds the event."""
        component = self.components[at]
        last = at == len(self.components) - 1
        matched = [bindings] if last and self.is_whole(at, bindings) else []
        if isinstance(component, Repeat):
            return [Run(at, bindings, looping=True)], matched
        return ([] if last else [Run(at + 1, bindings, looping=False)]), matched

    def is_whole(self, at: int, bindings: Bindings) -> bool:
        """Whether the component's list may end here."""
        component = self.components[at]
        v = variable_of(component)
        low = component.low if isinstance(component, Repeat) else 1
        return len(bindings[v]) >= low and self.given.complete(bindings, (v,))

    def may_proceed(self, run: Run) -> bool:
        return run.at + 1 < len(self.components) and self.is_whole(run.at, run.bindings)


def _in_order(branch: Branch) -> tuple[Event | Repeat, ...]:
    """The components in the order they occur, which in an AND of overlapping SEQs is not the order written."""
    return branch.in_sequence
