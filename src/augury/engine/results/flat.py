"""A table of matches without nested columns."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc


def flattened(table: pa.Table) -> pa.Table:
    """One column for each attribute of each variable, named `a.price`; a list of them for an iterated variable.

    >>> flattened(pa.table({"start": [1], "a": [{"x": 2}], "b": [[{"x": 3}, {"x": 4}]]})).to_pylist()
    [{'start': 1, 'a.x': 2, 'b.x': [3, 4]}]
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
        return [
            (f"{field.name}.{inner.name}", _listed(column, pc.struct_field(column.values, [k])))
            for k, inner in enumerate(field.type.value_type)
        ]
    return [(field.name, column)]


def _listed(lists: pa.ListArray, values: pa.Array) -> pa.ListArray:
    """Lists of `values` with the lengths and nulls of `lists`."""
    return pa.ListArray.from_arrays(lists.offsets, values, mask=lists.is_null())
