"""Scalar functions and operators of SQL: the types they take and what they compute.

Values are Python's: integers, floats, `Decimal`, strings, booleans, lists; times and intervals are whole ticks of their
type's unit, dates are days since 1970. Unless a function says otherwise, null in gives null out.
"""

from __future__ import annotations

import calendar
import datetime as dt
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import ROUND_DOWN, ROUND_HALF_UP, Context, Decimal
from functools import lru_cache
from typing import Any

import pyarrow as pa

from augury.ir.sql_types import (
    BIGINT,
    BOOLEAN,
    DAY_SECONDS,
    DOUBLE,
    NULL,
    NUMERIC,
    TEMPORAL,
    TICKS,
    VARCHAR,
    Family,
    arithmetic,
    common,
    family,
    integer_range,
    plain,
    sql_name,
)

EPOCH = dt.datetime(1970, 1, 1)
WIDE = Context(prec=76)
"""Enough digits for the product of two decimals of 38."""

LONGEST_STRING = 10_000_000
"""Characters a string function may produce."""


class BadValue(Exception):
    """A value that a function cannot work with: division by zero, overflow, a string that is no number."""


Types = Sequence[pa.DataType]


@dataclass(frozen=True, slots=True)
class ScalarFunction:
    """How a function is typed and computed.

    `result` gives the type for argument types, or raises `TypeError` with the reason. `apply` gets the values, then the
    argument types and the result type. With `lazy_nulls` it sees nulls itself.
    """

    least: int
    most: int | None
    result: Callable[[Types], pa.DataType]
    apply: Callable[[Sequence[Any], Types, pa.DataType], Any]
    sees_nulls: bool = False


def _expect(types: Types, *families: Family) -> None:
    for arrow in types:
        if family(arrow) not in (*families, Family.NULL):
            raise TypeError(f"takes {' or '.join(families)}, not {sql_name(arrow)}")


def _always(type: pa.DataType, *families: Family) -> Callable[[Types], pa.DataType]:
    def result(types: Types) -> pa.DataType:
        if families:
            _expect(types, *families)
        return type

    return result


def _first(*families: Family) -> Callable[[Types], pa.DataType]:
    def result(types: Types) -> pa.DataType:
        _expect(types[:1], *families)
        return plain(types[0])

    return result


def _one_type(types: Types) -> pa.DataType:
    out: pa.DataType = NULL
    for arrow in types:
        both = common(out, arrow)
        if both is None:
            raise TypeError(f"takes values of one type, not {sql_name(out)} and {sql_name(arrow)}")
        out = both
    return out


def _compared(types: Types) -> pa.DataType:
    if common(types[0], types[1]) is None:
        raise TypeError(f"cannot compare {sql_name(types[0])} with {sql_name(types[1])}")
    return BOOLEAN


# -- arithmetic --------------------------------------------------------------------------------------------------------


def _computed(operator: str) -> Callable[[Types], pa.DataType]:
    def result(types: Types) -> pa.DataType:
        out = arithmetic(operator, types[0], types[1])
        if out is None:
            raise TypeError(f"cannot be applied to {sql_name(types[0])} and {sql_name(types[1])}")
        return out

    return result


def ranged(value: int, type: pa.DataType) -> int:
    """An integer, if it fits its type."""
    least, most = integer_range(type)
    if not least <= value <= most:
        raise BadValue(f"{sql_name(type)} overflow: {value}")
    return value


def rounded(value: Decimal, type: pa.DataType, how: str = ROUND_HALF_UP) -> Decimal:
    """A decimal at the scale of its type, if it has no more digits than the type."""
    out = value.quantize(Decimal(1).scaleb(-type.scale), how, WIDE)
    if len(out.as_tuple().digits) > type.precision and out != 0:
        raise BadValue(f"{sql_name(type)} overflow: {out}")
    return out


