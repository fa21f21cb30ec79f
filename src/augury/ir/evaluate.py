"""Evaluation of expressions over the events of a match."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import product
from numbers import Integral, Real
from typing import Any, TypeAlias, assert_never

import numpy as np

from augury.arguments import shown
from augury.errors import AuguryError, FunctionFailed, HostError
from augury.ir.functions import BUILTINS, representable
from augury.ir.predicate import (
    Aggregate,
    And,
    Arithmetic,
    Call,
    Compare,
    Conjunct,
    Element,
    Expr,
    InRound,
    IsNull,
    ListLength,
    Literal,
    Member,
    Negate,
    Not,
    Nth,
    Or,
    Ref,
    Value,
    variables,
    walk,
)
from augury.ir.rounds import name_in_round
from augury.schema import ColumnType, Kind

Row: TypeAlias = Mapping[str, Value]
Bindings: TypeAlias = Mapping[str, Sequence[Row]]
"""The events of each bound variable; a single variable has one.

A group has an empty row for each of its rounds; events bound in rounds have the names of `ir.rounds.name_in_round`.
"""

Functions: TypeAlias = Mapping[str, Callable[..., Any]]

EMPTY: Mapping[str, Any] = {}

SHOWN_ATTRIBUTES = 8
"""Attributes of an event that an error message shows."""


def evaluate(
    expr: Expr, bindings: Bindings, *, elements: Mapping[str, int] = EMPTY, functions: Functions = EMPTY
) -> Value:
    """The value of `expr`; null if it reads an unbound variable.

    `elements` has the current element of each iterated variable that is read as `b[i]`.

    >>> from augury.schema import INT
    >>> evaluate(Arithmetic("-", Ref("a", "x", INT), Literal(1, INT), INT), {"a": [{"x": 5}]})
    4
    """

    def value(e: Expr) -> Value:
        return evaluate(e, bindings, elements=elements, functions=functions)

    match expr:
        case Literal(constant):
            return constant
        case Ref(variable, column, _, element, default):
            rows = bindings.get(variable)
            if rows is None:
                return None if default is None else value(default)
            match element:
                case Element.SINGLE | Element.FIRST:
                    return rows[0][column]
                case Element.EACH:
                    return rows[elements[variable]][column]
                case Element.PREVIOUS:
                    return rows[elements[variable] - 1][column]
                case Nth(number):
                    return rows[number - 1][column] if number <= len(rows) else None
                case Element.LAST:
                    return rows[-1][column]
                case _:
                    assert_never(element)
        case ListLength(variable):
            return len(bindings[variable]) if variable in bindings else None
        case InRound(group, Element.EACH) if group not in elements:
            # In RETURN: the values in every round.
            return (
                [_in_round(expr, bindings, k, functions) for k in range(len(bindings[group]))]
                if group in bindings
                else None
            )
        case InRound(group):
            return _in_round(expr, bindings, elements.get(group), functions)
        case Aggregate(function, variable, argument, running):
            if variable not in bindings:
                return None
            if argument is not None and expr.rounds:
                return aggregate(function, _over_rounds(argument, bindings, len(bindings[variable]), functions))
            if running and variable not in elements:
                # In RETURN: the values at every element.
                return [
                    evaluate(expr, bindings, elements={**elements, variable: k}, functions=functions)
                    for k in range(len(bindings[variable]))
                ]
            size = elements[variable] + expr.inclusive if running else len(bindings[variable])
            if argument is None:
                return size
            values = [
                evaluate(argument, bindings, elements={**elements, variable: k}, functions=functions)
                for k in range(size)
            ]
            return aggregate(function, values)
        case Arithmetic(symbol, left, right, type):
            return _arithmetic(symbol, value(left), value(right), type)
        case Negate(operand, type):
            return _arithmetic("-", 0, value(operand), type)
        case Compare(symbol, left, right):
            return compare(symbol, value(left), value(right))
        case And(operands):
            return _all(map(value, operands))
        case Or(operands):
            return _not(_all(_not(value(o)) for o in operands))
        case Not(operand):
            return _not(value(operand))
        case Member(operand, items):
            wanted = value(operand)
            known = (item.value for item in expr.listed)
            return _not(_all(_not(compare("=", wanted, x)) for x in (*map(value, items), *known)))
        case IsNull(operand):
            return value(operand) is None
        case Call(function, arguments):
            values = [value(a) for a in arguments]
            if function in BUILTINS:
                return BUILTINS[function].compute(*values)
            # Registered functions are not called with nulls, as with built-in ones.
            if None in values:
                return None
            try:
                returned = functions[function](*values)
            except AuguryError:
                raise
            except Exception as e:
                raise function_failed(function, values, e, _events_read(expr, bindings, elements)) from e
            return _as_annotated(expr, returned)
        case _:
            assert_never(expr)


def _in_round(e: InRound, bindings: Bindings, current: int | None, functions: Functions) -> Value:
    """The value in one round; null if the round does not bind what is read."""
    match e.round:
        case int():
            number = e.round
        case Element.SINGLE | Element.FIRST:
            number = 1
        case Element.LAST:
            number = len(bindings.get(e.group, ()))
        case Element.EACH | Element.PREVIOUS:
            assert current is not None, "no round is the current one"
            number = current + 1 if e.round is Element.EACH else current
        case _:
            assert_never(e.round)
    return evaluate(e.operand, _of_round(e.operand, bindings, number), functions=functions)


def _over_rounds(argument: Expr, bindings: Bindings, rounds: int, functions: Functions) -> list[Value]:
    """The values of an aggregate's argument in the rounds that bind what it reads, for each element of a list."""
    lists = {r.variable for r in walk(argument) if isinstance(r, Ref) and r.element is Element.EACH}
    values: list[Value] = []
    for number in range(1, rounds + 1):
        bound = _of_round(argument, bindings, number)
        if lists:
            (name,) = lists
            places: list[Mapping[str, int]] = [{name: k} for k in range(len(bound.get(name, ())))]
        else:
            places = [EMPTY] if bound else []
        values += [evaluate(argument, bound, elements=place, functions=functions) for place in places]
    return values


