"""Skips stretches of a key's time in which no match can lie, by the least and greatest values in them (zone maps).

All events of a match lie within WITHIN of each other, so if time is cut into longer stretches, each match lies in one
stretch and the next. If in such a pair of a key's stretches the least `a.x` is not below the greatest `c.x`, no match
with `a.x < c.x` begins in the first of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias, assert_never

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from augury.compiler import CompiledProgram
from augury.engine.arrivals import Arrivals
from augury.engine.cut.by_key import key_shares
from augury.engine.exchange.codes import are_of_types
from augury.ir.pattern import Absent, AllOf, AnyOf, Event, Group, OptionalPart, Pattern, Repeat, Seq
from augury.ir.predicate import Arithmetic, Compare, Element, Expr, Literal, Negate, Ref, walk
from augury.ir.query import TimeWindow
from augury.ir.terms import OutputMode
from augury.runtime.dictionary import codable, distinct
from augury.runtime.positions import one_array
from augury.schema import Kind

KEY_GROUPS = 1 << 14
"""Groups that keys without codes are hashed into; each has bounds of its own."""

MIN_EVENTS_PER_STRETCH = 4
"""Events per stretch of a key, on average: with fewer, computing bounds costs more than it saves."""

MAX_SPAN_TICKS = 2**61
"""Largest span from the first to the last event, in ticks, for which sums of times do not overflow."""

MAX_EXACT_FLOAT = 2.0**53
"""Whole numbers below this are exact as floating-point numbers."""

Floats: TypeAlias = "npt.NDArray[np.float64]"
Bounds: TypeAlias = "tuple[Floats, Floats]"
"""The least and the greatest value; least above greatest where there is none."""


@dataclass(frozen=True, slots=True)
class MatchRequirements:
    """Requirements of every match: an event for each of `events`, satisfying `tests`, at most `span` ticks apart.

    With `led` the first of `events` is the first event of the match.
    """

    span: int
    events: tuple[Event, ...]
    tests: tuple[Compare, ...]
    led: bool

    def refs(self, variable: str) -> frozenset[Ref]:
        """The attributes of a variable's event that the tests read."""
        found = (e for test in self.tests for e in walk(test) if isinstance(e, Ref))
        return frozenset(e for e in found if e.variable == variable)


def match_requirements(program: CompiledProgram) -> MatchRequirements | None:
    """The requirements of every match of a query; None where events outside of matches may decide about matches.

    They do under a strategy that consumes events, for a NOT, and where a match depends on others.
    """
    if len(program.queries) > 1:
        return None
    query = program.last.rewritten
    if (
        not query.declarative
        or not (query.reports_all or query.output is OutputMode.COUNT)
        or query.threshold is not None
        or not isinstance(query.window, TimeWindow)
        or any(v.negated for v in query.variables)
    ):
        return None
    events = tuple(_always(query.pattern))
    singles = {event.variable for event in events}
    tests = tuple(c.expr for c in query.conjuncts if isinstance(c.expr, Compare) and _bounded(c.expr, singles))
    if not tests:
        return None
    led = isinstance(query.pattern, Seq) and isinstance(query.pattern.parts[0], Event)
    return MatchRequirements(query.window.ticks, events, tests, led)


def _always(p: Pattern) -> Iterator[Event]:
    """The components that every match binds, to one event each."""
    match p:
        case Event():
            yield p
        case Seq(parts) | AllOf(parts):
            for part in parts:
                yield from _always(part)
        case Repeat() | Group() | OptionalPart() | AnyOf() | Absent():
            return
        case _:
            assert_never(p)


def _bounded(test: Compare, singles: set[str]) -> bool:
    """Whether a test can be ruled out by bounds of the values in it."""
    if test.operator not in ("<", "<=", ">", ">=", "="):
        return False
    for e in walk(test):
        match e:
            case Compare():
                pass
            case Literal(value, type):
                if type.kind not in (Kind.INT, Kind.FLOAT) or not isinstance(value, int | float):
                    return False
            case Ref(variable, _, type, element, default):
                numeric = type.kind in (Kind.INT, Kind.FLOAT)
                if not numeric or variable not in singles or element is not Element.SINGLE or default is not None:
                    return False
            case Arithmetic(operator, _, right):
                divides = operator == "/" and isinstance(right, Literal) and right.value
                if operator not in ("+", "-", "*") and not divides:
                    return False
            case Negate():
                pass
            case _:
                return False
    return True


