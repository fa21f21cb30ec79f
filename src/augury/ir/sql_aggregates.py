"""SQL aggregates as states that are extended row by row.

States are never changed in place, since the search returns to earlier ones when it backtracks.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa

from augury.ir.sql_numbers import DECIMAL_CONTEXT, ranged, rounded
from augury.ir.sql_scalar import BadValue, Types
from augury.ir.sql_types import (
    BIGINT,
    BOOLEAN,
    DOUBLE,
    MAX_DIGITS,
    NUMERIC,
    Family,
    family,
    plain,
    sql_name,
)

State = Any


@dataclass(frozen=True, slots=True)
class AggregateFunction:
    """The typing and the computation of an aggregate.

    `limited` is the number of arguments before the `n` of forms such as `max(x, n)`, or None if there is no such form.
    """

    arguments: int
    result: Callable[[Types], pa.DataType]
    start: State
    add: Callable[[State, Sequence[Any]], State]
    finish: Callable[[State, Types, pa.DataType, int | None], Any]
    limited: bool = False


def _need(types: Types, *families: Family) -> None:
    if types and family(types[0]) not in (*families, Family.NULL):
        raise TypeError(f"takes {' or '.join(families)}, not {sql_name(types[0])}")


def _sum_type(types: Types) -> pa.DataType:
    _need(types, *NUMERIC, Family.INTERVAL)
    match family(types[0]):
        case Family.INTEGER | Family.NULL:
            return BIGINT
        case Family.DECIMAL:
            return pa.decimal128(MAX_DIGITS, types[0].scale)
        case _:
            return plain(types[0])


def _average_type(types: Types) -> pa.DataType:
    _need(types, *NUMERIC, Family.INTERVAL)
    return DOUBLE if family(types[0]) in (Family.INTEGER, Family.NULL) else plain(types[0])


def _add_sum(state: State, values: Sequence[Any]) -> State:
    (value,) = values
    if value is None:
        return state
    if state is None:
        return 1, value
    count, total = state
    return count + 1, DECIMAL_CONTEXT.add(total, value) if isinstance(value, Decimal) else total + value


def _finish_sum(state: State, types: Types, out: pa.DataType, limit: int | None) -> Any:
    if state is None:
        return None
    match family(out):
        case Family.INTEGER:
            return ranged(state[1], out)
        case Family.DECIMAL:
            return rounded(state[1], out)
        case _:
            return state[1]


def _finish_average(state: State, types: Types, out: pa.DataType, limit: int | None) -> Any:
    if state is None:
        return None
    count, total = state
    match family(out):
        case Family.DECIMAL:
            return rounded(DECIMAL_CONTEXT.divide(total, Decimal(count)), out)
        case Family.INTERVAL:
            return int(total // count)
        case _:
            return total / count


def _add_moments(state: State, values: Sequence[Any]) -> State:
    """Count, mean and sum of squared differences, by Welford's update."""
    (value,) = values
    if value is None:
        return state
    count, mean, squares = state
    value = float(value)
    delta = value - mean
    mean += delta / (count + 1)
    return count + 1, mean, squares + delta * (value - mean)


def _spread(population: bool, root: bool) -> AggregateFunction:
    def finish(state: State, types: Types, out: pa.DataType, limit: int | None) -> float | None:
        count, _, squares = state
        if count < (1 if population else 2):
            return None
        variance = squares / (count if population else count - 1)
        return math.sqrt(variance) if root else variance

    def result(types: Types) -> pa.DataType:
        _need(types, *NUMERIC)
        return DOUBLE

    return AggregateFunction(1, result, (0, 0.0, 0.0), _add_moments, finish)


def _ordered(types: Types) -> None:
    if family(types[0]) in (Family.OTHER, Family.LIST):
        raise TypeError(f"takes values that have an order, not {sql_name(types[0])}")


