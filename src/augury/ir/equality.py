"""Transitive closure of equalities."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import TypeAlias

from augury.ir.predicate import Compare, Conjunct, Element, Expr, Literal, Ref, conjunct

Side: TypeAlias = "Ref | Literal"


def close_equalities(
    conjuncts: Sequence[Conjunct], bound: Iterable[str], pattern_order: tuple[str, ...]
) -> tuple[Conjunct, ...]:
    """Add equalities that follow by transitivity: from `a.x = b.x` and `b.x = c.x` also `a.x = c.x`.

    Only through the variables `bound`, which every match has: an equality over an unbound variable holds anyway.
    Elements of one list that all equal the same value also equal one another.
    """
    bound = frozenset(bound)
    known = {frozenset((c.expr.left, c.expr.right)) for c in conjuncts if isinstance(c.expr, Compare)}
    derived: list[Expr] = []
    for group in _classes(conjuncts, bound):
        refs = [s for s in group if isinstance(s, Ref)]
        for left, right in combinations(group, 2):
            if isinstance(left, Literal) and isinstance(right, Literal):
                continue
            if frozenset((left, right)) not in known:
                derived.append(Compare("=", left, right, span=left.span))
        for ref in refs:
            if ref.element is Element.EACH and len(group) > 1:
                before = Ref(ref.variable, ref.column, ref.type, Element.PREVIOUS, span=ref.span)
                if frozenset((ref, before)) not in known:
                    derived.append(Compare("=", ref, before, span=ref.span))
    return (*conjuncts, *(conjunct(e, pattern_order) for e in derived))


def equal_columns(conjuncts: Sequence[Conjunct], bound: Sequence[str]) -> tuple[str, ...]:
    """The columns on which all variables of `bound` are known to agree."""
    columns = []
    for group in _classes(conjuncts, frozenset(bound)):
        for column in {s.column for s in group if isinstance(s, Ref)}:
            if {s.variable for s in group if isinstance(s, Ref) and s.column == column} == set(bound):
                columns.append(column)
    return tuple(sorted(columns))


def _classes(conjuncts: Sequence[Conjunct], bound: frozenset[str]) -> list[list[Side]]:
    """Sides of equalities grouped by the value that they must all equal, in the order written."""
    groups: list[list[Side]] = []
    for c in conjuncts:
        match c.expr:
            case Compare("=", (Ref() | Literal()) as left, (Ref() | Literal()) as right) if left.type == right.type:
                if not all(_plain(s, bound) for s in (left, right)):
                    continue
                joined = [g for g in groups if left in g or right in g]
                merged = [s for g in joined for s in g]
                merged += [s for s in (left, right) if s not in merged]
                groups = [g for g in groups if g not in joined] + [merged]
            case _:
                pass
    return groups


def _plain(side: Side, bound: frozenset[str]) -> bool:
    if isinstance(side, Literal):
        return True
    return side.variable in bound and side.default is None and side.element in (Element.SINGLE, Element.EACH)
