"""Flattening of groups inside groups of the same kind."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import assert_never

from augury.ir.pattern import Absent, AllOf, AnyOf, Event, Group, OptionalPart, Pattern, Repeat, Seq, map_children
from augury.ir.query import BoundQuery


def flatten(query: BoundQuery) -> BoundQuery:
    """SEQ(A a, SEQ(B b, C c))  ->  SEQ(A a, B b, C c), AND(A a)  ->  A a, and SEQ(A a)?  ->  A? a

    Under a strategy that consumes events one by one, an AND of one part stays: it is a set, whose list is maximal.
    """
    return replace(query, pattern=flat(query.pattern, sets=not query.declarative))


def flat(pattern: Pattern, *, sets: bool = False) -> Pattern:
    """`pattern` with every group merged into an enclosing one of its kind; with `sets`, an AND of one part is kept."""
    # Negated parts are searched for in the same way by every strategy.
    p = map_children(partial(flat, sets=sets and not isinstance(pattern, Absent)), pattern)
    match p:
        case Event() | Repeat() | Group() | Absent():
            return p
        case OptionalPart(Event() as event):
            return Repeat(event, 0, 1, single=True, span=p.span)
        case OptionalPart():
            return p
        case Seq(parts) | AllOf(parts) | AnyOf(parts):
            if len(parts) == 1 and not (sets and isinstance(p, AllOf)):
                return parts[0]
            inner = [part.parts if type(part) is type(p) else (part,) for part in parts]
            return replace(p, parts=tuple(part for group in inner for part in group))
        case _:
            assert_never(p)
