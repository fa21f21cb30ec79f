"""Rows of a result as JSON texts, converted column by column."""

from __future__ import annotations

import json
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from augury.runtime.positions import one_array


def json_rows(table: pa.Table) -> list[str]:
    """Every row of a table as a JSON object, as `json.dumps` writes it.

    >>> json_rows(pa.table({"x": [1, 2], "y": [[1.5], None]}))
    ['{"x": 1, "y": [1.5]}', '{"x": 2, "y": null}']
    """
    texts = [json_texts(one_array(column)) for column in table.columns]
    return _objects(table.column_names, texts, table.num_rows)


def json_texts(array: pa.Array) -> list[str]:
    """Every value as JSON; values that JSON has no form for become their Python text."""
    if pa.types.is_struct(array.type):
        names = [field.name for field in array.type]
        found = _objects(names, [json_texts(array.field(k)) for k in range(len(names))], len(array))
    elif pa.types.is_list(array.type):
        inner = json_texts(array.values)
        ends = array.offsets.to_pylist()
        found = [f"[{', '.join(inner[ends[k] : ends[k + 1]])}]" for k in range(len(array))]
    elif pa.types.is_nested(array.type):
        return [json.dumps(value, default=str) for value in array.to_pylist()]
    elif pa.types.is_dictionary(array.type):
        return json_texts(array.dictionary_decode())
    else:
        coded = array.dictionary_encode(null_encoding="encode")
        distinct = np.array([json.dumps(value, default=str) for value in coded.dictionary.to_pylist()], dtype=object)
        texts: list[str] = distinct[coded.indices.to_numpy()].tolist()
        return texts
    if array.null_count:
        found = [text if there else "null" for text, there in zip(found, array.is_valid().to_pylist(), strict=True)]
    return found


def _objects(names: Sequence[str], columns: Sequence[list[str]], rows: int) -> list[str]:
    if not names:
        return ["{}"] * rows
    form = "{" + ", ".join(f"{json.dumps(name).replace('%', '%%')}: %s" for name in names) + "}"
    return [form % row for row in zip(*columns, strict=True)]
