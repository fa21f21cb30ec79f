"""An index over the values of the rules of one shape, which finds the rules that an event can concern.

A component of the shape is looked up by the types of the rules and by conditions `attribute = value`, which are hashed,
and by one condition `attribute < value`, by which the rules are sorted. The candidates are a superset of the rules
whose conditions hold: numbers are compared as floats, and bounds are inclusive.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from augury.engine.cut.by_key import mixed
from augury.engine.rules.event_columns import EventColumns, Floats, Mask, first_of_each
from augury.engine.rules.shapes import Shape, role
from augury.engine.rules.stretches import Stretches, enumerated, stretches_of
from augury.ir.comparisons import MIRRORED, mirrored
from augury.ir.pattern import Event, Repeat, Seq, components, event_of, variable_of
from augury.ir.predicate import Compare, Expr, Ref
from augury.ir.query import BoundQuery, TimeWindow
from augury.runtime.batch import Integers
from augury.runtime.state import LONG_AGO
from augury.schema import MAX_TICKS

SAMPLED_EVENTS = 1_000  # events sampled to estimate the selectivity of each bound

MAX_TABLE = 1 << 18
"""Cells of a table of the entries of an index, by bucket and rank; larger ones are searched."""

UNSEEN = -2  # code of a type that no event has; -1 is that of null


@dataclass(frozen=True, slots=True)
class Condition:
    """`column operator value`: compares an attribute of an event with the k-th value of a rule; `value` is k."""

    column: str
    operator: str
    value: int


@dataclass(frozen=True, slots=True)
class ComponentTest:
    """The test of a component for a single event: a type of one of these roles (none: any), and conditions."""

    roles: tuple[int, ...]
    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Tests:
    """The tests of all components of a shape; an event must pass one of them to matter.

    With `opened_by_first` every match begins with an event of the first component, and no event that comes before it,
    or more than `reach` ticks after it, makes a difference to the match.
    """

    components: tuple[ComponentTest, ...]
    opened_by_first: bool
    reach: int
    key: tuple[str, ...]
    """The columns besides the rule's number on which all events of a match agree."""


def tests_of(shape: Shape, rewritten: BoundQuery) -> Tests:
    """The tests of a shape, from its rewritten query."""
    roles = {role(k): k for k in range(_role_count(rewritten))} if shape.typed else {}
    own: list[ComponentTest] = []
    for component in components(rewritten.pattern):
        variable = variable_of(component)
        conditions = (
            _condition(c.expr, shape) for c in rewritten.conjuncts if c.variables == (variable,) and c.one_event
        )
        types = event_of(component).types
        own.append(ComponentTest(tuple(roles[name] for name in types if roles), tuple(c for c in conditions if c)))
    reach = rewritten.window.ticks if isinstance(rewritten.window, TimeWindow) else None
    first = rewritten.pattern.parts[0] if isinstance(rewritten.pattern, Seq) else rewritten.pattern
    begins = isinstance(first, Event) or (isinstance(first, Repeat) and first.low > 0)
    farthest = (reach or 0) + (rewritten.longest_silence or 0)
    opened = reach is not None and begins and len(own) > 1 and farthest <= MAX_TICKS
    key = tuple(name for name in rewritten.partition_by if name != shape.columns.rule)
    return Tests(tuple(own), opened, farthest, key)


def _role_count(query: BoundQuery) -> int:
    return sum(len(event_of(component).types) for component in components(query.pattern))


def _condition(e: Expr, shape: Shape) -> Condition | None:
    """The condition that an index can look up."""
    match e:
        case Compare(operator, Ref() as left, Ref() as right) if operator == "=" or operator in MIRRORED:
            for one, other, op in ((left, right, operator), (right, left, mirrored(operator))):
                names = [shape.columns.of_value(k) for k in range(len(shape.value_types))]
                if other.column in names and one.column not in names and one.default is None:
                    k = names.index(other.column)
                    if op == "=" or shape.value_types[k].numeric:
                        return Condition(one.column, op, k)
            return None
        case _:
            return None


class CodedTexts(NamedTuple):
    """Distinct strings, and lists of strings as positions among them."""

    texts: tuple[str, ...]
    places: tuple[Integers, ...]


def _coded(lists: Sequence[Sequence[str]]) -> CodedTexts:
    texts = tuple(sorted({text for one in lists for text in one}))
    place = {text: k for k, text in enumerate(texts)}
    return CodedTexts(texts, tuple(np.array([place[text] for text in one], dtype=np.int64) for one in lists))


