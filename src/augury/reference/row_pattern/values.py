"""Evaluation of MEASURES and DEFINE over a mapping."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, assert_never

import pyarrow as pa

from augury.errors import Diagnostic, HostError, QueryError
from augury.ir.row_expression import (
    Aggregate,
    Classifier,
    ColumnValue,
    Constant,
    MatchNumber,
    Navigation,
    Operation,
    RowExpression,
)
from augury.ir.sql_aggregates import AGGREGATES
from augury.ir.sql_cast import convert
from augury.ir.sql_functions import FUNCTIONS
from augury.ir.sql_scalar import BadValue
from augury.ir.sql_types import Family, family, plain
from augury.reference.row_pattern.mapping import Mapping
from augury.source import Source


def python_values(column: pa.ChunkedArray) -> list[Any]:
    """The values of a column for `sql_functions`: times as ticks, the rest as Python objects."""
    type = plain(column.type)
    values: list[Any] = column.cast(_ticked(type)).to_pylist()
    if family(type) is not Family.MONTHS:
        return values
    if any(v is not None and (v.days or v.nanoseconds) for v in values):
        help = "keep months apart from days and shorter times"
        raise HostError("A798", "a column holds intervals of months and days together", help)
    return [None if v is None else v.months for v in values]


def _ticked(type: pa.DataType) -> pa.DataType:
    match family(type):
        case Family.TIMESTAMP | Family.INTERVAL:
            return pa.int64()
        case Family.DATE:
            return pa.int32()
        case Family.LIST:
            return pa.list_(_ticked(type.value_type))
        case _:
            return type


def arrow_values(values: list[Any], type: pa.DataType) -> pa.Array:
    """A column of computed values."""
    if family(type) is Family.MONTHS:
        return pa.array([None if v is None else pa.MonthDayNano([v, 0, 0]) for v in values], type)
    return pa.array(values, _ticked(type)).cast(type)


class NotKnownYet(Exception):
    """Raised for a value that depends on rows still to come."""


class Evaluator:
    """Values of expressions for one partition; `columns` holds the input columns that expressions use.

    If `more` rows may come, a value that depends on them raises `NotKnownYet`.
    """

    def __init__(self, columns: dict[int, list[Any]], rows: int, source: Source, *, more: bool = False) -> None:
        self.columns, self.rows, self.source, self.more = columns, rows, source, more
        self.mapping = Mapping(0, ())
        self.number = 1
        # States of each aggregate after 0, 1, 2, ... rows.
        self._aggregated: dict[Aggregate, list[tuple[int, Any]]] = {}

    def begin(self, mapping: Mapping, number: int) -> None:
        """Start the evaluation of another match."""
        self.mapping, self.number = mapping, number
        self._aggregated.clear()

    def value(self, expression: RowExpression, length: int, row: int | None = None) -> Any:
        """The value after `length` mapped rows; `row` is the row that an aggregate's argument is computed for."""
        match expression:
            case Constant(value):
                return value
            case ColumnValue(column, _, at):
                place = row if at is None else self._row(at, length)
                return None if place is None else self.columns[column][place]
            case Classifier(at):
                # Rows after the match are not mapped to a variable.
                place = row if at is None else self._row(replace(at, shift=0), length)
                return None if place is None else self._variable(place + (0 if at is None else at.shift))
            case MatchNumber():
                return self.number
            case Aggregate():
                return self._aggregate(expression, length)
            case Operation():
                return self._operation(expression, length, row)
            case _:
                assert_never(expression)

    def _row(self, at: Navigation, length: int) -> int | None:
        """The row of the partition that a navigation leads to."""
        count = self.mapping.count(at.variables, length if at.running else len(self.mapping))
        if at.offset >= count:
            return None
        number = count - 1 - at.offset if at.last else at.offset
        row = self.mapping.start + self.mapping.position(at.variables, number) + at.shift
        if row >= self.rows and self.more:
            raise NotKnownYet
        return row if 0 <= row < self.rows else None

    def _variable(self, row: int) -> str | None:
        position = row - self.mapping.start
        return self.mapping.variables[position] if 0 <= position < len(self.mapping) else None

    def _aggregate(self, aggregate: Aggregate, length: int) -> Any:
        """The aggregate over the mapped rows, continued from the valid states of shorter mappings."""
        if not aggregate.running:
            length = len(self.mapping)
        function = AGGREGATES[aggregate.function]
        states = self._aggregated.setdefault(aggregate, [(0, function.start)])
        versions = self.mapping.versions
        while len(states) > 1 and (len(states) - 1 > len(versions) or states[-1][0] != versions[len(states) - 2]):
            states.pop()
        while len(states) <= length:
            position = len(states) - 1
            state = states[-1][1]
            if aggregate.variables is None or self.mapping.variables[position] in aggregate.variables:
                row = self.mapping.start + position
                state = function.add(state, [self.value(a, length, row) for a in aggregate.arguments])
            states.append((versions[position], state))
        types = [a.type for a in aggregate.arguments]
        try:
            return function.finish(states[length][1], types, aggregate.type, aggregate.limit)
        except BadValue as e:
            raise self._failure(e, aggregate) from e

    def _operation(self, operation: Operation, length: int, row: int | None) -> Any:
        name, operands = operation.function, operation.operands
        match name:
            case "and" | "or":
                # Operands after the deciding one are not computed, and cannot fail.
                decisive, unknown = name == "or", False
                for operand in operands:
                    value = self.value(operand, length, row)
                    if value is decisive:
                        return decisive
                    unknown = unknown or value is None
                return None if unknown else not decisive
            case "case" | "if":
                for k in range(0, len(operands) - 1, 2):
                    if self.value(operands[k], length, row):
                        return self._converted(operands[k + 1], operation, length, row)
                return self._converted(operands[-1], operation, length, row)
            case "coalesce":
                for operand in operands:
                    value = self._converted(operand, operation, length, row)
                    if value is not None:
                        return value
                return None
            case "cast":
                return self._converted(operands[0], operation, length, row)
            case "try_cast":
                value = self.value(operands[0], length, row)
                try:
                    return None if value is None else convert(value, operands[0].type, operation.type)
                except BadValue:
                    return None
        function = FUNCTIONS[name]
        values = [self.value(o, length, row) for o in operands]
        if not function.sees_nulls and None in values:
            return None
        try:
            return function.apply(values, [o.type for o in operands], operation.type)
        except BadValue as e:
            raise self._failure(e, operation) from e

    def _converted(self, operand: RowExpression, operation: Operation, length: int, row: int | None) -> Any:
        value = self.value(operand, length, row)
        try:
            return None if value is None else convert(value, operand.type, operation.type)
        except BadValue as e:
            raise self._failure(e, operation) from e

    def _failure(self, reason: BadValue, place: Operation | Aggregate) -> QueryError:
        return QueryError([Diagnostic("A740", str(reason), place.span, "for some row")], self.source)
