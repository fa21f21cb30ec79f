"""Transitive closure of equalities."""

from __future__ import annotations

from dataclasses import replace

from augury.ir import equality
from augury.ir.branches import branches
from augury.ir.query import BoundQuery
from augury.ir.terms import OutputMode


def close_equalities(query: BoundQuery) -> BoundQuery:
    """a.x = b.x AND b.x = c.x  ->  a.x = b.x AND b.x = c.x AND a.x = c.x

    Not applied where a new predicate would change which events are selected: a run tests it at an earlier state than
    those it follows from, under OUTPUT COVER it decides which events are adjacent, and in a lossy stream the default of
    a missing event would change.
    """
    found = branches(query.pattern)
    runs = not query.declarative and any(b.by_runs for b in found)
    if runs or query.output is OutputMode.COVER or query.threshold is not None:
        return query
    always = frozenset.intersection(*(frozenset(b.variables) for b in found))
    closed = equality.close_equalities(query.conjuncts, always, query.pattern_order)
    return replace(query, conjuncts=closed)
