"""RETURN of OUTPUT COUNT: aggregates over all matches that an event completes, and attributes of that event."""

from __future__ import annotations

from augury.bind.scope import Scope
from augury.errors import names
from augury.ir import predicate as ir
from augury.ir import syntax
from augury.ir.branches import MAX_BRANCHES, branch_count, branches
from augury.ir.pattern import Pattern

OVER_MATCHES = ("count", "sum", "avg", "min", "max")
"""Aggregates that can be taken over matches, which have no first or last."""


def completing(pattern: Pattern) -> str | None:
    """The variable after all others in every branch, whose event, or last event, completes a match.

    >>> from augury.ir.pattern import AllOf, Event, Seq
    >>> a, b, c = map(Event, "abc")
    >>> completing(Seq((AllOf((a, b)), c))), completing(AllOf((a, b)))
    ('c', None)
    """
    if branch_count(pattern) > MAX_BRANCHES:
        return None
    last = [
        {v for v in b.variables if all(u == v or (u, v) in b.order for u in b.variables)} for b in branches(pattern)
    ]
    return next(iter(set.intersection(*last)), None) if last else None


_SHARED = (ir.Element.SINGLE, ir.Element.LAST)


def completes(ref: ir.Expr, scope: Scope) -> bool:
    """Whether an attribute is one of the completing event, shared by all matches of a row; reports an error if not."""
    if isinstance(ref, ir.Ref) and ref.variable == scope.completing and ref.element in _SHARED:
        return True
    _report_differs(ref, scope)
    return False


def _report_differs(e: ir.Expr, scope: Scope) -> None:
    """Report an expression that has a value per match where one value for all matches is needed."""
    (variable,) = ir.variables(e)
    match e:
        case ir.Ref(column=column, element=ir.Element.SINGLE):
            help = f"aggregate it, as in sum({variable}.{column}) or max({variable}.{column})"
        case ir.Ref(column=column):
            help = f"aggregate all elements, as in sum({variable}[].{column}) or max({variable}[].{column})"
        case _:
            help = f"count the elements of all matches: count({variable}[])"
    if scope.completing is not None:
        own = f"{scope.completing}[last]" if scope.variables[scope.completing].iterated else scope.completing
        help += f"; `{own}` completes all of them, and its attributes may stand alone"
    message = f"OUTPUT COUNT returns one row for all matches of an event, and `{variable}` differs among them"
    scope.problems.report("A421", message, e.span, "a value for each match", help)


def is_over_matches(call: syntax.Call, scope: Scope) -> bool:
    """Whether an aggregate can be taken over matches; reports an error if not."""
    if call.function in OVER_MATCHES:
        return True
    message = f"`{call.function}` is not computed over all matches of an event"
    scope.problems.report("A421", message, call.span, "OUTPUT COUNT", f"the aggregates are {names(OVER_MATCHES)}")
    return False
