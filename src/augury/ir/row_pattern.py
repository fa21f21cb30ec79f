"""Row patterns of SQL: a MATCH_RECOGNIZE clause with every name resolved."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias, assert_never

import pyarrow as pa

from augury.ir.row_expression import ColumnValue, MatchNumber, RowExpression, walk
from augury.source import Source, Span, span_field


@dataclass(frozen=True, slots=True)
class Variable:
    """One row that satisfies the condition of a primary pattern variable."""

    name: str
    span: Span = span_field()

    def __str__(self) -> str:
        return quoted(self.name)


@dataclass(frozen=True, slots=True)
class Concatenation:
    """Two or more parts, one after the other."""

    parts: tuple[RowPattern, ...]
    span: Span = span_field()

    def __str__(self) -> str:
        return " ".join(f"({p})" if isinstance(p, Alternation) else str(p) for p in self.parts)


@dataclass(frozen=True, slots=True)
class Alternation:
    """One of two or more options, preferred from left to right."""

    options: tuple[RowPattern, ...]
    span: Span = span_field()

    def __str__(self) -> str:
        return " | ".join(map(str, self.options))


@dataclass(frozen=True, slots=True)
class Permutation:
    """Two or more parts in any order: the alternation of all orders, preferred lexicographically."""

    parts: tuple[RowPattern, ...]
    span: Span = span_field()

    def __str__(self) -> str:
        return f"PERMUTE({', '.join(map(str, self.parts))})"


@dataclass(frozen=True, slots=True)
class Quantified:
    """`least` to `most` rounds of the body (None: any number); reluctant ones prefer fewer."""

    body: RowPattern
    least: int
    most: int | None
    reluctant: bool = False
    span: Span = span_field()

    def __str__(self) -> str:
        body = str(self.body)
        if isinstance(self.body, Concatenation | Alternation | Quantified):
            body = f"({body})"
        match (self.least, self.most):
            case (0, None):
                rounds = "*"
            case (1, None):
                rounds = "+"
            case (0, 1):
                rounds = "?"
            case (least, None):
                rounds = f"{{{least},}}"
            case (least, most) if least == most:
                rounds = f"{{{least}}}"
            case (least, most):
                rounds = f"{{{least},{most}}}"
        return body + rounds + ("?" if self.reluctant else "")


@dataclass(frozen=True, slots=True)
class Empty:
    """The pattern `()`, which maps no row."""

    span: Span = span_field()

    def __str__(self) -> str:
        return "()"


@dataclass(frozen=True, slots=True)
class Anchor:
    """The first row of the partition is next (`^`), or no row is (`$`)."""

    end: bool
    span: Span = span_field()

    def __str__(self) -> str:
        return "$" if self.end else "^"


@dataclass(frozen=True, slots=True)
class Exclusion:
    """Rows that are matched but left out of ALL ROWS PER MATCH."""

    body: RowPattern
    span: Span = span_field()

    def __str__(self) -> str:
        return f"{{- {self.body} -}}"


RowPattern: TypeAlias = Variable | Concatenation | Alternation | Permutation | Quantified | Empty | Anchor | Exclusion


def quoted(name: str) -> str:
    """A variable as it is written: in double quotes unless it is a plain upper-case word.

    >>> quoted("A"), quoted("b")
    ('A', '"b"')
    """
    if re.fullmatch(r"[A-Z_][A-Z0-9_]*", name) and name != "PERMUTE":
        return name
    return '"' + name.replace('"', '""') + '"'


def children(pattern: RowPattern) -> tuple[RowPattern, ...]:
    """The direct parts of a pattern."""
    match pattern:
        case Variable() | Empty() | Anchor():
            return ()
        case Concatenation(parts) | Permutation(parts):
            return parts
        case Alternation(options):
            return options
        case Quantified(body) | Exclusion(body):
            return (body,)
        case _:
            assert_never(pattern)


def parts_of(pattern: RowPattern) -> Iterator[RowPattern]:
    """The pattern and all of its parts, in the order they are written."""
    pending = [pattern]
    while pending:
        part = pending.pop()
        yield part
        pending.extend(reversed(children(part)))


class Rows(StrEnum):
    """The rows that a match returns."""

    ONE_ROW = "ONE ROW PER MATCH"
    ALL_SHOW_EMPTY = "ALL ROWS PER MATCH SHOW EMPTY MATCHES"
    ALL_OMIT_EMPTY = "ALL ROWS PER MATCH OMIT EMPTY MATCHES"
    ALL_WITH_UNMATCHED = "ALL ROWS PER MATCH WITH UNMATCHED ROWS"


class SkipTo(StrEnum):
    """The row at which the search continues after a match that mapped a row."""

    PAST_LAST_ROW = "PAST LAST ROW"
    NEXT_ROW = "TO NEXT ROW"
    FIRST = "TO FIRST"
    LAST = "TO LAST"


@dataclass(frozen=True, slots=True)
class Skip:
    """The start of the next search; `variables` are the primary ones to skip to, resolved for FIRST and LAST."""

    to: SkipTo = SkipTo.PAST_LAST_ROW
    variables: frozenset[str] = frozenset()
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class Order:
    """One column of ORDER BY."""

    column: int
    descending: bool = False
    nulls_first: bool = False


@dataclass(frozen=True, slots=True)
class Measure:
    """One column that the clause computes."""

    name: str
    value: RowExpression


@dataclass(frozen=True, slots=True)
class Within:
    """The largest distance of the rows of a match in the first ORDER BY column, in ticks of its type."""

    distance: int | float
    span: Span = span_field()


@dataclass(frozen=True, slots=True)
class BoundRowPattern:
    """A MATCH_RECOGNIZE clause over an input of known columns; every name is resolved, every expression typed.

    Canonical form: columns are numbers of `schema`; variables are in upper case unless they were quoted; a variable
    without a condition is not in `conditions` and is true for every row.
    """

    schema: pa.Schema
    partition_by: tuple[int, ...]
    order_by: tuple[Order, ...]
    measures: tuple[Measure, ...]
    rows: Rows
    skip: Skip
    pattern: RowPattern
    within: Within | None
    conditions: dict[str, RowExpression]
    source: Source

    @property
    def input_columns(self) -> tuple[int, ...]:
        """Input columns that are returned: those before the measures, then those after them."""
        return self.leading_columns + self.trailing_columns

    @property
    def leading_columns(self) -> tuple[int, ...]:
        """Input columns before the measures: those of PARTITION BY and, with ALL ROWS, those of ORDER BY."""
        leading = dict.fromkeys(self.partition_by)
        if self.rows is not Rows.ONE_ROW:
            leading |= dict.fromkeys(o.column for o in self.order_by)
        return tuple(leading)

    @property
    def trailing_columns(self) -> tuple[int, ...]:
        """Input columns after the measures: with ALL ROWS, all that are not before them."""
        if self.rows is Rows.ONE_ROW:
            return ()
        return tuple(c for c in range(len(self.schema)) if c not in self.leading_columns)

    @property
    def output_schema(self) -> pa.Schema:
        """The columns that the clause returns, in order."""
        fields = [self.schema.field(c) for c in self.leading_columns]
        fields += [pa.field(m.name, m.value.type) for m in self.measures]
        fields += [self.schema.field(c) for c in self.trailing_columns]
        return pa.schema([pa.field(f.name, f.type) for f in fields])

    @property
    def used_columns(self) -> frozenset[int]:
        """Input columns that the search and the measures read."""
        expressions = [*self.conditions.values(), *(m.value for m in self.measures)]
        used = {n.column for e in expressions for n in walk(e) if isinstance(n, ColumnValue)}
        return frozenset(used | ({self.order_by[0].column} if self.within is not None else set()))

    @property
    def reads_back(self) -> int:
        """The largest number of rows before a match that PREV reads."""
        values = [*self.conditions.values(), *(m.value for m in self.measures)]
        return max(0, -min((shift for value in values for shift in _shifts(value)), default=0))

    @property
    def reads_ahead(self) -> int:
        """The largest number of rows after the current one that NEXT reads in conditions."""
        return max((shift for value in self.conditions.values() for shift in _shifts(value)), default=0)

    @property
    def measures_read_ahead(self) -> int:
        """The largest number of rows after a match that NEXT reads in measures."""
        return max((shift for m in self.measures for shift in _shifts(m.value)), default=0)

    @property
    def counts_matches(self) -> bool:
        """Whether MATCH_NUMBER is used."""
        values = [*self.conditions.values(), *(m.value for m in self.measures)]
        return any(isinstance(node, MatchNumber) for value in values for node in walk(value))

    @property
    def anchors(self) -> tuple[Anchor, ...]:
        """The anchors of the pattern, at the first or the last row of the partition."""
        return tuple(part for part in parts_of(self.pattern) if isinstance(part, Anchor))


def _shifts(value: RowExpression) -> Iterator[int]:
    """Offsets at which an expression reads columns, relative to rows of the match, including 0."""
    yield 0
    yield from (n.at.shift for n in walk(value) if isinstance(n, ColumnValue) and n.at is not None)
