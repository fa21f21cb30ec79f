"""The rows of a table that a query reads, picked by NumPy where that is faster than Arrow."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Mask = npt.NDArray[np.bool_]
Places = npt.NDArray[np.intp]


def picked(table: pa.Table, mask: Mask, places: Places) -> pa.Table:
    """The rows where `mask` holds, which are those at `places`.

    >>> table = pa.table({"ts": [1, 2, 3], "type": pa.array(["A", "B", "A"]).dictionary_encode()})
    >>> picked(table, np.array([True, False, True]), np.array([0, 2])).to_pydict()
    {'ts': [1, 3], 'type': ['A', 'A']}
    """
    if any(column.num_chunks != 1 for column in table.columns):
        # To take rows of a table in many pieces, Arrow would bring the pieces together first.
        return table.filter(pa.array(mask))
    return pa.table([_values(column.chunk(0), places) for column in table.columns], schema=table.schema)


def _values(array: pa.Array, places: Places) -> pa.Array:
    if not len(array) or array.null_count:
        return array.take(_array(places, pa.int64()))
    if pa.types.is_dictionary(array.type):
        codes = _numbers(array.indices, places)
        return pa.DictionaryArray.from_arrays(codes, array.dictionary, ordered=array.type.ordered, safe=False)
    if pa.types.is_primitive(array.type) and array.type.bit_width in (8, 16, 32, 64):
        return _numbers(array, places)
    return array.take(_array(places, pa.int64()))


def _numbers(array: pa.Array, places: Places) -> pa.Array:
    """Values of whole bytes, whatever they stand for; none is missing."""
    values = np.frombuffer(array.buffers()[1], dtype=f"i{array.type.bit_width // 8}")
    return _array(values[array.offset : array.offset + len(array)].take(places), array.type)


def _array(numbers: npt.NDArray[Any], type: pa.DataType) -> pa.Array:
    return pa.Array.from_buffers(type, len(numbers), [None, pa.py_buffer(numbers)])
