"""Replaces Arrow types that the engine cannot take rows of, compare or show by plain ones."""

from __future__ import annotations

from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from augury.arguments import encodable, shown
from augury.errors import HostError


def readable_table(table: pa.Table) -> pa.Table:
    """Replace views, run-end encoding and extension types in a table by plain types with the same values.

    Costs nothing unless a column is of such a type, or a dictionary has nulls. A type that has no plain form is an
    error.

    >>> readable_table(pa.table({"x": pa.array(["a"], pa.string_view())})).schema.field("x").type
    DataType(string)
    """
    check_names(table.schema)
    for i, field in enumerate(table.schema):
        wanted = readable_type(field.type, field.name)
        if pa.types.is_date64(wanted):
            check_dates(table.column(i), field.name)
        if wanted != field.type:
            table = table.set_column(i, pa.field(field.name, wanted), _plain(table.column(i), wanted, field.name))
        elif has_null_entries(table.column(i)):
            table = table.set_column(i, field, _encoded_anew(table.column(i), field.name))
    return table


def has_null_entries(column: pa.ChunkedArray) -> bool:
    """Whether a dictionary of the column has a null, which Arrow does not join with other dictionaries."""
    return pa.types.is_dictionary(column.type) and any(chunk.dictionary.null_count for chunk in column.chunks)


