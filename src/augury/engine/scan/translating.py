"""Shared parts of the translators of conditions to Arrow expressions and to Spark columns."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from operator import eq, ge, gt, le, lt, ne
from typing import Any, TypeVar

T = TypeVar("T")

COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {"=": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}
"""Operators of the query language as Python functions, which work on expressions of Spark and of Arrow."""


def joined(join: Callable[[T, T], T], parts: Iterable[T | None]) -> T | None:
    """All parts joined to one expression; None if one of them is None."""
    every = list(parts)
    known = [part for part in every if part is not None]
    return reduce(join, known) if known and len(known) == len(every) else None