def _of_round(e: Expr, bindings: Bindings, number: int) -> Bindings:
    """The events that a round binds to the variables of `e`."""
    return {v: bindings[name_in_round(v, number)] for v in variables(e) if name_in_round(v, number) in bindings}


ANNOTATED_RESULTS: Mapping[Kind, tuple[tuple[type, ...], Callable[[Any], Value]]] = {
    Kind.BOOL: ((bool, np.bool_), bool),
    Kind.INT: ((Integral,), int),
    Kind.FLOAT: ((Real,), float),
    Kind.STRING: ((str,), str),
}
"""Types that a function may return for each annotated type, with NumPy's scalars, and their conversion to values."""


def _as_annotated(call: Call, value: Any) -> Value:
    """The result of a registered function, converted to the type of its annotation."""
    if value is None:
        return None
    accepted, convert = ANNOTATED_RESULTS[call.type.kind]
    if not isinstance(value, accepted):
        raise broken_annotation(call, f"{value!r} is of type {type(value).__name__}")
    try:
        return representable(convert(value))
    except OverflowError:
        return None


def function_failed(name: str, values: Sequence[Any], cause: Exception, events: str = "") -> FunctionFailed:
    """The error for a registered function that raised `cause` when called with `values`, for `events` in words."""
    called = ", ".join(shown(v.item() if isinstance(v, np.generic) else v) for v in values)
    return FunctionFailed(
        "A616",
        f"the registered function `{name}` raised {type(cause).__name__}: {str(cause)[:200]}; "
        f"it was called as {name}({called}){events}",
        "let it return None where it has no answer",
    )


def _events_read(call: Call, bindings: Bindings, elements: Mapping[str, int]) -> str:
    """The events that a call reads, as text."""
    parts = []
    for name in sorted(variables(call)):
        rows = bindings.get(name, ())
        if rows:
            row = rows[elements.get(name, len(rows) - 1)]
            attributes = ", ".join(f"{k}={shown(v)}" for k, v in list(row.items())[:SHOWN_ATTRIBUTES])
            parts.append(f"{name} ({attributes})")
    return f" for {' and '.join(parts)}" if parts else ""