def _encoded_anew(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """The values of an encoded column, with dictionaries of their own: nulls are left to the codes."""
    codes = column.type.index_type
    try:
        chunks = [chunk.dictionary_decode().dictionary_encode() for chunk in column.chunks]
        return pa.chunked_array(
            [
                pa.DictionaryArray.from_arrays(one.indices.cast(codes), one.dictionary, ordered=column.type.ordered)
                for one in chunks
            ],
            column.type,
        )
    except (pa.ArrowException, NotImplementedError) as e:
        raise unreadable_column(name, column.type, e) from e


def check_dates(column: pa.ChunkedArray, name: str) -> None:
    """Refuse dates in milliseconds that are not whole days or do not fit into 32-bit days."""
    try:
        column.cast(pa.date32())
    except pa.ArrowInvalid as e:
        raise unreadable_column(name, column.type, e, "store it as a timestamp") from e


def readable_schema(schema: pa.Schema) -> pa.Schema:
    """The schema that `readable_table` gives tables of this schema."""
    check_names(schema)
    return pa.schema([pa.field(f.name, readable_type(f.type, f.name)) for f in schema])


def check_text(schema: pa.Schema) -> None:
    """Raise `ArrowInvalid` unless names and time zones of a schema are UTF-8, which Arrow does not check itself."""
    try:
        for field in schema:
            _decode(field)
    except UnicodeDecodeError as e:
        raise pa.ArrowInvalid(f"the name or the type of a column is not UTF-8: {e}") from e


def _decode(field: pa.Field) -> None:
    """Decode all text of a field, of the fields inside it and of its type."""
    assert isinstance(field.name, str)
    arrow = field.type
    if isinstance(arrow, pa.BaseExtensionType):
        arrow = arrow.storage_type
    while pa.types.is_dictionary(arrow) or pa.types.is_run_end_encoded(arrow):
        arrow = arrow.value_type
    if pa.types.is_timestamp(arrow):
        assert arrow.tz is None or isinstance(arrow.tz, str)
    for k in range(arrow.num_fields):
        _decode(arrow.field(k))


def check_names(schema: pa.Schema) -> None:
    """Refuse columns of the same name, and names that are not text."""
    try:
        check_text(schema)
    except pa.ArrowInvalid as e:
        raise unreadable("the events", e) from e
    seen = set()
    for name in schema.names:
        if name in seen:
            raise two_columns(name)
        seen.add(name)


def two_columns(name: object) -> HostError:
    """The error for two columns of the same name."""
    return HostError("A501", f"the events have two columns named `{name}`", "rename one of them")


def unreadable(what: str, reason: object) -> HostError:
    """The error for events that cannot be read; `what` names them."""
    return HostError("A531", f"{what} cannot be read: {reason}")


def unreadable_column(column: str, type: object, reason: object, help: str = "") -> HostError:
    """The error for a column of a type that is not supported."""
    return HostError(
        "A614",
        f"the column `{column}` of type {str(type)[:200]} cannot be read: {reason}",
        help or "convert it, or leave it out of the events",
    )


def readable_type(arrow: pa.DataType, column: str) -> pa.DataType:
    """The type that a column is read as.

    >>> readable_type(pa.list_view(pa.run_end_encoded(pa.int32(), pa.int64())), "x")
    ListType(list<item: int64>)
    """
    types = pa.types
    if isinstance(arrow, pa.BaseExtensionType):
        if arrow.extension_name == "pandas.period":
            # Its storage is a number whose meaning depends on the length of the period.
            raise unreadable_column(column, arrow, "a period is no time", "convert it with to_timestamp()")
        return readable_type(arrow.storage_type, column)
    if types.is_run_end_encoded(arrow):
        return readable_type(arrow.value_type, column)
    if types.is_string_view(arrow):
        return pa.string()
    if types.is_binary_view(arrow):
        return pa.binary()
    if types.is_union(arrow):
        raise unreadable_column(column, arrow, "its values are of several types")
    if types.is_dictionary(arrow):
        value = readable_type(arrow.value_type, column)
        if value == arrow.value_type and not types.is_nested(value) and not types.is_dictionary(value):
            return arrow
        return value
    if types.is_timestamp(arrow) and arrow.tz is not None:
        if not _is_zone(arrow.tz):
            help = "give it a zone of the IANA database, such as Europe/Berlin, or an offset such as +01:00"
            raise unreadable_column(column, arrow, f"there is no time zone {shown(arrow.tz)}", help)
        return arrow
    return _nested_type(arrow, column) if types.is_nested(arrow) else arrow


def _nested_type(arrow: pa.DataType, column: str) -> pa.DataType:
    types = pa.types
    if types.is_map(arrow):
        key, item = readable_type(arrow.key_type, column), readable_type(arrow.item_type, column)
        return arrow if (key, item) == (arrow.key_type, arrow.item_type) else pa.map_(key, item)
    if types.is_struct(arrow):
        fields = [arrow.field(k) for k in range(arrow.num_fields)]
        names = [f.name for f in fields]
        if len(set(names)) < len(names):
            raise unreadable_column(column, arrow, "two of its fields have one name")
        plain = [pa.field(f.name, readable_type(f.type, column)) for f in fields]
        return arrow if [f.type for f in plain] == [f.type for f in fields] else pa.struct(plain)
    item = readable_type(arrow.value_type, column)
    if types.is_list_view(arrow):
        return pa.list_(item)
    if types.is_large_list_view(arrow):
        return pa.large_list(item)
    if item == arrow.value_type:
        return arrow
    if types.is_fixed_size_list(arrow):
        return pa.list_(item, arrow.list_size)
    return pa.large_list(item) if types.is_large_list(arrow) else pa.list_(item)


def _plain(column: pa.ChunkedArray, wanted: pa.DataType, name: str) -> pa.ChunkedArray:
    try:
        return pa.chunked_array([_plain_array(chunk, wanted) for chunk in column.chunks], wanted)
    except (pa.ArrowException, NotImplementedError) as e:
        raise unreadable_column(name, column.type, e) from e


def _plain_array(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    """The values of an array in a plain type."""
    while array.type != wanted:
        if isinstance(array, pa.ExtensionArray):
            array = array.storage
        elif pa.types.is_run_end_encoded(array.type):
            array = pc.run_end_decode(array)
        elif pa.types.is_dictionary(array.type):
            array = array.dictionary_decode()
        elif pa.types.is_list_view(array.type) or pa.types.is_large_list_view(array.type):
            array = _plain_lists(array, wanted)
        else:
            array = array.cast(wanted)
    return array


def _plain_lists(array: pa.Array, wanted: pa.DataType) -> pa.Array:
    """Convert list views to lists; not by a cast, which in Arrow 26 leaves large ones without their last offset."""
    lengths = pc.list_value_length(array).fill_null(0).to_numpy(zero_copy_only=False)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    large = pa.types.is_large_list(wanted)
    bounds = pa.array(offsets, pa.int64() if large else pa.int32())
    kind = pa.LargeListArray if large else pa.ListArray
    lists = kind.from_arrays(bounds, array.flatten(), mask=array.is_null() if array.null_count else None)
    return lists if lists.type == wanted else lists.cast(wanted)


@cache
def _is_zone(name: str) -> bool:
    """Whether both Python and Arrow know a time zone."""
    if not encodable(name):
        return False
    try:
        zoned = pa.array([0], pa.timestamp("s", name))
        zoned.to_pylist()
        pc.strftime(zoned, format="%Ez")
    except (pa.ArrowException, ValueError, KeyError, OSError):
        return False
    return True
