"""Checks of queries with THRESHOLD over lossy streams (paper 004)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from augury.bind.expressions import parameter
from augury.bind.scope import Scope
from augury.ir import syntax
from augury.ir.pattern import Absent, Event, Pattern, Seq
from augury.ir.predicate import Conjunct, Expr, Ref, children
from augury.ir.terms import OutputMode, Strategy
from augury.source import Span


def threshold_of(threshold: syntax.Number | syntax.Name | None, scope: Scope) -> float | None:
    """The lowest score of a reported match."""
    if threshold is None:
        return None
    value: object
    if isinstance(threshold, syntax.Number):
        value = threshold.value
    else:
        literal = parameter(threshold.name, threshold.span, scope)
        if literal is None:
            return None
        value = literal.value
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        help = "write a probability such as THRESHOLD 0.8"
        message = "a THRESHOLD is a number above 0 and at most 1"
        scope.problems.report("A413", message, threshold.span, "not a probability", help)
        return None
    return float(value)


def check_lossy(query: syntax.Query, pattern: Pattern, conjuncts: Iterable[Conjunct], scope: Scope) -> None:
    """Check that a query has the shape and the clauses for which scores are defined."""
    assert query.threshold is not None
    if query.within is None or isinstance(query.within, syntax.CountWindow):
        # A window with an error has been reported already.
        _report("needs WITHIN and a duration", query.threshold.span, scope)
    if query.strategy not in (None, Strategy.SKIP_TILL_ANY_MATCH):
        _report(f"has no meaning under {query.strategy}, only skip_till_any_match", query.threshold.span, scope)
    if query.output not in (None, OutputMode.ALL, OutputMode.NONOVERLAP):
        _report(f"goes with OUTPUT ALL or NONOVERLAP, not {query.output}", query.threshold.span, scope)
    components = _components(pattern, scope)
    if components is not None:
        conjuncts = list(conjuncts)
        _check_recognisable(components, conjuncts, scope)
        _check_defaults(components, conjuncts, scope)


def _report(what: str, span: Span, scope: Scope) -> None:
    help = "scores are defined for SEQ(A a, NOT(B b), C c) with single components, WITHIN a duration"
    scope.problems.report("A414", f"THRESHOLD {what}", span, "not for lossy streams", help)


def _components(pattern: Pattern, scope: Scope) -> list[Event] | None:
    """The components of a SEQ of single events and negated single events, or None for another pattern."""
    parts = pattern.parts if isinstance(pattern, Seq) else (pattern,)
    events = []
    for part in parts:
        event = part.body if isinstance(part, Absent) else part
        if not isinstance(event, Event):
            _report("goes with a SEQ of single and negated components only", part.span, scope)
            return None
        events.append(event)
    return events


def _check_recognisable(components: Iterable[Event], conjuncts: Iterable[Conjunct], scope: Scope) -> None:
    alone = {c.variables[0] for c in conjuncts if len(c.variables) == 1}
    for event in components:
        if not event.types and event.variable not in alone:
            help = f"give it a type, or a condition of its own such as {event.variable}.reader = 'exit'"
            message = f"nothing tells which events are `{event.variable}`"
            scope.problems.report("A417", message, event.span, "neither type nor condition", help)


def _check_defaults(components: list[Event], conjuncts: Iterable[Conjunct], scope: Scope) -> None:
    # A pattern of negated parts only has no last component; that has been reported.
    last = next((e.variable for e in reversed(components) if not scope.variables[e.variable].negated), None)
    for conjunct in conjuncts:
        if len(conjunct.variables) < 2:
            continue
        for ref in _observed(conjunct.expr):
            if ref.default is None and ref.variable != last and not scope.variables[ref.variable].negated:
                other = next(v for v in conjunct.variables if v != ref.variable)
                help = f"say what it is then: write {ref.variable}.{ref.column}[{other}.{ref.column}]"
                scope.problems.report("A416", f"`{ref.variable}` may be missing", ref.span, "has no value then", help)


def _observed(e: Expr) -> Iterator[Ref]:
    """The references of `e` that need their event; those inside defaults do not."""
    if isinstance(e, Ref):
        yield e
    else:
        for child in children(e):
            yield from _observed(child)
