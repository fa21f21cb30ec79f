"""Rules of one shape over a stream: one kernel runs on while rules are added and removed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias, TypeVar

import numpy as np

from augury.compiler import CompiledQuery, load
from augury.engine.compiling import compiled_if_worth
from augury.engine.replaying import ReplayedStep, replayed
from augury.engine.rules.candidates import OpenKeys, RuleIndex, RuleValues
from augury.engine.rules.group import MAX_RULES, Group, SharedEvents, by_rule, compile_group, stream_of
from augury.engine.rules.grouping import RuleShapes, source_of
from augury.engine.rules.kept import Portion, StartPosition
from augury.engine.rules.reach import reach_of
from augury.engine.rules.rule_text import GroupedRule
from augury.engine.rules.shapes import Shape
from augury.errors import AuguryError
from augury.ir.query import TimeWindow
from augury.kernels.ahead import compile_ahead
from augury.kernels.stream import StreamKernel
from augury.options import Options
from augury.runtime.batch import Integers
from augury.runtime.matches import MatchSet
from augury.runtime.shared import enumerated
from augury.runtime.state import Kernel, RunState
from augury.schema import EventSchema

T = TypeVar("T")

MAX_PLANNED_SHAPES = 1_000  # shapes whose plans are cached, so that years of edits do not fill the memory


@dataclass(frozen=True, slots=True, eq=False)
class LiveRule:
    """A rule of a stream, its number in its group, and the first event that it sees."""

    rule: GroupedRule
    number: int
    since: StartPosition


FailedRules: TypeAlias = "tuple[tuple[LiveRule, AuguryError], ...]"
"""Rules that are switched off, each with its error."""


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """The matches of one step of a group, ordered by rule; `rule` is the place of each match's rule among `rules`.

    `touched` counts the events that each of these rules was given.
    """

    rules: tuple[LiveRule, ...]
    found: MatchSet
    rule: Integers
    touched: Integers
    failed: FailedRules = ()


@dataclass(frozen=True, slots=True, eq=False)
class RunningKernel:
    """A kernel, its state, and the keys that are open, by the numbers of rules."""

    kernel: Kernel
    state: RunState
    opened: OpenKeys


@dataclass(slots=True, eq=False)
class ActiveRules:
    """The rules that are matched now, in the order of their numbers, and their index, built with the first events."""

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
        """The positions of the numbers of active rules, and the places of these rules."""
        at = np.minimum(np.searchsorted(self.numbers, numbers), len(self.numbers) - 1)
        there = np.flatnonzero(self.numbers[at] == numbers)
        return there, at[there]


class StreamPlans:
    """Reads rules and plans their shapes for streams of one kind, each text and each shape once.

    Nothing in it depends on events, so the buckets of a process share it.
    """

    def __init__(self, schema: EventSchema, options: Options) -> None:
        self.shapes = RuleShapes(schema, options)
        self.options = options
        self._planned: dict[Shape, tuple[Group, CompiledQuery]] = {}

    def planned(self, first: GroupedRule) -> tuple[Group, CompiledQuery]:
        """The group of a rule's shape, with this rule or an earlier one in it, and its query."""
        shape = first.shaped.shape
        if shape not in self._planned:
            if len(self._planned) >= MAX_PLANNED_SHAPES:
                del self._planned[next(iter(self._planned))]
            template, options = Group.of([first.shaped]), self.options.watched()
            source = source_of(first.rule)
            query = compile_group(template, source, first.written, options, None, live=True)
            self._planned[shape] = template, query
        return self._planned[shape]


