"""Computes columns for a kernel that it cannot compute itself: values of expressions over single events."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from augury.errors import FunctionFailed
from augury.ir.evaluate import EMPTY, Functions, broken_annotation, evaluate
from augury.ir.predicate import Aggregate, Call, Expr, ListLength, Ref, Value, walk
from augury.runtime.batch import Integers
from augury.runtime.dictionary import codable, distinct
from augury.runtime.positions import one_array
from augury.runtime.values import to_values
from augury.schema import Kind

Floats = npt.NDArray[np.float64]

Standardised: TypeAlias = "tuple[Floats, npt.NDArray[np.bool_]]"
"""Standardised rows of one length, and which of them have a variance; the others hold arbitrary values."""

StandardiseRows: TypeAlias = "Callable[[Floats], Standardised]"


def compute_column(
    expr: Expr,
    variable: str,
    table: pa.Table,
    functions: Functions = EMPTY,
    standardise: StandardiseRows | None = None,
) -> pa.Array:
    """The value of `expr` for each event, taken as the event of `variable`; times and durations in ticks.

    In general this evaluates row by row in Python, at microseconds a row. `length` and `standardise` of a list are
    vectorised, the latter by `standardise` if that is given, and an expression that reads one string column only is
    evaluated once for each distinct string.

    >>> from augury.schema import STRING
    >>> upper = Call("upper", (Ref("a", "s", STRING),), STRING)
    >>> compute_column(upper, "a", pa.table({"s": ["x", None, "x"]})).to_pylist()
    ['X', None, 'X']
    """
    reads = list(walk(expr))
    assert not any(isinstance(e, Aggregate | ListLength) for e in reads), "reads more than one event"
    match expr:
        case Call("standardise", (Ref(column=name),)):
            return standardised(one_array(table[name]), standardise or standardise_rows)
        case Call("length", (Ref(column=name, type=type),)) if type.kind is Kind.LIST:
            return pc.list_value_length(one_array(table[name])).cast(pa.int64())
    # Defaults of references play no role: they are for missing events.
    names = sorted({e.column for e in reads if isinstance(e, Ref) and e.variable == variable})
    columns = [one_array(table[name]) for name in names]
    if len(columns) == 1 and codable(columns[0].type):
        found = distinct(columns[0])
        # Null is added as the last value: an expression need not be null for it.
        try:
            values = _evaluate(expr, variable, names, [[*found.keys, None]], len(found.keys) + 1, functions)
        except FunctionFailed as e:
            # The position of the first event that has the string.
            wanted = -1 if e.position is None or e.position == len(found.keys) else e.position
            e.position = int(np.argmax(found.positions == wanted))
            raise
        places = np.where(found.positions < 0, len(found.keys), found.positions)
        return _typed(values, expr).take(pa.array(places))
    rows = [to_values(column) for column in columns]
    return _typed(_evaluate(expr, variable, names, rows, table.num_rows, functions), expr)


def _evaluate(
    expr: Expr, variable: str, names: list[str], columns: list[list[Value]], size: int, functions: Functions
) -> list[Value]:
    """The value of `expr` for each of `size` rows; every reference reads the row itself."""
    values = []
    for i in range(size):
        row = {name: column[i] for name, column in zip(names, columns, strict=True)}
        try:
            values.append(evaluate(expr, {variable: [row]}, elements={variable: 0}, functions=functions))
        except FunctionFailed as e:
            e.position = i
            raise
    return values


def _typed(values: list[Value], expr: Expr) -> pa.Array:
    """The values as a column; one that is not of the type of `expr` is an error, and never coerced."""
    try:
        match expr.type.kind:
            case Kind.INT | Kind.TIMESTAMP | Kind.DURATION:
                return pa.array([None if v is None else _integer(v) for v in values], pa.int64())
            case Kind.FLOAT:
                return pa.array([None if v is None else _float(v) for v in values], pa.float64())
            case Kind.LIST:
                return pa.array([None if v is None else _floats(v) for v in values], pa.list_(pa.float64()))
            case Kind.BOOL:
                return pa.array(values, pa.bool_())
            case Kind.STRING:
                return pa.array(values, pa.large_string())
            case Kind.NULL | Kind.OTHER:
                return pa.array([None if v is None else True for v in values], pa.bool_())
    except (TypeError, OverflowError, UnicodeEncodeError, pa.ArrowException) as e:
        raise broken_annotation(expr, e) from e


def _integer(value: Any) -> int:
    return operator.index(value)


def _float(value: Any) -> float:
    if isinstance(value, str):
        raise TypeError(f"{value!r} is a string")
    return float(value)


def _floats(values: Any) -> list[float | None]:
    return [None if v is None else _float(v) for v in values]


BLOCK_LISTS = 2048
"""Lists that are standardised at a time."""


def _holds_numbers(arrow: pa.DataType) -> bool:
    types = pa.types
    if types.is_null(arrow):
        return False
    item = arrow.value_type
    return bool(types.is_integer(item) or types.is_floating(item) or types.is_decimal(item) or types.is_null(item))


def list_parts(array: pa.Array) -> tuple[Integers, Floats]:
    """The offsets and elements of a column of lists of numbers, with NaN for null elements; a null list is empty.

    The elements may be the read-only memory of the column, since lists are long.

    >>> [a.tolist() for a in list_parts(pa.array([[1, 2], None, [3]]))]
    [[0, 2, 2, 3], [1.0, 2.0, 3.0]]
    """
    if not _holds_numbers(array.type):
        # Conditions can only test such a list for null.
        return np.zeros(len(array) + 1, dtype=np.int64), np.empty(0)
    lengths = pc.list_value_length(array).fill_null(0).to_numpy(zero_copy_only=False)
    offsets = np.zeros(len(array) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    # `flatten` leaves out what a null list covers, and respects slices, as the raw buffers would not.
    elements = array.flatten()
    if not pa.types.is_float64(elements.type):
        elements = elements.cast(pa.float64(), safe=False)
    return offsets, elements.to_numpy(zero_copy_only=False)


def with_gaps(array: pa.Array, places: npt.NDArray[np.bool_]) -> pa.Array:
    """Spread values over a longer column: at the marked places, null elsewhere.

    >>> with_gaps(pa.array([[1.0], None]), np.array([False, True, True])).to_pylist()
    [None, [1.0], None]
    """
    if not isinstance(array, pa.ListArray | pa.LargeListArray):
        return array.take(pa.array(np.cumsum(places) - 1, mask=~places))
    # Elements stay where they are.
    offsets, values = list_parts(array)
    lengths, null = np.zeros(len(places), dtype=np.int64), ~places
    lengths[places] = np.diff(offsets)
    null[places] = array.is_null().to_numpy(zero_copy_only=False)
    bounds = np.concatenate(([0], np.cumsum(lengths)))
    return pa.LargeListArray.from_arrays(pa.array(bounds), pa.array(values), mask=pa.array(null))


def standardised(array: pa.Array, standardise: StandardiseRows) -> pa.Array:
    """`standardise` of each list, to the last bit: the same operations in the same order, on all rows at once.

    >>> standardised(pa.array([[1, 3], [2, 2], None]), standardise_rows).to_pylist()
    [[-0.7071067811865475, 0.7071067811865475], None, None]
    """
    offsets, values = list_parts(array)
    lengths = np.diff(offsets)
    if len(lengths) and lengths[0] >= 2 and (lengths == lengths[0]).all():
        rows, has = standardise(values.reshape(len(lengths), lengths[0]))
        result = (rows if has.all() else rows[has]).reshape(-1)
    else:
        result, has = _standardise_by_length(offsets, values, lengths, standardise)
    bounds = np.concatenate(([0], np.cumsum(np.where(has, lengths, 0))))
    return pa.LargeListArray.from_arrays(pa.array(bounds, pa.int64()), pa.array(result), mask=pa.array(~has))


def _standardise_by_length(
    offsets: Integers, values: Floats, lengths: Integers, standardise: StandardiseRows
) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """Standardise lists of several lengths, all of one length at a time; also which of them have a variance."""
    result = np.zeros(len(values))
    has = np.zeros(len(lengths), dtype=bool)
    for length in np.unique(lengths[lengths >= 2]).tolist():
        of_length = np.flatnonzero(lengths == length)
        places = offsets[of_length][:, None] + np.arange(length)
        rows, fine = standardise(values[places])
        has[of_length] = fine
        result[places[fine]] = rows[fine]
    return result[np.repeat(has, lengths)], has


def standardise_rows(rows: Floats) -> Standardised:
    """`StandardiseRows` with NumPy.

    Sums run from left to right as in `ir.functions.standardise`. Rows are transposed block by block, so that a block
    stays in the processor's cache. NumPy sums element by element only along an axis that is not contiguous, so there
    are always at least two columns.
    """
    result, variance = np.empty(rows.shape), np.empty(len(rows))
    size, length = min(BLOCK_LISTS, max(2, len(rows))), rows.shape[1]
    turned, squares = (np.zeros((length, size)) for _ in range(2))
    with np.errstate(all="ignore"):
        for first in range(0, len(rows), BLOCK_LISTS):
            block = rows[first : first + BLOCK_LISTS]
            wide = max(2, len(block))
            columns, products = turned[:, :wide], squares[:, :wide]
            columns[:, : len(block)] = block.T
            columns -= np.add.reduce(columns, axis=0) / length
            sums = np.add.reduce(np.multiply(columns, columns, out=products), axis=0)
            columns /= np.sqrt(sums)
            variance[first : first + BLOCK_LISTS] = sums[: len(block)]
            result[first : first + BLOCK_LISTS] = columns[:, : len(block)].T
    # A NaN among the values makes the squares NaN, which is not greater than zero.
    return result, (variance > 0.0) & (variance < np.inf)
