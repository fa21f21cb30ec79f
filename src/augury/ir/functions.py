"""The built-in scalar functions: types of arguments and results, and computation."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from augury.ir.predicate import Value
from augury.schema import FLOAT, INT, INT_MAX, INT_MIN, NULL, STRING, ColumnType, Kind, list_of

TypeRule: TypeAlias = Callable[[tuple[ColumnType, ...]], ColumnType | None]
"""The result type for argument types, or None if they do not fit."""


@dataclass(frozen=True, slots=True)
class Function:
    """A built-in function; `usage` shows its arguments, `most` is None if it takes any number from `least` on.

    `compute` works on plain Python values. A null argument makes the result null unless `skips_null`.
    """

    name: str
    usage: str
    least: int
    most: int | None
    result: TypeRule
    body: Callable[..., Any]
    skips_null: bool = False

    def compute(self, *arguments: Value) -> Value:
        """The result of the function; null if it cannot be computed.

        >>> BUILTINS["sqrt"].compute(-1.0) is None, BUILTINS["round"].compute(-2.5)
        (True, -3.0)
        """
        if not self.skips_null and any(a is None for a in arguments):
            return None
        return representable(self.body(*arguments))


def representable(value: Value) -> Value:
    """The value, or null if it is NaN or does not fit 64 bits."""
    if isinstance(value, float) and math.isnan(value):
        return None
    if isinstance(value, int) and not INT_MIN <= value <= INT_MAX:
        return None
    return value


# -- type rules --------------------------------------------------------------------------------------------------------


def _number_or_null(t: ColumnType) -> bool:
    return t.numeric or t == NULL


def _numbers_give(result: ColumnType) -> TypeRule:
    return lambda types: result if all(map(_number_or_null, types)) else None


def _strings_give_string(types: tuple[ColumnType, ...]) -> ColumnType | None:
    return STRING if all(t in (STRING, NULL) for t in types) else None


def _abs_type(types: tuple[ColumnType, ...]) -> ColumnType | None:
    (t,) = types
    return t if _number_or_null(t) or t.kind is Kind.DURATION else None


def _round_type(types: tuple[ColumnType, ...]) -> ColumnType | None:
    places = types[1:]
    return types[0] if _number_or_null(types[0]) and all(t in (INT, NULL) for t in places) else None


def _length_type(types: tuple[ColumnType, ...]) -> ColumnType | None:
    return INT if types[0].kind in (Kind.STRING, Kind.LIST, Kind.NULL) else None


def _common_type(types: tuple[ColumnType, ...]) -> ColumnType | None:
    known = [t for t in types if t != NULL]
    if not known:
        return NULL
    if all(t.numeric for t in known):
        return INT if all(t == INT for t in known) else FLOAT
    return known[0] if all(t == known[0] for t in known) else None


def _ordered_type(types: tuple[ColumnType, ...]) -> ColumnType | None:
    common = _common_type(types)
    return None if common is None or common.kind in (Kind.BOOL, Kind.LIST, Kind.OTHER) else common


def _number_lists_give(result: ColumnType) -> TypeRule:
    def number_list(t: ColumnType) -> bool:
        return t == NULL or (t.item is not None and _number_or_null(t.item))

    return lambda types: result if all(map(number_list, types)) else None


# -- what they compute -------------------------------------------------------------------------------------------------


def _sqrt(x: float) -> float | None:
    return math.sqrt(x) if x >= 0 else None


def _exp(x: float) -> float:
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def _ln(x: float) -> float | None:
    return math.log(x) if x > 0 else None


def _floor(x: float) -> int | None:
    return math.floor(x) if math.isfinite(x) else None


def _ceil(x: float) -> int | None:
    return math.ceil(x) if math.isfinite(x) else None


def _round(x: float, places: int = 0) -> float:
    """Rounding half away from zero, unlike Python's `round`."""
    if isinstance(x, int):
        return x if places >= 0 else _round_integer(x, 10 ** min(-places, 20))
    if not math.isfinite(x) or places > 308:
        return x
    if places < -308:
        return math.copysign(0.0, x)
    scale = 10.0 ** abs(places)
    scaled = abs(x) * scale if places >= 0 else abs(x) / scale
    if math.isinf(scaled):
        return x
    # The fraction is exact, whereas adding 0.5 first would round 0.49999999999999994 up to 1.
    whole = math.floor(scaled)
    nearest = float(whole + 1 if scaled - whole >= 0.5 else whole)
    return math.copysign(nearest / scale if places >= 0 else nearest * scale, x)


