"""A table of matches without nested columns."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc


def flattened(table: pa.Table) -> pa.Table:
    """One column for each attribute of each variable, named `a.price`; a list of them for an iterated variable.

    Those of a group are named `g.b.price`, with a value, or a list, for each round.

    >>> flattened(pa.table({"start": [1], "a": [{"x": 2}], "b": [[{"x": 3}, {"x": 4}]]})).to_pylist()
    [{'start': 1, 'a.x': 2, 'b.x': [3, 4]}]
    >>> rounds = [{"b": {"x": 1}, "c": [{"x": 2}, {"x": 3}]}, {"b": {"x": 4}, "c": None}]
    >>> flattened(pa.table({"g": [rounds]})).to_pylist()
    [{'g.b.x': [1, 4], 'g.c.x': [[2, 3], None]}]
    """
    names: list[str] = []
    columns: list[pa.Array] = []
    for field in table.schema:
        column = table[field.name].combine_chunks()
        for name, values in _attributes(field, column):
            names.append(name)
            columns.append(values)
    return pa.Table.from_arrays(columns, names=names)


def _attributes(field: pa.Field, column: pa.Array) -> list[tuple[str, pa.Array]]:
    if pa.types.is_struct(field.type):
        return [(f"{field.name}.{inner.name}", pc.struct_field(column, [k])) for k, inner in enumerate(field.type)]
    if pa.types.is_list(field.type) and pa.types.is_struct(field.type.value_type):
        found = []
        for k, inner in enumerate(field.type.value_type):
            named, values = inner.with_name(f"{field.name}.{inner.name}"), pc.struct_field(column.values, [k])
            parts = _attributes(named, values) if _is_round(field.type.value_type) else [(named.name, values)]
            found += [(name, _listed(column, part)) for name, part in parts]
        return found
    return [(field.name, column)]


def _is_round(struct: pa.StructType) -> bool:
    """Whether this holds events, as a round of a group does; an event has a time, which is no struct."""
    kinds = [field.type.value_type if pa.types.is_list(field.type) else field.type for field in struct]
    return all(map(pa.types.is_struct, kinds))


def _listed(lists: pa.ListArray, values: pa.Array) -> pa.ListArray:
    """Lists of `values` with the lengths and nulls of `lists`."""
    return pa.ListArray.from_arrays(lists.offsets, values, mask=lists.is_null())
