"""The steps of `why_not`, with the events left by each: type, conditions, key, order, window, strategy, negation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from augury.errors import TooManyMatches
from augury.explain.why_not.asked import Question, takes, type_text
from augury.explain.why_not.result import Step
from augury.explain.why_not.search import Domain, Effort, assignments, enough, in_sequence, least, most, sharing_a_key
from augury.explain.why_not.words import window_words
from augury.ir.branches import Branch
from augury.ir.terms import Strategy
from augury.ir.text import word_text
from augury.reference.any_match import rejected
from augury.reference.conditions import Conditions
from augury.reference.find import positive_matches
from augury.reference.stream import Bindings, StreamEvent

Left: TypeAlias = "list[tuple[Branch, Domain]]"
"""The branches in which a match is still possible, each with the events that its variables may still take."""

Followed: TypeAlias = "tuple[Branch, Bindings]"
"""A match, and the branch of the pattern that it belongs to."""


@dataclass(frozen=True, slots=True)
class Findings:
    """The steps, and the matches that passed the most of them.

    One that satisfies the conditions, one that the strategy selects as well, and one that is accepted.
    """

    steps: tuple[Step, ...]
    by_conditions: Followed | None = None
    by_strategy: Followed | None = None
    accepted: Followed | None = None


def findings(question: Question) -> Findings:
    """The events left after each step; the last step is the first one that leaves none, if there is one."""
    given = question.unlimited
    steps: list[Step] = []

    def note(name: str, left: Left, details: Iterable[str] = (), counts: Mapping[str, int] | None = None) -> bool:
        steps.append(_step(question, name, left, details, counts))
        return bool(left)

    if question.pinned:
        refused = _refused_rows(question)
        if refused:
            note("rows", [], refused, {v: len(events) for v, events in question.pinned.items()})
            return Findings(tuple(steps))
    left, counts = _of_types(question, given)
    if not note("type", left, _types(question), counts):
        return Findings(tuple(steps))
    tests = [c for c in given.conjuncts if not c.variables or any(c in question.one_event(v, given) for v in counts)]
    if tests:
        left, counts = _tested(question, given, left)
        if not note("conditions on one event", left, map(str, tests), counts):
            return Findings(tuple(steps))
    left = [(b, d) for b, domain in left for d in sharing_a_key(b, domain)]
    keys = question.query.partition_by
    if keys and not note("key", left, [f"[{word_text(name)}]" for name in keys]):
        return Findings(tuple(steps))
    left = _filled((b, in_sequence(b, d, None)) for b, d in left)
    if not note("order", left):
        return Findings(tuple(steps))
    if question.query.window is not None:
        left = _filled((b, in_sequence(b, d, question.query.window)) for b, d in left)
        if not note("window", left, [window_words(question.query)]):
            return Findings(tuple(steps))
    return _matched(question, given, left, steps)


def _matched(question: Question, given: Conditions, left: Left, steps: list[Step]) -> Findings:
    """The steps that test whole matches: conditions over several events, strategy and negation."""
    several = question.several_events(given)
    strategy = question.query.strategy
    selects = strategy is not Strategy.SKIP_TILL_ANY_MATCH
    absent = any(b.absent for b, _ in left)
    joined, selected, accepted = Marks(), Marks(), Marks()
    effort = Effort(question.effort)
    for branch, domain in left:
        last = accepted if absent and not selects else joined
        unmarked = {(v, e) for v, events in domain.items() for e in events} - last.found
        for match in assignments(given, branch, domain, effort):
            joined.add(branch, match)
            if last is accepted and rejected(given, branch.absent, match):
                continue
            unmarked -= last.add(branch, match)
            if not unmarked:
                break
    joined_exact = exact = not effort.exhausted
    if selects:
        exact = _selected(question, given, list(dict.fromkeys(b for b, _ in left)), selected, accepted)
        # Matches that a strategy selects satisfy the conditions, even where the earlier search has stopped.
        joined.include(selected)
    if several or not all(b.sequential for b, _ in left):
        steps.append(joined.step(question, "conditions over several events", map(str, several), joined_exact))
        if not joined.found:
            return Findings(tuple(steps))
    if selects:
        steps.append(selected.step(question, "strategy", [str(strategy)], exact))
        if not selected.found:
            return Findings(tuple(steps), joined.first)
    chosen = selected.first if selects else joined.first
    if absent:
        parts = dict.fromkeys(str(part.body) for b, _ in left for part in b.absent)
        steps.append(accepted.step(question, "negation", [f"no {text}" for text in parts], exact))
    return Findings(tuple(steps), joined.first, chosen, accepted.first if absent else chosen)


def _selected(question: Question, given: Conditions, open_to: list[Branch], selected: Marks, accepted: Marks) -> bool:
    """Mark the matches that the strategy selects, and those that no negated part rejects; False if it stopped early."""
    written = question.open_branches()
    limited = question.conditions()
    try:
        for branch in open_to:
            for match in positive_matches(limited, written[branch]):
                if question.is_asked_for(match):
                    selected.add(branch, match)
                    if not rejected(given, branch.absent, match):
                        accepted.add(branch, match)
    except TooManyMatches:
        return False
    return True


@dataclass(slots=True)
class Marks:
    """The events bound by the matches of one step, by variable, and the first of these matches."""

    found: set[tuple[str, StreamEvent]] = field(default_factory=set)
    first: Followed | None = None

    def add(self, branch: Branch, match: Bindings) -> set[tuple[str, StreamEvent]]:
        """Mark the events of a match, and return them."""
        self.first = self.first or (branch, match)
        marked = {(v, e) for v, events in match.items() for e in events}
        self.found |= marked
        return marked

    def include(self, other: Marks) -> None:
        self.first = self.first or other.first
        self.found |= other.found

    def step(self, question: Question, name: str, details: Iterable[str], exact: bool) -> Step:
        counts = {v: sum(1 for w, _ in self.found if w == v) for v in question.positive}
        return Step(name, len({e for _, e in self.found}), counts, tuple(details), exact)


def _step(question: Question, name: str, left: Left, details: Iterable[str], counts: Mapping[str, int] | None) -> Step:
    taken: dict[str, set[StreamEvent]] = {v: set() for v in question.positive}
    for _, domain in left:
        for v, events in domain.items():
            taken[v].update(events)
    by_variable = {v: len(events) if counts is None else counts.get(v, 0) for v, events in taken.items()}
    return Step(name, len(set().union(*taken.values())), by_variable, tuple(details))


def _filled(left: Iterable[tuple[Branch, Domain]]) -> Left:
    return [(b, d) for b, d in left if enough(b, d)]


def _refused_rows(question: Question) -> list[str]:
    """The variables that cannot take as many events as they were given."""
    found = []
    for v, events in question.pinned.items():
        component = question.component_of[v]
        if not takes(component, len(events)):
            low, high = least(component), most(component)
            wanted = str(low) if low == high else f"{low} or more" if high is None else f"{low} to {high}"
            found.append(f"{v} takes {wanted}, not {len(events)}")
    if not found and not question.open_branches():
        found.append(f"no match binds {', '.join(question.pinned)} together")
    return found


def _of_types(question: Question, given: Conditions) -> tuple[Left, dict[str, int]]:
    """The step of types: the branches with enough events, and the number of events for every variable."""
    components = question.component_of
    fitting = {v: [e for e in question.offered(v) if given.fits(components[v], e)] for v in question.positive}
    left = _filled((b, {v: fitting[v] for v in b.variables}) for b in question.open_branches())
    return left, {v: len(events) for v, events in fitting.items()}


def _tested(question: Question, given: Conditions, left: Left) -> tuple[Left, dict[str, int]]:
    """The step of conditions on one event, for the variables of the remaining branches."""
    if not all(given.holds(c, {}) for c in given.conjuncts if not c.variables):
        return [], {}
    components = question.component_of
    offered = {v: events for _, domain in left for v, events in domain.items()}
    passing = {v: [e for e in events if given.relevant(components[v], e)] for v, events in offered.items()}
    again = _filled((b, {v: passing[v] for v in b.variables}) for b, _ in left)
    return again, {v: len(events) for v, events in passing.items()}


def _types(question: Question) -> list[str]:
    if question.query.schema.type is None:
        return ["the events have no types"]
    return [f"{v}: {type_text(c)}" for v, c in question.component_of.items()]
