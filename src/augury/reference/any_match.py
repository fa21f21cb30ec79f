"""skip_till_any_match: every assignment that satisfies the pattern (SEMANTICS section 3)."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from augury.ir.branches import AbsentPart, Branch, branches
from augury.ir.pattern import Event, variable_of
from augury.ir.terms import Strategy
from augury.reference.conditions import Conditions, bound, ordered
from augury.reference.stream import Bindings, StreamEvent


def any_matches(given: Conditions, branch: Branch) -> Iterator[Bindings]:
    """Every assignment of events to the branch's components, before negated parts are checked."""
    for match in _assignments(given, branch, branch.order, {}):
        if given.spaced(match) and all(given.outlasts(branch, match, v, e) for v, es in match.items() for e in es):
            yield match


def rejected(given: Conditions, absent: Collection[AbsentPart], match: Bindings) -> bool:
    """Whether a negated part occurs at its place (SEMANTICS section 3, rule 5)."""
    return any(occurrence(given, part, match) is not None for part in absent)


def occurrence(given: Conditions, part: AbsentPart, match: Bindings) -> Bindings | None:
    """The events of the match together with those that a negated part binds; None if the part does not occur."""
    if part.silence is not None:
        # NOT ... FOR is bounded by its own duration, not by the window.
        given = given.without_window()
    since = _since(part, match)
    for branch in branches(part.body):
        placed = set() if since is not None else {(u, v) for u in part.after for v in branch.variables}
        placed |= {(v, u) for u in part.before for v in branch.variables}
        inner = [AbsentPart(p.body, p.after | part.after, p.before | part.before) for p in branch.absent]
        for found in _assignments(given, branch, branch.order | placed, match):
            own = [e for v in branch.variables for e in found[v]]
            if since is not None and not all(since.precedes(e) for e in own):
                continue
            if not _silent_time(given, part, match, own):
                continue
            if _in_reach(given, part, match, found) and not rejected(given, inner, found):
                return found
    return None


def _since(part: AbsentPart, match: Bindings) -> StreamEvent | None:
    """The event after which a part is searched for (SINCE); None if it is not bound or not given."""
    events = match.get(part.since.variable) if part.since is not None else None
    return events[-1 if part.since is not None and part.since.last else 0] if events else None


def _silent_time(given: Conditions, part: AbsentPart, match: Bindings, own: Collection[StreamEvent]) -> bool:
    """Whether events fall into the time that NOT ... FOR requires to be silent; without FOR, all times count."""
    if part.silence is None:
        return True
    ticks = given.query.ticks(part.silence)
    before = [f.time for v in part.after for f in match.get(v, ())]
    after = [f.time for v in part.before for f in match.get(v, ())]
    if before:
        return all(e.time <= max(before) + ticks for e in own)
    # Without bound neighbours there is no time to check.
    return bool(after) and all(min(after) - e.time <= ticks for e in own)


def _in_reach(given: Conditions, part: AbsentPart, match: Bindings, found: Bindings) -> bool:
    """Whether a negated event is where its strategy looks: next to the event before it, or else to the one after it."""
    if not isinstance(part.body, Event):
        return True
    strategy = given.query.strategy_of_negated(part.body.variable)
    if strategy is None:
        return True
    (e,) = found[part.body.variable]
    since = _since(part, match)
    before = [f for v in part.after for f in match.get(v, ())] if since is None else [since]
    after = [f for v in part.before for f in match.get(v, ())]

    def place(f: StreamEvent) -> int:
        return f.index if strategy is Strategy.STRICT_CONTIGUITY else f.place

    return place(e) == (max(map(place, before)) + 1 if before else min(map(place, after)) - 1)


def _assignments(
    given: Conditions, branch: Branch, order: Collection[tuple[str, str]], context: Bindings
) -> Iterator[Bindings]:
    """Assign the components one after another; `context` is bound already."""

    components = branch.components
    if not components:
        yield context
        return
    # An explicit stack, since a list can be longer than Python's recursion limit; the last pushed is expanded first.
    stack = [(0, context, iter(given.candidates(components[0], context)))]
    while stack:
        k, bindings, events = stack[-1]
        e = next(events, None)
        if e is None:
            stack.pop()
            continue
        given.budget.visit(bindings)
        component = components[k]
        low, high = (1, 1) if isinstance(component, Event) else (component.low, component.high)
        v = variable_of(component)
        may_stand = _may_stand(e, v, order, bindings) and given.goes_on(component, bindings, e)
        joined = given.joins(bindings, v, e) if may_stand else None
        if joined is None:
            continue
        size = len(joined[v])
        if high is None or size < high:
            stack.append((k, joined, iter(given.candidates(component, joined))))
        if size >= low and given.complete(joined, (v,)):
            if k + 1 == len(components):
                yield joined
            else:
                stack.append((k + 1, joined, iter(given.candidates(components[k + 1], joined))))


def _may_stand(e: StreamEvent, variable: str, order: Collection[tuple[str, str]], bindings: Bindings) -> bool:
    """Whether `e` is not bound yet, in pattern order, and later than its list so far."""
    # The list is checked first, in constant time.
    if not all(f.precedes(e) for f in bindings.get(variable, ())[-1:]):
        return False
    return ordered(order, bindings, variable, e) and not any(e is f for f in bound(bindings))
