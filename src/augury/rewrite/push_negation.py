"""Pushing NOT into predicates."""

from __future__ import annotations

from dataclasses import replace

from augury.ir.normal_form import negation_normal_form
from augury.ir.predicate import conjunct
from augury.ir.query import BoundQuery


def push_negation(query: BoundQuery) -> BoundQuery:
    """NOT (a.x > 1 OR b.y = 2)  ->  a.x <= 1 AND b.y != 2"""
    pushed = (conjunct(negation_normal_form(c.expr), query.pattern_order) for c in query.conjuncts)
    return replace(query, conjuncts=tuple(pushed))
