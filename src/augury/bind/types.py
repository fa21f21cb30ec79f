"""Types of values that can be combined, and conversion of times to a common unit."""

from __future__ import annotations

from dataclasses import replace

from augury.bind.scope import Scope
from augury.bind.values import duration_literal, fits, timestamp_literal
from augury.ir.durations import duration_nanoseconds
from augury.ir.predicate import Arithmetic, Compare, Expr, Literal, Negate
from augury.schema import BOOL, FLOAT, INT, NULL, STRING, UNITS, ColumnType, EventSchema, Kind, duration
from augury.source import Span

_TIMES = (Kind.TIMESTAMP, Kind.DURATION)


def is_condition(e: Expr, scope: Scope) -> bool:
    """Whether `e` is a boolean, as AND, OR, NOT and WHERE need it; reports an error if not."""
    if e.type == BOOL or (e.type == NULL and not isinstance(e, Literal)):
        return True
    help = "compare it with something, as in `x > 0`"
    message = f"a condition is true or false, this is of type {e.type}"
    scope.problems.report("A303", message, e.span, "not a condition", help)
    return False


def _are_computable(left: Expr, right: Expr, scope: Scope) -> bool:
    """Whether both sides can be operands; reports each one that cannot."""
    fine = [_is_computable(left, scope), _is_computable(right, scope)]
    return all(fine)


def _is_computable(e: Expr, scope: Scope) -> bool:
    if isinstance(e, Literal) and e.type == NULL:
        help = "write `x IS NULL` or `x IS NOT NULL`"
        scope.problems.report("A306", "nothing can be compared or computed with NULL", e.span, "is never true", help)
        return False
    if e.type.kind in (Kind.LIST, Kind.OTHER):
        help = "a list may be given to a function that takes one, as in corr(a.x, b.x), or tested with IS NULL"
        message = f"a value of type {e.type} can be neither compared nor computed with"
        scope.problems.report("A311", message, e.span, "whole value", help)
        return False
    return True


# -- comparisons -------------------------------------------------------------------------------------------------------


def compared(operator: str, left: Expr, right: Expr, span: Span, scope: Scope) -> Compare | None:
    """`left operator right`, or None after a type error has been reported."""
    pair = comparable(left, right, span, scope)
    if pair is None:
        return None
    if BOOL in (left.type, right.type) and operator not in ("=", "!="):
        help = "compare booleans with `=` or `!=`"
        scope.problems.report("A312", f"booleans have no order, so `{operator}` does not apply", span, "booleans", help)
        return None
    return Compare(operator, *pair, span=span)


def comparable(left: Expr, right: Expr, span: Span, scope: Scope) -> tuple[Expr, Expr] | None:
    """Convert both sides to a common family and unit; None if there is none."""
    if not _are_computable(left, right, scope):
        return None
    if NULL in (left.type, right.type) or (left.type.numeric and right.type.numeric):
        return left, right
    dated = _dated(left, right, scope)
    if dated is None:
        return None
    left, right = dated
    kinds = left.type.kind, right.type.kind
    if kinds[0] is kinds[1]:
        return _aligned(left, right, scope) if kinds[0] in _TIMES else (left, right)
    if right.type.kind is Kind.DURATION and left.type.numeric and _tick(scope.schema) is not None:
        return _counted(left, right, scope)
    if left.type.kind is Kind.DURATION and right.type.numeric and _tick(scope.schema) is not None:
        swapped = _counted(right, left, scope)
        return None if swapped is None else (swapped[1], swapped[0])
    scope.problems.report(
        "A301",
        f"cannot compare {left.type} with {right.type}",
        span,
        "different kinds of values",
        "numbers compare with numbers, strings with strings, booleans with booleans, times with times",
    )
    return None


def _dated(left: Expr, right: Expr, scope: Scope) -> tuple[Expr, Expr] | None:
    """Parse a string constant beside a timestamp as a time, beside a duration as a duration."""
    if left.type.kind in _TIMES and isinstance(right, Literal) and right.type == STRING:
        time = _time(right, left.type.kind, scope)
        return None if time is None else (left, time)
    if right.type.kind in _TIMES and isinstance(left, Literal) and left.type == STRING:
        time = _time(left, right.type.kind, scope)
        return None if time is None else (time, right)
    return left, right


