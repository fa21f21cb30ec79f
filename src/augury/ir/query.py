"""A bound query, with every name resolved and typed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias, assert_never

from augury.ir.pattern import Absent, AllOf, AnyOf, BoundEvent, Event, Group, OptionalPart, Pattern, Repeat, Seq
from augury.ir.predicate import Aggregate, Conjunct, Expr, walk
from augury.ir.terms import OutputMode, Strategy
from augury.schema import UNITS, ColumnType, EventSchema
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
"""Columns of every result, in addition to variables and items of RETURN."""

TIMEOUT_COLUMNS = ("reached", "complete")
"""Additional columns of results with timeouts."""

Window: TypeAlias = "TimeWindow | CountWindow"


def span_of(window: Window | None) -> int:
    """The largest distance from the start of a match to its end, in ticks or positions; -1 if unbounded."""
    match window:
        case TimeWindow(ticks):
            return ticks
        case CountWindow(events):
            return events - 1
        case None:
            return -1


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable of PATTERN; `negated` if it is inside a NOT.

    A variable inside a repeated `group` is read through the group. Lists and groups are `iterated`.
    """

    name: str
    types: tuple[str, ...]
    iterated: bool
    negated: bool
    group: str | None = None


@dataclass(frozen=True, slots=True)
class Returned:
    """One item of RETURN, named and typed."""

    name: str
    expr: Expr
    type: ColumnType


@dataclass(frozen=True, slots=True)
class Step:
    """The strategy of one step, if it differs from the query's.

    It applies to the gap before the event, or the first element, of `variable`; with `inside`, to the gaps between the
    elements of its list. A negated variable is searched for only where the strategy says.
    """

    variable: str
    inside: bool
    strategy: Strategy


@dataclass(frozen=True, slots=True)
class BoundQuery:
    """A query over a known schema.

    `variables` are in pattern order. `partition_by` holds the attributes of `[attr]`: they define the partitions of
    count windows, contiguity and NONOVERLAP. `key` holds attributes that all events of a match are known to share, by
    `[attr]` or by equalities: a host may split the stream by them without changing the matches. `steps` are those whose
    strategy is not `strategy`, and negated components that have one. Consecutive events of a match are at most `each`
    ticks apart. Reported matches of a partition end at least `every` ticks apart; with `once` there is one.
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
    steps: tuple[Step, ...] = ()
    skip_to: BoundEvent | None = None
    each: int | None = None
    every: int | None = None
    once: bool = False

    def __getitem__(self, variable: str) -> Variable:
        for v in self.variables:
            if v.name == variable:
                return v
        raise KeyError(variable)

    def strategy_of(self, variable: str, *, inside: bool = False) -> Strategy:
        """The strategy of the gap before a variable, or of the gaps inside its list."""
        return self._named.get((variable, inside), self.strategy)

    def strategy_of_negated(self, variable: str) -> Strategy | None:
        """The strategy of a negated component; None if it is searched for everywhere."""
        return self._named.get((variable, False))

    @property
    def _named(self) -> dict[tuple[str, bool], Strategy]:
        return {(step.variable, step.inside): step.strategy for step in self.steps}

    @property
    def strategies(self) -> frozenset[Strategy]:
        """Every strategy that a step may have."""
        return frozenset((self.strategy, *(step.strategy for step in self.steps)))

    @property
    def declarative(self) -> bool:
        """Whether an assignment of events is a match however it was found, since every step may skip any event."""
        return self.strategies == {Strategy.SKIP_TILL_ANY_MATCH}

    @property
    def longest_silence(self) -> int | None:
        """The longest NOT ... FOR in ticks; None where there is none."""
        return max((self.ticks(ns) for ns in _silences(self.pattern)), default=None)

    def ticks(self, nanoseconds: int) -> int:
        """A duration in ticks of the stream's clock."""
        return nanoseconds // UNITS[self.schema.time_unit]

    @property
    def paced(self) -> bool:
        """Whether earlier matches of the partition decide if a match is reported (EVERY, ONCE)."""
        return self.every is not None or self.once

    @property
    def names_types(self) -> bool:
        """Whether a component names a type, so that the types of events matter."""
        return any(v.types for v in self.variables)

    @property
    def reports_all(self) -> bool:
        """Whether every match is reported."""
        return self.output is OutputMode.ALL and not self.paced

    @property
    def one_by_one(self) -> bool:
        """Whether each match is reported independently of matches with other ends."""
        return self.output in (OutputMode.ALL, OutputMode.LATEST, OutputMode.COUNT) and not self.paced

    @property
    def totals(self) -> tuple[Aggregate, ...]:
        """The aggregates over all matches of an event in RETURN of OUTPUT COUNT, without duplicates."""
        if self.output is not OutputMode.COUNT:
            return ()
        found = (e for item in self.returns for e in walk(item.expr) if isinstance(e, Aggregate))
        return tuple(dict.fromkeys(e for e in found if e.variable))

    @property
    def group_names(self) -> tuple[str, ...]:
        """The names of groups."""
        return tuple(dict.fromkeys(v.group for v in self.variables if v.group is not None))

    @property
    def pattern_order(self) -> tuple[str, ...]:
        return tuple(v.name for v in self.variables)


def _silences(pattern: Pattern) -> Iterator[int]:
    match pattern:
        case Event() | Repeat():
            pass
        case Seq(parts) | AllOf(parts) | AnyOf(parts):
            for part in parts:
                yield from _silences(part)
        case Group(body=body) | OptionalPart(body):
            yield from _silences(body)
        case Absent(body, silence=silence):
            if silence is not None:
                yield silence
            yield from _silences(body)
        case _:
            assert_never(pattern)
