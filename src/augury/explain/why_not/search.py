"""Search for events that can be in one match: by key, by order and window, and by all conditions."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from augury.ir.branches import Branch, in_order
from augury.ir.pattern import Event, Repeat, variable_of
from augury.ir.query import CountWindow, TimeWindow, Window
from augury.reference.conditions import Conditions, bound, ordered
from augury.reference.stream import Bindings, Partition, StreamEvent

Domain: TypeAlias = "Mapping[str, Sequence[StreamEvent]]"
"""The events that each variable may still take, in stream order."""


@dataclass(slots=True)
class Effort:
    """Counts the events that a search has tried, up to a limit."""

    limit: int
    spent: int = 0

    @property
    def exhausted(self) -> bool:
        return self.spent >= self.limit


def least(component: Event | Repeat) -> int:
    """How many events a component binds at least."""
    return component.low if isinstance(component, Repeat) else 1


def most(component: Event | Repeat) -> int | None:
    """How many events a component binds at most; None for any number."""
    return component.high if isinstance(component, Repeat) else 1


def by_key(events: Sequence[StreamEvent]) -> dict[Partition, list[StreamEvent]]:
    """The events of each partition; events without a key are in none."""
    groups: defaultdict[Partition, list[StreamEvent]] = defaultdict(list)
    for e in events:
        if e.partition is not None:
            groups[e.partition].append(e)
    return groups


def enough(branch: Branch, domain: Domain) -> bool:
    """Whether every component has as many events to take as it needs."""
    return all(len(domain[variable_of(c)]) >= least(c) for c in branch.components)


def sharing_a_key(branch: Branch, domain: Domain) -> list[Domain]:
    """The domain of each partition in which every component has enough events."""
    groups = {v: by_key(events) for v, events in domain.items()}
    partitions = dict.fromkeys(p for group in groups.values() for p in group)
    domains = [{v: group.get(p, []) for v, group in groups.items()} for p in partitions]
    return [d for d in domains if enough(branch, d)]


def in_sequence(branch: Branch, domain: Domain, window: Window | None) -> Domain:
    """The events of one partition that some assignment in order and inside the window binds.

    Conditions are not tested, nor whether two variables without an order take the same event. For each stretch of the
    stream that fits in a window, variables take their earliest events from the left and their latest ones from the
    right; the events in between are possible.
    """
    events = sorted({e for group in domain.values() for e in group}, key=lambda e: e.index)
    if not events:
        return domain
    line = _OrderedEvents(events)
    order = in_order(branch.variables, branch.order)
    places = {v: [line.place[e] for e in domain[v]] for v in order}
    lows = {variable_of(c): least(c) for c in branch.components}
    before = {v: [u for u, w in branch.order if w == v] for v in order}
    after = {v: [w for u, w in branch.order if u == v] for v in order}
    kept = {v: [0] * (len(domain[v]) + 1) for v in order}
    for low, high in line.stretches(window):
        first: dict[str, int] = {}
        ends: dict[str, int] = {}
        for v in order:
            first[v] = max([low, *(ends[u] for u in before[v])])
            end = line.earliest(places[v], first[v], high, lows[v])
            if end is None:
                break
            ends[v] = end
        if len(ends) < len(order):
            continue
        begins: dict[str, int] = {}
        for v in reversed(order):
            last = min([high, *(begins[w] for w in after[v])])
            begins[v] = line.latest(places[v], last, lows[v])
            kept[v][bisect_left(places[v], first[v])] += 1
            kept[v][bisect_left(places[v], last)] -= 1
    return {v: _covered(domain[v], kept[v]) for v in domain}


def _covered(events: Sequence[StreamEvent], steps: Sequence[int]) -> list[StreamEvent]:
    """The events at which the running sum of `steps` is positive."""
    found, depth = [], 0
    for e, step in zip(events, steps, strict=False):
        depth += step
        if depth:
            found.append(e)
    return found


class _OrderedEvents:
    """Events of one partition in order, addressed by position."""

    def __init__(self, events: Sequence[StreamEvent]) -> None:
        self.events = events
        self.place = {e: k for k, e in enumerate(events)}
        self._next = [0] * len(events)
        self._same = [0] * len(events)
        for k, e in enumerate(events):
            self._same[k] = self._same[k - 1] if k and events[k - 1].key == e.key else k
        for k in reversed(range(len(events))):
            concurrent = k + 1 < len(events) and events[k + 1].key == events[k].key
            self._next[k] = self._next[k + 1] if concurrent else k + 1

    def stretches(self, window: Window | None) -> Iterator[tuple[int, int]]:
        """The ranges of positions that fit in one window, for every position where one may begin."""
        if window is None:
            yield 0, len(self.events)
            return
        reached = 0
        for k, e in enumerate(self.events):
            match window:
                case TimeWindow(ticks):
                    end = bisect_right(self.events, e.time + ticks, lo=k, key=lambda f: f.time)
                case CountWindow(n):
                    end = bisect_left(self.events, e.place + n, lo=k, key=lambda f: f.place)
            # A range that ends where an earlier one does is contained in it.
            if end > reached:
                reached = end
                yield k, end

    def earliest(self, places: Sequence[int], start: int, end: int, count: int) -> int | None:
        """The first position for what follows, if the first `count` events from `start` on are taken.

        None if there are fewer before `end`.
        """
        for _ in range(count):
            k = bisect_left(places, start)
            if k == len(places) or places[k] >= end:
                return None
            start = self._next[places[k]]
        return start

    def latest(self, places: Sequence[int], end: int, count: int) -> int:
        """The end of what comes before, if the last `count` events before `end` are taken; there must be as many."""
        for _ in range(count):
            end = self._same[places[bisect_left(places, end) - 1]]
        return end


def assignments(given: Conditions, branch: Branch, domain: Domain, effort: Effort) -> Iterator[Bindings]:
    """Every assignment of events of the domain to the components that satisfies order, window, key and conditions."""
    if not branch.components:
        yield {}
        return
    groups = {v: by_key(events) for v, events in domain.items()}
    start: Bindings = {}
    stack = [(0, start, iter(_choices(given, groups, domain, branch.components[0], start)))]
    while stack and not effort.exhausted:
        k, bindings, events = stack[-1]
        e = next(events, None)
        if e is None:
            stack.pop()
            continue
        component = branch.components[k]
        effort.spent += 1
        joined = joined_by(given, branch, bindings, component, e)
        if joined is None:
            continue
        size, high, v = len(joined[variable_of(component)]), most(component), variable_of(component)
        if high is None or size < high:
            stack.append((k, joined, iter(_choices(given, groups, domain, component, joined))))
        if size >= least(component) and given.complete(joined, (v,)):
            if k + 1 == len(branch.components):
                yield joined
            else:
                later = _choices(given, groups, domain, branch.components[k + 1], joined)
                stack.append((k + 1, joined, iter(later)))


def joined_by(
    given: Conditions, branch: Branch, bindings: Bindings, component: Event | Repeat, e: StreamEvent
) -> Bindings | None:
    """The bindings with `e` added to the component, if it may be added."""
    v = variable_of(component)
    if not in_place(branch, bindings, v, e):
        return None
    return given.joins(bindings, v, e)


def in_place(branch: Branch, bindings: Bindings, variable: str, e: StreamEvent) -> bool:
    """Whether `e` is a new event, in the order of the pattern, and later than its list so far."""
    if any(e is f for f in bound(bindings)) or not ordered(branch.order, bindings, variable, e):
        return False
    return all(f.precedes(e) for f in bindings.get(variable, ())[-1:])


def _choices(
    given: Conditions,
    groups: Mapping[str, Mapping[Partition, Sequence[StreamEvent]]],
    domain: Domain,
    component: Event | Repeat,
    bindings: Bindings,
) -> Sequence[StreamEvent]:
    """The events of the domain with the key of the bound ones that fit in one window with them."""
    v = variable_of(component)
    present = list(bound(bindings))
    if not present:
        return domain[v]
    group = groups[v].get(present[0].partition, [])
    if not isinstance(given.query.window, TimeWindow):
        return group
    first = bisect_left(group, max(f.time for f in present) - given.query.window.ticks, key=lambda e: e.time)
    last = bisect_right(group, min(f.time for f in present) + given.query.window.ticks, key=lambda e: e.time)
    return group[first:last]
