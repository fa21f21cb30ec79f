"""Components that no event can fit at once (paper 002, definition 6)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TypeAlias

from augury.ir.comparisons import mirrored
from augury.ir.predicate import Compare, Conjunct, Literal, Member, Ref, Value
from augury.plan import Component

Constant: TypeAlias = "tuple[str, str, tuple[Value, ...]]"
"""A column, a comparison, and the constants it is compared with."""


def exclusive(a: Component, b: Component, *, typed: bool) -> bool:
    """Whether types, or comparisons of one attribute with constants, rule out an event that fits both components."""
    if typed and a.types and b.types and not set(a.types) & set(b.types):
        return True
    return any(
        column == other and _contradict(sign, values, other_sign, other_values)
        for column, sign, values in _constants(a.alone)
        for other, other_sign, other_values in _constants(b.alone)
    )


def _constants(conjuncts: Iterable[Conjunct]) -> Iterator[Constant]:
    for j in conjuncts:
        match j.expr:
            case Compare(sign, Ref(column=column), Literal(value)) if value is not None:
                yield column, sign, (value,)
            case Compare(sign, Literal(value), Ref(column=column)) if value is not None:
                yield column, mirrored(sign), (value,)
            case Member(Ref(column=column), items, listed) if all(isinstance(i, Literal) for i in items):
                constants = [i for i in (*items, *listed) if isinstance(i, Literal)]
                yield column, "=", tuple(i.value for i in constants if i.value is not None)
            case _:
                pass


def _contradict(sign: str, values: tuple[Value, ...], other: str, others: tuple[Value, ...]) -> bool:
    """Whether no value satisfies both comparisons.

    >>> _contradict("=", ("C",), "=", ("D",)), _contradict("<", (3,), ">=", (3,)), _contradict("<", (3,), ">", (2,))
    (True, True, False)
    """
    if sign == "=":
        return not any(_holds(v, other, w) for v in values for w in others)
    if other == "=":
        return not any(_holds(w, sign, v) for v in values for w in others)
    (v,), (w,) = values, others
    if sign in ("<", "<=") and other in (">", ">="):
        return not (_holds(w, "<", v) or (_holds(w, "=", v) and sign == "<=" and other == ">="))
    if sign in (">", ">=") and other in ("<", "<="):
        return not (_holds(v, "<", w) or (_holds(v, "=", w) and sign == ">=" and other == "<="))
    return False


def _holds(v: Value, sign: str, w: Value) -> bool:
    """Whether the comparison may be true; constants that do not compare count as maybe."""
    match v, w:
        case (str(), str()) | (bool() | int() | float(), bool() | int() | float()):
            signs = {"=": v == w, "!=": v != w, "<": v < w, "<=": v <= w, ">": v > w, ">=": v >= w}  # type: ignore[operator]
            return signs[sign]
        case _:
            return True
