"""Attributes known not to be null: a conjunct that reads them has let the event into the run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from augury.ir.predicate import And, Arithmetic, Compare, Conjunct, Element, Expr, Member, Negate, Not, Ref
from augury.plan import Component


def never_null(components: Iterable[Component]) -> frozenset[tuple[str, str]]:
    """The variables and columns that have a value in every event of a run; a variable may be in several branches."""
    found: dict[str, frozenset[str]] = {}
    for c in components:
        columns = _tested(c, (Element.SINGLE, Element.EACH, Element.FIRST))
        if c.iterated:
            columns &= _tested(c, (Element.EACH,))
        found[c.variable] = found.get(c.variable, columns) & columns
    return frozenset((variable, column) for variable, columns in found.items() for column in columns)


def _tested(c: Component, elements: tuple[Element, ...]) -> frozenset[str]:
    """The columns that a conjunct needs of the first event of a component, or with EACH alone of every further one."""
    first = Element.FIRST in elements
    return frozenset(
        ref.column
        for conjunct in (*c.alone, *c.take)
        if _at_every(conjunct, c.variable) and not (first and c.variable in conjunct.from_second)
        for ref in _required(conjunct.expr)
        if ref.variable == c.variable and ref.element in elements
    )


def _at_every(conjunct: Conjunct, variable: str) -> bool:
    """Whether a conjunct is tested for every match: one over pairs of elements is not, for a list of one event."""
    return conjunct.each <= {variable} and variable not in conjunct.decided_at


def _required(e: Expr) -> Iterator[Ref]:
    """The references that cannot be null when `e` is true."""
    match e:
        case And(operands):
            for operand in operands:
                yield from _required(operand)
        case Compare(_, left, right):
            yield from _read(left)
            yield from _read(right)
        case Member(operand):
            yield from _read(operand)
        case Not(Compare() | Member() as operand):
            yield from _required(operand)
        case _:
            return


def _read(e: Expr) -> Iterator[Ref]:
    """The references that cannot be null when `e` has a value."""
    match e:
        case Ref(default=None):
            yield e
        case Arithmetic(_, left, right):
            yield from _read(left)
            yield from _read(right)
        case Negate(operand):
            yield from _read(operand)
        case _:
            return
