"""The nearest miss: the partial match that lacks the least, and the reason why it fails.

A partial match binds some components and, with each, everything that the pattern puts before it; all conditions on what
it binds hold. The one that lacks the fewest components is the nearest; among several, the one whose next event fails
latest in the order type, conditions on one event, key, order, window, conditions over several events.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import TypeAlias

from augury.explain.why_not.asked import Question, type_text
from augury.explain.why_not.result import FailedCondition, NearMiss
from augury.explain.why_not.search import Effort, assignments, by_key, in_place, least
from augury.explain.why_not.steps import Findings
from augury.explain.why_not.words import duration_words, failing_choice, read_values, window_words
from augury.ir.branches import Branch
from augury.ir.pattern import Event, Repeat, variable_of
from augury.ir.predicate import Conjunct
from augury.ir.query import BoundQuery, CountWindow, TimeWindow
from augury.ir.terms import Strategy
from augury.reference.any_match import occurrence
from augury.reference.conditions import Conditions, bound
from augury.reference.find import positive_matches
from augury.reference.stream import Bindings, StreamEvent

CHECKS = ("type", "conditions on one event", "key", "order", "window", "conditions over several events")
"""The tests of the next event of a partial match, in this order; they are also names of steps."""

MIN_TRIED_EVENTS = 1_000
"""Events that each search for a partial match tries at least, however many were tried before."""

Score: TypeAlias = "tuple[int, int, int, int]"
"""How near a miss is: events of an unfinished list, checks passed, then conditions and ticks missing, negated."""


def nearest_miss(question: Question, found: Findings) -> NearMiss | None:
    """The nearest miss; None where there is a match, or where no events are in question."""
    if found.steps[-1].events:
        return None
    given = question.unlimited
    if found.by_strategy is not None:
        return _rejected(given, *found.by_strategy)
    if found.by_conditions is not None:
        return _skipped_event(question, *found.by_conditions)
    if found.steps[-1].name == "rows":
        return None
    constant = [c for c in given.conjuncts if not c.variables and not given.holds(c, {})]
    if constant:
        failed = tuple(FailedCondition(str(c), {}) for c in constant)
        return NearMiss({}, question.positive, None, (), "conditions on one event", "it is never true", failed)
    miss = _unfinished(question, given)
    return miss if all(step.exact for step in found.steps) else replace(miss, exact=False)


def _rejected(given: Conditions, branch: Branch, match: Bindings) -> NearMiss:
    """The miss of a match of the positive components that a negated part rejects."""
    for part in branch.absent:
        occurs = occurrence(given, part, match)
        if occurs is not None:
            negated = {v: events for v, events in occurs.items() if v not in match}
            rows = tuple(e.row for e in bound(negated))
            return NearMiss(_rows(match), (), ", ".join(negated), rows, "negation", f"there is {part.body}")
    raise AssertionError("a match that nothing rejects is no miss")


def _skipped_event(question: Question, branch: Branch, match: Bindings) -> NearMiss:
    """The miss of a match that satisfies all conditions, but skips an event that the strategy may not skip.

    That event is the first in whose presence the match is not selected: runs read a stream in order, so later events
    do not matter.
    """
    written = question.open_branches()[branch]
    mine = set(bound(match))
    others = [e for e in question.events if e not in mine]

    def selected(count: int) -> bool:
        events = sorted([*mine, *others[:count]], key=lambda e: e.index)
        return any(m == match for m in positive_matches(question.conditions(events), written))

    low, high = 0, len(others)
    while low < high:
        middle = (low + high) // 2
        if selected(middle + 1):
            low = middle + 1
        else:
            high = middle
    if low == len(others):
        raise AssertionError("a match that the strategy selects is no miss")
    return NearMiss(_rows(match), (), None, (others[low].row,), "strategy", _why_kept(question.query.strategy))


def _why_kept(strategy: Strategy) -> str:
    match strategy:
        case Strategy.STRICT_CONTIGUITY:
            return "strict_contiguity passes over no event"
        case Strategy.PARTITION_CONTIGUITY:
            return "partition_contiguity passes over no event of the same key"
        case Strategy.SKIP_TILL_NEXT_MATCH:
            return "skip_till_next_match takes the first event that it can"
        case Strategy.SKIP_TILL_ANY_MATCH:
            return "skip_till_any_match passes over any event"


# -- partial matches ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Miss:
    """A partial match, its next component, and the event that came nearest to it."""

    score: Score
    branch: Branch
    bindings: Bindings
    component: Event | Repeat
    candidate: StreamEvent | None
    check: int
    conjuncts: tuple[Conjunct, ...]
    too_short: bool = False


class _Relevant:
    """The events that have the type of each component and pass its own conditions, all of them and by key.

    For a component without any, `failing` has the nearest event, the check that it fails, and the failed conditions.
    """

    def __init__(self, question: Question, given: Conditions, branches: Sequence[Branch]) -> None:
        components = {variable_of(c): c for b in branches for c in b.components}
        self.events = {v: [e for e in question.offered(v) if given.relevant(c, e)] for v, c in components.items()}
        self.failing = {v: _failing(question, given, components[v]) for v, events in self.events.items() if not events}
        self._by_key = {v: by_key(events) for v, events in self.events.items()}
        self._with_key = {v: [e for e in events if e.partition is not None] for v, events in self.events.items()}

    def of_key(self, variable: str, bindings: Bindings) -> Sequence[StreamEvent]:
        """The relevant events with the key of the bound events."""
        first = next(bound(bindings), None)
        return self._with_key[variable] if first is None else self._by_key[variable].get(first.partition, [])


def _failing(
    question: Question, given: Conditions, component: Event | Repeat
) -> tuple[StreamEvent | None, int, tuple[Conjunct, ...]]:
    """The nearest event for a component without relevant events, the check that it fails, and the failed conditions."""
    v = variable_of(component)
    fitting = [e for e in question.offered(v) if given.fits(component, e)]
    if not fitting:
        return question.pinned[v][0] if v in question.pinned else None, 0, ()
    tests = question.one_event(v, given)
    failures = [(e, tuple(c for c in tests if not given.holds(c, {v: (e,)}))) for e in fitting]
    e, failed = min(failures, key=lambda item: len(item[1]))
    return e, 1, failed


def _unfinished(question: Question, given: Conditions) -> NearMiss:
    """The partial match that lacks the fewest components."""
    branches = list(question.open_branches())
    relevant = _Relevant(question, given, branches)
    effort = Effort(question.effort)
    for missing in range(1, max(len(b.components) for b in branches) + 1):
        best: _Miss | None = None
        for branch, part in _parts(branches, missing):
            later = _next_components(branch, part.variables)
            nearest = max(_ceiling(given, c, relevant) for c in later)
            # Even where an earlier search has stopped, this one tries the first events.
            own = Effort(max(effort.limit - effort.spent, MIN_TRIED_EVENTS))
            for bindings in assignments(given, part, {v: relevant.events[v] for v in part.variables}, own):
                for component in later:
                    for miss in _grown(given, branch, bindings, component, relevant, own):
                        best = miss if best is None or miss.score > best.score else best
                if best is not None and best.score >= nearest:
                    break
            effort.spent += own.spent
        if best is not None:
            return _near_miss(question, given, best, exact=not effort.exhausted)
    raise AssertionError("the empty match lacks no more than everything")


def _parts(branches: Sequence[Branch], missing: int) -> Iterator[tuple[Branch, Branch]]:
    """The branches with their parts that lack `missing` components; a component comes with all those before it."""
    for branch in branches:
        size = len(branch.components) - missing
        for chosen in combinations(branch.components, size) if size >= 0 else ():
            names = {variable_of(c) for c in chosen}
            if not any(v in names and u not in names for u, v in branch.order):
                order = frozenset(pair for pair in branch.order if names.issuperset(pair))
                yield branch, replace(branch, components=chosen, order=order)


def _next_components(branch: Branch, known: Collection[str]) -> list[Event | Repeat]:
    """The components that can be bound next."""
    return [
        c
        for c in branch.components
        if variable_of(c) not in known and all(u in known for u, v in branch.order if v == variable_of(c))
    ]


def _ceiling(given: Conditions, component: Event | Repeat, relevant: _Relevant) -> Score:
    """The greatest score of an event that a component cannot bind."""
    v, low = variable_of(component), least(component)
    if v in relevant.failing:
        _, check, failed = relevant.failing[v]
        return 0, check, -len(failed), 0
    if any(v in c.whole for c in given.conjuncts):
        return low, len(CHECKS), -1, 0
    return low - 1, 5, -1, 0


def _grown(
    given: Conditions,
    branch: Branch,
    bindings: Bindings,
    component: Event | Repeat,
    relevant: _Relevant,
    effort: Effort,
) -> Iterator[_Miss]:
    """The nearest event for a component: for its first event, and for each further one that it needs."""
    v, low = variable_of(component), least(component)
    pending = [bindings]
    while pending:
        held = pending.pop()
        size = len(held.get(v, ()))
        if size >= low:
            waiting = [c for c in given.conjuncts if v in c.whole and set(c.variables) <= held.keys()]
            failed = tuple(c for c in waiting if not given.holds(c, held))
            if failed:
                yield _Miss((size, len(CHECKS), -len(failed), 0), branch, held, component, None, 5, failed)
            continue
        if v in relevant.failing:
            e, check, failed = relevant.failing[v]
            yield _Miss((0, check, -len(failed), 0), branch, held, component, e, check, failed)
            continue
        same = relevant.of_key(v, held)
        if not same:
            yield _Miss((size, 2, 0, 0), branch, held, component, relevant.events[v][0], 2, (), too_short=size > 0)
        further = [e for e in same if e not in held.get(v, ())]
        if same and not further:
            yield _Miss((size, 3, 0, 0), branch, held, component, None, 3, (), too_short=True)
        for e in further:
            effort.spent += 1
            miss = _tried(given, branch, held, component, e)
            if miss is None:
                pending.append({**held, v: (*held.get(v, ()), e)})
            else:
                yield miss
            if effort.exhausted:
                return


def _tried(
    given: Conditions, branch: Branch, held: Bindings, component: Event | Repeat, e: StreamEvent
) -> _Miss | None:
    """The reason why a relevant event of the right key cannot be bound, as a miss; None if it can be."""
    v = variable_of(component)
    size = len(held.get(v, ()))
    short = size > 0
    if not in_place(branch, held, v, e):
        return _Miss((size, 3, 0, 0), branch, held, component, e, 3, (), short)
    if not given.within(held, e):
        return _Miss((size, 4, 0, -_distance(given.query, held, e)), branch, held, component, e, 4, (), short)
    if given.joins(held, v, e) is not None:
        return None
    joined = {**held, v: (*held.get(v, ()), e)}
    failed = tuple(
        c
        for c in given.conjuncts
        if v in c.variables
        and set(c.variables) <= joined.keys()
        and v not in c.whole
        and (v in c.each or not size)
        and failing_choice(given, c, joined, {v: size} if v in c.each else {}) is not None
    )
    return _Miss((size, 5, -len(failed), 0), branch, held, component, e, 5, failed, short)


def _distance(query: BoundQuery, bindings: Bindings, e: StreamEvent) -> int:
    """The distance of an event from the farthest of the bound ones, in ticks or positions."""
    if isinstance(query.window, CountWindow):
        return max(abs(e.place - f.place) for f in bound(bindings))
    return max(abs(e.time - f.time) for f in bound(bindings))


# -- in words ----------------------------------------------------------------------------------------------------------


def _near_miss(question: Question, given: Conditions, miss: _Miss, *, exact: bool) -> NearMiss:
    v, e, held = variable_of(miss.component), miss.candidate, miss.bindings
    lacks = tuple(w for w in miss.branch.variables if w not in held or w == v)
    rows = _rows(held)
    candidate = () if e is None else (e.row,)
    failed = tuple(_condition(given, c, held, v, e) for c in miss.conjuncts)
    return NearMiss(rows, lacks, v, candidate, CHECKS[miss.check], _reason(question, miss), failed, exact)


def _condition(given: Conditions, c: Conjunct, held: Bindings, v: str, e: StreamEvent | None) -> FailedCondition:
    """A failed condition, and the values it reads."""
    joined = held if e is None else {**held, v: (*held.get(v, ()), e)}
    fixed = {v: len(joined[v]) - 1} if e is not None and v in c.each else {}
    elements = failing_choice(given, c, joined, fixed)
    return FailedCondition(str(c), read_values(given, c, joined, elements or {}))


def _reason(question: Question, miss: _Miss) -> str:
    v, e, held = variable_of(miss.component), miss.candidate, miss.bindings
    have = len(held.get(v, ()))
    counted = f"{v} has {have} of the {least(miss.component)} events it needs, and " if miss.too_short else ""
    match CHECKS[miss.check]:
        case "type":
            wanted = type_text(miss.component)
            return f"{v} takes {wanted}" if e is not None else f"there is no event of type {wanted}"
        case "conditions on one event":
            return f"no event of {v} passes the conditions on one event" if v not in question.pinned else ""
        case "key":
            return f"{counted}no further event of {v} has the same key"
        case "order":
            return f"{counted}{_out_of_place(miss)}"
        case "window":
            return f"{counted}{_too_far(question.query, held, e)}"
        case _:
            return f"{counted}conditions fail" if miss.too_short else ""


def _out_of_place(miss: _Miss) -> str:
    """The reason why the nearest event is not allowed at its position, in words."""
    v, e, held = variable_of(miss.component), miss.candidate, miss.bindings
    if e is None:
        return "there is no further one"
    for w, events in held.items():
        if e in events:
            return f"row {e.row} is bound to {w} already"
        if (w, v) in miss.branch.order and not all(f.precedes(e) for f in events):
            return f"no event of {v} comes after {w}"
    return f"no further event of {v} comes later"


def _too_far(query: BoundQuery, held: Bindings, e: StreamEvent | None) -> str:
    assert e is not None
    distance = _distance(query, held, e)
    if isinstance(query.window, TimeWindow):
        return f"{duration_words(distance, query)} apart, {window_words(query)}"
    return f"{distance + 1} events in all, {window_words(query)}"


def _rows(bindings: Bindings) -> dict[str, tuple[int, ...]]:
    return {v: tuple(e.row for e in events) for v, events in bindings.items()}
