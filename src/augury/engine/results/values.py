"""Arrow columns as Python objects and as JSON."""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from augury.runtime.values import beyond_python

if TYPE_CHECKING:
    import pandas as pd

USE_ARROW = "use to_arrow, which holds every value, or leave out events with such times"


def map_leaves(f: Callable[[pa.Array], pa.Array], array: pa.Array) -> pa.Array:
    """Rebuild a column with `f` applied to the arrays inside its structs and lists."""
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
    return _as_python(map_leaves(_microseconds, array))


def to_shown(array: pa.Array) -> list[Any]:
    """The values as Python objects for display; a time that Python cannot hold is shown as its number of ticks.

    >>> to_shown(pa.array([2**62], pa.timestamp("s")))
    ['4611686018427387904 s since 1970']
    """
    return map_leaves(_showable, array).to_pylist()  # type: ignore[no-any-return]


def to_frame(table: pa.Table, *, date_as_object: bool) -> pd.DataFrame:
    """The table as a pandas frame, whose nested values are Python objects."""
    try:
        frame: pd.DataFrame = table.to_pandas(date_as_object=date_as_object)
    except (pa.ArrowException, ValueError, OverflowError, OSError) as e:
        raise beyond_python("a value", e, USE_ARROW) from e
    return frame


def _as_python(array: pa.Array) -> list[Any]:
    try:
        return array.to_pylist()  # type: ignore[no-any-return]
    except (pa.ArrowException, ValueError, OverflowError, OSError) as e:
        raise beyond_python(f"a value of type {array.type}", e, USE_ARROW) from e


def _showable(array: pa.Array) -> pa.Array:
    array = _microseconds(array)
    try:
        array.to_pylist()
    except (pa.ArrowException, ValueError, OverflowError, OSError):
        return _in_ticks(array)
    return array


def _in_ticks(array: pa.Array) -> pa.Array:
    """Replace times that are out of Python's range by their number of ticks."""
    if pa.types.is_nested(array.type):
        return map_leaves(_showable, array.cast(_as_lists(array.type)))
    unit = getattr(array.type, "unit", "days" if pa.types.is_date32(array.type) else "ms")
    since = " since 1970" if pa.types.is_timestamp(array.type) or pa.types.is_date(array.type) else ""
    narrow = array.type.bit_width == 32
    ticks = array.view(pa.int32() if narrow else pa.int64()).cast(pa.string())
    return pc.binary_join_element_wise(ticks, f"{unit}{since}", " ")


def _microseconds(array: pa.Array) -> pa.Array:
    if pa.types.is_timestamp(array.type) and array.type.unit == "ns":
        return array.cast(pa.timestamp("us", array.type.tz), safe=False)
    if pa.types.is_duration(array.type) and array.type.unit == "ns":
        return array.cast(pa.duration("us"), safe=False)
    if pa.types.is_time64(array.type) and array.type.unit == "ns":
        return array.cast(pa.time64("us"), safe=False)
    return array


def _as_lists(arrow: pa.DataType) -> pa.DataType:
    """The plain list type for the values of a fixed-size list or map type."""
    if pa.types.is_map(arrow):
        return pa.list_(pa.struct([("key", arrow.key_type), ("value", arrow.item_type)]))
    return pa.list_(arrow.value_type)


def to_json(array: pa.Array) -> list[Any]:
    """The values as JSON can hold them: times as ISO 8601 with all their digits, durations in seconds, NaN as null.

    >>> to_json(pa.array([1_500], pa.timestamp("ns"))), to_json(pa.array([float("nan"), 1.0]))
    (['1970-01-01T00:00:00.000001500'], [None, 1.0])
    """
    return [_json_value(v) for v in map_leaves(_iso, array).to_pylist()]


def _iso(array: pa.Array) -> pa.Array:
    if pa.types.is_timestamp(array.type):
        zone = "" if array.type.tz is None else "%Ez"
        try:
            return pc.strftime(array, format="%Y-%m-%dT%H:%M:%S" + zone)
        except pa.ArrowInvalid:
            return _in_ticks(array)
    return _showable(array)


def _json_value(value: Any) -> Any:
    match value:
        case dict():
            return {k: _json_value(v) for k, v in value.items()}
        case list() | tuple():
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
