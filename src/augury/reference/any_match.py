"""skip_till_any_match: every assignment that satisfies the pattern (SEMANTICS section 3)."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from augury.ir.branches import AbsentPart, Branch, branches
from augury.ir.pattern import Event, variable_of
from augury.reference.conditions import Conditions, bound, ordered
from augury.reference.stream import Bindings, StreamEvent


def any_matches(given: Conditions, branch: Branch) -> Iterator[Bindings]:
    """Every assignment of events to the branch's components; what must be absent is not looked at."""
    return _assignments(given, branch, branch.order, {})


def rejected(given: Conditions, absent: Collection[AbsentPart], match: Bindings) -> bool:
    """Whether a negated part occurs at its place (SEMANTICS section 3, rule 5)."""
    return any(_occurs(given, part, match) for part in absent)


def _occurs(given: Conditions, part: AbsentPart, match: Bindings) -> bool:
    for branch in branches(part.body):
        placed = {(u, v) for u in part.after for v in branch.variables}
        placed |= {(v, u) for u in part.before for v in branch.variables}
        inner = [AbsentPart(p.body, p.after | part.after, p.before | part.before) for p in branch.absent]
        for found in _assignments(given, branch, branch.order | placed, match):
            if not rejected(given, inner, found):
                return True
    return False


def _assignments(
    given: Conditions, branch: Branch, order: Collection[tuple[str, str]], context: Bindings
) -> Iterator[Bindings]:
    """Assign the components one after the other; `context` is bound already."""

    components = branch.components
    if not components:
        yield context
        return
    # A stack of its own, since a list can be longer than Python's is deep: what is pushed last is gone through first.
    stack = [(0, context, iter(given.candidates(components[0], context)))]
    while stack:
        k, bindings, events = stack[-1]
        e = next(events, None)
        if e is None:
            stack.pop()
            continue
        component = components[k]
        low, high = (1, 1) if isinstance(component, Event) else (component.low, component.high)
        v = variable_of(component)
        joined = given.joins(bindings, v, e) if _may_stand(e, v, order, bindings) else None
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
    """Whether `e` is a new event, in the order of the pattern, and later than its list so far."""
    if any(e is f for f in bound(bindings)) or not ordered(order, bindings, variable, e):
        return False
    return all(f.precedes(e) for f in bindings.get(variable, ())[-1:])
