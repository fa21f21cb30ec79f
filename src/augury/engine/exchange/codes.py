"""Strings as dictionary codes from the source up to the kernel, which compares codes: no string is compared twice."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

CODED = pa.dictionary(pa.int32(), pa.string())


def coded_schema(arrow: pa.Schema, coded: Collection[str]) -> pa.Schema:
    """The schema with the columns named in `coded` dictionary-encoded."""
    return pa.schema([field.with_type(CODED) if field.name in coded else field for field in arrow])


def with_codes(table: pa.Table, coded: Sequence[str]) -> pa.Table:
    """The events with codes for the strings of these columns; some may have them already.

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
    """The events with those columns of `encoded` whose dictionaries have at most `most` strings, else plain ones."""
    for name in coded:
        if max(len(chunk.dictionary) for chunk in encoded[name].chunks) <= most:
            table = table.set_column(table.column_names.index(name), name, encoded[name])
    return table


def are_of_types(column: pa.ChunkedArray, types: Collection[str]) -> npt.NDArray[np.bool_]:
    """Which events have one of these types, from their codes.

    >>> are_of_types(pa.chunked_array([pa.array(["A", "B", None, "A"]).dictionary_encode()]), ["A"]).tolist()
    [True, False, False, True]
    """
    found = []
    for chunk in column.chunks:
        wanted = pa.array(sorted(types), chunk.dictionary.type)
        # One place more, for a dictionary without entries: all of its events are null, which is of no type.
        by_code = np.append(pc.is_in(chunk.dictionary, wanted).to_numpy(zero_copy_only=False), False)
        if not chunk.indices.null_count:
            found.append(by_code[chunk.indices.to_numpy()])
        else:
            known = chunk.indices.is_valid().to_numpy(zero_copy_only=False)
            found.append(by_code[chunk.indices.fill_null(0).to_numpy()] & known)
    return np.concatenate(found) if found else np.empty(0, dtype=bool)
