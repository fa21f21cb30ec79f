"""What translators of conditions share, whatever they translate to: expressions of Arrow, or columns of Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import reduce
from operator import eq, ge, gt, le, lt, ne
from typing import Any, TypeVar

T = TypeVar("T")

COMPARISONS: Mapping[str, Callable[[Any, Any], Any]] = {"=": eq, "!=": ne, "<": lt, "<=": le, ">": gt, ">=": ge}
"""What an operator of the language is in Python, and so for expressions of Spark and of Arrow."""


def joined(join: Callable[[T, T], T], parts: Iterable[T | None]) -> T | None:
    """All parts joined to one expression, of Spark or of Arrow; None when one of them is not known."""
    every = list(parts)
    known = [part for part in every if part is not None]
    return reduce(join, known) if known and len(known) == len(every) else None
