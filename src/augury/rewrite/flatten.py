"""Groups inside groups of their own kind."""

from __future__ import annotations

from dataclasses import replace
from typing import assert_never

from augury.ir.pattern import Absent, AllOf, AnyOf, Event, Pattern, Repeat, Seq, map_children
from augury.ir.query import BoundQuery


def flatten(query: BoundQuery) -> BoundQuery:
    """SEQ(A a, SEQ(B b, C c))  ->  SEQ(A a, B b, C c), and AND(A a)  ->  A a"""
    return replace(query, pattern=flat(query.pattern))


def flat(pattern: Pattern) -> Pattern:
    """`pattern` with every group merged into the one of its kind around it."""
    p = map_children(flat, pattern)
    match p:
        case Event() | Repeat() | Absent():
            return p
        case Seq(parts) | AllOf(parts) | AnyOf(parts):
            if len(parts) == 1:
                return parts[0]
            inner = [part.parts if type(part) is type(p) else (part,) for part in parts]
            return replace(p, parts=tuple(part for group in inner for part in group))
        case _:
            assert_never(p)