def _time(text: Literal, kind: Kind, scope: Scope) -> Literal | None:
    if kind is Kind.DURATION:
        length = duration_nanoseconds(str(text.value))
        if length is not None:
            return duration_literal(length, text.span)
        message = f"'{text.value}' is not a duration"
        scope.problems.report("A307", message, text.span, "compared with a duration", "write it as in '10 minutes'")
        return None
    time = timestamp_literal(str(text.value), text.span)
    if time is None:
        help = "write it as in '2024-05-17' or '2024-05-17T09:30:00'"
        message = f"'{text.value}' is not a time in ISO 8601"
        scope.problems.report("A307", message, text.span, "compared with a timestamp", help)
    return time


# -- units of time -----------------------------------------------------------------------------------------------------


def aligned_to_finest(exprs: list[Expr], scope: Scope) -> list[Expr] | None:
    """Times of one kind in the finest of their units; other values unchanged."""
    units = {e.type.unit for e in exprs if e.type != NULL}
    if len(units) < 2 or None in units or len({e.type.kind for e in exprs if e.type != NULL}) > 1:
        return exprs
    finest = min((unit for unit in units if unit is not None), key=UNITS.__getitem__)
    scaled = [e if e.type == NULL else _in_unit(e, finest, scope) for e in exprs]
    known = [e for e in scaled if e is not None]
    return known if len(known) == len(scaled) else None


def _aligned(left: Expr, right: Expr, scope: Scope) -> tuple[Expr, Expr] | None:
    """Convert two times to one unit: a constant to that of the other side if exact, else both to the finer unit."""
    one, other = _unit(left), _unit(right)
    if isinstance(right, Literal) and _exact(right, one):
        unit = one
    elif isinstance(left, Literal) and _exact(left, other):
        unit = other
    else:
        unit = min(one, other, key=UNITS.__getitem__)
    scaled = _in_unit(left, unit, scope), _in_unit(right, unit, scope)
    return None if scaled[0] is None or scaled[1] is None else (scaled[0], scaled[1])


def _unit(e: Expr) -> str:
    assert e.type.unit is not None
    return e.type.unit


def _exact(literal: Literal, unit: str) -> bool:
    return nanoseconds_of(literal) % UNITS[unit] == 0


def nanoseconds_of(literal: Literal) -> int:
    """The nanoseconds of a constant time or duration."""
    assert isinstance(literal.value, int)
    return literal.value * UNITS[_unit(literal)]


