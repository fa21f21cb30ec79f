"""Conditions for an event to join a match: type, order, window, partition and predicates."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from augury.budget import too_many_partial_matches
from augury.ir.branches import Branch
from augury.ir.evaluate import Bindings as Rows
from augury.ir.evaluate import Row, holds
from augury.ir.normal_form import normal_conjuncts
from augury.ir.pattern import Event, Repeat, event_of
from augury.ir.predicate import Conjunct
from augury.ir.query import BoundQuery, CountWindow, TimeWindow
from augury.ir.terms import Strategy
from augury.options import Options
from augury.reference.stream import Bindings, Partition, StreamEvent

VISITS_PER_CHECK = 1 << 17
"""Bound events visited between two checks of time and memory; some 20 ms."""


@dataclass(slots=True)
class Budget:
    """Counts partial matches, and raises an error when there are too many."""

    options: Options
    partial: int = 0
    visits: int = 0

    def __post_init__(self) -> None:
        if self.options.budget is not None:
            self.options.budget.measure_process()

    def visit(self, bindings: Bindings) -> None:
        """Count the bound events that an event is compared with, which may be thousands."""
        self.visits += 1 + sum(map(len, bindings.values()))
        if self.visits > VISITS_PER_CHECK and self.options.budget is not None:
            self.visits = 0
            self.options.budget.check()
            self.options.budget.check_process("partial matches")

    def spend(self, bindings: Bindings) -> None:
        """Count an event tested against a partial match."""
        self.partial += 1
        self.visit(bindings)
        if self.partial > self.options.max_partial_matches:
            raise too_many_partial_matches(
                self.options.max_partial_matches,
                "partial matches",
                "shorten WITHIN, add predicates, bound the iteration (`{1,5}`), use a stricter strategy",
            )


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conditions of one query over one part of its stream; groups are expanded to `rounds`.

    Lists in `unfinished` never complete, so that a partial match may end within them (OUTPUT TIMEOUTS).
    """

    query: BoundQuery
    events: Sequence[StreamEvent]
    conjuncts: tuple[Conjunct, ...]
    options: Options
    budget: Budget
    unfinished: frozenset[str] = frozenset()
    rounds: Mapping[str, int] = field(default_factory=dict)
    _candidates: dict[Event | Repeat, dict[Partition, list[StreamEvent]]] = field(default_factory=dict, init=False)

    @classmethod
    def of(cls, query: BoundQuery, events: Sequence[StreamEvent], options: Options) -> Conditions:
        return cls(query, events, normal_conjuncts(query.conjuncts, query.pattern_order), options, Budget(options))

    def fits(self, component: Event | Repeat, e: StreamEvent) -> bool:
        """Whether `e` has a type of the component; without a type column, every event fits every type."""
        types = event_of(component).types
        return not types or self.query.schema.type is None or e.type in types

    def within(self, bindings: Bindings, e: StreamEvent) -> bool:
        """Whether `e` and the bound events fit in one window."""
        match self.query.window:
            case None:
                return True
            case TimeWindow(ticks):
                return all(abs(e.time - f.time) <= ticks for f in bound(bindings))
            case CountWindow(n):
                return all(abs(e.place - f.place) < n for f in bound(bindings))

    def agrees(self, bindings: Bindings, e: StreamEvent) -> bool:
        """Whether `e` is in the partition of the bound events."""
        return e.partition is not None and all(e.partition == f.partition for f in bound(bindings))

    def joins(
        self, bindings: Bindings, variable: str, e: StreamEvent, *, open_lists: Collection[str] = ()
    ) -> Bindings | None:
        """Add `e` to `variable` in `bindings`; None unless the window, the partition and the predicates allow it.

        All conjuncts that can be decided now are tested: those whose variables are all bound, and which do not wait for
        a list that may still grow (`variable` itself, and `open_lists`).
        """
        self.budget.spend(bindings)
        if not (self.agrees(bindings, e) and self.within(bindings, e)):
            return None
        earlier = bindings.get(variable, ())
        joined = {**bindings, variable: (*earlier, e)}
        growing = {variable, *open_lists}
        for c in self.conjuncts:
            if variable not in c.variables or not set(c.variables) <= joined.keys() or waits(c, joined, growing):
                continue
            if len(joined[variable]) == c.decided_at.get(variable, 1):
                # For a single event, the first one, or the last numbered one: conjuncts on earlier elements are decided
                # now.
                if not self.holds(c, joined):
                    return None
            elif variable in c.each and not self.holds(c, joined, element=(variable, len(earlier))):
                return None
        return joined

    def without_window(self) -> Conditions:
        """The same conditions without WITHIN."""
        return replace(self, query=replace(self.query, window=None))

    def near(self, bindings: Bindings, e: StreamEvent) -> bool:
        """Whether `e`, later than all bound events, is as close to them as WITHIN ... EACH requires."""
        each = self.query.each
        return each is None or not bindings or e.time - max(f.time for f in bound(bindings)) <= each

    def spaced(self, bindings: Bindings) -> bool:
        """Whether consecutive events of a complete match are as close as WITHIN ... EACH requires."""
        each = self.query.each
        return each is None or all(b - a <= each for a, b in pairwise(sorted(f.time for f in bound(bindings))))

    def ends(self, component: Event | Repeat, bindings: Bindings, e: StreamEvent) -> bool:
        """Whether `e` ends the component's list (UNTIL), so that it is not an element."""
        until = component.until if isinstance(component, Repeat) else None
        if until is None or not self.fits(until, e) or not self.agrees(bindings, e):
            return False
        known = {**bindings, until.variable: (e,)}
        return all(
            self.holds(c, known)
            for c in self.conjuncts
            if until.variable in c.variables and set(c.variables) <= known.keys()
        )

    def goes_on(self, component: Event | Repeat, bindings: Bindings, e: StreamEvent) -> bool:
        """Whether UNTIL allows `e` as the next element, since no event before it has ended the list."""
        if not isinstance(component, Repeat) or component.until is None:
            return True
        v = component.body.variable
        # Conditions on the event that ends the list do not name the list.
        before = {u: events for u, events in bindings.items() if u != v}
        if self.ends(component, before, e):
            return False
        first = bindings.get(v, ())[:1]
        between = (f for f in self.events if f.precedes(e) and all(one.precedes(f) for one in first))
        return not first or not any(f.partition == e.partition and self.ends(component, before, f) for f in between)

    def outlasts(self, branch: Branch, bindings: Bindings, variable: str, e: StreamEvent) -> bool:
        """Whether `e`, bound to `variable`, comes after every silence (NOT ... FOR) before it."""
        for part in branch.absent:
            if part.silence is not None and variable in part.before:
                earlier = [f.time for v in part.after for f in bindings.get(v, ())]
                if earlier and e.time <= max(earlier) + self.query.ticks(part.silence):
                    return False
        return True

    def may_ignore(self, strategy: Strategy, bindings: Bindings, e: StreamEvent, *, taken: bool) -> bool:
        """The ignore edge, in which alone the strategies differ; `taken` if `e` can also be bound."""
        match strategy:
            case Strategy.STRICT_CONTIGUITY:
                return False
            case Strategy.PARTITION_CONTIGUITY:
                return e.partition != next(bound(bindings)).partition
            case Strategy.SKIP_TILL_NEXT_MATCH:
                return not taken
            case Strategy.SKIP_TILL_ANY_MATCH:
                return True

    def complete(self, bindings: Bindings, variables: Collection[str], *, open_lists: Collection[str] = ()) -> bool:
        """Whether the conjuncts hold that waited for the lists of `variables` to be complete."""
        return all(
            self.holds(c, bindings)
            for c in self.conjuncts
            if set(c.variables) <= bindings.keys()
            and waits(c, bindings, variables)
            and not waits(c, bindings, (*open_lists, *self.unfinished))
        )

    def holds(self, c: Conjunct, bindings: Bindings, element: tuple[str, int] | None = None) -> bool:
        rounds: dict[str, list[Row]] = {group: [{}] * number for group, number in self.rounds.items()}
        rows: Rows = {**{v: [e.values for e in bindings[v]] for v in c.variables}, **rounds}
        elements = {} if element is None else dict([element])
        return holds(c, rows, elements=elements, functions=self.options.callables)

    def relevant(self, component: Event | Repeat, e: StreamEvent) -> bool:
        """Whether type and predicates on one event alone allow `e` for the component."""
        v = event_of(component).variable
        return self.fits(component, e) and all(
            self.holds(c, {v: (e,)}) for c in self.conjuncts if c.variables == (v,) and c.one_event
        )

    def candidates(self, component: Event | Repeat, bindings: Bindings) -> Sequence[StreamEvent]:
        """The events that can still be bound to the component: relevant, of the partition, inside the window."""
        if component not in self._candidates:
            groups: defaultdict[Partition, list[StreamEvent]] = defaultdict(list)
            for e in self.events:
                if e.partition is not None and self.relevant(component, e):
                    groups[e.partition].append(e)
            self._candidates[component] = dict(groups)
        groups_of = self._candidates[component]
        present = list(bound(bindings))
        if not present:
            return sorted((e for group in groups_of.values() for e in group), key=lambda e: e.index)
        group = groups_of.get(present[0].partition, [])
        if not isinstance(self.query.window, TimeWindow):
            return group
        earliest = max(f.time for f in present) - self.query.window.ticks
        latest = min(f.time for f in present) + self.query.window.ticks
        first = bisect_left(group, earliest, key=lambda e: e.time)
        return group[first : bisect_right(group, latest, key=lambda e: e.time)]


def waits(c: Conjunct, bindings: Bindings, lists: Collection[str]) -> bool:
    """Whether `c` is undecided until one of `lists` is complete, or holds an element that `c` numbers (`b[3]`)."""
    return not c.whole.isdisjoint(lists) or any(
        v in lists and len(bindings[v]) < number for v, number in c.decided_at.items()
    )


def bound(bindings: Bindings) -> Iterator[StreamEvent]:
    """All events of a match."""
    for events in bindings.values():
        yield from events


def ordered(order: Iterable[tuple[str, str]], bindings: Bindings, variable: str, e: StreamEvent) -> bool:
    """Whether `e`, bound to `variable`, is in the order of SEQ."""
    for u, v in order:
        if v == variable and not all(f.precedes(e) for f in bindings.get(u, ())):
            return False
        if u == variable and not all(e.precedes(f) for f in bindings.get(v, ())):
            return False
    return True
