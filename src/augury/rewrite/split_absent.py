"""Splitting of a negated OR."""

from __future__ import annotations

from dataclasses import replace

from augury.ir.pattern import Absent, AllOf, AnyOf, Pattern, Seq, map_children
from augury.ir.query import BoundQuery


def split_absent(query: BoundQuery) -> BoundQuery:
    """SEQ(A a, NOT(OR(B b, C c)), D d)  ->  SEQ(A a, NOT(B b), NOT(C c), D d)"""
    return replace(query, pattern=_split(query.pattern))


def _split(pattern: Pattern) -> Pattern:
    p = map_children(_split, pattern)
    match p:
        case Seq(parts) | AllOf(parts):
            return replace(p, parts=tuple(one for part in parts for one in _alternatives(part)))
        case _:
            return p


def _alternatives(part: Pattern) -> tuple[Pattern, ...]:
    match part:
        case Absent(AnyOf(parts)):
            return tuple(replace(part, body=body) for body in parts)
        case _:
            return (part,)
