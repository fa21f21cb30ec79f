"""NFA^b runs over a sequence of components (SEMANTICS section 4, paper 001 section 3)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from augury.ir.branches import Branch
from augury.ir.pattern import Event, Repeat, variable_of
from augury.ir.query import CountWindow
from augury.ir.terms import Strategy
from augury.reference.conditions import Conditions, ordered
from augury.reference.stream import Bindings, StreamEvent, by_partition


@dataclass(frozen=True, slots=True)
class Run:
    """A run at the component `at`, which waits for its first event or loops over further ones.

    It is `behind` a list when it has left the list before `at`, which could have held more.
    """

    at: int
    bindings: Bindings
    looping: bool = False
    behind: bool = False


def sub_streams(given: Conditions) -> list[Sequence[StreamEvent]]:
    """The parts of the stream that runs stay in; only under strict contiguity does one partition affect another."""
    strict = Strategy.STRICT_CONTIGUITY in given.query.strategies
    return [given.events] if strict else [*by_partition(given.events)]


def run_matches(given: Conditions, branch: Branch, events: Sequence[StreamEvent]) -> Iterator[Bindings]:
    """Every accepting run, before negated parts are checked."""
    automaton = Automaton(given, branch, _in_order(branch))
    runs: list[Run] = []
    for e in events:
        survivors: list[Run] = []
        for run in [*runs, Run(0, {})]:
            moved, matched = automaton.consume(run, e)
            survivors += moved
            yield from matched
        runs = survivors


@dataclass(frozen=True, slots=True)
class Automaton:
    """The states of one branch: one for each component, and a looping state for an iterated one.

    A list that may end is left at once, by a second run beside the one that goes on looping. That run proceeds when the
    next component can begin, which is the constrained proceed edge of the paper; until then it ignores what may lie
    between the list and the next component (SEMANTICS section 9).
    """

    given: Conditions
    branch: Branch
    components: tuple[Event | Repeat, ...]

    def consume(self, run: Run, e: StreamEvent) -> tuple[list[Run], list[Bindings]]:
        """The runs after reading `e`, and the matches it completes."""
        if self.over(run, e):
            return [], []
        taken = self.take(run.at, run.bindings, e)
        moved, matched = ([], []) if taken is None else self.after_take(run.at, taken)
        if run.bindings and self.may_ignore(run, e, taken=taken is not None):
            moved.append(run)
        return moved, matched

    def over(self, run: Run, e: StreamEvent) -> bool:
        """Whether `e`, and so every later event, is outside the window; count windows are per partition."""
        if isinstance(self.given.query.window, CountWindow) and not self.given.agrees(run.bindings, e):
            return False
        return not (self.given.within(run.bindings, e) and self.given.near(run.bindings, e))

    def take(self, at: int, bindings: Bindings, e: StreamEvent) -> Bindings | None:
        """The begin or take edge: `e` bound to the component, if it can be."""
        component = self.components[at]
        v = variable_of(component)
        earlier = bindings.get(v, ())
        if not (self.given.fits(component, e) and ordered(self.branch.order, bindings, v, e)):
            return None
        if not (self.given.near(bindings, e) and self.given.outlasts(self.branch, bindings, v, e)):
            return None
        if earlier and not earlier[-1].precedes(e):
            return None
        if not self.given.goes_on(component, bindings, e):
            return None
        return self.given.joins(bindings, v, e)

    def after_take(self, at: int, bindings: Bindings) -> tuple[list[Run], list[Bindings]]:
        """The runs and matches after the component took an event."""
        component = self.components[at]
        last = at == len(self.components) - 1
        whole = self.is_whole(at, bindings)
        # A full list has left its loop, so its run only waits for the next component.
        grows = isinstance(component, Repeat) and len(bindings[variable_of(component)]) != component.high
        runs = [Run(at, bindings, looping=True)] if grows else []
        if last:
            return runs, [bindings] if whole else []
        if whole:
            runs.append(Run(at + 1, bindings, behind=grows))
        return runs, []

    def is_whole(self, at: int, bindings: Bindings) -> bool:
        """Whether the component's list may end here."""
        component = self.components[at]
        v = variable_of(component)
        low = component.low if isinstance(component, Repeat) else 1
        return len(bindings[v]) >= low and self.given.complete(bindings, (v,))

    def may_ignore(self, run: Run, e: StreamEvent, *, taken: bool) -> bool:
        """Whether `e` may lie in the gap that the run is in."""
        own = self.given.query.strategy_of(variable_of(self.components[run.at]), inside=run.looping)
        if not run.behind:
            return self.given.may_ignore(own, run.bindings, e, taken=taken)
        component = self.components[run.at - 1]
        assert isinstance(component, Repeat)
        if component.reluctant:
            return self.given.may_ignore(own, run.bindings, e, taken=taken)
        if self.could_grow(run, component, e):
            return False
        inside = self.given.query.strategy_of(component.body.variable, inside=True)
        if own is inside is Strategy.SKIP_TILL_NEXT_MATCH:
            # The event that ends the list may also be skipped, so that a later event ends it.
            return True
        return self.given.may_ignore(own, run.bindings, e, taken=taken)

    def could_grow(self, run: Run, component: Repeat, e: StreamEvent) -> bool:
        """Whether the list that the run has left should have taken `e`: lists that skip no events take all they can."""
        last = run.bindings[component.body.variable][-1]
        match self.given.query.strategy_of(component.body.variable, inside=True):
            case Strategy.SKIP_TILL_ANY_MATCH:
                return False
            case Strategy.STRICT_CONTIGUITY:
                reachable = e.index == last.index + 1
            case Strategy.PARTITION_CONTIGUITY:
                reachable = e.partition == last.partition and e.place == last.place + 1
            case Strategy.SKIP_TILL_NEXT_MATCH:
                reachable = True
        return reachable and self.take(run.at - 1, run.bindings, e) is not None


def _in_order(branch: Branch) -> tuple[Event | Repeat, ...]:
    """The components in order of occurrence, which in an AND of overlapping SEQs differs from the written order."""
    return branch.in_sequence
