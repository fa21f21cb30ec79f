"""MEASURES over all matches at once: navigation by arithmetic on row numbers, aggregates in one pass each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, assert_never

import numpy as np
import numpy.typing as npt

from augury.ir.row_expression import Aggregate, Classifier, ColumnValue, MatchNumber, Navigation, RowExpression
from augury.ir.sql_aggregates import AGGREGATES
from augury.ir.sql_scalar import BadValue
from augury.ir.sql_types import BIGINT, VARCHAR, Family, family, integer_range
from augury.jit.tier import Tier
from augury.kernels.row_pattern.expressions import Leaf, evaluate
from augury.kernels.row_pattern.kernel import FoundMatches
from augury.kernels.row_pattern.rows import SortedRows
from augury.kernels.row_pattern.vectors import FAILED, KNOWN, NULL, Codes, Integers, Vector, python_list, vector_of
from augury.plan.row_pattern import FIRST_POSITION, RowPatternPlan

EXACT = 2**53
"""Integers below this limit convert to doubles without rounding."""


@dataclass(frozen=True)
class MappedRows:
    """The mapped rows of all matches, one match after the other; what no measure asks for is not computed.

    Those of match m are numbers `offset[m]` up to `offset[m + 1]`.
    """

    plan: RowPatternPlan
    found: FoundMatches
    starts: Integers

    @cached_property
    def offset(self) -> Integers:
        offset = np.zeros(len(self.found.start) + 1, np.int64)
        np.cumsum(self.found.length, out=offset[1:])
        return offset

    @cached_property
    def ahead(self) -> Integers:
        """For each match, the difference between the number of a row and its number among the mapped rows."""
        return self.found.start - self.offset[:-1]

    @cached_property
    def match(self) -> Integers:
        """The match that each mapped row belongs to."""
        return np.repeat(np.arange(len(self.found.start)), self.found.length)

    @cached_property
    def row(self) -> Integers:
        """The row of each mapped row."""
        return np.arange(int(self.offset[-1])) + np.repeat(self.ahead, self.found.length)

    @cached_property
    def label(self) -> Integers:
        """The number of the variable of each mapped row."""
        labels = np.array([0] * FIRST_POSITION + [p.label for p in self.plan.program.positions], np.int64)
        return labels[self.found.states]

    @cached_property
    def excluded(self) -> npt.NDArray[np.bool_]:
        """Whether a mapped row is left out of what is written."""
        excluded = np.array([False] * FIRST_POSITION + [p.excluded for p in self.plan.program.positions])
        return excluded[self.found.states]

    @cached_property
    def partition(self) -> Integers:
        """The partition of each match; matches come in the order of their first rows."""
        begins = np.searchsorted(self.found.start, self.starts)
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(begins))

    def __len__(self) -> int:
        return int(self.offset[-1])


@dataclass(frozen=True, slots=True)
class Points:
    """Points at which measures are evaluated: at match `match[e]`, once its mapped rows up to number `end[e]` are seen.

    `match` of None: once at every match.
    """

    match: Integers | None
    end: Integers

    def __len__(self) -> int:
        return len(self.end)

    def of(self, values: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """At each point, what its match has of `values`."""
        return values if self.match is None else values[self.match]


class MeasureEvaluator:
    """Values of measures at points of the matches; `call` runs functions of `augury.native.row_pattern`."""

    def __init__(self, plan: RowPatternPlan, rows: SortedRows, mapped: MappedRows, points: Points, call: Tier) -> None:
        self.plan, self.rows, self.mapped, self.points, self.call = plan, rows, mapped, points, call
        self._subsets: dict[frozenset[str], tuple[Integers, Integers]] = {}
        self._places: dict[Navigation, Integers] = {}
        self._names = plan.program.labels

    def value(self, expression: RowExpression) -> Vector:
        """The values of a measure at all points."""
        return evaluate(expression, self._read).sized(len(self.points))

    def _read(self, leaf: Leaf) -> Vector:
        match leaf:
            case ColumnValue(column, _, at):
                assert at is not None
                return self._column(column, at)
            case Classifier(at):
                assert at is not None
                return self._classifier(at)
            case MatchNumber():
                return Vector(BIGINT, "integer", self.points.of(self.mapped.found.number))
            case Aggregate():
                return self._aggregate(leaf)
            case _:
                assert_never(leaf)

    # -- navigation ---------------------------------------------------------------------------------------------------

    def _subset(self, variables: frozenset[str]) -> tuple[Integers, Integers]:
        """Mapped rows of some variables, and how many of them come before each mapped row."""
        if variables not in self._subsets:
            wanted = np.array([name in variables for name in self._names] or [False])
            chosen = wanted[self.mapped.label]
            before = np.zeros(len(self.mapped) + 1, np.int64)
            np.cumsum(chosen, out=before[1:])
            self._subsets[variables] = np.flatnonzero(chosen), before
        return self._subsets[variables]

    def _range(self, variables: frozenset[str] | None, *, running: bool) -> tuple[Integers | None, Integers, Integers]:
        """Mapped rows of some variables, None for all; at each point the first and the end of those that count."""
        offset, points = self.mapped.offset, self.points
        begin, end = points.of(offset[:-1]), points.end if running else points.of(offset[1:])
        if variables is None:
            return None, begin, end
        places, before = self._subset(variables)
        return places, before[begin], before[end]

    def _place(self, at: Navigation) -> Integers:
        """The number of the mapped row that FIRST or LAST leads to, -1 if there is none."""
        key = replace(at, shift=0)
        if key not in self._places and at.variables is not None and self.points.match is None and not self.call.plain:
            self._places[key] = self._walked(at, at.variables)
        if key not in self._places:
            places, begin, end = self._range(at.variables, running=at.running)
            number = end - 1 - at.offset if at.last else begin + at.offset
            outside = (number < begin) | (number >= end)
            place = number if places is None or not len(places) else places.take(number, mode="clip")
            if outside.any():
                place[outside] = -1
            self._places[key] = place
        return self._places[key]

    def _walked(self, at: Navigation, variables: frozenset[str]) -> Integers:
        """The same where there is one point for each match: from its end, or its begin, to the row in question."""
        positions = self.plan.program.positions
        wanted = np.array([False] * FIRST_POSITION + [self._names[p.label] in variables for p in positions])
        offset, place = self.mapped.offset, np.empty(len(self.points), np.int64)
        self.call("labelled_rows", self.mapped.found.states, wanted, offset, at.last, at.offset, place)
        return place

    def _row(self, at: Navigation) -> Integers:
        """The row that a navigation leads to, -1 if there is none."""
        place = self._place(at)
        row: Integers = place + self.points.of(self.mapped.ahead)
        outside = place < 0
        if at.shift:
            row += at.shift
            low, high = self._bounds()
            outside |= (row < low) | (row >= high)
        if outside.any():
            row[outside] = -1
        return row

    def _bounds(self) -> tuple[Integers, Integers]:
        """The first row and the end of the partition of each point."""
        partition = self.points.of(self.mapped.partition)
        return self.rows.starts[partition], self.rows.starts[partition + 1]

    def _column(self, column: int, at: Navigation) -> Vector:
        """A column at the rows that a navigation leads to; a row that may still come has failed for now."""
        found = self.rows.at(column, self._row(at))
        if not self.rows.open or at.shift <= 0:
            return found
        place = self._place(at)
        there = place + self.points.of(self.mapped.ahead) + at.shift
        unknown = (place >= 0) & (there >= self._bounds()[1])
        codes = np.zeros(len(found), np.uint8) if found.codes is None else found.codes
        return replace(found, codes=np.where(unknown, FAILED, codes).astype(np.uint8))

    def _classifier(self, at: Navigation) -> Vector:
        place, offset, points = self._place(at), self.mapped.offset, self.points
        there = place + at.shift
        inside = (place >= 0) & (there >= points.of(offset[:-1])) & (there < points.of(offset[1:]))
        return self._labels(np.where(inside, there, -1))

    def _labels(self, places: Integers) -> Vector:
        known = places >= 0
        values = self.mapped.label[places] if len(self.mapped.label) else np.zeros(len(places), np.int64)
        return Vector(VARCHAR, "string", values, np.where(known, KNOWN, NULL).astype(np.uint8), self._names)

    # -- aggregates ---------------------------------------------------------------------------------------------------

    def _aggregate(self, aggregate: Aggregate) -> Vector:
        places, begin, end = self._range(aggregate.variables, running=aggregate.running)
        if not aggregate.arguments:
            return Vector(BIGINT, "integer", end - begin)
        places = np.arange(len(self.mapped)) if places is None else places
        arguments = [self._argument(a, places) for a in aggregate.arguments]
        found = self._computed(aggregate, arguments, begin, end) if len(arguments) == 1 else None
        if found is None:
            found = _collected(aggregate, arguments, begin, end)
        failed = np.zeros(len(begin), np.bool_)
        for argument in arguments:
            failed |= _counted(argument.failed, begin, end) > 0
        if failed.any():
            codes = np.zeros(len(begin), np.uint8) if found.codes is None else found.codes
            found = replace(found, codes=np.where(failed, FAILED, codes).astype(np.uint8))
        return found

    def _argument(self, expression: RowExpression, places: Integers) -> Vector:
        """An argument for each mapped row that may be aggregated."""

        def read(leaf: Leaf) -> Vector:
            match leaf:
                case ColumnValue(column):
                    return self.rows.at(column, self.mapped.row[places])
                case Classifier():
                    return self._labels(places)
                case MatchNumber():
                    return Vector(BIGINT, "integer", self.mapped.found.number[self.mapped.match[places]])
                case _:
                    raise AssertionError(leaf)

        return evaluate(expression, read).sized(len(places))

    def _computed(self, aggregate: Aggregate, arguments: list[Vector], begin: Integers, end: Integers) -> Vector | None:
        """The values of an aggregate that has a compiled form."""
        (argument,) = arguments
        type, limit = aggregate.type, aggregate.limit
        seen = _counted(argument.known, begin, end)
        if aggregate.function == "count":
            return Vector(BIGINT, "integer", seen)
        if argument.kind not in ("integer", "float") or limit is not None:
            return None
        codes = np.where(seen > 0, KNOWN, NULL).astype(np.uint8)
        given = argument.values, np.zeros(len(argument), np.uint8) if argument.codes is None else argument.codes
        if not len(argument):
            # The compiled functions look at a first value; the others need none.
            return None
        match aggregate.function:
            case "min" | "max":
                best = np.zeros(len(begin), argument.values.dtype)
                self.call("extremes", *given, begin, end, aggregate.function == "max", best)
                return Vector(type, argument.kind, best, codes)
            case "sum" | "avg" if family(type) in (Family.INTEGER, Family.FLOAT):
                return self._summed(aggregate, argument, given, begin, end, seen, codes)
            case "stddev" | "stddev_samp" | "stddev_pop" | "variance" | "var_samp" | "var_pop":
                least = 1 if aggregate.function.endswith("_pop") else 2
                squares = np.zeros(len(begin))
                self.call("moments", *given, begin, end, squares)
                enough = seen >= least
                spread = squares / np.maximum(seen - (least - 1), 1)
                spread = np.sqrt(spread) if aggregate.function.startswith("stddev") else spread
                return Vector(type, "float", spread, np.where(enough, KNOWN, NULL).astype(np.uint8))
            case _:
                return None

    def _summed(
        self,
        aggregate: Aggregate,
        argument: Vector,
        given: tuple[npt.NDArray[Any], Codes],
        begin: Integers,
        end: Integers,
        seen: Integers,
        codes: Codes,
    ) -> Vector | None:
        if argument.kind == "float":
            totals = np.zeros(len(begin))
            self.call("add_up", *given, begin, end, 0.0, totals)
            values = totals if aggregate.function == "sum" else totals / np.maximum(seen, 1)
            return Vector(aggregate.type, "float", values, codes)
        known = np.abs(np.where(given[1] == KNOWN, given[0], 0).astype(np.float64))
        most = float(known.max()) * float((end - begin).max()) if len(begin) else 0.0
        if most >= (EXACT if aggregate.function == "avg" else 2**62):
            return None
        whole = np.zeros(len(begin), np.int64)
        self.call("add_up", *given, begin, end, 0, whole)
        if aggregate.function == "avg":
            return Vector(aggregate.type, "float", whole / np.maximum(seen, 1), codes)
        least, greatest = integer_range(aggregate.type)
        out = Vector(aggregate.type, "integer", whole, codes)
        return out if not ((whole < least) | (whole > greatest)).any() else None


def _counted(mask: npt.NDArray[np.bool_], begin: Integers, end: Integers) -> Integers:
    before = np.zeros(len(mask) + 1, np.int64)
    np.cumsum(mask, out=before[1:])
    counts: Integers = before[end] - before[begin]
    return counts


def _collected(aggregate: Aggregate, arguments: list[Vector], begin: Integers, end: Integers) -> Vector:
    """An aggregate as the reference evaluator computes it, one value after the other."""
    function, types = AGGREGATES[aggregate.function], [a.type for a in arguments]
    rows = list(zip(*map(python_list, arguments), strict=True))
    out: list[Any] = []
    failed: list[int] = []
    state, at, first = function.start, 0, -1
    for k, (low, high) in enumerate(zip(begin.tolist(), end.tolist(), strict=True)):
        if low != first or high < at:
            state, at, first = function.start, low, low
        while at < high:
            state = function.add(state, rows[at])
            at += 1
        try:
            out.append(function.finish(state, types, aggregate.type, aggregate.limit))
        except BadValue:
            out.append(None)
            failed.append(k)
    return vector_of(out, aggregate.type, failed)
