"""What was meant: a whole query, every name resolved and typed."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from augury.ir.pattern import Pattern
from augury.ir.predicate import Aggregate, Conjunct, Expr, walk
from augury.ir.terms import OutputMode, Strategy
from augury.schema import ColumnType, EventSchema
from augury.source import Source


@dataclass(frozen=True, slots=True)
class TimeWindow:
    """The latest and the earliest event of a match are at most `ticks` apart."""

    ticks: int


@dataclass(frozen=True, slots=True)
class CountWindow:
    """All events of a match lie among `events` consecutive ones of the partition, or of the stream."""

    events: int


RESULT_COLUMNS = ("start", "end", "probability", "missing", "count")
"""Columns of every result, whatever the query binds or returns."""

Window: TypeAlias = "TimeWindow | CountWindow"


def span_of(window: Window | None) -> int:
    """How far the start of a match may lie behind its end, in ticks or places; -1 for any distance."""
    match window:
        case TimeWindow(ticks):
            return ticks
        case CountWindow(events):
            return events - 1
        case None:
            return -1


@dataclass(frozen=True, slots=True)
class Variable:
    """What PATTERN says of one variable; `negated` when it stands inside a NOT."""

    name: str
    types: tuple[str, ...]
    iterated: bool
    negated: bool


@dataclass(frozen=True, slots=True)
class Returned:
    """One item of RETURN, named and typed."""

    name: str
    expr: Expr
    type: ColumnType


@dataclass(frozen=True, slots=True)
class BoundQuery:
    """A query over a known schema.

    `variables` are in pattern order. `partition_by` holds the attributes of `[attr]`: they define the partitions of
    count windows, contiguity and NONOVERLAP. `key` holds attributes that all events of a match are known to share, by
    `[attr]` or by equalities: a host may split the stream by them without changing the matches.
    """

    source: Source
    schema: EventSchema
    pattern: Pattern
    variables: tuple[Variable, ...]
    conjuncts: tuple[Conjunct, ...]
    strategy: Strategy
    window: Window | None
    partition_by: tuple[str, ...]
    output: OutputMode
    threshold: float | None = None
    returns: tuple[Returned, ...] = ()
    into: str | None = None
    key: tuple[str, ...] = field(default=())

    def __getitem__(self, variable: str) -> Variable:
        for v in self.variables:
            if v.name == variable:
                return v
        raise KeyError(variable)

    @property
    def totals(self) -> tuple[Aggregate, ...]:
        """The aggregates over all matches of an event that RETURN of OUTPUT COUNT computes with, each once."""
        if self.output is not OutputMode.COUNT:
            return ()
        found = (e for item in self.returns for e in walk(item.expr) if isinstance(e, Aggregate))
        return tuple(dict.fromkeys(e for e in found if e.variable))

    @property
    def pattern_order(self) -> tuple[str, ...]:
        return tuple(v.name for v in self.variables)
