"""Types of columns, and which columns hold time, type and order: known before any event is read."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

import pyarrow as pa

from augury.arguments import optional_text, text, texts, unusable
from augury.errors import HostError, suggestion


class Kind(StrEnum):
    """The kinds of values a predicate can compute with."""

    BOOL = "boolean"
    INT = "integer"
    FLOAT = "float"
    STRING = "string"
    TIMESTAMP = "timestamp"
    DURATION = "duration"
    LIST = "list"
    NULL = "null"
    OTHER = "other"


UNITS: dict[str, int] = {
    "ns": 1,
    "us": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "D": 86_400_000_000_000,
}
"""Nanoseconds in a tick of each time unit."""

MAX_TICKS = 2**62  # largest time and window: the difference of two times, and a time minus a window, fit 64 bits

A_COLUMN = "the name of a column"

INT_MIN, INT_MAX = -(2**63), 2**63 - 1
"""Integers are 64 bits wide in every evaluator; what does not fit is null."""


@dataclass(frozen=True, slots=True)
class ColumnType:
    """The type of a column or an expression; `unit` only with times, `item` only with lists.

    Times are counted in whole ticks of their unit since 1970, durations in whole ticks.
    """

    kind: Kind
    unit: str | None = None
    item: ColumnType | None = None

    def __str__(self) -> str:
        if self.item is not None:
            return f"list of {self.item}"
        return f"{self.kind}[{self.unit}]" if self.unit else str(self.kind)

    @property
    def numeric(self) -> bool:
        return self.kind in (Kind.INT, Kind.FLOAT)


BOOL = ColumnType(Kind.BOOL)
INT = ColumnType(Kind.INT)
FLOAT = ColumnType(Kind.FLOAT)
STRING = ColumnType(Kind.STRING)
NULL = ColumnType(Kind.NULL)
OTHER = ColumnType(Kind.OTHER)


def timestamp(unit: str) -> ColumnType:
    return ColumnType(Kind.TIMESTAMP, unit=unit)


def duration(unit: str) -> ColumnType:
    return ColumnType(Kind.DURATION, unit=unit)


def list_of(item: ColumnType) -> ColumnType:
    return ColumnType(Kind.LIST, item=item)


def column_type(arrow: pa.DataType) -> ColumnType:
    """The type that predicates compute with, for an Arrow type.

    >>> str(column_type(pa.list_(pa.float32())))
    'list of float'
    """
    types = pa.types
    if types.is_dictionary(arrow):
        return column_type(arrow.value_type)
    if types.is_boolean(arrow):
        return BOOL
    if types.is_integer(arrow):
        return INT
    if types.is_floating(arrow) or types.is_decimal(arrow):
        return FLOAT
    if types.is_string(arrow) or types.is_large_string(arrow) or types.is_string_view(arrow):
        return STRING
    if types.is_timestamp(arrow):
        return timestamp(arrow.unit)
    if types.is_date(arrow):
        return timestamp("D")
    if types.is_duration(arrow):
        return duration(arrow.unit)
    if types.is_list(arrow) or types.is_large_list(arrow) or types.is_fixed_size_list(arrow):
        return list_of(column_type(arrow.value_type))
    if types.is_null(arrow):
        return NULL
    return OTHER


@dataclass(frozen=True, slots=True)
class Column:
    """One named attribute of the events."""

    name: str
    type: ColumnType


@dataclass(frozen=True, slots=True)
class EventSchema:
    """The attributes of a stream and which of them hold time, type and order.

    Canonical form: `order_by` starts with `time`; every name is one of `columns`. `type` is None when the events have
    no type column; `types` is None when the set of type names is open. `time_unit` is the unit of one tick of time.
    """

    columns: tuple[Column, ...]
    time: str
    type: str | None
    order_by: tuple[str, ...]
    time_unit: str
    types: frozenset[str] | None = None

    @classmethod
    def from_arrow(
        cls,
        arrow: pa.Schema,
        *,
        time: str = "ts",
        type: str | None = "type",
        order_by: str | Iterable[str] | None = None,
        time_unit: str = "s",
        types: Iterable[str] | None = None,
    ) -> Self:
        """The schema of an Arrow table, with the host's options checked against it.

        `time_unit` counts only for an integer time column; timestamps know their own, and float seconds are kept to
        the nanosecond. The default type column may be missing: then the events have no types.

        >>> EventSchema.from_arrow(pa.schema([("ts", pa.int64()), ("type", pa.string())])).order_by
        ('ts',)
        """
        if not isinstance(arrow, pa.Schema):
            raise unusable("arrow", "an Arrow schema", arrow)
        time, type = text("time", time, wanted=A_COLUMN), optional_text("type", type, wanted=A_COLUMN)
        order = (time,) if order_by is None else texts("order_by", order_by, A_COLUMN)
        time_unit = text("time_unit", time_unit, f"one of {', '.join(UNITS)}")
        columns = tuple(Column(f.name, column_type(f.type)) for f in arrow)
        known = [c.name for c in columns]
        repeated = sorted({n for n in known if known.count(n) > 1})
        if repeated:
            raise HostError("A501", f"the events have two columns named `{repeated[0]}`", "rename one of them")
        if time not in known:
            raise HostError(
                "A502",
                f"the events have no time column `{time}`",
                f"say which it is, with time=... or --time; {suggestion(time, known)}",
            )
        if type is not None and type not in known:
            if type != "type":
                raise HostError(
                    "A503",
                    f"the events have no type column `{type}`",
                    f"say which it is, with type=... or --type; {suggestion(type, known)}",
                )
            type = None
        for name in order:
            if name not in known:
                raise HostError("A504", f"the events have no column `{name}` to order by", suggestion(name, known))
        if order[:1] != (time,):
            raise HostError("A505", f"order_by must start with the time column `{time}`", f'order_by=("{time}", ...)')
        if time_unit not in UNITS:
            raise HostError("A506", f"unknown time unit `{time_unit}`", f"one of {', '.join(UNITS)}")
        column = columns[known.index(time)].type
        match column.kind:
            case Kind.TIMESTAMP:
                assert column.unit is not None
                time_unit = column.unit
            case Kind.FLOAT:
                time_unit = "ns"
            case Kind.INT | Kind.NULL:
                pass
            case _:
                raise HostError(
                    "A507",
                    f"the time column `{time}` holds values of type {column}",
                    "time is a timestamp, a date, or a number of ticks",
                )
        # A string of type names stands for its letters, as any other iterable for its items.
        named = [*types] if isinstance(types, str) else types
        known_types = None if named is None else frozenset(texts("types", named, "a name"))
        return cls(columns, time, type, order, time_unit, known_types)

    def __getitem__(self, name: str) -> ColumnType:
        for column in self.columns:
            if column.name == name:
                return column.type
        raise KeyError(name)

    def __contains__(self, name: object) -> bool:
        return any(column.name == name for column in self.columns)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)
