"""The plan of a MATCH_RECOGNIZE clause: a walk over the positions of its pattern, and where conditions are tested."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import pyarrow as pa

from augury.ir.row_expression import ColumnValue, RowExpression, walk
from augury.ir.row_pattern import BoundRowPattern
from augury.ir.sql_types import Family, family, plain

ACCEPT = 0
"""The entry of `Program.follow` for a complete match."""

AT_FIRST_ROW, ELSEWHERE, FIRST_POSITION = 0, 1, 2
"""States before any row is mapped, at the first row of a partition and at others; then one state for each position."""

MAX_POSITIONS = 504
"""Positions of a pattern at most: each has a bit for every row."""

MAX_LABELS = 250
"""Variables of a pattern at most: their numbers are bytes."""


@dataclass(frozen=True, slots=True)
class Position:
    """A place of the pattern that maps one row: the number of its variable, and whether it is excluded from output."""

    label: int
    excluded: bool


@dataclass(frozen=True, slots=True)
class Program:
    """A pattern without its empty moves: after each position, the positions that may come next, the preferred first.

    State `FIRST_POSITION + k` is that position k has just mapped a row. `follow` holds for each state the states that
    the next row may lead to, and `ACCEPT` where the match may end instead, in the order of preference; what comes after
    `ACCEPT` is never tried. `ends` says whether the match may end in a state when the partition has no more rows.
    """

    labels: tuple[str, ...]
    positions: tuple[Position, ...]
    follow: tuple[tuple[int, ...], ...]
    ends: tuple[bool, ...]

    @property
    def opening(self) -> tuple[int, ...]:
        """The positions that every match maps first, one row each.

        >>> once = (Position(0, False), Position(1, False))
        >>> Program(("A", "B"), once, ((2,), (2,), (3,), (3, ACCEPT)), (False, False, False, True)).opening
        (0, 1)
        """
        out: list[int] = []
        if self.follow[AT_FIRST_ROW] != self.follow[ELSEWHERE]:
            return ()
        following = self.follow[ELSEWHERE]
        while len(following) == 1 and following[0] != ACCEPT and following[0] - FIRST_POSITION not in out:
            out.append(following[0] - FIRST_POSITION)
            following = self.follow[following[0]]
        return tuple(out)


Kind: TypeAlias = Literal["integer", "float", "boolean", "string"]
"""Representation of a value in the search: 64 bits, a double, a byte, or the rank among all strings of the query."""


def kind_of(type: pa.DataType) -> Kind | None:
    """The representation of values of a type, None for Python objects."""
    match family(type):
        case Family.INTEGER:
            return "integer" if plain(type) != pa.uint64() else None
        case Family.TIMESTAMP | Family.DATE | Family.INTERVAL:
            return "integer"
        case Family.FLOAT:
            return "float"
        case Family.BOOLEAN:
            return "boolean"
        case Family.STRING:
            return "string"
        case _:
            return None


@dataclass(frozen=True, slots=True)
class Term:
    """A part of a condition that depends on one row, computed for every row beforehand.

    Columns in it are read at `Navigation.shift` rows from that row; what else their navigation says is left to `Base`.
    """

    value: RowExpression
    kind: Kind


@dataclass(frozen=True, slots=True)
class Base:
    """A row of the match that conditions refer to: number `offset` from either end of those mapped to `labels`.

    `labels` of None are all rows. The search carries the number of that row, or -1.
    """

    labels: tuple[int, ...] | None
    last: bool
    offset: int


@dataclass(frozen=True, slots=True)
class RunningAggregate:
    """An aggregate over the rows mapped so far, carried by the search; `term` is its argument, None to count rows."""

    function: str
    term: int | None
    labels: tuple[int, ...] | None
    kind: Kind


@dataclass(frozen=True, slots=True)
class TermAt:
    """A term at a row of the match; `base` of None is the current row."""

    term: int
    base: int | None
    kind: Kind


@dataclass(frozen=True, slots=True)
class LabelAt:
    """The number of the variable that a row is mapped to, `shift` rows from a base; none outside of the match."""

    base: int | None
    shift: int
    kind: Kind = "integer"


@dataclass(frozen=True, slots=True)
class MatchCount:
    """The number of the match, MATCH_NUMBER()."""

    kind: Kind = "integer"


@dataclass(frozen=True, slots=True)
class RunningValue:
    """The value of a running aggregate."""

    running: int
    kind: Kind


@dataclass(frozen=True, slots=True)
class ConstantValue:
    """A constant; None is null."""

    value: Any
    kind: Kind


@dataclass(frozen=True, slots=True)
class Applied:
    """An operator over values of the search; the search fails if an integer result leaves `limits`."""

    function: str
    operands: tuple[SearchValue, ...]
    kind: Kind
    limits: tuple[int, int] | None = None


SearchValue: TypeAlias = TermAt | LabelAt | MatchCount | RunningValue | ConstantValue | Applied


@dataclass(frozen=True, slots=True)
class Condition:
    """The condition of a variable: a bit per row if it depends on one row, else a value that the search computes.

    Only one of `bit` and `value` is given, and neither for a variable that is true for every row.
    """

    bit: RowExpression | None = None
    value: SearchValue | None = None


@dataclass(frozen=True, slots=True)
class RowPatternPlan:
    """A plan for searching a row pattern: bits of rows, then a walk over positions that remembers failures.

    `conditions` are by the number of the variable. A position is `remembered` when no condition from there on depends
    on the rows mapped before: then a failure at a row holds for every path to it, and for every candidate.
    """

    bound: BoundRowPattern
    program: Program
    conditions: tuple[Condition, ...]
    terms: tuple[Term, ...]
    bases: tuple[Base, ...]
    running: tuple[RunningAggregate, ...]
    remembered: tuple[bool, ...]
    family: ClassVar[str] = "row-pattern"

    @property
    def searched_columns(self) -> frozenset[int]:
        """Input columns that the search reads, not the measures alone."""
        read = [c.bit for c in self.conditions if c.bit is not None] + [t.value for t in self.terms]
        used = {n.column for e in read for n in walk(e) if isinstance(n, ColumnValue)}
        return frozenset(used | ({self.bound.order_by[0].column} if self.bound.within is not None else set()))

    @property
    def looks_back(self) -> bool:
        """Whether a condition depends on rows mapped before the current one, or on the number of the match."""
        return any(c.value is not None for c in self.conditions)
