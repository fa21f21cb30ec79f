"""Converts numbers between Arrow and NumPy without a copy, and without importing pandas.

`Array.to_numpy` and `pa.array` import pandas, if it is installed, to check for its types: that is a fifth of a second
of a process that prints its first match within one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

NUMPY_TYPES = {
    type.id: np.dtype(f"{kind}{type.bit_width // 8}")
    for kind, types in {
        "i": (
            *(pa.int8(), pa.int16(), pa.int32(), pa.int64()),
            *(pa.date32(), pa.date64(), pa.time32("s"), pa.time64("us"), pa.timestamp("us"), pa.duration("us")),
        ),
        "u": (pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()),
        "f": (pa.float16(), pa.float32(), pa.float64()),
    }.items()
    for type in types
}
"""NumPy's types for the numbers of Arrow's, by the number of these: a small batch would notice how they are told."""


def to_numpy(array: pa.Array) -> npt.NDArray[Any]:
    """The values of an array without nulls; times and dates as integers.

    >>> to_numpy(pa.array([1.5, 2.5]).slice(1)).tolist(), to_numpy(pa.array([True, False, True]).slice(1)).tolist()
    ([2.5], [False, True])
    """
    dtype = NUMPY_TYPES.get(array.type.id)
    if dtype is None:
        assert pa.types.is_boolean(array.type), f"{array.type} holds no numbers"
        bits = np.frombuffer(array.buffers()[1], np.uint8) if len(array) else np.empty(0, np.uint8)
        return np.unpackbits(bits, count=array.offset + len(array), bitorder="little")[array.offset :].view(bool)
    if not len(array):
        return np.empty(0, dtype)
    return np.frombuffer(array.buffers()[1], dtype, len(array), array.offset * dtype.itemsize)


def to_arrow(numbers: npt.NDArray[Any], type: pa.DataType | None = None) -> pa.Array:
    """The numbers as an array of integers of 64 bits, or of another type of their width.

    >>> to_arrow(np.array([3, 1]))[1].as_py()
    1
    """
    values = np.ascontiguousarray(numbers, np.int64 if type is None else None)
    return pa.Array.from_buffers(type or pa.int64(), len(values), [None, pa.py_buffer(values)])
