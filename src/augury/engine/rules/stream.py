"""Rules of one shape over a stream: rules come and go while one kernel goes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias, TypeVar

import numpy as np

from augury.compiler import CompiledQuery, load
from augury.engine.rules.candidates import Opened, RuleIndex, RuleValues
from augury.engine.rules.group import MAX_RULES, Group, SharedEvents, by_rule, compile_group, stream_of
from augury.engine.rules.grouping import source_of
from augury.engine.rules.kept import Portion, Since
from augury.engine.rules.rule_text import GroupedRule
from augury.errors import AuguryError
from augury.ir.query import TimeWindow
from augury.kernels.ahead import compile_ahead
from augury.kernels.stream import StreamKernel
from augury.options import Options
from augury.runtime.batch import Integers
from augury.runtime.matches import MatchSet
from augury.runtime.shared import enumerated
from augury.runtime.state import Kernel, RunState

T = TypeVar("T")


@dataclass(frozen=True, slots=True, eq=False)
class LiveRule:
    """A rule of a stream: its number in its group, and the events that it sees."""

    rule: GroupedRule
    number: int
    since: Since


Failed: TypeAlias = "tuple[tuple[LiveRule, AuguryError], ...]"
"""Rules that are switched off, each with its error."""


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """What a step of a group has found: matches by rule, and for each its place among the rules that were `touched`."""

    rules: tuple[LiveRule, ...]
    found: MatchSet
    rule: Integers
    touched: Integers
    failed: Failed = ()


@dataclass(frozen=True, slots=True, eq=False)
class Going:
    """A kernel on its way through the stream; what is `opened` is by the numbers of rules."""

    kernel: Kernel
    state: RunState
    opened: Opened


@dataclass(slots=True, eq=False)
class Active:
    """The rules that take part now, in the order of their numbers, and their index once there were events."""

    rules: tuple[LiveRule, ...]
    group: Group
    values: RuleValues = field(init=False)
    numbers: Integers = field(init=False)
    first_row: Integers = field(init=False)
    first_time: Integers = field(init=False)
    index: RuleIndex | None = None

    def __post_init__(self) -> None:
        self.values = self.group.values()
        self.numbers = np.array([rule.number for rule in self.rules], dtype=np.int64)
        self.first_row = np.array([rule.since.row for rule in self.rules], dtype=np.int64)
        self.first_time = np.array([rule.since.time for rule in self.rules], dtype=np.int64)

    def places(self, numbers: Integers) -> tuple[Integers, Integers]:
        """Which of these numbers are those of a rule that takes part, and its place."""
        at = np.minimum(np.searchsorted(self.numbers, numbers), len(self.numbers) - 1)
        there = np.flatnonzero(self.numbers[at] == numbers)
        return there, at[there]


class StreamGroup:
    """The rules of one shape on their way through a stream.

    All that a kernel knows follows from the events of the last window. Should a rule fail, which leaves the kernel
    halfway through a step, the others go on with a kernel that is given these events anew.
    """

    def __init__(self, first: GroupedRule, options: Options) -> None:
        options = options.watched()
        self.options = replace(options, live=True)
        self.template = Group.of([first.shaped])
        self.query: CompiledQuery = compile_group(
            self.template, source_of(first.rule), first.written, options, None, live=True
        )
        self.reports_late = any(variable.negated for variable in self.query.bound.variables)
        self._rules: dict[str, LiveRule] = {}
        self._active: Active | None = None
        self._next = 0
        self._going = self._begun()
        if options.jit and isinstance(self._going.kernel, StreamKernel):
            # Now, so that no batch waits for a function that is called for the first time.
            compile_ahead(self._going.kernel)

    @property
    def reach(self) -> int:
        """How many ticks back from the watermark an event may still make a difference."""
        return self.template.tests.reach

    def __len__(self) -> int:
        return len(self._rules)

    def add(self, rule: GroupedRule, since: Since) -> LiveRule:
        """Take a rule in; what it sees of the past takes a `rebuild`."""
        live = self._rules[rule.rule.id] = LiveRule(rule, self._next, since)
        self._next += 1
        self._active = None
        return live

    def rule(self, id: str) -> LiveRule:
        """The rule of this name."""
        return self._rules[id]

    def remove(self, id: str) -> None:
        """Let a rule go; what the kernel knows of it is over with the window."""
        del self._rules[id]
        self._active = None

    @property
    def partial_matches(self) -> dict[str, int]:
        """How many partial matches of each rule are open; only the rules that have some."""
        going, active = self._going, self._now()
        if not active.rules or not isinstance(going.kernel, StreamKernel):
            return {}
        _, places = active.places(going.kernel.partial_matches(going.state, self.template.shape.columns.rule))
        found, counts = np.unique(places, return_counts=True)
        return {active.rules[k].rule.rule.id: n for k, n in zip(found.tolist(), counts.tolist(), strict=True)}

    @property
    def full(self) -> bool:
        """Whether all numbers of rules are used up, so that a new group has to go on."""
        return self._next >= MAX_RULES

    def step(self, portion: Portion) -> Step:
        """Consume the events of a portion."""
        try:
            self._going, step = self._stepped(self._going, self._now(), portion.shared, portion.watermark)
        except AuguryError:
            past = portion.before.shared

            def again(active: Active) -> tuple[Going, Step]:
                going = self._again(active, past, portion.last_watermark)
                return self._stepped(going, active, portion.shared, portion.watermark)

            (self._going, step), failed = self._without_failing(tuple(self._rules.values()), again)
            return replace(step, failed=failed)
        return step

    def backfill(self, rules: Sequence[LiveRule], past: SharedEvents, watermark: int) -> Step:
        """What new rules find in events that the others have consumed before; `rebuild` makes them go on from there."""

        def find(active: Active) -> Step:
            return self._stepped(self._begun(), active, past, watermark)[1]

        step, failed = self._without_failing(rules, find)
        return replace(step, failed=failed)

    def rebuild(self, past: SharedEvents, watermark: int) -> Failed:
        """Go on with a kernel that has seen the events that each rule sees of the `past`; the rules that fail at it."""

        def replay(active: Active) -> Going:
            return self._again(active, past, watermark)

        self._going, failed = self._without_failing(tuple(self._rules.values()), replay)
        return failed

    def _without_failing(self, rules: Sequence[LiveRule], run: Callable[[Active], T]) -> tuple[T, Failed]:
        """Run something for some of the rules, without those that fail, which are removed and told."""
        failed: Failed = ()
        while True:
            try:
                return run(self._of(rules)), failed
            except AuguryError as error:
                # Should none fail when it is tried again, as where time is short, those added last give way.
                found = self._failing(rules, run) or [(rule, error) for rule in rules[len(rules) // 2 :]]
            for live, _ in found:
                self.remove(live.rule.rule.id)
            failed += tuple(found)
            rules = [live for live in rules if live.rule.rule.id in self._rules]

    def _failing(self, rules: Sequence[LiveRule], run: Callable[[Active], T]) -> list[tuple[LiveRule, AuguryError]]:
        """The rules that fail by themselves, or that are too many together with the last of them."""
        try:
            run(self._of(rules))
        except AuguryError as error:
            if len(rules) == 1:
                return [(rules[0], error)]
            middle = len(rules) // 2
            first, second = self._failing(rules[:middle], run), self._failing(rules[middle:], run)
            # Halves that go well, and fail together, are more than a budget allows: the rules added last give way.
            return [*first, *second] or [(rule, error) for rule in rules[middle:]]
        return []

    def _of(self, rules: Sequence[LiveRule]) -> Active:
        return Active(tuple(rules), replace(self.template, rules=tuple(rule.rule.shaped for rule in rules)))

    def _now(self) -> Active:
        if self._active is None:
            self._active = self._of(tuple(self._rules.values()))
        return self._active

    def _begun(self) -> Going:
        kernel = load(self.query, self.options)
        return Going(kernel, kernel.start(), Opened.none())

    def _again(self, active: Active, before: SharedEvents, watermark: int) -> Going:
        """A kernel that has seen the events of the last window, for these rules alone."""
        if not active.rules or not len(before.events):
            return self._begun()
        try:
            return self._stepped(self._begun(), active, before, watermark)[0]
        except AuguryError:
            # One step finds all at once that was found in many: a budget that holds for a step may need them again.
            going = self._begun()
            for part, next_time in before.by_time():
                going = self._stepped(going, active, part, min(watermark, next_time))[0]
            return going

    def _stepped(self, going: Going, active: Active, shared: SharedEvents, watermark: int) -> tuple[Going, Step]:
        nothing = np.empty(0, dtype=np.int64)
        variables = tuple(v.name for v in self.query.bound.variables if not v.negated)
        if not active.rules:
            return going, Step((), MatchSet.of(variables, ()), nothing, nothing)
        if active.index is None:
            active.index = RuleIndex(active.group.tests, active.values, shared.columns)
        there, places = active.places(going.opened.rule)
        opened = Opened(places, going.opened.key[there], going.opened.until[there])
        pairs = active.index.candidates(shared.columns, opened)
        assert pairs is not None
        event, rule, after = pairs
        seen = shared.events.rows[event] >= active.first_row[rule]
        seen &= shared.events.time[event] >= active.first_time[rule]
        event, rule = event[seen], rule[seen]
        after = replace(after, rule=active.numbers[after.rule])
        touched, counts = np.unique(rule, return_counts=True)
        state, found = going.state, MatchSet.of(variables, ())
        if len(event) or self.reports_late:
            batch = stream_of(active.group, active.values, active.numbers, shared, event, rule)
            state, reported = going.kernel.step(state, batch, watermark)
            found = enumerated(reported)
        found, number = by_rule(found)
        there, places = active.places(number)
        if len(there) < len(number):
            # Some were found for rules that are gone.
            found = found.take(there)
        named = np.union1d(touched, places)
        share = np.zeros(len(named), dtype=np.int64)
        share[np.searchsorted(named, touched)] = counts
        rules = tuple(active.rules[k] for k in named.tolist())
        step = Step(rules, found, np.searchsorted(named, places), share)
        return Going(going.kernel, state, after), step


def goes_together(rule: GroupedRule) -> bool:
    """Whether a rule of a stream is matched together with others: what it knows is forgotten with its window."""
    return isinstance(rule.shaped.shape.query.window, TimeWindow)
