"""Arrow tables as bytes that are safe to read whoever wrote them.

Reading an Arrow stream with a few bytes changed can end the process unless everything is validated, and its metadata
may ask for any type and any amount of memory. A frame has a layout of our own instead. Everything in it is checked
against the number of bytes there are before an array is made of them, and every array is validated in full before
anybody reads it.

    AUGFRAME | length of the header, 8 bytes | header, JSON | buffers; each part filled up to a multiple of 8 bytes

The header says how many rows there are, and of each column its name, whether it may hold nulls, its type, and its
pieces: the length, the sizes of the buffers and the children of each. The buffers follow in the same order.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

MAGIC = b"AUGFRAME"
ALIGNMENT = 8  # bytes: the widest element that NumPy reads in place
MAX_NESTING = 32  # levels of nested lists and structs, more than events have

PLAIN: dict[str, pa.DataType] = {
    str(t): t
    for t in (
        *(pa.null(), pa.bool_(), pa.int8(), pa.int16(), pa.int32(), pa.int64()),
        *(pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64(), pa.float16(), pa.float32(), pa.float64()),
        *(pa.date32(), pa.date64(), pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")),
        *(pa.duration(unit) for unit in ("s", "ms", "us", "ns")),
        *(pa.string(), pa.large_string(), pa.string_view(), pa.binary(), pa.large_binary(), pa.binary_view()),
        pa.month_day_nano_interval(),
    )
}
"""Types without parameters, by the names Arrow prints them by."""

DECIMALS: dict[str, Callable[[int, int], pa.DataType]] = {
    "decimal32": pa.decimal32,
    "decimal64": pa.decimal64,
    "decimal128": pa.decimal128,
    "decimal256": pa.decimal256,
}

WIDTHS: dict[int, int] = {
    t.id: t.bit_width // 8
    for t in PLAIN.values()
    if pa.types.is_integer(t) or pa.types.is_floating(t) or pa.types.is_temporal(t)
} | {pa.timestamp("s").id: 8}
"""Bytes of a value by Arrow's type id, for a fast path: most columns hold numbers or times."""

LISTS: dict[str, Callable[[pa.Field], pa.DataType]] = {"list": pa.list_, "large_list": pa.large_list}

EXTENSIONS: dict[str, Callable[[], pa.DataType]] = {
    "arrow.uuid": pa.uuid,
    "arrow.json": pa.json_,
    "arrow.bool8": pa.bool8,
}
"""Extension types that stand for nothing but their storage."""


class NotAFrame(ValueError):
    """Bytes that `write_frame` did not write."""


class NotSavable(ValueError):
    """A column of a type that frames cannot hold."""


def write_frame(table: pa.Table) -> bytes:
    """The table as bytes.

    >>> read_frame(write_frame(pa.table({"x": [1, None], "s": ["a", "b"]}))).to_pylist()
    [{'x': 1, 's': 'a'}, {'x': None, 's': 'b'}]
    """
    buffers: list[bytes | memoryview] = []
    columns = []
    for field, column in zip(table.schema, table.columns, strict=True):
        facts = type_facts(field.type)
        columns.append([field.name, field.nullable, facts, [_write(piece, buffers) for piece in column.chunks]])
    header = json.dumps({"rows": table.num_rows, "columns": columns}, separators=(",", ":")).encode()
    header += b" " * (-len(header) % ALIGNMENT)
    parts: list[bytes | memoryview] = [MAGIC, len(header).to_bytes(8, "little"), header]
    for buffer in buffers:
        parts += [buffer, bytes(-len(buffer) % ALIGNMENT)]
    return b"".join(parts)


