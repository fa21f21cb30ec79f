"""Many queries that are edited while they run: a table of rules, matched over finite events or a stream."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Unpack

import numpy as np
import pyarrow as pa

from augury.budget import within
from augury.compiler import CompiledQuery, Measure, compile_program
from augury.engine.results.matches import Matches
from augury.engine.rules.group import SharedEvents
from augury.engine.rules.grouping import RuleShapes, grouped, options_of, source_of
from augury.engine.rules.matching import FiniteGroup, Prepare
from augury.engine.rules.results import RuleCost, RuleMatches, RuleResults
from augury.engine.rules.rule_text import GroupedRule
from augury.engine.rules.shapes import Shape
from augury.engine.rules.stream import StreamGroup, goes_together
from augury.engine.rules.table import Rule, RuleSource, read_rules
from augury.engine.rules.together import GroupStep, TogetherStream
from augury.engine.sources.events import Events
from augury.engine.sources.schemas import KnownColumns, Schema, known_columns, known_events
from augury.engine.sources.stream_reader import stream_reader
from augury.errors import AuguryError, HostError
from augury.hosts.local.finite import matches_in, pays
from augury.hosts.local.matcher import Matcher, matcher_of, program_of
from augury.hosts.local.query import compiled
from augury.ir.query import BoundQuery
from augury.options import Lateness, MatchOptions, Options, read_options
from augury.plan import StreamStatistics

SHAPE_DIGITS = 12  # of the fingerprint of a kernel, which names the shape of a rule


@dataclass(frozen=True, slots=True)
class Rules:
    """A table of queries with parameters; made by `Rules.read`.

    >>> events = [{"ts": 1, "type": "A", "x": 5}, {"ts": 2, "type": "B", "x": 1}]
    >>> text = "PATTERN SEQ(A a, B b) WHERE a.x > least WITHIN 1 minute RETURN a.x AS x"
    >>> rules = Rules.read([{"id": f"over {n}", "query": text, "parameters": {"least": n}} for n in (3, 4, 5)])
    >>> rules.match(events).table.select(["rule", "end", "match"]).to_pylist()
    [{'rule': 'over 3', 'end': 2, 'match': '{"x": 5}'}, {'rule': 'over 4', 'end': 2, 'match': '{"x": 5}'}]
    """

    rules: tuple[Rule, ...]

    @classmethod
    def read(cls, source: RuleSource) -> Rules:
        """The rules of a frame, of dicts, or of a path to Parquet, JSON lines, TOML or a folder of TOML files.

        Their columns are `id`, `query`, and if wanted `parameters` (a struct, a map or JSON), `enabled` and `labels`;
        others are kept as they are. In TOML a file is a rule, named like the file, or a list of `[[rule]]`.
        """
        return cls(read_rules(source))

    def __len__(self) -> int:
        return len(self.rules)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    @property
    def enabled(self) -> tuple[Rule, ...]:
        """The rules that take part."""
        return tuple(rule for rule in self.rules if rule.enabled)

    @property
    def _places(self) -> dict[str, int]:
        return {rule.id: k for k, rule in enumerate(self.rules)}

    def check(self, schema: Schema, **options: Unpack[MatchOptions]) -> pa.Table:
        """What is wrong with each rule, the disabled ones included, for events of these columns.

        One row a rule that cannot run, with the columns `rule`, `level`, `code` and `message`.
        """
        roles, chosen = read_options(options)
        known, results = known_columns(schema, roles), RuleResults(pa.int64(), self._places)
        for rule in self.rules:
            try:
                compiled(source_of(rule), known, options_of(chosen, rule).watched())
            except AuguryError as error:
                results.failed(rule, error)
        return results.result().diagnostics

    def match(self, events: Events, **options: Unpack[MatchOptions]) -> RuleMatches:
        """The matches of all enabled rules in finite events, which are read and sorted once.

        A rule that is broken or exceeds a budget is reported in `diagnostics`, and the others go on. Budgets hold for
        each rule, memory and time for all of them together. `parameters` are those that a rule does not give.
        """
        roles, chosen = read_options(options)
        chosen = chosen.watched()
        with within(chosen.watching):
            known = known_events(events, roles, chosen.threads, for_one_query=False)
            if known is None:
                return RuleResults(pa.int64(), {}).result()
            results = RuleResults(known.arrow.field(known.schema.time).type, self._places)
            groups, alone = grouped(self.enabled, known.schema, chosen)
            shared = SharedEvents(known.scan.ordered, known.schema) if groups and known.scan is not None else None
            for group in groups:
                assert shared is not None
                alone += _match_together(group, shared, known, chosen, results)
            measured = _measured_once(known)
            for rule in sorted(alone, key=lambda rule: results.order[rule.id]):
                _match_alone(rule, known, chosen, measured, results)
        return results.result()

    def stream(
        self, schema: Schema, *, lateness: Lateness | None = None, **options: Unpack[MatchOptions]
    ) -> RuleStream:
        """The rules over a stream that is fed batch by batch, in which rules may change."""
        roles, chosen = read_options(options)
        return RuleStream(self, known_columns(schema, roles), chosen, lateness)


class RuleStream:
    """Rules over a stream that is pushed in batches; made by `Rules.stream`.

    Rules of one shape that have a WITHIN are matched together, the others each by itself. A rule with an error, now or
    when events come, is switched off and reported once in `diagnostics`; the others go on.
    """

    def __init__(self, rules: Rules, columns: KnownColumns, options: Options, lateness: Lateness | None) -> None:
        self._columns, self._options, self._lateness = columns, options, lateness
        self._reader = stream_reader(columns.arrow, columns.schema)
        self._shapes = RuleShapes(columns.schema, options)
        self._running: dict[str, tuple[Rule, Matcher | StreamGroup | None]] = {}
        self._groups: dict[Shape, StreamGroup] = {}
        self._places: dict[str, int] = {}
        self._alone: dict[str, Matcher] = {}
        self._together = TogetherStream(columns, lateness)
        self._broken: dict[str, Rule] = {}
        self._costs: dict[str, RuleCost] = {}
        self._untold: list[tuple[str, str, str, str]] = []
        self._finished = False
        self.update(rules)

    @property
    def running(self) -> tuple[Rule, ...]:
        """The rules that take part now."""
        return tuple(rule for rule, _ in self._running.values())

    def update(self, rules: Rules) -> None:
        """Go on with these rules.

        A new rule sees the events from now on. One that is gone, or not enabled any more, is dropped with what it
        remembers. One whose query or parameters have changed begins anew; other labels or columns change nothing else.
        """
        wanted = {rule.id: rule for rule in rules.enabled}
        results, running, kept = self._results(), self._running, 0
        self._running, new = {}, []
        for id, rule in wanted.items():
            before = running.get(id)
            if before is not None and before[0].finds_as(rule):
                self._running[id] = rule, before[1]
                kept += 1
            elif not (id in self._broken and self._broken[id].finds_as(rule)):
                # Its place among the rules, taken by what will match it.
                new.append(rule)
                self._running[id] = rule, None
        if kept < len(running):
            for id in [id for id, (rule, _) in running.items() if id not in wanted or not rule.finds_as(wanted[id])]:
                self._drop(id, running[id][1])
        for rule in new:
            self._broken.pop(rule.id, None)
            self._begin(rule, results)
        self._broken = {id: rule for id, rule in self._broken.items() if id in wanted}
        self._untold += results.diagnostics
        self._places = {id: k for k, id in enumerate(self._running)}
        self._forget_empty_groups()

    def put(self, rule: Rule) -> None:
        """Add one rule, or replace the one of its id, without looking at the others; one not enabled is dropped.

        What `update` says of a rule holds here too. Beside thousands of others this takes a fraction of its time.
        """
        running, broken = self._running.get(rule.id), self._broken.get(rule.id)
        if rule.enabled and running is not None and running[0].finds_as(rule):
            self._running[rule.id] = rule, running[1]
            return
        if rule.enabled and broken is not None and broken.finds_as(rule):
            return
        self._broken.pop(rule.id, None)
        if running is not None:
            self._drop(rule.id, running[1])
            del self._running[rule.id]
        if rule.enabled:
            results = self._results()
            self._places.setdefault(rule.id, len(self._places))
            self._running[rule.id] = rule, None
            self._begin(rule, results)
            self._untold += results.diagnostics
        self._forget_empty_groups()

    def _forget_empty_groups(self) -> None:
        self._groups = {shape: group for shape, group in self._groups.items() if len(group)}
        self._together.groups = [group for group in self._together.groups if len(group)]

    def _drop(self, id: str, by: Matcher | StreamGroup | None) -> None:
        """Let go of a rule and of what it remembers."""
        self._costs.pop(id, None)
        if isinstance(by, StreamGroup):
            by.remove(id)
        else:
            self._alone.pop(id, None)

    def feed(self, events: Events) -> RuleMatches:
        """Push events, any input that `match` takes, and get the matches of all rules that have become certain."""
        self._refuse_finished()
        # An error in the events is nobody's fault among the rules, and leaves them as they were.
        arrived = self._together.arrive(self._reader.read(events))
        results = self._told_results()
        self._each(lambda matcher: matcher.feed(arrived.table), len(arrived), results)
        self._note_groups(self._together.feed(arrived), results)
        return results.result()

    def finish(self) -> RuleMatches:
        """End the stream and get the remaining matches; nothing can be fed afterwards."""
        self._refuse_finished()
        self._finished = True
        results = self._told_results()
        self._each(lambda matcher: matcher.finish(), 0, results)
        self._note_groups(self._together.finish(), results)
        return results.result()

    def _refuse_finished(self) -> None:
        if self._finished:
            raise HostError("A699", "this stream of rules has been finished", "call `Rules.stream` for another one")

    def _results(self) -> RuleResults:
        return RuleResults(self._columns.arrow.field(self._columns.schema.time).type, self._places)

    def _told_results(self) -> RuleResults:
        """Results of a step, with what has not been told before."""
        results = self._results()
        results.costs, results.diagnostics, self._untold = self._costs, self._untold, []
        return results

    def _begin(self, rule: Rule, results: RuleResults) -> None:
        try:
            shaped = self._shapes.shape(rule)
            if shaped is not None and goes_together(shaped):
                group = self._groups.get(shaped.shaped.shape)
                if group is None or group.full:
                    group = self._groups[shaped.shaped.shape] = StreamGroup(shaped, self._options)
                    self._together.groups.append(group)
                group.add(shaped, self._together.next_row)
                self._running[rule.id] = rule, group
                self._costs[rule.id] = RuleCost(_shape(group.query))
                return
            matcher = matcher_of(source_of(rule), self._columns, options_of(self._options, rule), self._lateness)
        except AuguryError as error:
            self._switch_off(rule, error, results)
            return
        self._alone[rule.id] = matcher
        self._running[rule.id] = rule, matcher
        self._costs[rule.id] = RuleCost(_shape(program_of(matcher).last))

    def _each(self, step: Callable[[Matcher], Matches], events: int, results: RuleResults) -> None:
        """A step of the rules that are matched alone."""
        for id, matcher in list(self._alone.items()):
            rule, began = self._running[id][0], perf_counter()
            try:
                _note(rule, step(matcher), perf_counter() - began, events, results)
            except AuguryError as error:
                self._switch_off(rule, error, results)
                del self._alone[id]

    def _note_groups(self, steps: Iterator[GroupStep], results: RuleResults) -> None:
        """Note what rules that are matched together have found in a step."""
        for taken in steps:
            step, query = taken.step, taken.group.query
            rules = [self._running[live.rule.rule.id][0] for live in step.rules]
            if rules:
                matches = Matches(step.found, taken.log, query.bound, self._options.callables, compiled=query)
                results.found(rules, step.rule, matches.to_arrow(), taken.seconds, step.touched)
            for live, error in step.failed:
                self._switch_off(self._running[live.rule.rule.id][0], error, results)

    def _switch_off(self, rule: Rule, error: AuguryError, results: RuleResults) -> None:
        results.failed(rule, error)
        self._broken[rule.id] = rule
        del self._running[rule.id]


def _match_together(
    rules: Sequence[GroupedRule], shared: SharedEvents, known: KnownColumns, options: Options, results: RuleResults
) -> list[Rule]:
    """Match rules of one shape in one stream; the rules that have to run alone, since an error is theirs."""
    assert known.scan is not None
    group, types = FiniteGroup(rules, shared, options, _prepared(options)), known.scan.types()
    began = perf_counter()
    for part in group.matches():
        own = [one.rule for one in part.rules]
        matches = Matches(part.found, known.scan.log, part.query.bound, options.callables, compiled=part.query)
        table = matches.to_arrow()
        results.found(own, part.rule, table, perf_counter() - began, part.touched, _shape(part.query))
        for one, tied in zip(part.rules, part.tied.tolist(), strict=True):
            results.warn(one.rule, part.warnings(one, tied, types))
        began = perf_counter()
    return [rule.rule for rule in group.failed]


def _prepared(options: Options) -> Prepare:
    """Kernels of many events are compiled at once."""

    def prepared(query: CompiledQuery, events: int) -> Options:
        return replace(options, jit=True) if options.jit is None and pays(query, events, options) else options

    return prepared


def _match_alone(
    rule: Rule, known: KnownColumns, options: Options, measured: Measure | None, results: RuleResults
) -> None:
    """Match a rule by itself."""
    assert known.scan is not None
    began = perf_counter()
    try:
        own = options_of(options, rule)
        program = compile_program(source_of(rule), known.schema, own, measure=measured)
        results.costs[rule.id] = RuleCost(_shape(program.last))
        _note(rule, matches_in(program, known, own)[-1], perf_counter() - began, known.scan.rows, results)
    except AuguryError as error:
        results.failed(rule, error)


def _note(rule: Rule, matches: Matches, seconds: float, events: int, results: RuleResults) -> None:
    """Note what one rule has found by itself."""
    table = matches.to_arrow()
    results.found([rule], np.zeros(table.num_rows, dtype=np.int64), table, seconds, np.array([events]))
    results.warn(rule, matches.warnings)


def _shape(query: CompiledQuery) -> str:
    kernel = query.kernel
    return kernel.source.fingerprint[:SHAPE_DIGITS] if kernel is not None else ""


def _measured_once(known: KnownColumns) -> Measure | None:
    """What measures the rates of events for the first rule of each text, so that all of them have the same plan.

    How many tuples pass a condition depends on its values, which differ from rule to rule.
    """
    measure, found = known.measure(), dict[tuple[object, ...], StreamStatistics]()
    if measure is None:
        return None

    def measured(query: BoundQuery) -> StreamStatistics:
        text = query.source.text, query.variables, query.into
        if text not in found:
            found[text] = replace(measure(query), selectivities={}, bounded={})
        return found[text]

    return measured
