"""WITHIN ... EACH and NOT ... FOR as conditions on times of bound events, for plans that bind events in any order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from augury.ir.branches import Branch
from augury.ir.pattern import Repeat, variable_of
from augury.ir.predicate import And, Arithmetic, Compare, Conjunct, Element, Expr, Literal, Or, Ref, conjunct
from augury.ir.query import BoundQuery
from augury.planner.components import UnsupportedQuery
from augury.schema import INT, Kind, duration


def spacing(query: BoundQuery, branch: Branch) -> tuple[Conjunct, ...]:
    """The conditions of EACH and FOR on the times of a branch's events."""
    found = [*_each(query, branch), *_silences(query, branch)]
    if found and query.schema[query.schema.time].kind is Kind.FLOAT:
        raise UnsupportedQuery("EACH, or NOT ... FOR before a component, over times that are not whole ticks")
    placed = (replace(e, span=query.pattern.span) for e in dict.fromkeys(found))
    return tuple(conjunct(e, query.pattern_order) for e in placed)


def _each(query: BoundQuery, branch: Branch) -> Iterator[Compare | Or]:
    if query.each is None:
        return
    if not branch.sequential:
        yield from _in_any_order(query, branch, query.each)
        return
    lists = {variable_of(c) for c in branch.components if isinstance(c, Repeat)}
    for one, other in pairwise([None, *branch.in_sequence]):
        assert other is not None
        if one is not None:
            yield _at_most(query, _last(query, variable_of(one), lists), _first(query, variable_of(other), lists))
        if isinstance(other, Repeat):
            v = other.body.variable
            yield _at_most(query, _time(query, v, Element.PREVIOUS), _time(query, v, Element.EACH))


def _in_any_order(query: BoundQuery, branch: Branch, each: int) -> Iterator[Compare | Or]:
    """Every event but the latest has a later one close enough."""
    lists = [c for c in branch.components if isinstance(c, Repeat)]
    if lists:
        raise UnsupportedQuery("EACH with a list in an AND, between whose elements other events may lie", lists[0].span)
    if len(branch.components) == 1:
        return
    for v in branch.variables:
        others = [_difference(query, _time(query, v), _time(query, u)) for u in branch.variables if u != v]
        latest = And(tuple(Compare("<=", d, _ticks(query, 0)) for d in others))
        near = [And((Compare(">", d, _ticks(query, 0)), Compare("<=", d, _ticks(query, each)))) for d in others]
        yield Or((latest if len(others) > 1 else latest.operands[0], *near))


def _silences(query: BoundQuery, branch: Branch) -> Iterator[Compare | Or]:
    """Each part after a silence starts later than all parts before it, by more than the duration."""
    lists = {variable_of(c) for c in branch.components if isinstance(c, Repeat)}
    for part in branch.absent:
        if part.silence is None:
            continue
        before, after = ([v for v in branch.variables if v in side] for side in (part.before, part.after))
        for u in after:
            for v in before:
                if not any((u, w) in branch.order for w in after) and not any((w, v) in branch.order for w in before):
                    d = _difference(query, _last(query, u, lists), _first(query, v, lists))
                    yield Compare(">", d, _ticks(query, query.ticks(part.silence)))


def _at_most(query: BoundQuery, earlier: Ref, later: Ref) -> Compare:
    assert query.each is not None
    return Compare("<=", _difference(query, earlier, later), _ticks(query, query.each))


def _difference(query: BoundQuery, earlier: Ref, later: Ref) -> Expr:
    return Arithmetic("-", later, earlier, _ticks(query, 0).type)


def _ticks(query: BoundQuery, ticks: int) -> Literal:
    timed = query.schema[query.schema.time].kind is Kind.TIMESTAMP
    return Literal(ticks, duration(query.schema.time_unit) if timed else INT)


def _first(query: BoundQuery, variable: str, lists: set[str]) -> Ref:
    return _time(query, variable, Element.FIRST if variable in lists else Element.SINGLE)


def _last(query: BoundQuery, variable: str, lists: set[str]) -> Ref:
    return _time(query, variable, Element.LAST if variable in lists else Element.SINGLE)


def _time(query: BoundQuery, variable: str, element: Element = Element.SINGLE) -> Ref:
    column = query.schema.time
    return Ref(variable, column, query.schema[column], element)