def read_frame(data: bytes | pa.Buffer) -> pa.Table:
    """The table that `write_frame` wrote, over the same memory; anything else is `NotAFrame`."""
    buffer = data if isinstance(data, pa.Buffer) else pa.py_buffer(data)
    header, start = read_header(buffer, MAGIC)
    rows, columns = _parts(header, {"rows": int, "columns": list})
    reader = _Reader(buffer, start)
    fields, arrays = [], []
    for column in columns:
        name, nullable, facts, pieces = _items(column, str, bool, (str, list), list)
        type = read_type(facts)
        chunks = [reader.array(type, piece) for piece in pieces]
        if sum(map(len, chunks)) != rows:
            raise NotAFrame("its columns are not equally long")
        fields.append(pa.field(name, type, nullable))
        arrays.append(_validated(chunks, type))
    reader.end()
    if not fields and rows:
        raise NotAFrame("it has rows and no columns")
    return pa.Table.from_arrays(arrays, schema=pa.schema(fields))


def read_header(buffer: pa.Buffer, magic: bytes) -> tuple[Any, int]:
    """The JSON header after the first bytes `magic` and its own size, and where what follows it begins."""
    start = len(magic) + 8
    if buffer.size < start or buffer.slice(0, len(magic)).to_pybytes() != magic:
        raise NotAFrame("they do not begin like one")
    size = int.from_bytes(buffer.slice(len(magic), 8).to_pybytes(), "little")
    if size > buffer.size - start or size % ALIGNMENT:
        raise NotAFrame("their header is longer than they are")
    return parse_json(buffer.slice(start, size).to_pybytes()), start + size


