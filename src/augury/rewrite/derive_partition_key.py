"""The key that all events of a match share."""

from __future__ import annotations

from dataclasses import replace

from augury.ir.branches import branches
from augury.ir.equality import equal_columns
from augury.ir.predicate import Compare, Element, Ref
from augury.ir.query import BoundQuery, CountWindow
from augury.ir.terms import OutputMode, Strategy

_PARTITION_OUTPUTS = (
    OutputMode.NONOVERLAP,
    OutputMode.COVER,
    OutputMode.LONGEST_NONOVERLAP,
    OutputMode.NONOVERLAP_FROM,
)
"""Outputs that are selected in each partition separately."""


def derive_partition_key(query: BoundQuery) -> BoundQuery:
    """WHERE [tag]  ->  key tag, and SEQ(A a, B b) WHERE a.tag = b.tag  ->  key tag

    The key is what a stream may be split by without changing the matches. Under strict contiguity there is none, since
    an event of any partition ends a run. Where `[attr]` means more than equality (runs, count windows, NONOVERLAP,
    COVER), equalities do not add to it.
    """
    if Strategy.STRICT_CONTIGUITY in query.strategies:
        return replace(query, key=())
    only_written = (
        not query.declarative
        or query.output in _PARTITION_OUTPUTS
        or query.paced
        or query.output.has_timeouts
        or isinstance(query.window, CountWindow)
        or query.threshold is not None
    )
    derived = () if only_written else _shared(query)
    return replace(query, key=tuple(dict.fromkeys((*query.partition_by, *derived))))


def _shared(query: BoundQuery) -> tuple[str, ...]:
    """Columns in which all variables that every match binds are equal, and every other variable equals one of these.

    There must be two of the former: an event that need not equal another may match with a null, which has no partition.
    """
    always = frozenset.intersection(*(frozenset(b.variables) for b in branches(query.pattern)))
    if len(always) < 2:
        return ()
    columns = equal_columns(query.conjuncts, tuple(always))
    others = [v.name for v in query.variables if v.name not in always]
    return tuple(c for c in columns if all(_equals_one_of(query, v, always, c) for v in others))


def _equals_one_of(query: BoundQuery, variable: str, always: frozenset[str], column: str) -> bool:
    for c in query.conjuncts:
        match c.expr:
            case Compare("=", Ref() as left, Ref() as right) if left.type == right.type:
                sides = {left.variable: left, right.variable: right}
                other = (set(sides) - {variable}) & always
                plain = all(s.column == column and s.element in (Element.SINGLE, Element.EACH) for s in sides.values())
                if variable in sides and other and plain:
                    return True
            case _:
                pass
    return False