def broken_annotation(expr: Expr, reason: object) -> HostError:
    """The error for a registered function in `expr` whose result does not match its annotation."""
    # The text of the expression is only needed for the error.
    from augury.ir.text import expression_text
    from augury.ir.unbind import unbind

    return HostError(
        "A527",
        f"`{expression_text(unbind(expr))}` is of type {expr.type}, but one of its values is not: {reason}",
        "let the registered function return what its annotation says",
    )


def holds(
    c: Conjunct, bindings: Bindings, *, elements: Mapping[str, int] = EMPTY, functions: Functions = EMPTY
) -> bool:
    """Whether `c` is true for every choice of elements of the iterated variables it quantifies over.

    `elements` fixes the element of some of them; a conjunct that starts at the second element holds for the first.
    """
    variables = sorted(c.each)
    choices: list[Iterable[int]] = []
    for v in variables:
        first = 1 if v in c.from_second else 0
        wanted = range(len(bindings[v])) if v not in elements else (elements[v],)
        choices.append([k for k in wanted if k >= first])
    return all(
        evaluate(c.expr, bindings, elements=dict(zip(variables, choice, strict=True)), functions=functions) is True
        for choice in product(*choices)
    )


def aggregate(function: str, values: Sequence[Value]) -> Value:
    """An aggregate over the elements of a list; nulls are ignored, except by first and last.

    >>> aggregate("avg", [1, None, 2])
    1.5
    """
    if function in ("first", "last"):
        return values[0 if function == "first" else -1] if values else None
    present: list[Any] = [v for v in values if v is not None]
    if function == "count":
        return len(present)
    if not present:
        return None
    match function:
        case "sum":
            return representable(sum(present))
        case "avg":
            return representable(sum(present) / len(present))
        case "min":
            return min(present)  # type: ignore[no-any-return]
        case "max":
            return max(present)  # type: ignore[no-any-return]
        case "stddev":
            if len(present) < 2:
                return None
            # Welford's recurrence, so that a running aggregate is the same number to the last bit.
            mean = squares = 0.0
            for n, v in enumerate(present, start=1):
                d = v - mean
                mean += d / n
                squares += d * (v - mean)
            return representable(math.sqrt(squares / (len(present) - 1)))
    raise AssertionError(f"unknown aggregate {function}")


COMPARISONS: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def compare(symbol: str, left: Any, right: Any) -> bool | None:
    """A comparison; null when either side is.

    >>> compare("<", 1, 2), compare("=", 1, None)
    (True, None)
    """
    if left is None or right is None:
        return None
    if isinstance(left, float) != isinstance(right, float):
        # Kernels compare an integer with a float as floats; Python would compare them exactly.
        left, right = float(left), float(right)
    return COMPARISONS[symbol](left, right)


def _arithmetic(symbol: str, left: Any, right: Any, type: ColumnType) -> Value:
    if left is None or right is None:
        return None
    if symbol in "/%" and right == 0:
        return None
    whole = isinstance(left, int) and isinstance(right, int) and symbol != "/"
    if not whole:
        left, right = float(left), float(right)
    result: int | float
    try:
        match symbol:
            case "+":
                result = left + right
            case "-":
                result = left - right
            case "*":
                result = left * right
            case "/":
                result = left / right
            case "%":
                # The sign of the dividend, as in SQL; Python's operator takes that of the divisor.
                result = abs(left) % abs(right) * (-1 if left < 0 else 1) if whole else math.fmod(left, right)
            case _:
                raise AssertionError(f"unknown operator {symbol}")
    except (OverflowError, ValueError):
        return None
    if isinstance(result, float) and type.kind in (Kind.DURATION, Kind.TIMESTAMP):
        # Ticks are integers: a fraction of a duration is truncated towards zero.
        result = int(result) if math.isfinite(result) else math.nan
    return representable(result)


def _all(values: Iterable[Value]) -> bool | None:
    unknown = False
    for v in values:
        if v is False:
            return False
        unknown = unknown or v is None
    return None if unknown else True


def _not(value: Value) -> bool | None:
    return None if value is None else not value