def parse_json(data: bytes) -> Any:
    """Parse JSON; invalid or too deeply nested JSON is `NotAFrame`."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as e:
        raise NotAFrame(f"no JSON: {e}") from e


# -- types ---------------------------------------------------------------------------------------------------------


def type_facts(type: pa.DataType) -> Any:
    """A type as JSON: its name, or a list of its name and parameters."""
    types = pa.types
    if str(type) in PLAIN:
        return str(type)
    if types.is_timestamp(type):
        return ["timestamp", type.unit, type.tz]
    if types.is_decimal(type):
        name = next(n for n in DECIMALS if str(type).startswith(n))
        return [name, type.precision, type.scale]
    if types.is_fixed_size_binary(type) and not isinstance(type, pa.BaseExtensionType):
        return ["fixed_size_binary", type.byte_width]
    if types.is_list(type) or types.is_large_list(type):
        return ["list" if types.is_list(type) else "large_list", _field_facts(type.value_field)]
    if types.is_fixed_size_list(type):
        return ["fixed_size_list", _field_facts(type.value_field), type.list_size]
    if types.is_struct(type):
        return ["struct", [_field_facts(field) for field in type]]
    if types.is_map(type):
        return ["map", type_facts(type.key_type), _field_facts(type.item_field), type.keys_sorted]
    if types.is_dictionary(type):
        return ["dictionary", type_facts(type.index_type), type_facts(type.value_type), type.ordered]
    if isinstance(type, pa.BaseExtensionType) and type.extension_name in EXTENSIONS:
        return ["extension", type.extension_name]
    raise NotSavable(f"values of type {type}")


def _field_facts(field: pa.Field) -> list[Any]:
    return [field.name, field.nullable, type_facts(field.type)]


def read_type(facts: Any, depth: int = 0) -> pa.DataType:
    """The type that `type_facts` described."""
    if depth > MAX_NESTING:
        raise NotAFrame("a type is nested too deep")
    if isinstance(facts, str):
        if facts not in PLAIN:
            raise NotAFrame("there is no such type")
        return PLAIN[facts]
    name, *parameters = _items(facts, str, ...)
    try:
        match name:
            case "timestamp":
                unit, zone = _items(parameters, str, (str, type(None)))
                return _timestamp(unit, zone)
            case "fixed_size_binary":
                (width,) = _items(parameters, int)
                return pa.binary(_size(width))
            case "fixed_size_list":
                field, size = _items(parameters, list, int)
                return pa.list_(_field(field, depth), _size(size))
            case "struct":
                (fields,) = _items(parameters, list)
                return pa.struct([_field(field, depth) for field in fields])
            case "map":
                key, item, ordered = _items(parameters, (str, list), list, bool)
                return pa.map_(read_type(key, depth + 1), _field(item, depth), keys_sorted=ordered)
            case "dictionary":
                index, value, ordered = _items(parameters, str, (str, list), bool)
                if not pa.types.is_integer(read_type(index)):
                    raise NotAFrame("a dictionary is indexed by integers")
                return pa.dictionary(read_type(index), read_type(value, depth + 1), ordered)
            case "extension":
                (kind,) = _items(parameters, str)
                if kind in EXTENSIONS:
                    return EXTENSIONS[kind]()
            case _ if name in DECIMALS:
                precision, scale = _items(parameters, int, int)
                if abs(scale) > 100:
                    raise NotAFrame("a decimal has no such scale")
                return DECIMALS[name](precision, scale)
            case _ if name in LISTS:
                (field,) = _items(parameters, list)
                return LISTS[name](_field(field, depth))
    except (pa.ArrowException, ValueError, OverflowError) as e:
        raise NotAFrame(f"a type that cannot be: {e}") from e
    raise NotAFrame("there is no such type")


def _field(facts: Any, depth: int) -> pa.Field:
    name, nullable, type = _items(facts, str, bool, (str, list))
    return pa.field(name, read_type(type, depth + 1), nullable)


def _timestamp(unit: str, zone: str | None) -> pa.DataType:
    if zone is not None:
        # Arrow takes any text for a zone, and complains when it is first needed.
        pc.assume_timezone(pa.array([0], pa.timestamp("s")), zone)
    return pa.timestamp(unit, zone)


def _size(number: int) -> int:
    if not 0 <= number < 2**31:
        raise NotAFrame("an element has no such size")
    return number


# -- writing -------------------------------------------------------------------------------------------------------


def _write(array: pa.Array, out: list[bytes | memoryview]) -> list[Any]:
    """Add the buffers of an array to `out`, and return its length, the sizes of its buffers, and its children."""
    own: list[bytes | memoryview] = []
    children: list[pa.Array] = []
    type, types = array.type, pa.types
    if type.id in WIDTHS:
        own = [_validity(array), _values(array, WIDTHS[type.id])]
        out += own
        return [len(array), [len(b) for b in own], []]
    if isinstance(type, pa.BaseExtensionType):
        return _write(array.storage, out)
    if types.is_string_view(type) or types.is_binary_view(type):
        return _write(array.cast(pa.large_string() if types.is_string_view(type) else pa.large_binary()), out)
    if types.is_dictionary(type):
        children = [array.indices, array.dictionary]
    elif not types.is_null(type):
        own.append(_validity(array))
        children = _children(array, own)
    out += own
    return [len(array), [len(b) for b in own], [_write(child, out) for child in children]]


def _validity(array: pa.Array) -> bytes:
    if not array.null_count:
        return b""
    valid = array.is_valid().to_numpy(zero_copy_only=False)
    return np.packbits(valid, bitorder="little").tobytes()


def _children(array: pa.Array, own: list[bytes | memoryview]) -> list[pa.Array]:
    """Add the buffers that hold values or offsets, and return the child arrays."""
    type, types, n = array.type, pa.types, len(array)
    if types.is_boolean(type):
        values = array.fill_null(False) if array.null_count else array
        own.append(np.packbits(values.to_numpy(zero_copy_only=False), bitorder="little").tobytes())
        return []
    if types.is_struct(type):
        return [array.field(k) for k in range(type.num_fields)]
    if types.is_fixed_size_list(type):
        return [array.values.slice(array.offset * type.list_size, n * type.list_size)]
    if types.is_list(type) or types.is_large_list(type) or types.is_map(type):
        first, last = _offsets(array, own)
        if types.is_map(type):
            return [array.keys.slice(first, last - first), array.items.slice(first, last - first)]
        return [array.values.slice(first, last - first)]
    if _variable(type):
        first, last = _offsets(array, own)
        data = array.buffers()[2]
        own.append(b"" if data is None else memoryview(data)[first:last])
        return []
    own.append(_values(array, type.bit_width // 8))
    return []


def _values(array: pa.Array, width: int) -> bytes | memoryview:
    data = array.buffers()[1]
    return b"" if data is None else memoryview(data)[array.offset * width : (array.offset + len(array)) * width]


def _variable(type: pa.DataType) -> bool:
    types = pa.types
    return bool(
        types.is_string(type) or types.is_large_string(type) or types.is_binary(type) or types.is_large_binary(type)
    )


def _wide(type: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_large_string(type) or types.is_large_binary(type) or types.is_large_list(type))


def _offsets(array: pa.Array, own: list[bytes | memoryview]) -> tuple[int, int]:
    """Add the offsets of an array of strings or lists, counted from 0; the first and last offset in the array."""
    dtype = np.dtype("<i8" if _wide(array.type) else "<i4")
    buffer = array.buffers()[1]
    if not len(array) or buffer is None:
        own.append(bytes(dtype.itemsize))
        return 0, 0
    offsets = np.frombuffer(buffer, dtype)[array.offset : array.offset + len(array) + 1]
    own.append((offsets - offsets[0]).tobytes())
    return int(offsets[0]), int(offsets[-1])


# -- reading -------------------------------------------------------------------------------------------------------


class _Reader:
    """Reads the buffers of a frame one after the other."""

    def __init__(self, data: pa.Buffer, at: int) -> None:
        self.data, self.at = data, at

    def end(self) -> None:
        if self.at != self.data.size:
            raise NotAFrame("they are longer than the buffers in them")

    def array(self, type: pa.DataType, facts: Any, depth: int = 0) -> pa.Array:
        """The next array; it is not validated yet, but no buffer of it is too small."""
        if depth > MAX_NESTING:
            raise NotAFrame("an array is nested too deep")
        length, sizes, children = _items(facts, int, list, list)
        if not 0 <= length < 2**62:
            raise NotAFrame("an array has no such length")
        own = [self._buffer(size) for size in sizes]
        if type.id in WIDTHS and not children:
            _exactly(own, (-(-length // 8), length * WIDTHS[type.id]))
            return pa.Array.from_buffers(type, length, [own[0] if own[0].size else None, own[1]])
        stored = _stored(type)
        below = [self.array(t, child, depth + 1) for t, child in zip(_below(stored), _items_of(children), strict=True)]
        array = _assembled(stored, length, own, below)
        return array if stored == type else _as(array, type)

    def _buffer(self, size: Any) -> pa.Buffer:
        if not isinstance(size, int) or not 0 <= size <= self.data.size - self.at:
            raise NotAFrame("a buffer is longer than they are")
        buffer = self.data.slice(self.at, size)
        self.at += size + -size % ALIGNMENT
        if self.at > self.data.size:
            raise NotAFrame("a buffer is longer than they are")
        return buffer


def _stored(type: pa.DataType) -> pa.DataType:
    """The type that a frame holds values of `type` as."""
    if isinstance(type, pa.BaseExtensionType):
        return type.storage_type
    if pa.types.is_string_view(type):
        return pa.large_string()
    return pa.large_binary() if pa.types.is_binary_view(type) else type


def _as(array: pa.Array, type: pa.DataType) -> pa.Array:
    array.validate(full=True)
    return pa.ExtensionArray.from_storage(type, array) if isinstance(type, pa.BaseExtensionType) else array.cast(type)


def _below(type: pa.DataType) -> list[pa.DataType]:
    types = pa.types
    if types.is_struct(type):
        return [field.type for field in type]
    if types.is_map(type):
        return [type.key_type, type.item_type]
    if types.is_dictionary(type):
        return [type.index_type, type.value_type]
    if types.is_list(type) or types.is_large_list(type) or types.is_fixed_size_list(type):
        return [type.value_type]
    return []


def _assembled(type: pa.DataType, length: int, own: list[pa.Buffer], below: list[pa.Array]) -> pa.Array:
    types = pa.types
    if types.is_null(type):
        _exactly(own, [])
        return pa.nulls(length) if length < 2**31 else _refuse("an array has no such length")
    if types.is_dictionary(type):
        _exactly(own, [])
        for array in below:
            array.validate(full=True)
        if len(below[0]) != length:
            raise NotAFrame("a column of codes is not as long as it says")
        return pa.DictionaryArray.from_arrays(*below, ordered=type.ordered, safe=True)
    sizes: list[int | None] = [-(-length // 8)]
    if types.is_boolean(type):
        sizes.append(-(-length // 8))
    elif types.is_map(type) or types.is_list(type) or types.is_large_list(type):
        sizes.append((length + 1) * (8 if _wide(type) else 4))
    elif _variable(type):
        sizes += [(length + 1) * (8 if _wide(type) else 4), None]
    elif not (types.is_struct(type) or types.is_fixed_size_list(type)):
        sizes.append(length * (type.bit_width // 8))
    if types.is_struct(type) and any(len(array) != length for array in below):
        raise NotAFrame("the parts of a struct are not equally long")
    if types.is_fixed_size_list(type) and len(below[0]) != length * type.list_size:
        raise NotAFrame("the lists are not as long as they say")
    _exactly(own, sizes)
    buffers = [own[0] if own[0].size else None, *own[1:]]
    if types.is_map(type):
        return _map(type, length, buffers, below)
    return pa.Array.from_buffers(type, length, buffers, children=below or None)


def _map(type: pa.DataType, length: int, buffers: list[pa.Buffer | None], below: list[pa.Array]) -> pa.Array:
    keys, items = below
    keys.validate(full=True)
    items.validate(full=True)
    if keys.null_count or len(keys) != len(items):
        # Arrow ends the process when it meets such a map.
        raise NotAFrame("a map has no key for a value")
    offsets = pa.Array.from_buffers(pa.int32(), length + 1, [None, buffers[1]])
    places = offsets.to_numpy()
    if places[0] != 0 or places[-1] != len(keys) or (np.diff(places) < 0).any():
        raise NotAFrame("the entries of a map are out of order")
    entries = pa.StructArray.from_arrays([keys, items], fields=[pa.field("key", type.key_type, False), type.item_field])
    return pa.Array.from_buffers(type, length, buffers, children=[entries])


def _exactly(own: Sequence[pa.Buffer], sizes: Sequence[int | None]) -> None:
    """Refuse buffers that are not of these sizes; the first, the validity bitmap, may be empty."""
    if len(own) != len(sizes):
        raise NotAFrame("an array has more or fewer buffers than its type")
    for k, (buffer, size) in enumerate(zip(own, sizes, strict=True)):
        if size is not None and buffer.size != size and (k or buffer.size):
            raise NotAFrame("a buffer is not as long as its array")


def _validated(chunks: list[pa.Array], type: pa.DataType) -> pa.ChunkedArray:
    column = pa.chunked_array(chunks, type)
    column.validate(full=True)
    return column


# -- checks of JSON --------------------------------------------------------------------------------------------------


def _refuse(why: str) -> NoReturn:
    raise NotAFrame(why)


def _items_of(facts: Any) -> Iterator[Any]:
    if not isinstance(facts, list):
        raise NotAFrame("a part of the header is of another kind")
    return iter(facts)


def _items(facts: Any, *kinds: Any) -> list[Any]:
    """Check that this is a list of values of these types; `...` at the end allows further items."""
    if not isinstance(facts, list):
        raise NotAFrame("a part of the header is of another kind")
    open_end = bool(kinds) and kinds[-1] is ...
    wanted = kinds[:-1] if open_end else kinds
    if len(facts) < len(wanted) or (len(facts) > len(wanted) and not open_end):
        raise NotAFrame("a part of the header has more or fewer items")
    for item, kind in zip(facts, wanted, strict=False):
        if not isinstance(item, kind) or (isinstance(item, bool) and kind is int):
            raise NotAFrame("a part of the header is of another kind")
    return facts


def _parts(facts: Any, kinds: Mapping[str, Any]) -> list[Any]:
    if not isinstance(facts, dict) or facts.keys() != kinds.keys():
        raise NotAFrame("the header has other parts")
    return _items([facts[name] for name in kinds], *kinds.values())