@dataclass(frozen=True, slots=True, eq=False)
class RuleValues:
    """The values of rules of one shape by column, and their types by role; rules are numbered from 0."""

    values: tuple[npt.NDArray[np.generic], ...]
    types: tuple[tuple[str, ...], ...]
    count: int
    _coded: dict[int | tuple[int, ...], CodedTexts] = field(default_factory=dict)

    def texts(self, k: int) -> CodedTexts:
        """The k-th values of the rules, which are strings, as codes."""
        if k not in self._coded:
            self._coded[k] = _coded([self.values[k].tolist()])
        return self._coded[k]

    def types_of(self, roles: tuple[int, ...]) -> CodedTexts:
        """The type names of the rules in these roles, as codes: one list for each role."""
        if roles not in self._coded:
            self._coded[roles] = _coded([self.types[k] for k in roles])
        return self._coded[roles]

    @classmethod
    def of(cls, shape: Shape, rules: Sequence[tuple[tuple[float | str, ...], tuple[str, ...]]]) -> RuleValues:
        """The columns of values and types from one pair of values and types per rule."""
        columns = tuple(
            np.array([values[k] for values, _ in rules], dtype=np.float64 if type.numeric else object)
            for k, type in enumerate(shape.value_types)
        )
        roles = max((len(types) for _, types in rules), default=0)
        return cls(columns, tuple(tuple(types[k] for _, types in rules) for k in range(roles)), len(rules))


@dataclass(frozen=True, slots=True, eq=False)
class FoundRules:
    """The candidate rules of each event: `counts` entries of an index, from the positions `starts` on."""

    starts: Integers
    counts: Integers


