"""Strings stay dictionary-encoded from the source to the kernel, which compares codes instead of strings."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from augury.runtime.arrow_numbers import to_numpy

CODED = pa.dictionary(pa.int32(), pa.string())

MAX_NAMES = 1_000  # strings compared in Python: Arrow's `is_in` would import pandas to make its first array

MAX_COMPARED_TYPES = 8
"""Types up to which comparing all codes with each of them is faster than looking every code up."""


def coded_schema(arrow: pa.Schema, coded: Collection[str]) -> pa.Schema:
    """The schema with the columns named in `coded` dictionary-encoded."""
    return pa.schema([field.with_type(CODED) if field.name in coded else field for field in arrow])


def with_codes(table: pa.Table, coded: Sequence[str]) -> pa.Table:
    """Dictionary-encode these string columns, as far as they are not encoded yet.

    >>> with_codes(pa.table({"k": ["a", "b", "a"]}), ["k"])["k"].chunk(0).indices.to_pylist()
    [0, 1, 0]
    """
    for name in coded:
        column = table[name]
        if column.type != CODED:
            plain = column if pa.types.is_string(column.type) else column.cast(pa.string())
            table = table.set_column(table.column_names.index(name), name, plain.dictionary_encode())
    return table


def where_small(table: pa.Table, encoded: pa.Table, coded: Sequence[str], most: int) -> pa.Table:
    """Replace columns by those of `encoded` where the dictionaries have at most `most` strings."""
    for name in coded:
        if max(len(chunk.dictionary) for chunk in encoded[name].chunks) <= most:
            table = table.set_column(table.column_names.index(name), name, encoded[name])
    return table


def are_of_types(column: pa.ChunkedArray, types: Collection[str]) -> npt.NDArray[np.bool_]:
    """A mask of the events that have one of these types, looked up by their dictionary codes.

    >>> are_of_types(pa.chunked_array([pa.array(["A", "B", None, "A"]).dictionary_encode()]), ["A"]).tolist()
    [True, False, False, True]
    """
    found = []
    for chunk in column.chunks:
        # One place more, for a dictionary without entries: all of its events are null, which is of no type.
        by_code = np.append(_are_among(chunk.dictionary, types), False)
        indices = chunk.indices
        mask = _among(by_code, to_numpy(indices.fill_null(0) if indices.null_count else indices))
        if indices.null_count:
            mask &= to_numpy(indices.is_valid())
        found.append(mask)
    return found[0] if len(found) == 1 else np.concatenate([np.empty(0, dtype=bool), *found])


def _are_among(names: pa.Array, types: Collection[str]) -> npt.NDArray[np.bool_]:
    """A mask of the names that are among `types`."""
    if len(names) <= MAX_NAMES:
        return np.array([name in types for name in names.to_pylist()], dtype=bool)
    found: npt.NDArray[np.bool_] = pc.is_in(names, pa.array(sorted(types), names.type)).to_numpy(zero_copy_only=False)
    return found


def _among(by_code: npt.NDArray[np.bool_], codes: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.bool_]:
    """The value of `by_code` for each code."""
    # Of the type of the codes, so that these are not converted to be compared.
    wanted = np.flatnonzero(by_code).astype(codes.dtype)
    if not 0 < len(wanted) <= MAX_COMPARED_TYPES:
        return by_code.take(codes)
    mask: npt.NDArray[np.bool_] = codes == wanted[0]
    for code in wanted[1:]:
        mask |= codes == code
    return mask
