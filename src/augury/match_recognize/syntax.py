"""The syntax tree of a MATCH_RECOGNIZE clause, before names are resolved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa

from augury.ir.row_pattern import RowPattern, Rows, SkipTo
from augury.source import Span


@dataclass(frozen=True, slots=True)
class Identifier:
    """A name as it was written, without its quotes."""

    text: str
    quoted: bool
    span: Span

    @property
    def variable(self) -> str:
        """The name of a pattern variable: upper case unless it is quoted.

        >>> Identifier("down", False, Span(0, 4)).variable
        'DOWN'
        """
        return self.text if self.quoted else self.text.upper()


@dataclass(frozen=True, slots=True)
class Name:
    """A reference to a column: `x`, `A.x`, or a longer one, which is an error later."""

    parts: tuple[Identifier, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Star:
    """`*` or `A.*` in count."""

    variable: Identifier | None
    span: Span


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant with its type."""

    value: Any
    type: pa.DataType
    span: Span


@dataclass(frozen=True, slots=True)
class FunctionCall:
    """A function call with all its modifiers; `odd` names those that row patterns do not allow."""

    name: Identifier
    arguments: tuple[Expression, ...]
    semantics: str | None
    span: Span
    odd: tuple[tuple[str, Span], ...] = ()


@dataclass(frozen=True, slots=True)
class Operator:
    """An operator, named as in `sql_functions`."""

    name: str
    operands: tuple[Expression, ...]
    span: Span


@dataclass(frozen=True, slots=True)
class Cast:
    """CAST or TRY_CAST; `length` is that of `varchar(n)`."""

    operand: Expression
    type: pa.DataType
    length: int | None
    safe: bool
    span: Span


@dataclass(frozen=True, slots=True)
class Subquery:
    """A subquery in an expression, by its number in the clause: `kind` is "value", "in" or "exists"."""

    number: int
    kind: str
    operand: Expression | None
    span: Span


Expression: TypeAlias = Name | Star | Literal | FunctionCall | Operator | Cast | Subquery


@dataclass(frozen=True, slots=True)
class OrderItem:
    """One item of ORDER BY."""

    column: Expression
    descending: bool
    nulls_first: bool


@dataclass(frozen=True, slots=True)
class Clause:
    """A whole MATCH_RECOGNIZE clause; `queries` are its subqueries as sqlglot trees."""

    partition_by: tuple[Expression, ...]
    order_by: tuple[OrderItem, ...]
    measures: tuple[tuple[Expression, Identifier], ...]
    rows: Rows
    rows_span: Span
    skip: SkipTo
    skip_variable: Identifier | None
    pattern: RowPattern
    within: Expression | None
    subsets: tuple[tuple[Identifier, tuple[Identifier, ...]], ...]
    define: tuple[tuple[Identifier, Expression], ...]
    queries: tuple[Any, ...]
    span: Span
