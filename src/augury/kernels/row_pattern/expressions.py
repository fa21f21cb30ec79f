"""Expressions of SQL over whole columns.

Operators on numbers, times, booleans and strings are computed for all rows at once. Every other function is called for
each distinct string, or for each row, as the reference evaluator calls it; so nothing means two things. An error is a
code of the row where it happens: whether it matters is known when that row is looked at.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from augury.ir.comparisons import mirrored
from augury.ir.row_expression import (
    Aggregate,
    Classifier,
    ColumnValue,
    Constant,
    MatchNumber,
    Operation,
    RowExpression,
)
from augury.ir.sql_cast import convert
from augury.ir.sql_functions import FUNCTIONS
from augury.ir.sql_scalar import BadValue
from augury.ir.sql_types import BOOLEAN, DAY_SECONDS, TICKS, Family, common, family, integer_range
from augury.kernels.row_pattern.vectors import (
    FAILED,
    KNOWN,
    NULL,
    Codes,
    Vector,
    merged,
    nulls,
    python_list,
    vector_of,
)
from augury.plan.row_pattern import kind_of

Leaf: TypeAlias = ColumnValue | Classifier | MatchNumber | Aggregate
Read: TypeAlias = Callable[[Leaf], Vector]
"""What a leaf of an expression is, for all rows."""

INT_MIN, INT_MAX = -(2**63), 2**63 - 1
TIMES = (Family.TIMESTAMP, Family.DATE, Family.INTERVAL)
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def evaluate(expression: RowExpression, read: Read) -> Vector:
    """The values of an expression for all rows; one value if it is the same for all of them."""
    match expression:
        case Constant(value, type):
            return vector_of([value], type)
        case Operation(function, operands, type):
            with np.errstate(all="ignore"):
                return _operation(function, [evaluate(o, read) for o in operands], type)
        case leaf:
            return read(leaf)


def _operation(function: str, operands: list[Vector], type: pa.DataType) -> Vector:
    match function:
        case "and" | "or":
            return _logical(operands, decisive=function == "or")
        case "not":
            return replace(operands[0], values=~_truth(operands[0]), type=type, kind="boolean")
        case "is null":
            return _told(operands[0], lambda v: ~v.known, type)
        case "is true":
            return _told(operands[0], lambda v: v.known & _truth(v), type)
        case "is false":
            return _told(operands[0], lambda v: v.known & ~_truth(v), type)
        case "in":
            return _failing(_logical([_compared("=", operands[0], o) for o in operands[1:]], decisive=True), operands)
        case "case" | "if":
            return _case(operands, type)
        case "coalesce":
            return _coalesce(operands, type)
        case "cast":
            return converted(operands[0], type)
        case "try_cast":
            out = converted(operands[0], type)
            if out.codes is None:
                return out
            # A conversion that fails gives null; what failed before it has failed.
            forgiven = out.failed & ~operands[0].failed
            return replace(out, codes=np.where(forgiven, np.uint8(NULL), out.codes))
        case "nullif":
            return _nullif(operands, type)
        case "is distinct from":
            return _distinct(operands, type)
        case "=" | "<>" | "<" | "<=" | ">" | ">=":
            return _compared(function, *operands)
        case "+" | "-" | "*" | "/" | "%" | "mod":
            found = _arithmetic("%" if function == "mod" else function, operands, type)
        case "negate" | "abs":
            found = _signed(function, operands[0], type)
        case _:
            found = None
    return _called(function, operands, type) if found is None else found


# -- logic -------------------------------------------------------------------------------------------------------------


def _truth(vector: Vector) -> npt.NDArray[np.bool_]:
    """Values as booleans; where there is none, anything."""
    return vector.values.astype(np.bool_) if vector.kind == "boolean" else np.zeros(len(vector), np.bool_)


def _codes(vectors: Sequence[Vector]) -> Codes | None:
    """Codes of a function that fails where an operand has failed, and is null where one is null."""
    out: Codes | None = None
    for vector in vectors:
        if vector.codes is not None:
            out = vector.codes if out is None else np.maximum(out, vector.codes)
    return out


def _size(vectors: Sequence[Vector]) -> int:
    sizes = {len(v) for v in vectors} - {1}
    return sizes.pop() if sizes else 1


def _logical(operands: Sequence[Vector], *, decisive: bool) -> Vector:
    """AND and OR: what comes after the value that decides is not computed, nor can it fail."""
    if not operands:
        return vector_of([decisive is False], BOOLEAN)
    if all(o.codes is None for o in operands):
        values = _truth(operands[0])
        for operand in operands[1:]:
            values = values | _truth(operand) if decisive else values & _truth(operand)
        return Vector(BOOLEAN, "boolean", values)
    size = _size(operands)
    decided = np.zeros(size, np.bool_)
    codes = np.zeros(size, np.uint8)
    for operand in operands:
        here = np.zeros(1, np.uint8) if operand.codes is None else operand.codes
        codes = np.where(decided | (codes == FAILED), codes, np.maximum(codes, here))
        decided |= (here == KNOWN) & (_truth(operand) == decisive) & (codes != FAILED)
    codes = np.where(decided, KNOWN, codes).astype(np.uint8)
    return Vector(BOOLEAN, "boolean", decided if decisive else ~decided, codes)


def _told(operand: Vector, tell: Callable[[Vector], npt.NDArray[np.bool_]], type: pa.DataType) -> Vector:
    """A function that sees nulls and is never null itself."""
    codes = None if operand.codes is None else np.where(operand.codes == FAILED, FAILED, KNOWN).astype(np.uint8)
    return Vector(type, "boolean", tell(operand), codes)


def _pieces(options: list[tuple[npt.NDArray[np.bool_], Vector]], size: int, type: pa.DataType) -> Vector:
    """For each row the value of the option whose mask is set there; masks do not overlap."""
    kind = kind_of(type)
    if kind is None or any(o.kind != kind and o.known.any() for _, o in options):
        values: list[Any] = [None] * size
        failed: list[int] = []
        for mask, option in options:
            whole = option.sized(size)
            listed = python_list(whole)
            for k in np.flatnonzero(mask).tolist():
                values[k] = listed[k]
            failed += np.flatnonzero(mask & whole.failed).tolist()
        return vector_of(values, type, failed)
    out = nulls(type, size)
    codes = out.codes
    assert codes is not None
    words: tuple[str, ...] = ()
    renumbered: list[npt.NDArray[np.int64]] = []
    if kind == "string":
        words, renumbered = merged([o for _, o in options])
    for k, (mask, option) in enumerate(options):
        if option.kind == kind:
            held = renumbered[k][option.values] if kind == "string" else option.values
            np.copyto(out.values, held, where=mask)
        np.copyto(codes, np.zeros(1, np.uint8) if option.codes is None else option.codes, where=mask)
    return replace(out, words=words)


def _case(operands: Sequence[Vector], type: pa.DataType) -> Vector:
    size = _size(operands)
    left = np.ones(size, np.bool_)
    options: list[tuple[npt.NDArray[np.bool_], Vector]] = []
    for k in range(0, len(operands) - 1, 2):
        condition = operands[k]
        wrong = left & condition.failed
        options.append((wrong, _failure(type)))
        chosen = left & condition.known & _truth(condition)
        options.append((chosen, converted(operands[k + 1], type)))
        left = left & ~chosen & ~wrong
    options.append((left, converted(operands[-1], type)))
    return _pieces([(np.broadcast_to(m, size), v) for m, v in options], size, type)


def _failure(type: pa.DataType) -> Vector:
    return replace(nulls(type), codes=np.full(1, FAILED, np.uint8))


def _coalesce(operands: Sequence[Vector], type: pa.DataType) -> Vector:
    size = _size(operands)
    left = np.ones(size, np.bool_)
    options = []
    for operand in operands:
        option = converted(operand, type)
        chosen = left & (option.known | option.failed)
        options.append((np.broadcast_to(chosen, size), option))
        left = left & ~chosen
    return _pieces(options, size, type)


def _nullif(operands: Sequence[Vector], type: pa.DataType) -> Vector:
    first, same = operands[0], _compared("=", *operands)
    size = _size(operands)
    whole = first.sized(size)
    codes = np.zeros(size, np.uint8) if whole.codes is None else whole.codes.copy()
    codes[np.broadcast_to(same.known & _truth(same), size) & (codes != FAILED)] = NULL
    codes[np.broadcast_to(operands[1].failed, size)] = FAILED
    return replace(whole, codes=codes)


def _distinct(operands: Sequence[Vector], type: pa.DataType) -> Vector:
    same = _compared("=", *operands)
    one, other = (o.known for o in operands)
    values = np.where(one & other, ~_truth(same), one != other)
    failed = operands[0].failed | operands[1].failed
    return Vector(type, "boolean", values, np.where(failed, FAILED, KNOWN).astype(np.uint8))


# -- comparison --------------------------------------------------------------------------------------------------------


def _compared(function: str, left: Vector, right: Vector) -> Vector:
    both = common(left.type, right.type)
    assert both is not None
    apply, codes = COMPARISONS[function], _codes((left, right))
    if Family.NULL in (family(left.type), family(right.type)):
        size = _size((left, right))
        base = np.full(size, NULL, np.uint8)
        return Vector(BOOLEAN, "boolean", np.zeros(size, np.bool_), base if codes is None else np.maximum(base, codes))
    match family(both):
        case Family.FLOAT:
            a, b = _floats(left), _floats(right)
            if a is not None and b is not None:
                return Vector(BOOLEAN, "boolean", apply(a, b), codes)
        case Family.STRING:
            return Vector(BOOLEAN, "boolean", _texts_compared(apply, left, right), codes)
        case Family.INTEGER | Family.DATE | Family.BOOLEAN if left.kind and right.kind:
            return Vector(BOOLEAN, "boolean", apply(left.values, right.values), codes)
        case Family.TIMESTAMP | Family.INTERVAL:
            per_second = TICKS[both.unit]
            x, y = _ticks(left, per_second), _ticks(right, per_second)
            if x is not None and y is not None:
                return Vector(BOOLEAN, "boolean", apply(x, y), codes)
        case Family.DECIMAL:
            found = _with_decimal(function, left, right)
            if found is not None:
                return Vector(BOOLEAN, "boolean", found, codes)
        case _:
            pass
    return _called(function, [left, right], BOOLEAN)


def _floats(vector: Vector) -> npt.NDArray[np.float64] | None:
    if vector.kind in ("float", "integer"):
        return vector.values.astype(np.float64, copy=False)
    if vector.kind is None and len(vector) == 1 and vector.codes is None:
        return np.array([float(vector.values[0])])
    if vector.kind is None and len(vector) == 1 and vector.codes is not None and vector.codes[0] == KNOWN:
        return np.array([float(vector.values[0])])
    return None


def _ticks(vector: Vector, per_second: int) -> npt.NDArray[np.int64] | None:
    """Times in other ticks, None where that might not fit into 64 bits."""
    if vector.kind != "integer":
        return None
    own = TICKS["s"] if family(vector.type) is Family.DATE else TICKS[vector.type.unit]
    if family(vector.type) is Family.DATE:
        factor = DAY_SECONDS * per_second
    elif per_second % own == 0:
        factor = per_second // own
    else:
        return vector.values // (own // per_second)
    if factor == 1:
        return vector.values
    if len(vector) and max(abs(int(vector.values.max())), abs(int(vector.values.min()))) > INT_MAX // factor:
        return None
    return vector.values * factor


def _texts_compared(apply: Callable[[Any, Any], Any], left: Vector, right: Vector) -> npt.NDArray[np.bool_]:
    for one, other, flipped in ((left, right, False), (right, left, True)):
        if len(other) == 1 and other.words:
            word = other.words[other.values[0]]
            told = np.array([apply(word, w) if flipped else apply(w, word) for w in one.words] or [False], np.bool_)
            return told[one.values] if one.words else np.zeros(len(one), np.bool_)
    _, (of_left, of_right) = merged((left, right))
    found: npt.NDArray[np.bool_] = apply(of_left[left.values], of_right[right.values])
    return found


def _with_decimal(function: str, left: Vector, right: Vector) -> npt.NDArray[np.bool_] | None:
    """An integer column against one decimal: the decimal lies between two integers."""
    if left.kind is None and right.kind == "integer":
        return _with_decimal(mirrored(function), right, left)
    if left.kind != "integer" or right.kind is not None or len(right) != 1 or not isinstance(right.values[0], Decimal):
        return None
    value: Decimal = right.values[0]
    if abs(value) > 2**62:
        return None
    floor = int(value // 1) if value >= 0 or value == int(value) else int(value) - 1
    whole = value == floor
    ceiling = floor if whole else floor + 1
    match function:
        case "=":
            out = left.values == floor if whole else np.zeros(len(left), np.bool_)
        case "<>":
            out = left.values != floor if whole else np.ones(len(left), np.bool_)
        case "<":
            out = left.values < ceiling
        case "<=":
            out = left.values <= floor
        case ">":
            out = left.values > floor
        case _:
            out = left.values >= ceiling
    return out


# -- arithmetic --------------------------------------------------------------------------------------------------------


def _arithmetic(sign: str, operands: Sequence[Vector], type: pa.DataType) -> Vector | None:
    left, right = operands
    kinds = [family(o.type) for o in operands]
    codes = _codes(operands)
    match family(type):
        case Family.INTEGER if left.kind == right.kind == "integer" and kind_of(type) == "integer":
            return _integers(sign, left.values, right.values, codes, type)
        case Family.FLOAT if Family.MONTHS not in kinds:
            a, b = _floats(left), _floats(right)
            if a is None or b is None:
                return None
            apply = {"+": np.add, "-": np.subtract, "*": np.multiply, "/": np.divide, "%": np.fmod}[sign]
            return Vector(type, "float", apply(a, b), codes)
        case Family.TIMESTAMP | Family.INTERVAL if sign in "+-" and all(k in TIMES for k in kinds):
            per_second = TICKS[type.unit]
            x, y = _ticks(left, per_second), _ticks(right, per_second)
            return None if x is None or y is None else _integers(sign, x, y, codes, type)
        case _:
            return None


def _integers(
    sign: str, a: npt.NDArray[np.int64], b: npt.NDArray[np.int64], codes: Codes | None, type: pa.DataType
) -> Vector | None:
    if sign in ("+", "-", "*") and _stays_within(
        sign, a, b, integer_range(type) if family(type) is Family.INTEGER else (INT_MIN, INT_MAX)
    ):
        apply = {"+": np.add, "-": np.subtract, "*": np.multiply}[sign]
        return Vector(type, "integer", apply(a, b), codes)
    match sign:
        case "+":
            values = a + b
            wrong = ((a ^ values) & (b ^ values)) < 0
        case "-":
            values = a - b
            wrong = ((a ^ b) & (a ^ values)) < 0
        case "*":
            values = a * b
            wrong = np.abs(a.astype(np.float64) * b.astype(np.float64)) > 2.0**62
            if wrong.any():
                return None
        case _:
            if (a == INT_MIN).any() or (b == INT_MIN).any():
                return None
            wrong = np.broadcast_to(b == 0, np.broadcast_shapes(a.shape, b.shape))
            divisor = np.where(b == 0, 1, b)
            quotient = np.abs(a) // np.abs(divisor) * np.where((a < 0) == (divisor < 0), 1, -1)
            values = quotient if sign == "/" else a - divisor * quotient
    if family(type) is Family.INTEGER and type.bit_width < 64:
        least, most = integer_range(type)
        wrong = wrong | (values < least) | (values > most)
    if wrong.any():
        known = np.zeros(len(values), np.uint8) if codes is None else codes
        codes = np.where(wrong & (known == KNOWN), FAILED, known).astype(np.uint8)
    return Vector(type, "integer", values, codes)


def _stays_within(sign: str, a: npt.NDArray[np.int64], b: npt.NDArray[np.int64], limits: tuple[int, int]) -> bool:
    """Whether no two numbers, one from each, have a sum, difference or product beyond the limits."""
    if not len(a) or not len(b):
        return True
    apply = {"+": operator.add, "-": operator.sub, "*": operator.mul}[sign]
    ends = [apply(x, y) for x in (int(a.min()), int(a.max())) for y in (int(b.min()), int(b.max()))]
    return bool(limits[0] <= min(ends) and max(ends) <= limits[1])


def _signed(function: str, operand: Vector, type: pa.DataType) -> Vector | None:
    if operand.kind == "float":
        return replace(operand, values=-operand.values if function == "negate" else np.abs(operand.values), type=type)
    if operand.kind == "integer" and family(type) is Family.INTEGER and kind_of(type) == "integer":
        zero = np.zeros(1, np.int64)
        negated = _integers("-", zero, operand.values, operand.codes, type)
        if function == "negate" or negated is None:
            return negated
        return _pieces([(operand.values < 0, negated), (operand.values >= 0, operand)], len(operand), type)
    return None


# -- conversion and everything else ------------------------------------------------------------------------------------


def converted(vector: Vector, type: pa.DataType) -> Vector:
    """CAST."""
    source, target = family(vector.type), family(type)
    if vector.type == type or source is Family.NULL:
        return vector if vector.type == type else nulls(type, len(vector))
    if source is target is Family.FLOAT or (source is Family.INTEGER and target is Family.FLOAT):
        if vector.kind is not None:
            return replace(vector, values=vector.values.astype(np.float64), kind="float", type=type)
    elif source is target is Family.INTEGER and vector.kind == kind_of(type) == "integer":
        least, most = integer_range(type)
        wrong = (vector.values < least) | (vector.values > most)
        codes = vector.codes
        if wrong.any():
            known = np.zeros(len(vector), np.uint8) if codes is None else codes
            codes = np.where(wrong & (known == KNOWN), FAILED, known).astype(np.uint8)
        return replace(vector, type=type, codes=codes)
    elif source is target is Family.STRING:
        return replace(vector, type=type)
    return _mapped(lambda values: convert(values[0], vector.type, type), [vector], type, sees_nulls=False)


def _called(name: str, operands: Sequence[Vector], type: pa.DataType) -> Vector:
    """A function as the reference evaluator calls it, for each row or each distinct string."""
    function, types = FUNCTIONS[name], [o.type for o in operands]
    return _mapped(lambda values: function.apply(values, types, type), operands, type, sees_nulls=function.sees_nulls)


def _mapped(
    apply: Callable[[list[Any]], Any], operands: Sequence[Vector], type: pa.DataType, *, sees_nulls: bool
) -> Vector:
    many = [k for k, o in enumerate(operands) if len(o) > 1]
    texts = operands[many[0]] if len(many) == 1 else None
    if texts is None or texts.kind != "string" or len(texts.words) >= len(texts):
        return _failing(_each(apply, operands, type, sees_nulls=sees_nulls), operands)
    # Null is one more word.
    size = len(texts.words)
    codes = np.append(np.zeros(size, np.uint8), np.uint8(NULL))
    words = Vector(texts.type, "string", np.append(np.arange(size), 0), codes, texts.words or ("",))
    of_words = [words if k == many[0] else o for k, o in enumerate(operands)]
    place = texts.values if texts.codes is None else np.where(texts.codes == KNOWN, texts.values, size)
    return _failing(_each(apply, of_words, type, sees_nulls=sees_nulls).take(place), operands)


def _each(
    apply: Callable[[list[Any]], Any], operands: Sequence[Vector], type: pa.DataType, *, sees_nulls: bool
) -> Vector:
    size = _size(operands)
    rows = zip(*(python_list(o.sized(size)) for o in operands), strict=True) if operands else iter([()])
    values: list[Any] = [None] * size
    failed: list[int] = []
    for k, given in enumerate(rows):
        if not sees_nulls and None in given:
            continue
        try:
            values[k] = apply(list(given))
        except BadValue:
            failed.append(k)
    return vector_of(values, type, failed)


def _failing(vector: Vector, operands: Sequence[Vector]) -> Vector:
    """Failed where an operand has failed."""
    for operand in operands:
        if operand.codes is not None and (operand.codes == FAILED).any():
            own = np.zeros(len(vector), np.uint8) if vector.codes is None else vector.codes
            wrong = np.broadcast_to(operand.codes == FAILED, len(vector))
            vector = replace(vector, codes=np.where(wrong, FAILED, own).astype(np.uint8))
    return vector
