"""Converts rows given as mappings to a table."""

from __future__ import annotations

import datetime as dt
import decimal
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from augury.arguments import encodable, shown
from augury.errors import HostError
from augury.schema import INT_MAX, INT_MIN

PLAIN_TYPES = {bool, int, float, str}
"""Types whose values are all of one `_kind`."""


def _position(row: int) -> str:
    return f"row {row}"


def rows_to_table(
    rows: Iterable[object], place: Callable[[int], str] = _position, required: Collection[str] = ()
) -> pa.Table:
    """One column for every key, null where a row lacks it; `place` says where a row is, for messages.

    A column that is `required` is one that either every row has or none.

    Integers and floats mix to floats; any other mixture of types in a column is an error. No rows at all give a table
    without columns.

    >>> rows_to_table([{"ts": 1, "x": 2}, {"ts": 2, "x": 0.5, "y": "é"}]).to_pylist()
    [{'ts': 1, 'x': 2.0, 'y': None}, {'ts': 2, 'x': 0.5, 'y': 'é'}]
    """
    columns, count = (_alike(rows) if isinstance(rows, list) else None) or _gathered(rows, place, required)
    if count and not columns:
        raise not_an_event(f"none of the {count} events has any column", "an event has a time at least")
    for name in required:
        if name in columns and len(columns[name]) < count:
            raise _lacking(name, place(len(columns[name])))
    arrays = {name: _array(name, v + [None] * (count - len(v)), place) for name, v in columns.items()}
    odd = next((name for name in arrays if not encodable(name)), None)
    if odd is not None:
        raise not_an_event(f"the key {odd!a} holds a lone surrogate, which is no text")
    return pa.table(arrays)


def _alike(rows: list[Any]) -> tuple[dict[str, list[Any]], int] | None:
    """The values of each column and the number of rows, if all rows are dicts with the same keys; else None."""
    if not rows or type(rows[0]) is not dict:
        return None
    names = rows[0].keys()
    if not all(type(name) is str for name in names):
        return None
    if not all(type(row) is dict and row.keys() == names for row in rows):
        return None
    return {name: [row[name] for row in rows] for name in names}, len(rows)


def _gathered(
    rows: Iterable[object], place: Callable[[int], str], required: Collection[str]
) -> tuple[dict[str, list[Any]], int]:
    """The values of each column, up to the last row that has one, and the number of rows."""
    columns: dict[str, list[Any]] = {}
    count = 0
    for row in rows:
        if not isinstance(row, Mapping):
            raise not_an_event(
                f"{place(count)} is a {type(row).__name__}, not a mapping from column names to values",
                "give one dict per event",
            )
        for name, value in row.items():
            if not isinstance(name, str):
                raise not_an_event(f"{place(count)} has the key {shown(name)}: column names are strings")
            column = columns.get(name)
            if column is None:
                column = columns[name] = []
            if len(column) < count:
                if name in required:
                    raise _lacking(name, place(len(column)))
                column.extend([None] * (count - len(column)))
            column.append(value)
        count += 1
    return columns, count


def _plain(value: Any) -> Any:
    """NumPy scalars as the Python values they stand for; NumPy times stay, Python's cannot hold their nanoseconds."""
    if isinstance(value, np.generic) and not isinstance(value, np.datetime64 | np.timedelta64):
        return value.item()
    return value


def _kind(value: Any) -> str:
    """The family a value belongs to; one column holds one family."""
    match value:
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "float"
        case str():
            return "string"
        case dt.datetime():
            return "timestamp" if value.tzinfo is None else "timestamp with a time zone"
        case dt.date():
            return "date"
        case dt.timedelta():
            return "duration"
        case decimal.Decimal():
            return "decimal"
        case list() | tuple() | np.ndarray():
            return "list"
        case Mapping():
            return "object"
        case _:
            return type(value).__name__


def _array(name: str, values: list[Any], place: Callable[[int], str]) -> pa.Array:
    types = {*map(type, values)}
    if any(issubclass(kind, np.generic) for kind in types):
        values = [_plain(value) for value in values]
        types = {*map(type, values)}
    types.discard(type(None))
    first: dict[str, int] = {}
    if len(types) == 1 and types <= PLAIN_TYPES:
        row = next(row for row, value in enumerate(values) if value is not None)
        first = {_kind(values[row]): row}
    else:
        for row, value in enumerate(values):
            if value is not None:
                first.setdefault(_kind(value), row)
    if first.keys() == {"integer", "float"}:
        return pa.array([None if v is None else _float(v, name, place(row)) for row, v in enumerate(values)])
    if len(first) > 1:
        (kind, row), (other, other_row) = list(first.items())[:2]
        raise mixed_types(
            f"column `{name}` holds values of different types: {kind} in {place(row)}, {other} in {place(other_row)}",
            "a column has one type: convert these values, or give them columns of their own",
        )
    if "integer" in first:
        known = [value for value in values if value is not None]
        if min(known) < INT_MIN or max(known) > INT_MAX:
            row = next(k for k, v in enumerate(values) if v is not None and not INT_MIN <= v <= INT_MAX)
            raise too_large(name, place(row), values[row])
    try:
        return pa.array(values)
    except (pa.ArrowException, OverflowError, ValueError, TypeError, AttributeError, RecursionError) as e:
        raise mixed_types(f"column `{name}` cannot be read as values of one type: {e}") from e


def _float(value: float, name: str, place: str) -> float:
    try:
        return float(value)
    except OverflowError:
        raise too_large(name, place, value) from None


def not_an_event(message: str, help: str = "") -> HostError:
    """The error for an item that is not a mapping from column names to values."""
    return HostError("A532", message, help)


def _lacking(name: str, place: str) -> HostError:
    return not_an_event(
        f"{place} has no `{name}`, which tells the time, the type or the order of events",
        "give every event one; attributes may be left out",
    )


def mixed_types(message: str, help: str = "") -> HostError:
    """The error for a column whose values have no common type."""
    return HostError("A533", message, help)


def too_large(column: str, place: str, value: object) -> HostError:
    """The error for an integer that does not fit into 64 bits."""
    text = str(value) if not isinstance(value, int) or abs(value) < 10**40 else f"about 2^{value.bit_length()}"
    return HostError(
        "A534",
        f"column `{column}` holds the integer {text} in {place}, which does not fit 64 bits",
        "integers go from -2^63 to 2^63 - 1; store larger identifiers as strings",
    )
