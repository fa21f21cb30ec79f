"""Shared parts of the translators of conditions to Arrow expressions and to Spark columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from operator import and_, eq, ge, gt, le, lt, ne
from typing import Any, TypeVar

from augury.engine.scan.needed import ComponentFilter
from augury.ir.predicate import Expr

T = TypeVar("T")

COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {"=": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}
"""Operators of the query language as Python functions, which work on expressions of Spark and of Arrow."""


def component_tests(
    relevant: Iterable[ComponentFilter],
    of_types: Callable[[ComponentFilter], T | None],
    test: Callable[[Expr], T | None],
) -> list[T] | None:
    """For each component the tests that its events pass, joined by AND; None if any event may pass those of one.

    `of_types` and `test` translate types and conditions; what gives None has no translation and is left out.
    """
    found = []
    for one in relevant:
        translated = [of_types(one) if one.types else None, *(test(c.expr) for c in one.conjuncts)]
        known = [part for part in translated if part is not None]
        if not known:
            return None
        found.append(reduce(and_, known))
    return found or None


def joined(join: Callable[[T, T], T], parts: Iterable[T | None]) -> T | None:
    """All parts joined to one expression; None if one of them is None."""
    every = list(parts)
    known = [part for part in every if part is not None]
    return reduce(join, known) if known and len(known) == len(every) else None
