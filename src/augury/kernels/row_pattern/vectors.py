"""Columns of SQL values in the form that expressions are computed in: numbers, and what is null or failed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from augury.ir.sql_types import Family, family, plain
from augury.plan.row_pattern import Kind, kind_of
from augury.reference.row_pattern.values import arrow_values, python_values

Codes = npt.NDArray[np.uint8]
Integers = npt.NDArray[np.int64]

KNOWN, NULL, FAILED = 0, 1, 2
"""Whether there is a value, none, or an error where it should be: division by zero, overflow."""


@dataclass(frozen=True, slots=True, eq=False)
class Vector:
    """Values of one type: as many as there are rows, or one that is the same for all of them.

    `values` are 64-bit integers (times are ticks, dates days), doubles, booleans, or numbers of `words` for strings;
    Python objects for types without a `kind`. `codes` of None: every value is known. What stands where a value is not
    known means nothing.
    """

    type: pa.DataType
    kind: Kind | None
    values: npt.NDArray[Any]
    codes: Codes | None = None
    words: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        # A value that is the same for all rows may be known in some of them only.
        if self.codes is not None and len(self.codes) != len(self.values):
            size = max(len(self.codes), len(self.values)) if len(self.codes) and len(self.values) else 0
            object.__setattr__(self, "values", np.broadcast_to(self.values, size))
            object.__setattr__(self, "codes", np.broadcast_to(self.codes, size))

    def __len__(self) -> int:
        return len(self.values)

    @property
    def failed(self) -> npt.NDArray[np.bool_]:
        return np.zeros(len(self), np.bool_) if self.codes is None else self.codes == FAILED

    @property
    def known(self) -> npt.NDArray[np.bool_]:
        return np.ones(len(self), np.bool_) if self.codes is None else self.codes == KNOWN

    def sized(self, size: int) -> Vector:
        """Repeat a constant for each of `size` rows."""
        if len(self) == size:
            return self
        codes = None if self.codes is None else np.repeat(self.codes, size)
        return replace(self, values=np.repeat(self.values, size), codes=codes)

    def slice(self, first: int, size: int) -> Vector:
        """The values of `size` rows from row `first` on."""
        codes = None if self.codes is None else self.codes[first : first + size]
        return replace(self, values=self.values[first : first + size], codes=codes)

    def take(self, rows: Integers) -> Vector:
        """The values of some rows; null where the row is -1."""
        if len(self) == 0:
            return nulls(self.type, len(rows))
        outside = rows < 0
        codes = None if self.codes is None else self.codes[rows]
        if outside.any():
            codes = np.where(outside, NULL, KNOWN if codes is None else codes).astype(np.uint8)
        return replace(self, values=self.values[rows], codes=codes)


DTYPES: dict[Kind | None, Any] = {
    "integer": np.int64,
    "float": np.float64,
    "boolean": np.bool_,
    "string": np.int64,
    None: object,
}


def nulls(type: pa.DataType, size: int = 1) -> Vector:
    """A vector without any value."""
    kind = kind_of(type)
    return Vector(type, kind, np.zeros(size, DTYPES[kind]), np.full(size, NULL, np.uint8))


def column_vector(column: pa.ChunkedArray | pa.Array) -> Vector:
    """A column of Arrow."""
    type = plain(column.type)
    kind = kind_of(type)
    if pa.types.is_dictionary(column.type) and _has_null_word(column):
        column = column.cast(type)
    if kind is None:
        chunked = column if isinstance(column, pa.ChunkedArray) else pa.chunked_array([column])
        return objects(python_values(chunked), type)
    codes = pc.is_null(column).to_numpy(zero_copy_only=False).astype(np.uint8) if column.null_count else None
    if kind == "string":
        words, numbers = _words(column, type)
        return Vector(type, kind, numbers, codes, words)
    ticks = pa.int32() if family(type) is Family.DATE else None
    array = column.cast(type) if column.type != type else column
    array = array.cast(ticks) if ticks is not None else array
    array = array.cast({"integer": pa.int64(), "float": pa.float64(), "boolean": pa.bool_()}[kind])
    if codes is not None:
        array = array.fill_null(False if kind == "boolean" else 0)
    return Vector(type, kind, np.ascontiguousarray(array.to_numpy(zero_copy_only=False)), codes)


def _has_null_word(column: pa.ChunkedArray | pa.Array) -> bool:
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    return any(chunk.dictionary.null_count for chunk in chunks)


def _words(column: pa.ChunkedArray | pa.Array, type: pa.DataType) -> tuple[tuple[str, ...], Integers]:
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if not pa.types.is_dictionary(array.type):
        array = pc.dictionary_encode(array.cast(pa.large_string()))
    if isinstance(array, pa.ChunkedArray):
        array = array.unify_dictionaries().combine_chunks()
    if isinstance(array, pa.ChunkedArray):
        array = array.chunk(0) if array.num_chunks else pa.DictionaryArray.from_arrays(pa.array([], pa.int64()), [""])
    numbers = array.indices.cast(pa.int64())
    if numbers.null_count:
        numbers = numbers.fill_null(0)
    words = tuple(w if w is not None else "" for w in array.dictionary.to_pylist())
    return words, np.ascontiguousarray(numbers.to_numpy(zero_copy_only=False))


def objects(values: Sequence[Any], type: pa.DataType) -> Vector:
    """Python values as a vector without a kind."""
    held = np.empty(len(values), object)
    held[:] = [None] * len(values)
    for k, value in enumerate(values):
        held[k] = value
    codes = np.fromiter((v is None for v in values), np.uint8, len(values))
    return Vector(type, None, held, codes)


def vector_of(values: Sequence[Any], type: pa.DataType, failed: Sequence[int] = ()) -> Vector:
    """Python values as a vector of their type; `failed` are the numbers of those that could not be computed."""
    kind = kind_of(type)
    if kind is None:
        out = objects(values, type)
    else:
        codes = np.fromiter((v is None for v in values), np.uint8, len(values))
        words: tuple[str, ...] = ()
        if kind == "string":
            numbers: dict[str, int] = {}
            held: list[Any] = [0 if v is None else numbers.setdefault(v, len(numbers)) for v in values]
            words = tuple(numbers)
        else:
            held = [0 if v is None else v for v in values]
        try:
            out = Vector(type, kind, np.array(held, DTYPES[kind]), codes if codes.any() else None, words)
        except OverflowError:
            out = replace(objects(values, type), kind=None)
    if not failed:
        return out
    codes = np.zeros(len(values), np.uint8) if out.codes is None else out.codes
    codes[list(failed)] = FAILED
    return replace(out, codes=codes)


def python_list(vector: Vector) -> list[Any]:
    """The values as Python has them, None where there is none."""
    values: list[Any] = vector.values.tolist()
    if vector.kind == "string":
        values = [vector.words[v] for v in values] if vector.words else [None] * len(values)
    if vector.codes is not None:
        return [None if c else v for v, c in zip(values, vector.codes.tolist(), strict=True)]
    return values


def arrow_array(vector: Vector, type: pa.DataType) -> pa.Array:
    """The values as a column of a type of the same family."""
    if vector.kind is None or family(type) is Family.NULL:
        return arrow_values(python_list(vector), type)
    mask = None if vector.codes is None else vector.codes != KNOWN
    match vector.kind:
        case "string":
            words = pa.array(vector.words or ("",), plain(type))
            numbers = vector.values if mask is None else np.where(mask, 0, vector.values)
            array = words.take(pa.array(numbers, pa.int64(), mask=mask))
        case "integer":
            values = vector.values if mask is None else np.where(mask, 0, vector.values)
            array = pa.array(values, pa.int64(), mask=mask)
            if family(type) is Family.DATE:
                array = array.cast(pa.int32())
            if family(type) is Family.FLOAT:
                array = array.cast(pa.float64(), safe=False)
        case "float":
            array = pa.array(vector.values, pa.float64(), mask=mask, from_pandas=False)
        case "boolean":
            array = pa.array(vector.values, pa.bool_(), mask=mask)
    return array if array.type == type else array.cast(type, safe=vector.kind != "float")


def merged(vectors: Sequence[Vector]) -> tuple[tuple[str, ...], list[npt.NDArray[np.int64]]]:
    """The words of some vectors of strings in their order, and for each vector the new numbers of its words."""
    words = sorted({w for v in vectors for w in v.words})
    rank = {w: k for k, w in enumerate(words)}
    return tuple(words), [np.array([rank[w] for w in v.words] or [0], np.int64) for v in vectors]
