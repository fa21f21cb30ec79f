"""The Arrow types that the engine computes with, and casts of tables to them or to a given schema."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from augury.engine.sources.rows import too_large
from augury.errors import HostError, names
from augury.runtime.dictionary import codable


def is_text(arrow: pa.DataType) -> bool:
    """Whether a column holds strings, dictionary-encoded or not."""
    if pa.types.is_dictionary(arrow):
        return is_text(arrow.value_type)
    return bool(pa.types.is_string(arrow) or pa.types.is_large_string(arrow) or pa.types.is_string_view(arrow))


def engine_schema(arrow: pa.Schema, type: str | None) -> pa.Schema:
    """The column types the engine computes with: 64-bit numbers, no dictionaries, and a type column of strings."""
    return pa.schema(
        [
            pa.field(f.name, pa.string() if f.name == type and not is_text(f.type) else engine_type(f.type))
            for f in arrow
        ]
    )


def engine_type(arrow: pa.DataType) -> pa.DataType:
    """The type that the engine reads a column as.

    >>> engine_type(pa.list_(pa.uint8())), engine_type(pa.decimal128(10, 2))
    (ListType(list<item: int64>), DataType(double))
    """
    types = pa.types
    if types.is_dictionary(arrow):
        return engine_type(arrow.value_type)
    if types.is_integer(arrow):
        return pa.int64()
    if types.is_floating(arrow) or types.is_decimal(arrow):
        return pa.float64()
    if types.is_list(arrow) or types.is_large_list(arrow) or types.is_fixed_size_list(arrow):
        return pa.list_(engine_type(arrow.value_type))
    return arrow


def engine_table(table: pa.Table, type: str | None, first_row: int = 0, *, coded: bool = False) -> pa.Table:
    """Cast the columns to the types of `engine_schema`; a value that does not fit is an error with its row and column.

    With `coded`, encoded strings stay encoded: kernels compare their codes.
    """
    return engine_columns(table.schema, type, coded=coded).read(table, first_row)


@dataclass(frozen=True, slots=True, eq=False)
class EngineColumns:
    """The casts that the engine needs for tables of one schema, determined once for a stream.

    `wanted` are the columns as the engine reads them; those at the positions `casts` have another type in the tables.
    """

    wanted: pa.Schema
    casts: tuple[int, ...]
    type: str | None

    def read(self, table: pa.Table, first_row: int = 0) -> pa.Table:
        """Cast a table; a value that does not fit is an error with its row and column."""
        if not self.casts:
            return table
        columns = table.columns
        for k in self.casts:
            columns[k] = self._cast(columns[k], self.wanted.field(k), first_row)
        return pa.table(columns, schema=self.wanted)

    def _cast(self, column: pa.ChunkedArray, field: pa.Field, first_row: int) -> pa.ChunkedArray:
        try:
            return column.cast(field.type)
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as e:
            if pa.types.is_uint64(column.type):
                bad = pc.index(pc.greater(column, pa.scalar(2**63 - 1, pa.uint64())), True).as_py()
                raise too_large(field.name, f"row {first_row + bad}", column[bad].as_py()) from e
            role = "used as the type column" if field.name == self.type else f"read as {field.type}"
            raise HostError("A513", f"column `{field.name}` of type {column.type} cannot be {role}: {e}") from e


def engine_columns(arrow: pa.Schema, type: str | None, *, coded: bool = False) -> EngineColumns:
    """The casts for tables of the schema `arrow`; with `coded`, encoded strings stay encoded."""
    wanted = engine_schema(arrow, type)
    if coded:
        wanted = pa.schema([there if _coded(there.type) else f for there, f in zip(arrow, wanted, strict=True)])
    casts = tuple(k for k, field in enumerate(arrow) if field.type != wanted.field(k).type)
    return EngineColumns(wanted, casts, type)


def _coded(arrow: pa.DataType) -> bool:
    return bool(pa.types.is_dictionary(arrow) and codable(arrow))


def conform(
    table: pa.Table, schema: pa.Schema, *, fill: bool = False, required: Collection[str | None] = ()
) -> pa.Table:
    """Cast `table` to exactly the columns of `schema`, in its order and of its types.

    `fill` adds missing ones as nulls, except those that are `required`.
    """
    if table.schema.equals(schema, check_metadata=True):
        return table
    missing = [n for n in schema.names if n not in table.schema.names]
    extra = [n for n in table.schema.names if n not in schema.names]
    lacking = [n for n in missing if not fill or n in required]
    if extra or lacking:
        what = [f"lack {names(lacking)}"] if lacking else []
        what += [f"have {names(extra)} besides"] if extra else []
        raise HostError(
            "A540",
            f"these events do not fit the schema: they {' and '.join(what)}",
            f"columns of the schema are {names(schema.names)}",
        )
    columns = []
    for field in schema:
        if field.name in missing:
            columns.append(pa.nulls(table.num_rows, field.type))
            continue
        column = table[field.name]
        try:
            columns.append(column if column.type == field.type else column.cast(field.type))
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as e:
            raise HostError(
                "A540",
                f"these events do not fit the schema: column `{field.name}` is of type {column.type}, "
                f"but the schema has it as {field.type}: {e}",
            ) from e
    return pa.table(columns, schema=schema)
