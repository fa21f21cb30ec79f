"""Vectorized comparisons of tuples of events with Arrow: numbers, arithmetic, strings, and dot products of lists."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from augury.ir.comparisons import large_product
from augury.ir.predicate import Arithmetic, Call, Compare, Element, Expr, Literal, Ref
from augury.runtime.arrow_numbers import to_numpy
from augury.runtime.batch import Integers
from augury.runtime.computed import list_parts, standardise_rows, standardised
from augury.runtime.cosines import LEADING, MIN_BOUNDED_LENGTH, Floats, lead
from augury.runtime.positions import one_array
from augury.schema import Kind

Read: TypeAlias = "Callable[[str, str], pa.ChunkedArray]"
"""Reads a column of the events of a variable: one value for each tuple."""

COMPARISONS = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}

ARITHMETIC = {"+": pc.add, "-": pc.subtract, "*": pc.multiply}
"""Arrow's arithmetic on floats, which agrees with that of the evaluators."""

COMPARED = (Kind.BOOL, Kind.INT, Kind.FLOAT, Kind.STRING)
"""Kinds of values that Arrow compares as the evaluators do, except that Arrow's NaN is unequal to everything."""


def comparable(e: Expr) -> bool:
    """Whether Arrow can compare the two sides for many tuples at once."""
    match e:
        case Compare(operator, left, right):
            kinds = {left.type.kind, right.type.kind}
            return (
                _computable(left)
                and _computable(right)
                and (len(kinds) == 1 or kinds == {Kind.INT, Kind.FLOAT})
                and kinds <= set(COMPARED)
                and not (operator == "!=" and Kind.FLOAT in kinds)
            )
        case _:
            return False


def _computable(e: Expr) -> bool:
    match e:
        case Literal():
            return True
        case Ref():
            return e.element in (Element.SINGLE, Element.EACH)
        case Arithmetic(operator, left, right):
            return operator in ARITHMETIC and e.type.kind is Kind.FLOAT and _computable(left) and _computable(right)
        case Call("dot", (left, right)):
            return all(isinstance(_of_list(side), Ref) and _computable(_of_list(side)) for side in (left, right))
        case _:
            return False


def _of_list(e: Expr) -> Expr:
    """The argument of `standardise`, or the expression itself if it is no such call."""
    match e:
        case Call("standardise", (of,)):
            return of
        case _:
            return e


def compare(e: Expr, read: Read) -> npt.NDArray[np.bool_]:
    """A mask of the tuples for which a comparison that is `comparable` is true."""
    assert isinstance(e, Compare)
    sides = [_computed(side, read) for side in (e.left, e.right)]
    if e.left.type.kind is not e.right.type.kind:
        sides = [_floats(side) for side in sides]
    found = COMPARISONS[e.operator](*sides)
    if found.null_count:
        found = found.fill_null(False)
    true: npt.NDArray[np.bool_] = to_numpy(one_array(found) if isinstance(found, pa.ChunkedArray) else found)
    return true


def _floats(values: Any) -> Any:
    """The values as floats, rounded if need be: a sample need not be exact."""
    return values.cast(pa.float64(), safe=False)


def _computed(e: Expr, read: Read) -> pa.ChunkedArray | pa.Array | pa.Scalar:
    match e:
        case Ref(variable, column):
            return read(variable, column)
        case Literal(value):
            return pa.scalar(value)
        case Arithmetic(operator, left, right):
            return ARITHMETIC[operator](*(_floats(_computed(side, read)) for side in (left, right)))
        case Call("dot", (left, right)):
            return _dots(_lists(left, read), _lists(right, read))
        case _:
            raise AssertionError(e)


def not_ruled_out(e: Expr, read: Read) -> npt.NDArray[np.bool_] | None:
    """For each tuple whether leading coefficients of its lists do not decide the comparison; None if not of lists."""
    product = large_product(e)
    if product is None:
        return None
    left, right, least, sign = product
    sides = _lists(left, read), _lists(right, read)
    found = np.ones(len(sides[0]), dtype=bool)
    for rows, x, y in _by_length(*sides):
        if x.shape[1] >= MIN_BOUNDED_LENGTH:
            a, b = lead(x), lead(y)
            a[:, :LEADING] *= sign
            found[rows] = (a * b).sum(axis=1) >= least
    return found


def _lists(e: Expr, read: Read) -> pa.Array:
    column = one_array(_computed(_of_list(e), read))
    return column if isinstance(e, Ref) else standardised(column, standardise_rows)


def _dots(left: pa.Array, right: pa.Array) -> pa.Array:
    """The dot product of the lists of each row; null where there is none.

    >>> _dots(pa.array([[1.0, 2.0], [1.0], None]), pa.array([[3.0, 4.0], [1.0, 2.0], [1.0]])).to_pylist()
    [11.0, None, None]
    """
    found = np.full(len(left), np.nan)
    for rows, x, y in _by_length(left, right):
        found[rows] = (x * y).sum(axis=1)
    return pa.array(found, mask=np.isnan(found))


def _by_length(left: pa.Array, right: pa.Array) -> Iterator[tuple[Integers, Floats, Floats]]:
    """For each length: the rows where both lists have it, and the lists as matrices."""
    (starts, values), (other_starts, other_values) = list_parts(left), list_parts(right)
    lengths = np.where(np.diff(starts) == np.diff(other_starts), np.diff(starts), 0)
    for length in np.unique(lengths[lengths > 0]).tolist():
        rows, along = np.flatnonzero(lengths == length), np.arange(length)
        yield rows, values[starts[rows][:, None] + along], other_values[other_starts[rows][:, None] + along]
