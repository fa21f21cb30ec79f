"""Removal of reluctant quantifiers where they make no difference."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from augury.ir.pattern import Absent, Group, Pattern, Repeat, map_children
from augury.ir.query import BoundQuery
from augury.ir.terms import Strategy


def drop_reluctant(query: BoundQuery) -> BoundQuery:
    """B+? b[]  ->  B+ b[], where every list may end early: under skip_till_any_match, in a NOT, of a fixed length

    SEQ(B b, C c)+? g[]  ->  SEQ(B b, C c)+ g[], likewise
    """
    return replace(query, pattern=_greedy(query.pattern, query=query))


def _greedy(pattern: Pattern, *, query: BoundQuery, negated: bool = False) -> Pattern:
    match pattern:
        case Repeat(body, low, high, reluctant=True):
            any_match = query.strategy_of(body.variable, inside=True) is Strategy.SKIP_TILL_ANY_MATCH
            return replace(pattern, reluctant=not (negated or any_match or low == high))
        case Group(variable, body, low, high, reluctant=True):
            any_match = query.strategy_of(variable, inside=True) is Strategy.SKIP_TILL_ANY_MATCH
            rounds = _greedy(body, query=query, negated=negated)
            return replace(pattern, body=rounds, reluctant=not (any_match or low == high))
        case _:
            within = partial(_greedy, query=query, negated=negated or isinstance(pattern, Absent))
            return map_children(within, pattern)
