"""What all events of a match share."""

from __future__ import annotations

from dataclasses import replace

from augury.ir.branches import branches
from augury.ir.equality import equal_columns
from augury.ir.predicate import Compare, Element, Ref
from augury.ir.query import BoundQuery, CountWindow
from augury.ir.terms import OutputMode, Strategy

_BY_PARTITION = (
    OutputMode.NONOVERLAP,
    OutputMode.COVER,
    OutputMode.LONGEST_NONOVERLAP,
    OutputMode.NONOVERLAP_FROM,
)
"""Outputs that are chosen in each partition by itself."""


def derive_partition_key(query: BoundQuery) -> BoundQuery:
    """WHERE [tag]  ->  key tag, and SEQ(A a, B b) WHERE a.tag = b.tag  ->  key tag

    A stream may be split by the key without changing the matches. Under strict contiguity an event of any partition
    ends a run, so there is none; and where `[attr]` has a meaning beyond equality (runs, count windows, NONOVERLAP,
    COVER), equalities do not add to it.
    """
    if Strategy.STRICT_CONTIGUITY in query.strategies:
        return replace(query, key=())
    only_written = (
        not query.declarative
        or query.output in _BY_PARTITION
        or query.paced
        or query.output.has_timeouts
        or isinstance(query.window, CountWindow)
        or query.threshold is not None
    )
    derived = () if only_written else _shared(query)
    return replace(query, key=tuple(dict.fromkeys((*query.partition_by, *derived))))


def _shared(query: BoundQuery) -> tuple[str, ...]:
    """Columns on which the variables every match has are equal, and every other variable equal to one of these.

    It takes two of the former: an event that nothing else has to equal may match with a null, which is in no partition.
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
