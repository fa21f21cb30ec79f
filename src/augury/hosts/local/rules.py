"""Tables of rules, matched over finite events or over a stream, in which rules may change."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Unpack

import numpy as np
import pyarrow as pa

from augury import arguments
from augury.budget import within
from augury.compiler import CompiledProgram, Measure, compile_program
from augury.engine.compiling import compiled_if_worth
from augury.engine.results.matches import Matches
from augury.engine.rules.group import SharedEvents
from augury.engine.rules.grouping import grouped, options_of, source_of
from augury.engine.rules.live import LiveRules, shape_name
from augury.engine.rules.matching import FiniteGroup
from augury.engine.rules.planned import measured_once
from augury.engine.rules.results import RuleCost, RuleMatches, RuleResults
from augury.engine.rules.rule_text import GroupedRule
from augury.engine.rules.table import Rule, RuleSource, not_a_rule, read_rules
from augury.engine.rules.versions import publish
from augury.engine.sources.events import Events
from augury.engine.sources.schemas import KnownColumns, Schema, known_columns, known_events
from augury.engine.sources.stream_reader import stream_reader
from augury.engine.times import lateness_ticks
from augury.errors import AuguryError, HostError
from augury.explain.rules import explain_rules
from augury.hosts.local.finite import matches_in
from augury.hosts.local.query import compiled
from augury.options import Lateness, MatchOptions, Options, read_options


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

    def __post_init__(self) -> None:
        given: object = self.rules
        if not isinstance(given, tuple) or not all(isinstance(rule, Rule) for rule in given):
            raise _not_rules("tuple of `Rule`", given)
        # An id that occurs twice is an error.
        read_rules(given)

    @classmethod
    def read(cls, source: RuleSource) -> Rules:
        """The rules of a frame, of dicts, or of a path to Parquet, JSON lines, TOML or a folder of TOML files.

        Their columns are `id`, `query`, and if wanted `parameters` (a struct, a map or JSON), `enabled`, `labels` and
        `backfill`; others are kept as they are. In TOML a file is a rule, named like the file, or a list of `[[rule]]`.
        """
        return cls(read_rules(source))

    def __len__(self) -> int:
        return len(self.rules)

    def __iter__(self) -> Iterator[Rule]:
        return iter(self.rules)

    @property
    def enabled(self) -> tuple[Rule, ...]:
        """The rules that are enabled."""
        return tuple(rule for rule in self.rules if rule.enabled)

    @property
    def _places(self) -> dict[str, int]:
        return {rule.id: k for k, rule in enumerate(self.rules)}

    def check(self, schema: Schema, **options: Unpack[MatchOptions]) -> pa.Table:
        """The errors of all rules, disabled ones included, for events of these columns.

        One row per rule that cannot run, with the columns `rule`, `level`, `code` and `message`.
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
            measure = known.measure()
            measured = None if measure is None else measured_once(measure)
            for rule in sorted(alone, key=lambda rule: results.order[rule.id]):
                _match_alone(rule, known, chosen, measured, results)
        return results.result()

    def explain(self, schema: Schema, **options: Unpack[MatchOptions]) -> str:
        """Describe which enabled rules are matched together, their shared shapes, and why others stand alone."""
        roles, chosen = read_options(options)
        chosen = chosen.watched()
        known = known_columns(schema, roles)
        groups, rest = grouped(self.enabled, known.schema, chosen)
        alone, broken = list[tuple[Rule, CompiledProgram]](), list[tuple[Rule, AuguryError]]()
        for rule in rest:
            try:
                alone.append((rule, compiled(source_of(rule), known, options_of(chosen, rule))))
            except AuguryError as error:
                broken.append((rule, error))
        return explain_rules(groups, alone, broken, chosen)

    def publish(self, versions: str | os.PathLike[str]) -> int:
        """Publish the rules as the next version in a folder that Spark streams read, and return its number.

        Rules equal to the last version are not published again. See `augury.spark.match_rules` for what it does with
        a version.
        """
        return publish(arguments.path("versions", versions), self.rules)

    def stream(
        self,
        schema: Schema,
        *,
        lateness: Lateness | None = None,
        keep: Lateness | None = None,
        **options: Unpack[MatchOptions],
    ) -> RuleStream:
        """The rules over a stream that is fed batch by batch; rules may change meanwhile.

        Events are held back for `lateness`, and kept for `keep`, so that later rules with `backfill` see them.
        """
        roles, chosen = read_options(options)
        known = known_columns(schema, roles)
        kept = lateness_ticks(keep, known.schema, "keep") or 0
        return RuleStream(self, LiveRules(known, chosen, lateness_ticks(lateness, known.schema), kept))


