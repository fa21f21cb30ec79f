"""skip_till_any_match: every assignment that satisfies the pattern (SEMANTICS section 3)."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from augury.ir.branches import AbsentPart, Branch, branches
from augury.ir.pattern import Event, Repeat, variable_of
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

    def assign(rest: tuple[Event | Repeat, ...], bindings: Bindings) -> Iterator[Bindings]:
        if not rest:
            yield bindings
            return
        for extended in lists(rest[0], bindings):
            yield from assign(rest[1:], extended)

    def lists(component: Event | Repeat, bindings: Bindings) -> Iterator[Bindings]:
        low, high = (1, 1) if isinstance(component, Event) else (component.low, component.high)
        v = variable_of(component)
        for e in given.candidates(component, bindings):
            if not _may_stand(e, v, order, bindings):
                continue
            joined = given.joins(bindings, v, e)
            if joined is None:
                continue
            size = len(joined[v])
            if size >= low and given.complete(joined, (v,)):
                yield joined
            if high is None or size < high:
                yield from lists(component, joined)

    return assign(branch.components, context)


def _may_stand(e: StreamEvent, variable: str, order: Collection[tuple[str, str]], bindings: Bindings) -> bool:
    """Whether `e` is a new event, in the order of the pattern, and later than its list so far."""
    if any(e is f for f in bound(bindings)) or not ordered(order, bindings, variable, e):
        return False
    return all(f.precedes(e) for f in bindings.get(variable, ())[-1:])