def _extreme(greatest: bool) -> AggregateFunction:
    """The state is the extreme so far, and a linked list of all values, which is only needed with a limit."""

    def add(state: State, values: Sequence[Any]) -> State:
        value = values[0]
        if value is None:
            return state
        if state is None:
            return value, (None, (value,))
        best, chain = state
        better = value > best if greatest else value < best
        return (value if better else best), (chain, (value,))

    def finish(state: State, types: Types, out: pa.DataType, limit: int | None) -> Any:
        if state is None or limit is None:
            return None if state is None else state[0]
        return sorted((values[0] for values in _listed(state[1])), reverse=greatest)[:limit]

    def result(types: Types) -> pa.DataType:
        _ordered(types)
        return plain(types[0])

    return AggregateFunction(1, result, None, add, finish, limited=True)


def _extreme_by(greatest: bool) -> AggregateFunction:
    """The value at the extreme key; rows with a null key are ignored."""

    def finish(state: State, types: Types, out: pa.DataType, limit: int | None) -> Any:
        found = [(key, value) for value, key in _listed(state) if key is not None]
        if not found:
            return None
        ranked = sorted(found, key=lambda pair: pair[0], reverse=greatest)
        return ranked[0][1] if limit is None else [value for _, value in ranked[:limit]]

    def result(types: Types) -> pa.DataType:
        _ordered(types[1:])
        return plain(types[0])

    return AggregateFunction(2, result, None, _link, finish, limited=True)


def _link(state: State, values: Sequence[Any]) -> State:
    return state, tuple(values)


def _listed(state: State) -> list[tuple[Any, ...]]:
    out = []
    while state is not None:
        state, values = state
        out.append(values)
    return out[::-1]


def _collect(state: State, types: Types, out: pa.DataType, limit: int | None) -> Any:
    return None if state is None else [values[0] for values in _listed(state)]


def _logical(is_and: bool) -> AggregateFunction:
    def add(state: State, values: Sequence[Any]) -> State:
        value = values[0]
        if value is None or state is None:
            return value if state is None else state
        return (state and value) if is_and else (state or value)

    def result(types: Types) -> pa.DataType:
        _need(types, Family.BOOLEAN)
        return BOOLEAN

    return AggregateFunction(1, result, None, add, lambda state, types, out, limit: state)


def _arbitrary(state: State, values: Sequence[Any]) -> State:
    return values[0] if state is None else state


def _count_if_type(types: Types) -> pa.DataType:
    _need(types, Family.BOOLEAN)
    return BIGINT


def _plain_first(types: Types) -> pa.DataType:
    return plain(types[0])


AGGREGATES: dict[str, AggregateFunction] = {
    "count": AggregateFunction(
        1,
        lambda types: BIGINT,
        0,
        lambda state, values: state + (not values or values[0] is not None),
        lambda state, types, out, limit: state,
    ),
    "count_if": AggregateFunction(
        1,
        _count_if_type,
        0,
        lambda state, values: state + (values[0] is True),
        lambda state, types, out, limit: state,
    ),
    "sum": AggregateFunction(1, _sum_type, None, _add_sum, _finish_sum),
    "avg": AggregateFunction(1, _average_type, None, _add_sum, _finish_average),
    "min": _extreme(greatest=False),
    "max": _extreme(greatest=True),
    "min_by": _extreme_by(greatest=False),
    "max_by": _extreme_by(greatest=True),
    "stddev": _spread(population=False, root=True),
    "stddev_samp": _spread(population=False, root=True),
    "stddev_pop": _spread(population=True, root=True),
    "variance": _spread(population=False, root=False),
    "var_samp": _spread(population=False, root=False),
    "var_pop": _spread(population=True, root=False),
    "array_agg": AggregateFunction(1, lambda types: pa.list_(plain(types[0])), None, _link, _collect),
    "bool_and": _logical(is_and=True),
    "every": _logical(is_and=True),
    "bool_or": _logical(is_and=False),
    "arbitrary": AggregateFunction(1, _plain_first, None, _arbitrary, lambda state, types, out, limit: state),
    "any_value": AggregateFunction(1, _plain_first, None, _arbitrary, lambda state, types, out, limit: state),
}
"""Aggregates by name, in lower case."""

__all__ = ["AGGREGATES", "AggregateFunction", "BadValue"]