def _arithmetic(operator: str) -> Callable[[Sequence[Any], Types, pa.DataType], Any]:
    def apply(values: Sequence[Any], types: Types, out: pa.DataType) -> Any:
        kinds = [family(t) for t in types]
        if any(k in TEMPORAL or k in (Family.INTERVAL, Family.MONTHS) for k in kinds):
            return _time_arithmetic(operator, values, types, out)
        match family(out):
            case Family.INTEGER:
                return ranged(_integer(operator, int(values[0]), int(values[1])), out)
            case Family.DECIMAL:
                return _decimal(operator, Decimal(values[0]), Decimal(values[1]), out)
            case _:
                return _float(operator, float(values[0]), float(values[1]))

    return apply


def _integer(operator: str, a: int, b: int) -> int:
    match operator:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
    if b == 0:
        raise BadValue("division by zero")
    quotient = abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)
    return quotient if operator == "/" else a - b * quotient


def _decimal(operator: str, a: Decimal, b: Decimal, out: pa.DataType) -> Decimal:
    match operator:
        case "+":
            value = WIDE.add(a, b)
        case "-":
            value = WIDE.subtract(a, b)
        case "*":
            value = WIDE.multiply(a, b)
        case "/":
            if b == 0:
                raise BadValue("division by zero")
            value = WIDE.divide(a, b)
        case _:
            if b == 0:
                raise BadValue("division by zero")
            value = WIDE.remainder(a, b)
    return rounded(value, out)


def _float(operator: str, a: float, b: float) -> float:
    match operator:
        case "+":
            return a + b
        case "-":
            return a - b
        case "*":
            return a * b
        case "/":
            if b == 0:
                return math.nan if a == 0 or math.isnan(a) else math.copysign(math.inf, a) * math.copysign(1, b)
            return a / b
        case _:
            return math.nan if b == 0 or math.isinf(a) else math.fmod(a, b)


def ticks(value: int, type: pa.DataType, per_second: int) -> int:
    """A time or an interval in other ticks, rounded down."""
    if family(type) is Family.DATE:
        return value * DAY_SECONDS * per_second
    return value * per_second // TICKS[type.unit]


def _time_arithmetic(operator: str, values: Sequence[Any], types: Types, out: pa.DataType) -> int:
    a, b = values
    left, right = (family(t) for t in types)
    if operator in "*/" and family(out) in (Family.INTERVAL, Family.MONTHS):
        if operator == "/" and b == 0:
            raise BadValue("division by zero")
        return int(a * b) if operator == "*" else int(a / b)
    if Family.MONTHS in (left, right) and left is not right:
        time, months = (a, b) if right is Family.MONTHS else (b, a)
        return _months_later(time, months if operator == "+" else -months, out)
    if family(out) is Family.MONTHS:
        return int(a + b if operator == "+" else a - b)
    per_second = TICKS[out.unit]
    x, y = ticks(a, types[0], per_second), ticks(b, types[1], per_second)
    return x + y if operator == "+" else x - y


def _months_later(time: int, months: int, type: pa.DataType) -> int:
    """The same day some months later, or the last of that month."""
    day_ticks = 1 if family(type) is Family.DATE else DAY_SECONDS * TICKS[type.unit]
    days, rest = divmod(time, day_ticks)
    date = EPOCH.date() + dt.timedelta(days=days)
    year, month = divmod(date.year * 12 + date.month - 1 + months, 12)
    if not 1 <= year <= 9999:
        raise BadValue("a time out of range")
    last = calendar.monthrange(year, month + 1)[1]
    moved = date.replace(year=year, month=month + 1, day=min(date.day, last))
    return (moved - EPOCH.date()).days * day_ticks + rest


def _negated(values: Sequence[Any], types: Types, out: pa.DataType) -> Any:
    return ranged(-values[0], out) if family(out) is Family.INTEGER else -values[0]


# -- comparison and logic ----------------------------------------------------------------------------------------------


def comparable(value: Any, type: pa.DataType, both: pa.DataType) -> Any:
    """A value as the common type of a comparison."""
    match family(both):
        case Family.FLOAT:
            return float(value)
        case Family.TIMESTAMP:
            return ticks(value, type, TICKS[both.unit])
        case Family.INTERVAL:
            return value * TICKS[both.unit] // TICKS[type.unit]
        case Family.LIST:
            return [None if v is None else comparable(v, type.value_type, both.value_type) for v in value]
        case _:
            return value