class ComponentIndex:
    """An index of the rules of a shape by the types and values that they ask for in one component."""

    def __init__(self, test: ComponentTest, rules: RuleValues, events: EventColumns) -> None:
        self.test, self.rules = test, rules
        bounds = [c for c in test.conditions if c.operator != "="]
        self.bound = min(bounds, key=lambda c: self._passing(c, events), default=None)
        self.others = tuple(c for c in bounds if c is not self.bound)
        # A component of several types has one entry per rule for each of them.
        each = np.arange(rules.count)
        entries = np.tile(each, max(1, len(test.roles)))
        self.hashed: list[tuple[str, tuple[str, ...] | Floats]] = []
        codes = np.zeros(len(entries), dtype=np.int64)
        if test.roles:
            coded = rules.types_of(test.roles)
            codes = self._with_texts("", coded.texts, np.concatenate(coded.places), codes)
        for condition in test.conditions:
            if condition.operator == "=":
                values = rules.values[condition.value]
                if values.dtype == object:
                    coded = rules.texts(condition.value)
                    codes = self._with_texts(condition.column, coded.texts, coded.places[0][entries], codes)
                else:
                    distinct, own = np.unique(values.astype(np.float64), return_inverse=True)
                    self.hashed.append((condition.column, distinct))
                    codes = codes * len(distinct) + own.reshape(-1)[entries]
        self.buckets, bucket = np.unique(codes, return_inverse=True)
        bucket = bucket.reshape(-1)
        rank = np.zeros(len(entries), dtype=np.int64)
        self.ranked = np.zeros(1)
        if self.bound is not None:
            self.ranked, inverse = np.unique(self._signed(rules.values[self.bound.value]), return_inverse=True)
            rank = inverse.reshape(-1)[entries]
        self.span = len(self.ranked) + 1
        keys = bucket * self.span + rank
        order = np.argsort(keys, kind="stable")
        self.keys, self.entries = keys[order], entries[order]
        cells = len(self.buckets) * self.span
        self.first = np.searchsorted(self.keys, np.arange(len(self.buckets) + 1) * self.span)
        """For each bucket, the position of its first entry."""
        self.table = np.searchsorted(self.keys, np.arange(cells)) if cells <= MAX_TABLE else None
        """For each bucket and rank, how many entries are before it."""
        self.dense: Integers | None = None
        """For each code its bucket, -1 for none, unless there may be too many codes."""
        if len(self.buckets) and self.buckets[0] >= 0 and self.buckets[-1] < MAX_TABLE:
            self.dense = np.full(int(self.buckets[-1]) + 2, -1)
            self.dense[self.buckets] = np.arange(len(self.buckets))

    def _with_texts(self, column: str, texts: tuple[str, ...], own: Integers, codes: Integers) -> Integers:
        self.hashed.append((column, texts))
        return codes * len(texts) + own

    def _signed(self, values: npt.NDArray[np.generic]) -> Floats:
        """Negate numbers for an upper bound, so that an event always passes the rules with a value up to its own."""
        assert self.bound is not None
        numbers = values.astype(np.float64)
        return numbers if self.bound.operator in (">", ">=") else -numbers

    def _passing(self, condition: Condition, events: EventColumns) -> float:
        """The share of pairs of an event and a rule that pass a bound, estimated on a sample."""
        numbers = events.numbers(condition.column)[:: max(1, len(events) // SAMPLED_EVENTS)]
        numbers = numbers[~np.isnan(numbers)]
        if not len(numbers) or not self.rules.count:
            return 0.0
        values = np.sort(self.rules.values[condition.value].astype(np.float64))
        below = float(np.searchsorted(values, numbers, side="right").sum()) / (len(numbers) * len(values))
        return below if condition.operator in (">", ">=") else 1 - below

    def find(self, events: EventColumns) -> FoundRules:
        """The rules whose conditions each event meets, except for bounds other than the indexed one."""
        known = np.ones(len(events), dtype=bool)
        codes = np.zeros(len(events), dtype=np.int64)
        for column, distinct in self.hashed:
            if isinstance(distinct, tuple):
                assert column or events.type is not None
                place = events.codes(column or str(events.type), distinct)
                known &= place >= 0
            else:
                place = events.looked_up(column, partial(_places_among, distinct))
                known &= place >= 0
            codes = codes * len(distinct) + place
        bucket = self._buckets(np.where(known, codes, -1))
        known &= bucket >= 0
        reached = np.full(len(events), self.span - 1)
        if self.bound is not None:
            known &= ~np.isnan(events.numbers(self.bound.column))
            reached = events.looked_up(self.bound.column, self._reached)
        bucket = np.where(known, bucket, 0)
        starts = self.first[bucket]
        ends = bucket * self.span + reached
        counts = (np.searchsorted(self.keys, ends) if self.table is None else self.table[ends]) - starts
        return FoundRules(starts, np.where(known, counts, 0))

    def _buckets(self, codes: Integers) -> Integers:
        """The bucket of each code, -1 for none."""
        if self.dense is not None:
            # The last place is of no code.
            return self.dense[np.minimum(codes, len(self.dense) - 1)]
        bucket = np.minimum(np.searchsorted(self.buckets, codes), len(self.buckets) - 1)
        return np.where(self.buckets[bucket] == codes, bucket, -1)

    def _reached(self, numbers: Floats) -> Integers:
        """How many of the ranked values each number passes."""
        return np.searchsorted(self.ranked, self._signed(numbers), side="right")

    def pairs(self, found: FoundRules, events: EventColumns) -> tuple[Integers, Integers]:
        """The pairs of an event and a candidate rule, ordered by event."""
        event, offset = enumerated(found.counts)
        rule = self.entries[found.starts[event] + offset]
        return _where(within_bounds(self.others, self.rules, events, event, rule), event, rule)


def _places_among(distinct: Floats, numbers: Floats) -> Integers:
    """The place of each number among distinct ones, -1 where it is not among them."""
    place = np.minimum(np.searchsorted(distinct, numbers), len(distinct) - 1)
    return np.where(distinct[place] == numbers, place, -1)


def _where(mask: Mask | None, event: Integers, rule: Integers) -> tuple[Integers, Integers]:
    return (event, rule) if mask is None else (event[mask], rule[mask])


def within_bounds(
    conditions: Sequence[Condition], rules: RuleValues, events: EventColumns, event: Integers, rule: Integers
) -> Mask | None:
    """A mask of the pairs that meet all conditions; None without conditions."""
    passed: Mask | None = None
    for condition in conditions:
        values = rules.values[condition.value]
        if values.dtype == object:
            coded = rules.texts(condition.value)
            holds = events.codes(condition.column, coded.texts)[event] == coded.places[0][rule]
        else:
            number, value = events.numbers(condition.column)[event], values.astype(np.float64)[rule]
            match condition.operator:
                case "=":
                    holds = number == value
                case ">" | ">=":
                    holds = number >= value
                case _:
                    holds = number <= value
        passed = holds if passed is None else passed & holds
    return passed


def meets(test: ComponentTest, rules: RuleValues, events: EventColumns, event: Integers, rule: Integers) -> Mask | None:
    """A mask of the pairs that pass the test of a component; None if all of them do."""
    passed = within_bounds(test.conditions, rules, events, event, rule)
    if test.roles:
        coded = rules.types_of(test.roles)
        assert events.type is not None
        code = events.codes(events.type, coded.texts)[event]
        of_type = np.zeros(len(event), dtype=bool)
        for places in coded.places:
            of_type |= code == places[rule]
        passed = of_type if passed is None else passed & of_type
    return passed


@dataclass(frozen=True, slots=True, eq=False)
class OpenKeys:
    """Pairs of a rule and a key with a match that may have begun, and the time `until` its other events may come."""

    rule: Integers
    key: Integers
    until: Integers

    @classmethod
    def none(cls) -> OpenKeys:
        nothing = np.empty(0, dtype=np.int64)
        return cls(nothing, nothing, nothing)

    def joined(self, other: OpenKeys, watermark: int) -> OpenKeys:
        """Merge with other pairs, with the latest time of each; pairs that end before the watermark are dropped."""
        rule, key = np.concatenate([self.rule, other.rule]), np.concatenate([self.key, other.key])
        until = np.concatenate([self.until, other.until])
        live = until >= watermark
        rule, key, until = rule[live], key[live], until[live]
        order = np.lexsort([until, key, rule])
        rule, key, until = rule[order], key[order], until[order]
        last = np.ones(len(rule), dtype=bool)
        last[:-1] = (rule[1:] != rule[:-1]) | (key[1:] != key[:-1])
        return OpenKeys(rule[last], key[last], until[last])

    def of_rules(self, wanted: Mask) -> OpenKeys:
        """The pairs of the rules for which `wanted` holds."""
        kept = wanted[self.rule]
        return OpenKeys(self.rule[kept], self.key[kept], self.until[kept])


class RuleIndex:
    """The index of the rules of one shape, over all its components."""

    def __init__(self, tests: Tests, rules: RuleValues, sample: EventColumns) -> None:
        self.tests, self.rules = tests, rules
        self.components = [ComponentIndex(test, rules, sample) for test in tests.components]

    def candidates(
        self, events: EventColumns, opened: OpenKeys, limit: int | None = None
    ) -> tuple[Integers, Integers, OpenKeys] | None:
        """The pairs of an event and a candidate rule, ordered by event, and the keys that are open after them.

        None if there are more than `limit` pairs, counted before they are written out. The events are in order.
        """
        found = [index.find(events) for index in self.components]
        counts = [int(one.counts.sum()) for one in found]
        if limit is not None and counts[0] > limit:
            return None
        first = self.components[0].pairs(found[0], events)
        after, parts = opened, [first]
        later = sum(counts[1:])
        if self.tests.opened_by_first:
            keys = events.keys(self.tests.key)
            watermark = int(events.time[-1]) if len(events) else LONG_AGO
            begun = OpenKeys(first[1], keys[first[0]], events.time[first[0]] + self.tests.reach)
            after = opened.joined(begun, watermark)
            stretches = self._stretches(events, keys, first[0], begun, opened)
            behind = sum(one.total for one in stretches)
            if behind < later:
                if limit is not None and len(first[0]) + behind > limit:
                    return None
                parts += [self._passing_later(events, one) for one in stretches]
                return (*self._by_event(parts), after)
        if limit is not None and len(first[0]) + later > limit:
            return None
        parts += [index.pairs(one, events) for index, one in zip(self.components[1:], found[1:], strict=True)]
        return (*self._by_event(parts), after)

    def _by_event(self, parts: Sequence[tuple[Integers, Integers]]) -> tuple[Integers, Integers]:
        """The distinct pairs, ordered by event."""
        if len(parts) == 1 and len(self.tests.components[0].roles) < 2:
            return parts[0]
        both = np.concatenate([event * self.rules.count + rule for event, rule in parts])
        both.sort()
        both = both[first_of_each(both)]
        event = both // self.rules.count
        return event, both - event * self.rules.count

    def _stretches(
        self, events: EventColumns, keys: Integers, first: Integers, begun: OpenKeys, opened: OpenKeys
    ) -> list[Stretches]:
        """The events after an event that opens a rule: for each type of its later components, or of any type."""
        later = self.tests.components[1:]
        until = np.searchsorted(events.time, events.time + self.tests.reach, side="right")[first]
        until = np.concatenate([until, np.searchsorted(events.time, opened.until, side="right")])
        after = np.concatenate([first + 1, np.zeros(len(opened.rule), dtype=np.int64)])
        rule, key = np.concatenate([begun.rule, opened.rule]), np.concatenate([begun.key, opened.key])
        if any(not test.roles for test in later):
            return [stretches_of(events.by_key(self.tests.key, typed=False), key, rule, after, until)]
        coded = self.rules.types_of(tuple(sorted({k for test in later for k in test.roles})))
        known = {name: k for k, name in enumerate(events.types)}
        codes = np.array([known.get(text, UNSEEN) for text in coded.texts], dtype=np.int64)
        typed = events.by_key(self.tests.key, typed=True)
        return [stretches_of(typed, mixed(key, codes[own][rule]), rule, after, until) for own in coded.places]

    def _passing_later(self, events: EventColumns, stretches: Stretches) -> tuple[Integers, Integers]:
        """The pairs in stretches that pass the test of a component after the first."""
        event, rule = stretches.pairs()
        passed = np.zeros(len(event), dtype=bool)
        for test in self.tests.components[1:]:
            meeting = meets(test, self.rules, events, event, rule)
            if meeting is None:
                return event, rule
            passed |= meeting
        return event[passed], rule[passed]
