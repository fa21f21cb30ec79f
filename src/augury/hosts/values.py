"""Arrow columns as Python objects and as JSON."""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import math
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc


def map_leaves(f: Callable[[pa.Array], pa.Array], array: pa.Array) -> pa.Array:
    """Rebuild a column with `f` applied to what is neither struct nor list."""
    if pa.types.is_dictionary(array.type):
        return map_leaves(f, array.dictionary_decode())
    if pa.types.is_struct(array.type):
        parts = [map_leaves(f, array.field(i)) for i in range(array.type.num_fields)]
        names = [array.type.field(i).name for i in range(array.type.num_fields)]
        return pa.StructArray.from_arrays(parts, names, mask=array.is_null()) if parts else array
    if pa.types.is_list(array.type) or pa.types.is_large_list(array.type):
        lists = pa.ListArray if pa.types.is_list(array.type) else pa.LargeListArray
        # Offsets and values of a slice still count from the start of the whole array.
        compact = pa.concat_arrays([array, array.slice(0, 0)]) if array.offset else array
        return lists.from_arrays(
            compact.offsets, map_leaves(f, compact.values), mask=compact.is_null() if compact.null_count else None
        )
    return f(array)


def to_python(array: pa.Array) -> list[Any]:
    """The values as Python objects; times finer than microseconds, which `datetime` cannot hold, are cut to them.

    >>> to_python(pa.array([1_500], pa.timestamp("ns")))
    [datetime.datetime(1970, 1, 1, 0, 0, 0, 1)]
    """
    return map_leaves(_microseconds, array).to_pylist()  # type: ignore[no-any-return]


def _microseconds(array: pa.Array) -> pa.Array:
    if pa.types.is_timestamp(array.type) and array.type.unit == "ns":
        return array.cast(pa.timestamp("us", array.type.tz), safe=False)
    if pa.types.is_duration(array.type) and array.type.unit == "ns":
        return array.cast(pa.duration("us"), safe=False)
    if pa.types.is_time64(array.type) and array.type.unit == "ns":
        return array.cast(pa.time64("us"), safe=False)
    return array


def to_json(array: pa.Array) -> list[Any]:
    """The values as JSON can hold them: times as ISO 8601 with all their digits, durations in seconds, NaN as null.

    >>> to_json(pa.array([1_500], pa.timestamp("ns"))), to_json(pa.array([float("nan"), 1.0]))
    (['1970-01-01T00:00:00.000001500'], [None, 1.0])
    """
    return [_json_value(v) for v in map_leaves(_iso, array).to_pylist()]


def _iso(array: pa.Array) -> pa.Array:
    if pa.types.is_timestamp(array.type):
        zone = "" if array.type.tz is None else "%Ez"
        return pc.strftime(array, format="%Y-%m-%dT%H:%M:%S" + zone)
    return _microseconds(array)


def _json_value(value: Any) -> Any:
    match value:
        case dict():
            return {k: _json_value(v) for k, v in value.items()}
        case list():
            return [_json_value(v) for v in value]
        case float():
            return value if math.isfinite(value) else None
        case dt.timedelta():
            return value.total_seconds()
        case dt.date() | dt.time():
            return value.isoformat()
        case decimal.Decimal():
            return str(value)
        case bytes():
            return base64.b64encode(value).decode()
        case _:
            return value