def _comparison(operator: Callable[[Any, Any], object]) -> Callable[[Sequence[Any], Types, pa.DataType], Any]:
    def apply(values: Sequence[Any], types: Types, out: pa.DataType) -> bool:
        both = common(types[0], types[1])
        assert both is not None
        return bool(operator(comparable(values[0], types[0], both), comparable(values[1], types[1], both)))

    return apply


def equal(a: Any, b: Any, types: Types) -> bool | None:
    """Whether two values are equal; null if one of them is."""
    if a is None or b is None:
        return None
    both = common(types[0], types[1])
    assert both is not None
    return bool(comparable(a, types[0], both) == comparable(b, types[1], both))


def _and(values: Sequence[Any], types: Types, out: pa.DataType) -> bool | None:
    return False if False in values else None if None in values else True


def _or(values: Sequence[Any], types: Types, out: pa.DataType) -> bool | None:
    return True if True in values else None if None in values else False


def _in(values: Sequence[Any], types: Types, out: pa.DataType) -> bool | None:
    found = [equal(values[0], v, (types[0], t)) for v, t in zip(values[1:], types[1:], strict=True)]
    return _or(found, types, out)


def _in_list(types: Types) -> pa.DataType:
    for arrow in types[1:]:
        _compared((types[0], arrow))
    return BOOLEAN


def _distinct(values: Sequence[Any], types: Types, out: pa.DataType) -> bool:
    a, b = values
    if a is None or b is None:
        return (a is None) != (b is None)
    return not equal(a, b, types)


def _coalesce(values: Sequence[Any], types: Types, out: pa.DataType) -> Any:
    for value, type in zip(values, types, strict=True):
        if value is not None:
            return convert(value, type, out)
    return None


def _nullif(values: Sequence[Any], types: Types, out: pa.DataType) -> Any:
    return None if equal(values[0], values[1], types) else values[0]


def _case_type(types: Types) -> pa.DataType:
    """Conditions and values in turn, then the value where none is true."""
    _expect(types[:-1:2], Family.BOOLEAN)
    return _one_type([*types[1::2], types[-1]])


def _case(values: Sequence[Any], types: Types, out: pa.DataType) -> Any:
    for k in range(0, len(values) - 1, 2):
        if values[k]:
            return None if values[k + 1] is None else convert(values[k + 1], types[k + 1], out)
    return None if values[-1] is None else convert(values[-1], types[-1], out)


def _extreme(choose: Callable[[Any], Any]) -> Callable[[Sequence[Any], Types, pa.DataType], Any]:
    def apply(values: Sequence[Any], types: Types, out: pa.DataType) -> Any:
        return choose([convert(v, t, out) for v, t in zip(values, types, strict=True)])

    return apply


# -- conversion --------------------------------------------------------------------------------------------------------


def castable(source: pa.DataType, target: pa.DataType) -> bool:
    """Whether CAST takes values from one type to the other."""
    a, b = family(source), family(target)
    if Family.OTHER in (a, b):
        return bool(source == target)
    if a is Family.LIST and b is Family.LIST:
        return castable(source.value_type, target.value_type)
    if Family.LIST in (a, b):
        return a is Family.NULL
    if a is b or a is Family.NULL or b is Family.STRING or a is Family.STRING:
        return b not in (Family.INTERVAL, Family.MONTHS) or a in (b, Family.NULL)
    if a in (*NUMERIC, Family.BOOLEAN) and b in (*NUMERIC, Family.BOOLEAN):
        return True
    return a in TEMPORAL and b in TEMPORAL


def convert(value: Any, source: pa.DataType, target: pa.DataType) -> Any:
    """CAST of a value that is not null."""
    a, b = family(source), family(target)
    match b:
        case Family.STRING:
            return as_text(value, source)
        case Family.BOOLEAN:
            return _to_boolean(value, a)
        case Family.INTEGER:
            return ranged(_to_integer(value, a), target)
        case Family.DECIMAL:
            return _to_decimal(value, a, target)
        case Family.FLOAT:
            return _to_float(value, a)
        case Family.TIMESTAMP:
            if a is Family.STRING:
                return _parse_time(value, target)
            return ticks(value, source, TICKS[target.unit])
        case Family.DATE:
            if a is Family.STRING:
                return _parse_time(value, pa.timestamp("us")) // (DAY_SECONDS * 1_000_000)
            return value if a is Family.DATE else value // (DAY_SECONDS * TICKS[source.unit])
        case Family.INTERVAL:
            return value * TICKS[target.unit] // TICKS[source.unit]
        case Family.LIST:
            return [None if v is None else convert(v, source.value_type, target.value_type) for v in value]
        case _:
            return value


