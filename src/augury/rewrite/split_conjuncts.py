"""Splitting of predicates joined by AND."""

from __future__ import annotations

from dataclasses import replace

from augury.ir.normal_form import split
from augury.ir.predicate import conjunct
from augury.ir.query import BoundQuery


def split_conjuncts(query: BoundQuery) -> BoundQuery:
    """(a.x <= 1 AND b.y != 2)  ->  a.x <= 1, b.y != 2: each is tested as soon as its own variables are bound"""
    parts = (conjunct(part, query.pattern_order) for c in query.conjuncts for part in split(c.expr))
    return replace(query, conjuncts=tuple(parts))
