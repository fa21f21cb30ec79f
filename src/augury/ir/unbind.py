"""Conversion of bound queries back to syntax, so that everything bound prints as query text."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import datetime, timedelta
from typing import assert_never

from augury.ir import pattern as p
from augury.ir import predicate as e
from augury.ir import query as q
from augury.ir import syntax as s
from augury.ir.terms import Operator, Strategy
from augury.schema import UNITS, Kind
from augury.source import Span

_INDEX = {
    e.Element.SINGLE: None,
    e.Element.EACH: s.Index.EACH,
    e.Element.PREVIOUS: s.Index.PREVIOUS,
    e.Element.FIRST: s.Index.FIRST,
    e.Element.LAST: s.Index.LAST,
}


def unbind_pattern(pattern: p.Pattern) -> s.Part:
    """The syntax of a bound pattern."""
    match pattern:
        case p.Event(variable, types):
            return s.Component(variable, tuple(map(s.TypeName, types)), span=pattern.span)
        case p.Repeat(p.Event(variable, types), low, high, single, reluctant, until):
            quantifier = None if single else s.Quantifier(low, high, reluctant)
            names = tuple(map(s.TypeName, types))
            end = None if until is None else s.Component(until.variable, tuple(map(s.TypeName, until.types)))
            return s.Component(variable, names, quantifier, single, end, span=pattern.span)
        case p.Seq(parts):
            return s.Group(Operator.SEQ, tuple(map(unbind_pattern, parts)), span=pattern.span)
        case p.AllOf(parts):
            return s.Group(Operator.AND, tuple(map(unbind_pattern, parts)), span=pattern.span)
        case p.AnyOf(parts):
            return s.Group(Operator.OR, tuple(map(unbind_pattern, parts)), span=pattern.span)
        case p.Group(variable, body, low, high, reluctant):
            rounds = s.Quantifier(low, high, reluctant)
            return replace(_as_group(body), quantifier=rounds, variable=variable, span=pattern.span)
        case p.OptionalPart(body):
            return replace(_as_group(body), optional=True, span=pattern.span)
        case p.Absent(body, since, silence):
            named = None if since is None else _bound_event(since)
            length = None if silence is None else s.Duration(silence)
            return s.Negation(unbind_pattern(body), named, length, span=pattern.span)
        case _:
            assert_never(pattern)


def _as_group(body: p.Pattern) -> s.Group:
    """A part as a repeatable one: an unrepeated SEQ, AND or OR."""
    part = unbind_pattern(body)
    plain = isinstance(part, s.Group) and part.quantifier is None and not part.optional
    return part if isinstance(part, s.Group) and plain else s.Group(Operator.SEQ, (part,))


def unbind(expr: e.Expr) -> s.Expression:
    """The syntax of a bound expression."""
    return _expression(expr, s.Index.EACH, None)


def unbind_query(query: q.BoundQuery) -> s.Query:
    """The syntax of a bound query, with all defaults written out."""
    conditions = [*map(s.Equivalence, query.partition_by), *(unbind(c.expr) for c in query.conjuncts)]
    where: s.Expression | None
    match conditions:
        case []:
            where = None
        case [one]:
            where = one
        case _:
            where = s.Logical("AND", tuple(conditions))
    return s.Query(
        unbind_pattern(query.pattern),
        strategy=query.strategy,
        where=where,
        within=_window(query),
        threshold=None if query.threshold is None else s.Number(query.threshold),
        output=query.output,
        returns=tuple(s.ReturnItem(unbind(r.expr), r.name) for r in query.returns),
        into=query.into,
        steps=_steps(query),
        skip_to=_skip_to(query),
        each=_duration(query, query.each),
        every=_duration(query, query.every),
        once=query.once,
    )


def _duration(query: q.BoundQuery, ticks: int | None) -> s.Duration | None:
    return None if ticks is None else s.Duration(ticks * UNITS[query.schema.time_unit])


def _skip_to(query: q.BoundQuery) -> s.BoundEvent | None:
    return None if query.skip_to is None else _bound_event(query.skip_to)


def _bound_event(event: p.BoundEvent) -> s.BoundEvent:
    index = None if not event.iterated else s.Index.LAST if event.last else s.Index.FIRST
    return s.BoundEvent(event.variable, index)


def _steps(query: q.BoundQuery) -> tuple[s.Step, ...]:
    """The steps with strategies of their own, grouped by strategy."""
    listed: dict[Strategy, list[s.ListedVariable]] = {}
    for step in query.steps:
        listed.setdefault(step.strategy, []).append(s.ListedVariable(step.variable, step.inside))
    return tuple(s.Step(strategy, tuple(variables)) for strategy, variables in listed.items())


def _window(query: q.BoundQuery) -> s.Duration | s.CountWindow | None:
    match query.window:
        case None:
            return None
        case q.TimeWindow(ticks):
            return s.Duration(ticks * UNITS[query.schema.time_unit])
        case q.CountWindow(events):
            return s.CountWindow(events)
        case _:
            assert_never(query.window)


def _expression(expr: e.Expr, each: s.Index, rounds: tuple[str, s.Index] | None) -> s.Expression:
    """The syntax of an expression; `each` is the index of references to every element, which aggregates change.

    Inside a group, `rounds` are its name and the index of the rounds that are read.
    """

    def below(child: e.Expr) -> s.Expression:
        return _expression(child, each, rounds)

    span = expr.span
    match expr:
        case e.Literal():
            return _literal(expr)
        case e.Ref(variable, column, _, element, default):
            index = each if element is e.Element.EACH else _index(element)
            if rounds is not None:
                assert not isinstance(index, s.NthIndex)
                return s.GroupAttribute(rounds[0], variable, column, rounds[1], index, span=span)
            return s.Attribute(variable, column, index, None if default is None else below(default), span=span)
        case e.ListLength(variable) if rounds is not None:
            return s.GroupAttribute(rounds[0], variable, "len", rounds[1], span=span)
        case e.ListLength(variable):
            return s.Attribute(variable, "len", span=span)
        case e.InRound(group, round, operand):
            # An unnumbered round, in which a condition holds.
            index = _INDEX.get(round) if isinstance(round, e.Element) else s.Index.FIRST if round == 1 else None
            return _expression(operand, each, (group, index or s.Index.EACH))
        case e.Aggregate(function, "", None):
            return s.Call(function, (), span=span)
        case e.Aggregate(function, variable, argument, running):
            inner = s.Index.ALL if not running else s.Index.THROUGH if expr.inclusive else s.Index.BEFORE
            within = rounds
            if expr.rounds:
                within = variable, inner
            read = s.Elements(variable, inner) if argument is None else _expression(argument, inner, within)
            return s.Call(function, (read,), span=span)
        case e.Arithmetic(operator, left, right) | e.Compare(operator, left, right):
            return s.Binary(operator, below(left), below(right), span=span)
        case e.Negate(operand):
            return s.Unary("-", below(operand), span=span)
        case e.And((e.Compare(">=", left, low), e.Compare("<=", again, high))) if left == again:
            return s.Between(below(left), below(low), below(high), span=span)
        case e.And(operands):
            return s.Logical("AND", tuple(map(below, operands)), span=span)
        case e.Or(operands):
            return s.Logical("OR", tuple(map(below, operands)), span=span)
        case e.Not(operand):
            return _negated(below(operand), span)
        case e.Member(operand, items):
            return s.In(below(operand), tuple(map(below, (*items, *expr.listed))), span=span)
        case e.IsNull(operand):
            return s.IsNull(below(operand), span=span)
        case e.Call(function, arguments):
            return s.Call(function, tuple(map(below, arguments)), span=span)
        case _:
            assert_never(expr)


def _index(element: e.Element | e.Nth) -> s.Index | s.NthIndex | None:
    return s.NthIndex(element.number) if isinstance(element, e.Nth) else _INDEX[element]


def _negated(operand: s.Expression, span: Span) -> s.Expression:
    match operand:
        case s.In(inner, items, False):
            return s.In(inner, items, True, span=span)
        case s.Between(inner, low, high, False):
            return s.Between(inner, low, high, True, span=span)
        case s.IsNull(inner, False):
            return s.IsNull(inner, True, span=span)
        case _:
            return s.Unary("NOT", operand, span=span)


def _literal(literal: e.Literal) -> s.Expression:
    value, span = literal.value, literal.span
    match value:
        case None:
            return s.Null(span=span)
        case bool():
            return s.Boolean(value, span=span)
        case str():
            return s.Text(value, span=span)
        case list() | tuple():
            # The language has no list literal, so the text is a parameter whose name shows the values.
            return s.Name(str(list(value)), span=span)
        case int() if literal.type.kind is Kind.TIMESTAMP:
            return s.Text(iso(value * UNITS[literal.type.unit or "ns"]), span=span)
        case int() if literal.type.kind is Kind.DURATION:
            length = s.Duration(abs(value) * UNITS[literal.type.unit or "ns"], span=span)
            return length if value >= 0 else s.Unary("-", length, span=span)
        case float() if math.isinf(value):
            # No literal is infinity, but an overflowing exponential parses as infinity.
            infinity = s.Call("exp", (s.Number(1000),), span=span)
            return infinity if value > 0 else s.Unary("-", infinity, span=span)
        case int() | float():
            return s.Number(value, span=span)
        case _:
            assert_never(value)


def iso(nanoseconds: int) -> str:
    """A time in nanoseconds since 1970 as ISO 8601.

    >>> iso(1_500_000_000), iso(-86_400_000_000_000), iso(1)
    ('1970-01-01T00:00:01.500', '1969-12-31', '1970-01-01T00:00:00.000000001')
    """
    seconds, fraction = divmod(nanoseconds, UNITS["s"])
    moment = datetime(1970, 1, 1) + timedelta(seconds=seconds)
    if not fraction:
        return moment.date().isoformat() if seconds % 86_400 == 0 else moment.isoformat()
    digits = f"{fraction:09d}"
    while digits.endswith("000"):
        digits = digits[:-3]
    return f"{moment.isoformat()}.{digits}"