def skip_impossible(
    events: Arrivals,
    jobs: Sequence[MatchRequirements],
    kind: str | None,
    key: tuple[str, ...],
    *,
    first: bool,
    last: bool,
) -> Arrivals:
    """The events, which are in order, without those that can be in no match of any job.

    Unless they are the `first` of the stream, other events came before; unless the `last`, others will follow.
    """
    if not len(events) or int(events.time[-1]) - int(events.time[0]) > MAX_SPAN_TICKS:
        return events
    grouped = _GroupedEvents(events, kind, key)
    kept = grouped.kept(jobs[0], first=first, last=last)
    for required in jobs[1:]:
        kept |= grouped.kept(required, first=first, last=last)
    return events.where(kept)


class _GroupedEvents:
    """Events by groups of their keys, and by type; several jobs share them."""

    def __init__(self, events: Arrivals, kind: str | None, key: tuple[str, ...]) -> None:
        self.events, self.kind = events, kind
        self.group, self.groups = _groups(events.table, key)
        self._rows: dict[tuple[str, ...], npt.NDArray[np.intp]] = {}

    def rows(self, types: tuple[str, ...]) -> npt.NDArray[np.intp]:
        """The events of these types."""
        if types not in self._rows:
            if not types or self.kind is None:
                self._rows[types] = np.arange(len(self.events))
            else:
                self._rows[types] = np.flatnonzero(are_of_types(self.events.table[self.kind], types))
        return self._rows[types]

    def kept(self, what: MatchRequirements, *, first: bool, last: bool) -> npt.NDArray[np.bool_]:
        """A mask of the events that may be in a match."""
        stretch, after, closing = self._stretches(what.span + 1)
        cut = len(after)
        # After the last stretch there is an empty one.
        places = self.group * (cut + 1) + stretch
        shape = (self.groups, cut + 1)
        can = np.ones((self.groups, cut), dtype=bool)
        bounds: dict[Ref, Bounds] = {}
        known: dict[tuple[tuple[str, ...], str], Bounds] = {}
        for k, event in enumerate(what.events):
            rows = self.rows(event.types)
            alone = what.led and k == 0
            there = np.zeros(shape, dtype=bool)
            there.reshape(-1)[places[rows]] = True
            can &= there[:, :-1] if alone else there[:, :-1] | there[:, after]
            for ref in what.refs(event.variable):
                if (event.types, ref.column) not in known:
                    extremes = _extremes(self.events.table[ref.column], rows, places, shape)
                    known[event.types, ref.column] = extremes
                low, high = known[event.types, ref.column]
                bounds[ref] = low[:, :-1], high[:, :-1]
                if not alone:
                    bounds[ref] = (
                        np.minimum(low[:, :-1], low[:, after]),
                        np.maximum(high[:, :-1], high[:, after]),
                    )
        with np.errstate(all="ignore"):
            for test in what.tests:
                can &= _can_hold(test, bounds)
        kept = np.zeros(shape, dtype=bool)
        kept[:, after] = can
        kept[:, :-1] |= can
        if not first:
            kept[:, 0] = True
        if not last:
            # What comes may be in the last stretch, and so in a match with the one before.
            kept[:, :-1][:, closing] = True
        found: npt.NDArray[np.bool_] = kept.reshape(-1)[places]
        return found

    def _stretches(self, least: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
        """The stretch of each event, the stretch that follows each one, and which ones are the last two of the stream.

        Only stretches with events are numbered. They are `least` ticks long or longer, so that there are not too many.
        Where the next stretch has no events, the number behind the last one stands for it.
        """
        time = self.events.time
        length = int(time[-1]) - int(time[0]) + 1
        size = min(length, max(least, -(-length * MIN_EVENTS_PER_STRETCH // len(time))))
        while True:
            number = -(-length // size)
            ends = np.append(np.searchsorted(time, int(time[0]) + size * np.arange(1, number)), len(time))
            counts = np.diff(ends, prepend=0)
            used = np.flatnonzero(counts)
            if len(used) == 1 or len(used) * self.groups * MIN_EVENTS_PER_STRETCH <= len(time):
                break
            size *= 2
        follows = np.append(np.diff(used) == 1, False)
        following = np.where(follows, np.arange(1, len(used) + 1), len(used))
        return np.repeat(np.arange(len(used)), counts[used]), following, used >= number - 2


def _groups(table: pa.Table, key: tuple[str, ...]) -> tuple[npt.NDArray[np.int64], int]:
    """A group number for each event's key, and the number of groups; keys that share one have wider bounds."""
    if not key:
        return np.zeros(table.num_rows, dtype=np.int64), 1
    type = table.schema.field(key[0]).type
    if len(key) == 1 and (codable(type) or pa.types.is_integer(type)):
        found = distinct(one_array(table[key[0]]))
        # An event without a key is in no match, wherever it is counted.
        return np.maximum(found.positions, 0).astype(np.int64), max(1, len(found.keys))
    return key_shares(table, key, KEY_GROUPS).astype(np.int64), KEY_GROUPS


def _extremes(
    column: pa.ChunkedArray, rows: npt.NDArray[np.intp], places: npt.NDArray[np.int64], shape: tuple[int, int]
) -> Bounds:
    """The bounds of a column in each place, over the events of these rows, nulls left out."""
    array = one_array(column)
    values = array.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)[rows]
    there = places[rows]
    missing = np.isnan(values)
    if missing.any():
        values, there = values[~missing], there[~missing]
    low, high = np.full(shape, np.inf), np.full(shape, -np.inf)
    np.minimum.at(low.reshape(-1), there, values)
    np.maximum.at(high.reshape(-1), there, values)
    return (low, high) if pa.types.is_floating(array.type) else _unrounded(low, high)


def _can_hold(test: Compare, bounds: Mapping[Ref, Bounds]) -> npt.NDArray[np.bool_]:
    """A mask of the stretches in which a test can hold for values within the bounds; false without a value."""
    (low, high), (least, greatest) = _range(test.left, bounds), _range(test.right, bounds)
    there = (low <= high) & (least <= greatest)
    match test.operator:
        case "<":
            return there & (low < greatest)
        case "<=":
            return there & (low <= greatest)
        case ">":
            return there & (high > least)
        case ">=":
            return there & (high >= least)
        case _:
            return there & (low <= greatest) & (least <= high)


def _range(e: Expr, bounds: Mapping[Ref, Bounds]) -> Bounds:
    """The bounds of an expression, widened by one rounding step per operation."""
    match e:
        case Ref():
            return bounds[e]
        case Literal(value):
            assert isinstance(value, int | float)
            return _unrounded(np.array(float(value)), np.array(float(value)))
        case Negate(operand):
            low, high = _range(operand, bounds)
            return -high, -low
        case Arithmetic(operator, left, right):
            (a, b), (c, d) = _range(left, bounds), _range(right, bounds)
            empty = (a > b) | (c > d)
            match operator:
                case "+":
                    low, high = a + c, b + d
                case "-":
                    low, high = a - d, b - c
                case "*":
                    low, high = _hull(a * c, a * d, b * c, b * d)
                case _:
                    low, high = _hull(a / c, a / d, b / c, b / d)
            low, high = _wider(np.where(np.isnan(low), -np.inf, low), np.where(np.isnan(high), np.inf, high))
            return np.where(empty, np.inf, low), np.where(empty, -np.inf, high)
        case _:
            raise AssertionError(f"bounds of {e} are not known")


def _hull(*values: Floats) -> Bounds:
    every = np.broadcast_arrays(*values)
    return np.min(every, axis=0), np.max(every, axis=0)


def _unrounded(low: Floats, high: Floats) -> Bounds:
    """Widen bounds of numbers that may have been rounded to 53 bits."""
    wide = _wider(low, high)
    return np.where(np.abs(low) < MAX_EXACT_FLOAT, low, wide[0]), np.where(
        np.abs(high) < MAX_EXACT_FLOAT, high, wide[1]
    )


def _wider(low: Floats, high: Floats) -> Bounds:
    return np.nextafter(low, -np.inf), np.nextafter(high, np.inf)