def _to_boolean(value: Any, source: Family) -> bool:
    if source is Family.STRING:
        word = value.strip().lower()
        if word not in ("true", "t", "1", "false", "f", "0"):
            raise BadValue(f"`{value}` is not a boolean")
        return word in ("true", "t", "1")
    return bool(value)


def _to_integer(value: Any, source: Family) -> int:
    if source is Family.STRING:
        if not re.fullmatch(r"\s*[+-]?[0-9]{1,40}\s*", value):
            raise BadValue(f"`{value}` is not an integer")
        return int(value)
    if source is Family.FLOAT and not math.isfinite(value):
        raise BadValue(f"{value} is not an integer")
    if source in (Family.FLOAT, Family.DECIMAL):
        return int(Decimal(value).to_integral_value(ROUND_HALF_UP))
    return int(value)


def _to_decimal(value: Any, source: Family, target: pa.DataType) -> Decimal:
    if source is Family.STRING and not re.fullmatch(r"\s*[+-]?(\d{1,40}(\.\d{0,40})?|\.\d{1,40})\s*", value):
        raise BadValue(f"`{value}` is not a decimal")
    if source is Family.FLOAT and not math.isfinite(value):
        raise BadValue(f"{value} is not a decimal")
    return rounded(Decimal(value.strip() if source is Family.STRING else value), target)


def _to_float(value: Any, source: Family) -> float:
    try:
        return float(value)
    except ValueError:
        raise BadValue(f"`{value}` is not a number") from None


def _parse_time(text: str, type: pa.DataType) -> int:
    """Ticks of an ISO 8601 time; in UTC if the type has a zone."""
    try:
        time = dt.datetime.fromisoformat(text.strip())
    except ValueError:
        raise BadValue(f"`{text}` is not a time") from None
    if time.tzinfo is not None:
        time = time.astimezone(dt.UTC).replace(tzinfo=None)
    since = time - EPOCH
    micros = (since.days * DAY_SECONDS + since.seconds) * 1_000_000 + since.microseconds
    return micros * TICKS[type.unit] // 1_000_000


def as_text(value: Any, source: pa.DataType) -> str:
    """A value as CAST(... AS varchar) writes it."""
    match family(source):
        case Family.BOOLEAN:
            return "true" if value else "false"
        case Family.FLOAT:
            return _float_text(value)
        case Family.DATE:
            return (EPOCH.date() + dt.timedelta(days=value)).isoformat()
        case Family.TIMESTAMP:
            per_second = TICKS[source.unit]
            whole, rest = divmod(value, per_second)
            digits = len(str(per_second)) - 1
            fraction = f".{rest:0{digits}d}" if digits else ""
            return f"{EPOCH + dt.timedelta(seconds=whole)}{fraction}" + ("" if source.tz is None else " UTC")
        case _:
            return str(value)