def _round_integer(x: int, step: int) -> int:
    size = (abs(x) + step // 2) // step * step
    return size if x >= 0 else -size


def _least(*values: Any) -> Any:
    return min((v for v in values if v is not None), default=None)


def _greatest(*values: Any) -> Any:
    return max((v for v in values if v is not None), default=None)


def _coalesce(*values: Any) -> Any:
    return next((v for v in values if v is not None), None)


def standardise(values: Sequence[float | None]) -> list[float] | None:
    """The values minus their mean, divided by the root of the sum of their squares; null without variance.

    >>> standardise([1, 3])
    [-0.7071067811865475, 0.7071067811865475]
    """
    if len(values) < 2:
        return None
    total = 0.0
    for value in values:
        if value is None or math.isnan(value):
            return None
        total += value
    mean = total / len(values)
    squares = 0.0
    for value in values:
        assert value is not None
        squares += (value - mean) * (value - mean)
    if not 0.0 < squares < math.inf:
        return None
    root = math.sqrt(squares)
    return [(value - mean) / root for value in values if value is not None]


def dot(left: Sequence[float | None], right: Sequence[float | None]) -> float | None:
    """The sum of the products of the elements; null for lists of unequal length.

    The order of float additions is fixed, since it changes the result, and allows eight additions at once: lane k sums
    the elements k, k + 8, k + 16, ...; then lanes 4 apart are added, then 2 apart, then the last two.

    >>> dot([1.0, 2.0], [3.0, 4.0])
    11.0
    """
    if len(left) != len(right):
        return None
    lanes = [0.0] * 8
    for k, (x, y) in enumerate(zip(left, right, strict=True)):
        if x is None or y is None:
            return None
        lanes[k % 8] += x * y
    for apart in (4, 2, 1):
        lanes = [lanes[k] + lanes[k + apart] for k in range(apart)]
    return lanes[0]


def corr(left: Sequence[float | None], right: Sequence[float | None]) -> float | None:
    """Pearson's correlation, by exactly the operations of `dot` over `standardise`.

    >>> corr([1, 2, 3], [3, 2, 1])
    -0.9999999999999998
    """
    x, y = standardise(left), standardise(right)
    return None if x is None or y is None else dot(x, y)


_TABLE = (
    Function("abs", "abs(number or duration)", 1, 1, _abs_type, abs),
    Function("sqrt", "sqrt(number)", 1, 1, _numbers_give(FLOAT), _sqrt),
    Function("exp", "exp(number)", 1, 1, _numbers_give(FLOAT), _exp),
    Function("ln", "ln(number)", 1, 1, _numbers_give(FLOAT), _ln),
    Function("floor", "floor(number)", 1, 1, _numbers_give(INT), _floor),
    Function("ceil", "ceil(number)", 1, 1, _numbers_give(INT), _ceil),
    Function("round", "round(number) or round(number, places)", 1, 2, _round_type, _round),
    Function("least", "least(x, y, ...) of one type", 1, None, _ordered_type, _least, skips_null=True),
    Function("greatest", "greatest(x, y, ...) of one type", 1, None, _ordered_type, _greatest, skips_null=True),
    Function("coalesce", "coalesce(x, y, ...) of one type", 1, None, _common_type, _coalesce, skips_null=True),
    Function("length", "length(string or list)", 1, 1, _length_type, len),
    Function("lower", "lower(string)", 1, 1, _strings_give_string, str.lower),
    Function("upper", "upper(string)", 1, 1, _strings_give_string, str.upper),
    Function("corr", "corr(list of numbers, list of numbers)", 2, 2, _number_lists_give(FLOAT), corr),
    Function("standardise", "standardise(list of numbers)", 1, 1, _number_lists_give(list_of(FLOAT)), standardise),
    Function("dot", "dot(list of numbers, list of numbers)", 2, 2, _number_lists_give(FLOAT), dot),
)

BUILTINS: dict[str, Function] = {f.name: f for f in _TABLE}
"""Built-in functions by name."""

INTERNAL = frozenset({"standardise", "dot"})
"""Functions that `corr` is rewritten to; not available to users."""