def _in_unit(e: Expr, unit: str, scope: Scope) -> Expr | None:
    """`e` in ticks of `unit`, which is at least as fine as its own, or exact for it."""
    if _unit(e) == unit:
        return e
    type = replace(e.type, unit=unit)
    if isinstance(e, Literal):
        return in_range(nanoseconds_of(e) // UNITS[unit], type, e.span, scope)
    factor = UNITS[_unit(e)] // UNITS[unit]
    return Arithmetic("*", e, Literal(factor, INT, e.span), type, e.span)


def in_range(ticks: int, type: ColumnType, span: Span, scope: Scope, limit: int = 2**63) -> Literal | None:
    """A constant number of ticks; reports an error unless its magnitude is below the limit."""
    if -limit <= ticks < limit:
        return Literal(ticks, type, span)
    unit = f" when counted in {type.unit}" if type.unit else ""
    help = "a clock of nanoseconds reaches 146 years, one of microseconds 146,000"
    scope.problems.report("A308", f"this time does not fit {limit.bit_length()} bits{unit}", span, "out of range", help)
    return None


# -- time columns that hold numbers ------------------------------------------------------------------------------------


def _tick(schema: EventSchema) -> int | None:
    """The nanoseconds in 1 of a numeric time column: ticks if it holds integers, seconds if it holds floats."""
    match schema[schema.time].kind:
        case Kind.INT | Kind.NULL:
            return UNITS[schema.time_unit]
        case Kind.FLOAT:
            return UNITS["s"]
        case _:
            return None


def _counted(number: Expr, length: Expr, scope: Scope) -> tuple[Expr, Expr] | None:
    """A number and a duration as two numbers, in the unit of the time column, or a finer one if that is inexact."""
    tick = _tick(scope.schema)
    assert tick is not None
    if isinstance(length, Literal):
        constant = _ticks(length, tick, number.type, scope)
        if constant is not None:
            return number, constant
        if nanoseconds_of(length) % tick == 0:
            return None
    if tick == UNITS[_unit(length)]:
        return number, length
    if tick < UNITS[_unit(length)]:
        factor = UNITS[_unit(length)] // tick
        return number, Arithmetic("*", length, Literal(factor, INT, length.span), INT, length.span)
    factor = tick // UNITS[_unit(length)]
    scaled = Arithmetic("*", number, Literal(factor, INT, number.span), number.type, number.span)
    return scaled, replace(length, type=INT) if isinstance(length, Literal) else length


def _ticks(length: Literal, tick: int, beside: ColumnType, scope: Scope) -> Literal | None:
    """A constant duration as a number of ticks, or None if an integer cannot hold it."""
    nanoseconds = nanoseconds_of(length)
    if nanoseconds % tick == 0:
        return in_range(nanoseconds // tick, INT, length.span, scope)
    return Literal(nanoseconds / tick, FLOAT, length.span) if beside == FLOAT else None


# -- arithmetic --------------------------------------------------------------------------------------------------------


def computed(operator: str, left: Expr, right: Expr, span: Span, scope: Scope) -> Expr | None:
    """`left operator right`, or None after a type error has been reported."""
    if not _are_computable(left, right, scope):
        return None
    dated = _dated(left, right, scope) if operator == "-" else (left, right)
    if dated is None:
        return None
    left, right = dated
    one, two = left.type, right.type
    other = two if one == NULL else one
    if NULL in (one, two) and (other.numeric or other.kind in (*_TIMES, Kind.NULL)):
        return Arithmetic(operator, left, right, FLOAT if operator == "/" and other.kind not in _TIMES else other, span)
    if one.numeric and two.numeric:
        return Arithmetic(operator, left, right, INT if one == two == INT and operator != "/" else FLOAT, span)
    match operator, one.kind, two.kind:
        case ("*" | "/", Kind.DURATION, Kind.INT | Kind.FLOAT):
            return Arithmetic(operator, left, right, one, span)
        case ("*", Kind.INT | Kind.FLOAT, Kind.DURATION):
            return Arithmetic(operator, left, right, two, span)
        case (
            ("-", Kind.TIMESTAMP, Kind.TIMESTAMP)
            | ("+" | "-", Kind.TIMESTAMP | Kind.DURATION, Kind.DURATION)
            | ("+", Kind.DURATION, Kind.TIMESTAMP)
            | ("/", Kind.DURATION, Kind.DURATION)
        ):
            pair = _aligned(left, right, scope)
            return None if pair is None else Arithmetic(operator, *pair, _time_result(operator, *pair), span)
        case ("+" | "-", Kind.INT | Kind.FLOAT, Kind.DURATION) | ("+" | "-", Kind.DURATION, Kind.INT | Kind.FLOAT):
            return _shifted(operator, left, right, span, scope)
    _report_arithmetic(operator, one, two, span, scope)
    return None


def _time_result(operator: str, left: Expr, right: Expr) -> ColumnType:
    if operator == "/":
        return FLOAT
    if left.type.kind is right.type.kind:
        return duration(_unit(left))
    return left.type if left.type.kind is Kind.TIMESTAMP else right.type


def _shifted(operator: str, left: Expr, right: Expr, span: Span, scope: Scope) -> Expr | None:
    """A time in a numeric column, plus or minus a constant duration."""
    number, length = (left, right) if left.type.numeric else (right, left)
    tick = _tick(scope.schema)
    constant = None
    if isinstance(length, Literal) and tick is not None:
        constant = _ticks(length, tick, number.type, scope)
    if constant is None:
        _report_arithmetic(operator, left.type, right.type, span, scope)
        return None
    type = INT if number.type == constant.type == INT else FLOAT
    if left is number:
        return Arithmetic(operator, number, constant, type, span)
    return Arithmetic(operator, constant, number, type, span)


def _report_arithmetic(operator: str, left: ColumnType, right: ColumnType, span: Span, scope: Scope) -> None:
    scope.problems.report(
        "A302",
        f"`{operator}` does not apply to {left} and {right}",
        span,
        "cannot be computed",
        "numbers compute with numbers; times differ by durations; durations add, and scale by numbers",
    )


def negated(operand: Expr, span: Span, scope: Scope) -> Expr | None:
    """`-operand`; constants are negated here, so that -5 is a single constant."""
    if not _is_computable(operand, scope):
        return None
    if not (operand.type.numeric or operand.type.kind in (Kind.DURATION, Kind.NULL)):
        help = "negate a number or a duration"
        scope.problems.report("A313", f"`-` does not apply to {operand.type}", span, "cannot be negated", help)
        return None
    if isinstance(operand, Literal) and isinstance(operand.value, int | float) and fits(-int_part(operand.value)):
        return Literal(-operand.value, operand.type, span)
    return Negate(operand, operand.type, span)


def int_part(value: float) -> int:
    """The integer to check for overflow: the value's own, or 0 for a float."""
    return value if isinstance(value, int) else 0