class RuleStream:
    """Rules over a stream that is pushed in batches; made by `Rules.stream`.

    Rules of one shape that have a WITHIN are matched together, the others each by itself. A rule with an error, now or
    when events come, is switched off and reported once in `diagnostics`; the others go on.
    """

    def __init__(self, rules: Rules, live: LiveRules) -> None:
        columns = live.events.columns
        self._reader = stream_reader(columns.arrow, columns.schema)
        self._live, self._finished = live, False
        self.update(rules)

    @property
    def running(self) -> tuple[Rule, ...]:
        """The rules that are matched now."""
        return tuple(running.rule for running in self._live.running)

    def update(self, rules: Rules) -> None:
        """Replace the rules by these.

        A new rule sees the events from now on; with `backfill` also those of the last `keep`, and its matches there
        come with the next batch. A rule that is missing, or not enabled any more, is dropped with its state. One whose
        query or parameters have changed starts again, unless only RETURN has changed; changes of labels or other
        columns do not affect its state.
        """
        if not isinstance(rules, Rules):
            raise _not_rules("table `Rules`", rules)
        self._live.change(rules.enabled)

    def put(self, rule: Rule) -> None:
        """Add one rule, or replace the one with its id; a rule that is not enabled is dropped.

        The same rules hold as for `update`, of which this takes a fraction of the time among thousands of rules.
        """
        if not isinstance(rule, Rule):
            raise not_a_rule("the argument of `put`", f"it is {arguments.shown(rule)}")
        self._live.put(rule)

    def feed(self, events: Events) -> RuleMatches:
        """Push events, any input that `match` takes, and get the matches of all rules that have become certain."""
        self._refuse_finished()
        # An error in the events is raised here, and leaves the rules as they were.
        return self._live.feed(self._live.events.arrive(self._reader.read(events)))

    def finish(self) -> RuleMatches:
        """End the stream and get the remaining matches; nothing can be fed afterwards."""
        self._refuse_finished()
        self._finished = True
        return self._live.finish()

    def _refuse_finished(self) -> None:
        if self._finished:
            raise HostError("A699", "this stream of rules has been finished", "call `Rules.stream` for another one")


def _not_rules(wanted: str, given: object) -> HostError:
    return HostError(
        "A695",
        f"rules are a {wanted} here, not {arguments.shown(given)}",
        "read a frame, dicts or a path with `augury.Rules.read`",
    )


def _match_together(
    rules: Sequence[GroupedRule], shared: SharedEvents, known: KnownColumns, options: Options, results: RuleResults
) -> list[Rule]:
    """Match rules of one shape together; returns the rules that failed, which are to be run alone."""
    assert known.scan is not None
    group, types = FiniteGroup(rules, shared, options, compiled_if_worth), known.scan.types()
    began = perf_counter()
    for part in group.matches():
        own = [one.rule for one in part.rules]
        # The events are in memory, all columns of them: nothing is read from the source again.
        log = known.scan.ordered
        matches = Matches(part.found, log, part.query.bound, options.callables, compiled=part.query)
        table = matches.to_arrow()
        results.found(own, part.rule, table, perf_counter() - began, part.touched, shape_name(part.query))
        for one, tied in zip(part.rules, part.tied.tolist(), strict=True):
            results.warn(one.rule, part.warnings(one, tied, types))
        began = perf_counter()
    return [rule.rule for rule in group.failed]


def _match_alone(
    rule: Rule, known: KnownColumns, options: Options, measured: Measure | None, results: RuleResults
) -> None:
    """Match a rule by itself."""
    assert known.scan is not None
    began = perf_counter()
    try:
        own = options_of(options, rule)
        program = compile_program(source_of(rule), known.schema, own, measure=measured)
        results.costs[rule.id] = RuleCost(shape_name(program.last))
        _note(rule, matches_in(program, known, own)[-1], perf_counter() - began, known.scan.rows, results)
    except AuguryError as error:
        results.failed(rule, error)


def _note(rule: Rule, matches: Matches, seconds: float, events: int, results: RuleResults) -> None:
    """Note the matches and warnings of a rule that was matched by itself."""
    table = matches.to_arrow()
    results.found([rule], np.zeros(table.num_rows, dtype=np.int64), table, seconds, np.array([events]))
    results.warn(rule, matches.warnings)