def _float_text(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    mantissa, _, exponent = f"{Decimal(repr(value)):E}".partition("E")
    if "." not in mantissa:
        mantissa += ".0"
    mantissa = mantissa.rstrip("0")
    return f"{mantissa}0E{int(exponent)}" if mantissa.endswith(".") else f"{mantissa}E{int(exponent)}"


# -- strings and lists -------------------------------------------------------------------------------------------------


@lru_cache(256)
def _like(pattern: str, escape: str | None) -> re.Pattern[str]:
    """A LIKE pattern; runs of `%` are one, so that matching cannot take exponential time."""
    out, k = [], 0
    while k < len(pattern):
        c = pattern[k]
        if escape and c == escape:
            k += 1
            if k == len(pattern) or pattern[k] not in ("%", "_", escape):
                raise BadValue("the escape character of LIKE stands before `%`, `_` or itself")
            out.append(re.escape(pattern[k]))
        elif c == "%":
            # An atomic group: the shortest stretch up to the next literal is as good as any longer one.
            if not out or out[-1] != ".*?":
                out.append(".*?")
        elif c == "_":
            out.append(".")
        else:
            out.append(re.escape(c))
        k += 1
    pieces = "".join(out).split(".*?")
    if len(pieces) == 1:
        return re.compile(pieces[0], re.DOTALL)
    middle = "".join(f"(?>.*?{piece})" for piece in pieces[1:-1])
    return re.compile(f"{pieces[0]}{middle}.*{pieces[-1]}", re.DOTALL)


def _apply_like(values: Sequence[Any], types: Types, out: pa.DataType) -> bool:
    escape = values[2] if len(values) > 2 else None
    if escape is not None and len(escape) != 1:
        raise BadValue("the escape of LIKE is one character")
    return _like(values[1], escape).fullmatch(values[0]) is not None


def _short(text: str) -> str:
    if len(text) > LONGEST_STRING:
        raise BadValue(f"a string of more than {LONGEST_STRING} characters")
    return text


def _concat_type(types: Types) -> pa.DataType:
    if any(family(t) is Family.LIST for t in types):
        return _one_type([t if family(t) is Family.LIST else pa.list_(plain(t)) for t in types])
    _expect(types, Family.STRING)
    return VARCHAR


def _concat(values: Sequence[Any], types: Types, out: pa.DataType) -> Any:
    if family(out) is Family.LIST:
        lists = [v if family(t) is Family.LIST else [v] for v, t in zip(values, types, strict=True)]
        return [item for part in lists for item in part]
    return _short("".join(values))


def _concat_ws_type(types: Types) -> pa.DataType:
    _expect(types[:1], Family.STRING)
    for arrow in types[1:]:
        _expect([arrow.value_type if family(arrow) is Family.LIST else arrow], Family.STRING)
    return VARCHAR


def _concat_ws(values: Sequence[Any], types: Types, out: pa.DataType) -> str | None:
    """Nulls among the parts are left out, lists are taken apart; a null separator gives null."""
    if values[0] is None:
        return None
    parts = [p for v in values[1:] for p in (v if isinstance(v, list) else [v])]
    return _short(values[0].join(p for p in parts if p is not None))


def _array_join_type(types: Types) -> pa.DataType:
    _expect(types[:1], Family.LIST)
    _expect(types[1:], Family.STRING)
    return VARCHAR


def _array_join(values: Sequence[Any], types: Types, out: pa.DataType) -> str:
    """Nulls are left out, unless a third argument stands for them."""
    instead = values[2] if len(values) > 2 else None
    item = types[0].value_type if family(types[0]) is Family.LIST else VARCHAR
    parts = [instead if v is None else as_text(v, item) for v in values[0]]
    return _short(values[1].join(p for p in parts if p is not None))


def _substring(values: Sequence[Any], types: Types, out: pa.DataType) -> str:
    text, start = values[0], values[1]
    length = values[2] if len(values) > 2 else len(text)
    if start == 0 or length <= 0:
        return ""
    begin = start - 1 if start > 0 else len(text) + start
    return text[begin : begin + length] if begin >= 0 else ""


def _substring_type(types: Types) -> pa.DataType:
    _expect(types[:1], Family.STRING)
    _expect(types[1:], Family.INTEGER)
    return VARCHAR


def _item_type(types: Types) -> pa.DataType:
    _expect(types[:1], Family.LIST)
    _expect(types[1:2], Family.INTEGER)
    return types[0].value_type if family(types[0]) is Family.LIST else NULL


def _element_at(values: Sequence[Any], types: Types, out: pa.DataType) -> Any:
    items, index = values
    if index == 0:
        raise BadValue("the first element of an array is number 1")
    at = index - 1 if index > 0 else len(items) + index
    return items[at] if 0 <= at < len(items) else None


def _subscript(values: Sequence[Any], types: Types, out: pa.DataType) -> Any:
    items, index = values
    if not 1 <= index <= len(items):
        raise BadValue(f"the array of {len(items)} elements has no element {index}")
    return items[index - 1]


def _contains_type(types: Types) -> pa.DataType:
    _expect(types[:1], Family.LIST)
    if family(types[0]) is Family.LIST:
        _compared((types[0].value_type, types[1]))
    return BOOLEAN


def _contains(values: Sequence[Any], types: Types, out: pa.DataType) -> bool | None:
    item = types[0].value_type
    return _or([equal(v, values[1], (item, types[1])) for v in values[0]], types, out)


def _text(apply: Callable[[str], Any], type: pa.DataType = VARCHAR) -> ScalarFunction:
    return ScalarFunction(1, 1, _always(type, Family.STRING), lambda values, types, out: apply(values[0]))


def _texts(count: int, apply: Callable[..., Any], type: pa.DataType = VARCHAR) -> ScalarFunction:
    return ScalarFunction(count, count, _always(type, Family.STRING), lambda values, types, out: apply(*values))


# -- numbers and times -------------------------------------------------------------------------------------------------


def _real(apply: Callable[..., float], count: int = 1) -> ScalarFunction:
    def checked(values: Sequence[Any], types: Types, out: pa.DataType) -> float:
        try:
            return apply(*map(float, values))
        except (ValueError, OverflowError, ZeroDivisionError):
            return math.nan

    return ScalarFunction(count, count, _always(DOUBLE, *NUMERIC), checked)


def _whole(how: Callable[[Any], int]) -> Callable[[Sequence[Any], Types, pa.DataType], Any]:
    def apply(values: Sequence[Any], types: Types, out: pa.DataType) -> Any:
        value = values[0]
        match family(out):
            case Family.INTEGER:
                return value
            case Family.DECIMAL:
                return rounded(Decimal(how(value)), out)
            case _:
                return float(how(value)) if math.isfinite(value) else value

    return apply


def _round(values: Sequence[Any], types: Types, out: pa.DataType) -> Any:
    value, digits = values[0], values[1] if len(values) > 1 else 0
    if family(out) is Family.FLOAT and not math.isfinite(value):
        return value
    exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    moved = exact.quantize(Decimal(1).scaleb(-max(-40, min(digits, 40))), ROUND_HALF_UP, WIDE)
    match family(out):
        case Family.INTEGER:
            return ranged(int(moved), out)
        case Family.DECIMAL:
            return rounded(moved, out)
        case _:
            return float(moved)


def _round_type(types: Types) -> pa.DataType:
    _expect(types[:1], *NUMERIC)
    _expect(types[1:], Family.INTEGER)
    return plain(types[0])


def _absolute(values: Sequence[Any], types: Types, out: pa.DataType) -> Any:
    return ranged(abs(values[0]), out) if family(out) is Family.INTEGER else abs(values[0])


UNIT_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": DAY_SECONDS, "week": 7 * DAY_SECONDS}
FIELDS = ("year", "quarter", "month", "day", "hour", "minute", "second", "millisecond", "day_of_week", "day_of_year")


def moment(value: int, type: pa.DataType) -> dt.datetime:
    """A date or a timestamp to the microsecond, in UTC if it has a zone."""
    try:
        return EPOCH + dt.timedelta(microseconds=ticks(value, type, 1_000_000))
    except OverflowError:
        raise BadValue("a time out of range") from None


def _field(name: str) -> ScalarFunction:
    def apply(values: Sequence[Any], types: Types, out: pa.DataType) -> int:
        time = moment(values[0], types[0])
        match name:
            case "quarter":
                return (time.month + 2) // 3
            case "day_of_week":
                return time.isoweekday()
            case "day_of_year":
                return time.timetuple().tm_yday
            case "millisecond":
                return time.microsecond // 1000
            case _:
                return int(getattr(time, name))

    return ScalarFunction(1, 1, _always(BIGINT, *TEMPORAL), apply)


def _date_diff_type(types: Types) -> pa.DataType:
    _expect(types[:1], Family.STRING)
    _expect(types[1:], *TEMPORAL)
    _compared(types[1:])
    return BIGINT


def _date_diff(values: Sequence[Any], types: Types, out: pa.DataType) -> int:
    """Whole units from the first time to the second."""
    unit = values[0].lower()
    a, b = (ticks(v, t, 1_000_000) for v, t in zip(values[1:], types[1:], strict=True))
    if unit == "millisecond":
        return int((b - a) / 1000)
    if unit in UNIT_SECONDS:
        return _integer("/", b - a, UNIT_SECONDS[unit] * 1_000_000)
    months = {"month": 1, "quarter": 3, "year": 12}.get(unit)
    if months is None:
        raise BadValue(f"`{values[0]}` is not a unit of time")
    first, second = moment(values[1], types[1]), moment(values[2], types[2])
    sign = 1 if second >= first else -1
    early, late = (first, second) if sign > 0 else (second, first)
    whole = (late.year - early.year) * 12 + late.month - early.month
    if (late.day, late.time()) < (early.day, early.time()):
        whole -= 1
    return sign * (whole // months)


def _date_trunc_type(types: Types) -> pa.DataType:
    _expect(types[:1], Family.STRING)
    _expect(types[1:], *TEMPORAL)
    return plain(types[1])


def _date_trunc(values: Sequence[Any], types: Types, out: pa.DataType) -> int:
    unit = values[0].lower()
    day_ticks = 1 if family(out) is Family.DATE else DAY_SECONDS * TICKS[out.unit]
    if unit in ("second", "minute", "hour", "day"):
        step = max(1, day_ticks * UNIT_SECONDS[unit] // DAY_SECONDS)
        return int(values[1] // step * step)
    time = moment(values[1], types[1])
    match unit:
        case "week":
            start = time - dt.timedelta(days=time.weekday())
        case "month":
            start = time.replace(day=1)
        case "quarter":
            start = time.replace(month=(time.month - 1) // 3 * 3 + 1, day=1)
        case "year":
            start = time.replace(month=1, day=1)
        case _:
            raise BadValue(f"`{values[0]}` is not a unit of time")
    return (start.date() - EPOCH.date()).days * day_ticks


def _unix_time(values: Sequence[Any], types: Types, out: pa.DataType) -> float:
    return ticks(values[0], types[0], 1_000_000) / 1_000_000


def _array_type(types: Types) -> pa.DataType:
    return pa.list_(_one_type(types))


def _array(values: Sequence[Any], types: Types, out: pa.DataType) -> list[Any]:
    return [None if v is None else convert(v, t, out.value_type) for v, t in zip(values, types, strict=True)]


FUNCTIONS: dict[str, ScalarFunction] = {
    **{op: ScalarFunction(2, 2, _computed(op), _arithmetic(op)) for op in "+-*/%"},
    "mod": ScalarFunction(2, 2, _computed("%"), _arithmetic("%")),
    "negate": ScalarFunction(1, 1, _first(*NUMERIC, Family.INTERVAL, Family.MONTHS), _negated),
    "=": ScalarFunction(2, 2, _compared, _comparison(lambda a, b: a == b)),
    "<>": ScalarFunction(2, 2, _compared, _comparison(lambda a, b: a != b)),
    "<": ScalarFunction(2, 2, _compared, _comparison(lambda a, b: a < b)),
    "<=": ScalarFunction(2, 2, _compared, _comparison(lambda a, b: a <= b)),
    ">": ScalarFunction(2, 2, _compared, _comparison(lambda a, b: a > b)),
    ">=": ScalarFunction(2, 2, _compared, _comparison(lambda a, b: a >= b)),
    "and": ScalarFunction(2, None, _always(BOOLEAN, Family.BOOLEAN), _and, sees_nulls=True),
    "or": ScalarFunction(2, None, _always(BOOLEAN, Family.BOOLEAN), _or, sees_nulls=True),
    "not": ScalarFunction(1, 1, _always(BOOLEAN, Family.BOOLEAN), lambda values, types, out: not values[0]),
    "in": ScalarFunction(1, None, _in_list, _in, sees_nulls=True),
    "is null": ScalarFunction(1, 1, _always(BOOLEAN), lambda values, types, out: values[0] is None, sees_nulls=True),
    "is true": ScalarFunction(
        1, 1, _always(BOOLEAN, Family.BOOLEAN), lambda values, types, out: values[0] is True, sees_nulls=True
    ),
    "is false": ScalarFunction(
        1, 1, _always(BOOLEAN, Family.BOOLEAN), lambda values, types, out: values[0] is False, sees_nulls=True
    ),
    "is distinct from": ScalarFunction(2, 2, _compared, _distinct, sees_nulls=True),
    "like": ScalarFunction(2, 3, _always(BOOLEAN, Family.STRING), _apply_like),
    "case": ScalarFunction(3, None, _case_type, _case, sees_nulls=True),
    "if": ScalarFunction(3, 3, _case_type, _case, sees_nulls=True),
    "coalesce": ScalarFunction(1, None, _one_type, _coalesce, sees_nulls=True),
    "nullif": ScalarFunction(
        2, 2, lambda types: plain(types[0]) if _compared(types) else NULL, _nullif, sees_nulls=True
    ),
    "greatest": ScalarFunction(1, None, _one_type, _extreme(max)),
    "least": ScalarFunction(1, None, _one_type, _extreme(min)),
    "||": ScalarFunction(2, 2, _concat_type, _concat),
    "concat": ScalarFunction(2, None, _concat_type, _concat),
    "concat_ws": ScalarFunction(2, None, _concat_ws_type, _concat_ws, sees_nulls=True),
    "array_join": ScalarFunction(2, 3, _array_join_type, _array_join),
    "array": ScalarFunction(0, None, _array_type, _array, sees_nulls=True),
    "subscript": ScalarFunction(2, 2, _item_type, _subscript),
    "element_at": ScalarFunction(2, 2, _item_type, _element_at),
    "cardinality": ScalarFunction(1, 1, _always(BIGINT, Family.LIST), lambda values, types, out: len(values[0])),
    "contains": ScalarFunction(2, 2, _contains_type, _contains),
    "lower": _text(str.lower),
    "upper": _text(str.upper),
    "trim": _text(lambda s: s.strip(" ")),
    "ltrim": _text(lambda s: s.lstrip(" ")),
    "rtrim": _text(lambda s: s.rstrip(" ")),
    "reverse": _text(lambda s: s[::-1]),
    "length": _text(len, BIGINT),
    "char_length": _text(len, BIGINT),
    "character_length": _text(len, BIGINT),
    "substr": ScalarFunction(2, 3, _substring_type, _substring),
    "substring": ScalarFunction(2, 3, _substring_type, _substring),
    "replace": _texts(3, lambda s, old, new: _short(s.replace(old, new)) if len(old) else s),
    "strpos": _texts(2, lambda s, part: s.find(part) + 1, BIGINT),
    "starts_with": _texts(2, str.startswith, BOOLEAN),
    "abs": ScalarFunction(1, 1, _first(*NUMERIC), _absolute),
    "ceil": ScalarFunction(1, 1, _first(*NUMERIC), _whole(math.ceil)),
    "ceiling": ScalarFunction(1, 1, _first(*NUMERIC), _whole(math.ceil)),
    "floor": ScalarFunction(1, 1, _first(*NUMERIC), _whole(math.floor)),
    "truncate": ScalarFunction(1, 1, _first(*NUMERIC), _whole(lambda v: int(Decimal(v).to_integral_value(ROUND_DOWN)))),
    "round": ScalarFunction(1, 2, _round_type, _round),
    "sign": ScalarFunction(
        1, 1, _first(*NUMERIC), lambda values, types, out: type(values[0])((values[0] > 0) - (values[0] < 0))
    ),
    "sqrt": _real(math.sqrt),
    "exp": _real(math.exp),
    "ln": _real(math.log),
    "log10": _real(math.log10),
    "log2": _real(math.log2),
    "power": _real(math.pow, 2),
    "pow": _real(math.pow, 2),
    **{name: _field(name) for name in FIELDS},
    "date_diff": ScalarFunction(3, 3, _date_diff_type, _date_diff),
    "date_trunc": ScalarFunction(2, 2, _date_trunc_type, _date_trunc),
    "to_unixtime": ScalarFunction(1, 1, _always(DOUBLE, *TEMPORAL), _unix_time),
}
"""Functions by their names in lower case; operators by their sign or their words."""