class StreamGroup:
    """The rules of one shape over a stream.

    The state of their kernel follows from the events of the last window. If a rule fails, which leaves the kernel
    halfway through a step, the others go on with a new kernel that is fed these events again.
    """

    def __init__(self, first: GroupedRule, plans: StreamPlans) -> None:
        self.options = replace(plans.options.watched(), live=True)
        self.template, self.query = plans.planned(first)
        self.reports_late = any(variable.negated for variable in self.query.bound.variables)
        self.reach = reach_of(self.query.rewritten)
        """How many ticks before the watermark an event can still make a difference."""
        self._rules: dict[str, LiveRule] = {}
        self._active: ActiveRules | None = None
        self._next = 0
        self._going = self._begun()
        if self.options.jit and isinstance(self._going.kernel, StreamKernel):
            # Compiled now, so that no batch has to wait for it.
            compile_ahead(self._going.kernel)

    def __len__(self) -> int:
        return len(self._rules)

    def add(self, rule: GroupedRule, since: StartPosition) -> LiveRule:
        """Add a rule; if it sees past events, `rebuild` has to follow."""
        live = self._rules[rule.rule.id] = LiveRule(rule, self._next, since)
        self._next += 1
        self._active = None
        return live

    def rule(self, id: str) -> LiveRule:
        """The rule of this name."""
        return self._rules[id]

    def remove(self, id: str) -> None:
        """Remove a rule; the kernel forgets its partial matches as the window passes."""
        del self._rules[id]
        self._active = None

    @property
    def partial_matches(self) -> dict[str, int]:
        """The number of open partial matches by rule, of rules that have any."""
        going, active = self._going, self._now()
        if not active.rules or not isinstance(going.kernel, StreamKernel):
            return {}
        _, places = active.places(going.kernel.partial_matches(going.state, self.template.shape.columns.rule))
        found, counts = np.unique(places, return_counts=True)
        return {active.rules[k].rule.rule.id: n for k, n in zip(found.tolist(), counts.tolist(), strict=True)}

    @property
    def full(self) -> bool:
        """Whether all rule numbers are used up, so that further rules need a new group."""
        return self._next >= MAX_RULES

    def step(self, portion: Portion) -> Step:
        """Consume the events of a portion."""
        try:
            self._going, step = self._stepped(self._going, self._now(), portion.shared, portion.watermark)
        except AuguryError:
            past = portion.before.shared

            def again(active: ActiveRules) -> tuple[RunningKernel, Step]:
                going = self._again(active, past, portion.last_watermark)
                return self._stepped(going, active, portion.shared, portion.watermark)

            (self._going, step), failed = self._without_failing(tuple(self._rules.values()), again)
            return replace(step, failed=failed)
        return step

    def backfill(self, rules: Sequence[LiveRule], past: SharedEvents, watermark: int) -> Step:
        """The matches of new rules in past events; `rebuild` has to follow, so that they continue from there."""

        def find(active: ActiveRules) -> Step:
            return self._stepped(self._begun(), active, past, watermark)[1]

        step, failed = self._without_failing(rules, find)
        return replace(step, failed=failed)

    def rebuild(self, past: SharedEvents, watermark: int) -> FailedRules:
        """Continue with a new kernel that is fed the `past` events that each rule sees; the rules that fail on them."""

        def replay(active: ActiveRules) -> RunningKernel:
            return self._again(active, past, watermark)

        self._going, failed = self._without_failing(tuple(self._rules.values()), replay)
        return failed

    def _without_failing(self, rules: Sequence[LiveRule], run: Callable[[ActiveRules], T]) -> tuple[T, FailedRules]:
        """Call `run` until it succeeds, each time without the rules that failed, which are removed and returned."""
        failed: FailedRules = ()
        while True:
            try:
                return run(self._of(rules)), failed
            except AuguryError as error:
                # If none fails when tried again, as with a timeout, the rules added last are removed.
                found = self._failing(rules, run) or [(rule, error) for rule in rules[len(rules) // 2 :]]
            for live, _ in found:
                self.remove(live.rule.rule.id)
            failed += tuple(found)
            rules = [live for live in rules if live.rule.rule.id in self._rules]

    def _failing(
        self, rules: Sequence[LiveRule], run: Callable[[ActiveRules], T]
    ) -> list[tuple[LiveRule, AuguryError]]:
        """The rules that fail by themselves; if none does, those added last, which together exceed a budget."""
        try:
            run(self._of(rules))
        except AuguryError as error:
            if len(rules) == 1:
                return [(rules[0], error)]
            middle = len(rules) // 2
            first, second = self._failing(rules[:middle], run), self._failing(rules[middle:], run)
            # Halves that succeed apart and fail together exceed a budget: the rules added last are removed.
            return [*first, *second] or [(rule, error) for rule in rules[middle:]]
        return []

    def _of(self, rules: Sequence[LiveRule]) -> ActiveRules:
        return ActiveRules(tuple(rules), replace(self.template, rules=tuple(rule.rule.shaped for rule in rules)))

    def _now(self) -> ActiveRules:
        if self._active is None:
            self._active = self._of(tuple(self._rules.values()))
        return self._active

    def _begun(self) -> RunningKernel:
        kernel = load(self.query, self.options)
        return RunningKernel(kernel, kernel.start(), OpenKeys.none())

    def _again(self, active: ActiveRules, before: SharedEvents, watermark: int) -> RunningKernel:
        """A new kernel for these rules, fed the events of the last window."""
        if not active.rules or not len(before.events):
            return self._begun()

        def consume(steps: Iterator[ReplayedStep]) -> RunningKernel:
            going = self._begun()
            for start, stop, mark in steps:
                going = self._stepped(going, active, before.slice(start, stop), mark)[0]
            return going

        return replayed(before.events.time, watermark, consume)

    def _compile_if_worth(self, kernel: Kernel, events: int) -> None:
        """Compile or load the kernel, and every later one of the group, once a step has many events.

        Left to itself each kernel would run as plain Python for a while, in every bucket and whenever one is loaded.
        """
        if self.options.jit is None and isinstance(kernel, StreamKernel):
            self.options = compiled_if_worth(self.query, events, self.options)
            if self.options.jit:
                for code in (*kernel.codes, kernel.support):
                    # Each function is compiled when it is called first: a step may not need all of them.
                    code.compile(())

    def _stepped(
        self, going: RunningKernel, active: ActiveRules, shared: SharedEvents, watermark: int
    ) -> tuple[RunningKernel, Step]:
        nothing = np.empty(0, dtype=np.int64)
        variables = tuple(v.name for v in self.query.bound.variables if not v.negated)
        if not active.rules:
            return going, Step((), MatchSet.of(variables, ()), nothing, nothing)
        if active.index is None:
            active.index = RuleIndex(active.group.tests, active.values, shared.columns)
        there, places = active.places(going.opened.rule)
        opened = OpenKeys(places, going.opened.key[there], going.opened.until[there])
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
            self._compile_if_worth(going.kernel, len(batch))
            state, reported = going.kernel.step(state, batch, watermark)
            found = enumerated(reported)
        found, number = by_rule(found)
        there, places = active.places(number)
        if len(there) < len(number):
            # Some matches are of rules that have been removed.
            found = found.take(there)
        named = np.union1d(touched, places)
        share = np.zeros(len(named), dtype=np.int64)
        share[np.searchsorted(named, touched)] = counts
        rules = tuple(active.rules[k] for k in named.tolist())
        step = Step(rules, found, np.searchsorted(named, places), share)
        return RunningKernel(going.kernel, state, after), step


def goes_together(rule: GroupedRule) -> bool:
    """Whether a rule of a stream is matched together with others: it needs a WITHIN in time, to forget events."""
    return isinstance(rule.shaped.shape.query.window, TimeWindow)
