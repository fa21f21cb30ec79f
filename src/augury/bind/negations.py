"""Checks of NOT ... SINCE and NOT ... FOR: where they are allowed, and which events they refer to (section 10)."""

from __future__ import annotations

from collections.abc import Iterator

from augury.bind.clauses import event_named
from augury.bind.scope import Scope
from augury.errors import names
from augury.ir import syntax
from augury.ir.branches import MAX_BRANCHES, branch_count, branches
from augury.ir.pattern import Pattern
from augury.ir.terms import Operator


def check_negations(written: syntax.Part, pattern: Pattern, scope: Scope) -> None:
    """Report a silence outside of a SEQ, and a SINCE of a variable that is not before its NOT."""
    for negation, parent in _negations(written, None):
        if negation.since is not None:
            _check_since(negation.since, pattern, scope)
        if negation.silence is not None and (parent is None or parent.operator is not Operator.SEQ):
            help = "write it in a SEQ, behind or before the event that it is counted from"
            message = "NOT ... FOR is counted from an event, and here none stands beside it"
            scope.problems.report("A428", message, negation.span, "not in a SEQ", help)
        if scope.lossy and (negation.since is not None or negation.silence is not None):
            help = "leave out SINCE and FOR: scores are defined for NOT alone"
            scope.problems.report("A428", "THRESHOLD goes with no SINCE and no FOR", negation.span, "", help)


def _check_since(since: syntax.BoundEvent, pattern: Pattern, scope: Scope) -> None:
    named = event_named(since, scope)
    if named is None or branch_count(pattern) > MAX_BRANCHES:
        return
    if scope.is_group(named.variable):
        help = "name the event of a component that stands before this NOT"
        scope.problems.report("A428", f"`{named.variable}` is a group, not one event", since.span, "a group", help)
        return
    absent = [(part, b) for b in branches(pattern) for part in b.absent if part.since == named]
    if any(named.variable in b.variables and named.variable not in part.after for part, b in absent):
        earlier = sorted({v for part, _ in absent for v in part.after})
        help = f"variables before this NOT are {names(earlier)}" if earlier else "nothing stands before this NOT"
        message = f"`{named.variable}` does not stand before this NOT"
        scope.problems.report("A428", message, since.span, "not before it", help)


def _negations(part: syntax.Part, parent: syntax.Group | None) -> Iterator[tuple[syntax.Negation, syntax.Group | None]]:
    match part:
        case syntax.Component():
            pass
        case syntax.Group(_, parts):
            for child in parts:
                yield from _negations(child, part)
        case syntax.Negation(body):
            yield part, parent
            yield from _negations(body, None)
