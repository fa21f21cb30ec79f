"""Prunes row groups by their statistics: whether one can hold an event that matters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from augury.engine.scan.needed import ComponentFilter
from augury.engine.sources.column_types import is_text
from augury.engine.sources.footers import statistics
from augury.ir.comparisons import mirrored
from augury.ir.predicate import And, Compare, Expr, Literal, Or, Ref, walk
from augury.schema import Kind

_ORDERED = (Kind.INT, Kind.FLOAT, Kind.STRING)
"""Kinds of values whose minimum and maximum in files have the order in which queries compare them."""


@dataclass(frozen=True, slots=True)
class Range:
    """The least and the greatest value of a column in a row group."""

    low: Any
    high: Any


def filtered_columns(relevant: tuple[ComponentFilter, ...], type: str | None) -> frozenset[str]:
    """The columns whose ranges `can_matter` looks at."""
    exprs = (conjunct.expr for one in relevant for conjunct in one.conjuncts)
    names = {ref.column for expr in exprs for ref in walk(expr) if isinstance(ref, Ref)}
    return frozenset(names if type is None else names | {type})


def ranges(footer: pq.FileMetaData, number: int, places: Mapping[str, int]) -> Mapping[str, Range]:
    """The ranges of those of the columns at `places` that have statistics in a row group."""
    found = {}
    for name, place in places.items():
        told = statistics(footer, number, place)
        if told is not None and told.has_min_max:
            try:
                found[name] = Range(told.min, told.max)
            except (ValueError, OverflowError):
                continue  # Not UTF-8, or a time that Python cannot hold: no use for pruning.
    return found


def all_have_times(footer: pq.FileMetaData, number: int, place: int | None) -> bool:
    """Whether statistics show that no event of a row group lacks a time, which is the column at `place`."""
    told = None if place is None else statistics(footer, number, place)
    return bool(told is not None and told.has_null_count and told.null_count == 0)


def can_matter(
    relevant: tuple[ComponentFilter, ...], known: Mapping[str, Range], arrow: pa.Schema, type: str | None
) -> bool:
    """Whether an event within these ranges may pass one of the filters."""
    return any(
        _may_be_of(one.types, known.get(type) if type is not None and is_text(arrow.field(type).type) else None)
        and all(may_hold(conjunct.expr, known) for conjunct in one.conjuncts)
        for one in relevant
    )


def _may_be_of(types: tuple[str, ...], known: Range | None) -> bool:
    if not types or known is None or not isinstance(known.low, str):
        return True
    # Truncated statistics are still a lower and an upper bound.
    return any(known.low <= name <= known.high for name in types)


def may_hold(e: Expr, known: Mapping[str, Range]) -> bool:
    """Whether a condition can be true for values within these ranges; true if unknown."""
    match e:
        case Compare(operator, Ref() as left, Literal() as right):
            return _may_compare(operator, left, right, known)
        case Compare(operator, Literal() as left, Ref() as right):
            return _may_compare(mirrored(operator), right, left, known)
        case And(operands):
            return all(may_hold(operand, known) for operand in operands)
        case Or(operands):
            return any(may_hold(operand, known) for operand in operands)
        case _:
            return True


def _may_compare(operator: str, ref: Ref, literal: Literal, known: Mapping[str, Range]) -> bool:
    found, value = known.get(ref.column), literal.value
    if (
        found is None
        or ref.default is not None
        or ref.type.kind is not literal.type.kind
        or ref.type.kind not in _ORDERED
        or not isinstance(found.low, type(value))
    ):
        return True
    holds: Mapping[str, Callable[[], bool]] = {
        "=": lambda: found.low <= value <= found.high,
        "<": lambda: found.low < value,
        "<=": lambda: found.low <= value,
        ">": lambda: found.high > value,
        ">=": lambda: found.high >= value,
    }
    return holds[operator]() if operator in holds else True
