"""The rules of a stream: added, changed and removed while events are matched, without stopping one another."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from time import perf_counter

import numpy as np
import pyarrow as pa

from augury.budget import within
from augury.compiler import CompiledQuery
from augury.engine.arrivals import Arrivals, EventLog
from augury.engine.cut.by_key import shared_key
from augury.engine.results.matches import Matches
from augury.engine.rules.kept import Portion, RuleEvents, StartPosition
from augury.engine.rules.results import RuleCost, RuleMatches, RuleResults, cost_table
from augury.engine.rules.rule_text import GroupedRule
from augury.engine.rules.shapes import Shape
from augury.engine.rules.standalone import CompiledRule, StandaloneRule
from augury.engine.rules.stream import FailedRules, LiveRule, Step, StreamGroup, StreamPlans, goes_together
from augury.engine.rules.table import Rule
from augury.engine.sources.schemas import KnownColumns
from augury.engine.warnings import types_seen
from augury.errors import AuguryError, HostError
from augury.options import Options
from augury.runtime.state import FOREVER

SHAPE_DIGITS = 12  # digits of a kernel's fingerprint in the name of a shape


@dataclass(frozen=True, slots=True, eq=False)
class RunningRule:
    """A rule that is matched by `by`, from the event `since` on; `grouped` is set if it is matched with others."""

    rule: Rule
    by: StreamGroup | StandaloneRule
    since: StartPosition
    grouped: GroupedRule | None = None

    @property
    def meaning(self) -> Hashable:
        """A key that is equal for rules with the same matches: the rule without its RETURN."""
        if self.grouped is None:
            assert isinstance(self.by, StandaloneRule)
            return self.by.compiled.meaning
        return _meaning(self.grouped)


def _meaning(rule: GroupedRule) -> Hashable:
    shaped = rule.shaped
    return replace(shaped.shape, query=replace(shaped.shape.query, returns=())), shaped.values, shaped.types


@dataclass(frozen=True, slots=True)
class KeyShare:
    """Share `number` of `of` shares of the values of a key: rules here see only the events of this share."""

    key: tuple[str, ...]
    number: int
    of: int

    def require(self, shared: Sequence[str]) -> None:
        """Raise unless the columns `shared`, on which events of a match agree, include the key."""
        missing = [name for name in self.key if name not in shared]
        if missing:
            raise HostError(
                "A684",
                f"the stream is cut by the key {_listed(self.key)}, and events of a match need not agree on "
                f"{_listed(missing)}",
                f"add [{missing[0]}] to WHERE, or match the rule in a stream without key=",
            )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


Resume = Callable[[StandaloneRule], bool]
"""Restores the state of a rule; False if the state does not fit the rule any more."""


class LiveRules:
    """Rules over the events of a stream, which are given to all of them.

    Rules of one shape that have a WITHIN are matched together, the others each by itself. A rule with an error is
    switched off, and reported once in the `diagnostics` of the next step. A rule sees the events that come after it;
    with `backfill` also those of the last `keep` ticks, and the matches there are reported with the next step.

    With a `share`, only events of that share of a key come in, and rules without this key are refused. An error that a
    rule has on any events is reported by one of the shares. `plans` are those of other rules over events of
    these columns, with the same options.
    """

    def __init__(
        self,
        columns: KnownColumns,
        options: Options,
        lateness: int | None,
        keep: int = 0,
        share: KeyShare | None = None,
        plans: StreamPlans | None = None,
    ) -> None:
        self.share = share
        self.events = RuleEvents(columns, lateness, keep)
        self.groups: list[StreamGroup] = []
        self.edition = 0
        """Counts the changes: goes up whenever a rule is added, changed or removed."""
        self._columns, self._options = columns, options
        self._plans = StreamPlans(columns.schema, options) if plans is None else plans
        self._running: dict[str, RunningRule] = {}
        self._alone: dict[str, StandaloneRule] = {}
        self._broken: dict[str, Rule] = {}
        self._newest: dict[Shape, StreamGroup] = {}
        self._places: dict[str, int] = {}
        self._next_place = 0
        self._costs: dict[str, RuleCost] = {}
        self._types: frozenset[str] = frozenset()
        self._results = self._no_results()

    @property
    def running(self) -> tuple[RunningRule, ...]:
        """The rules that are matched now."""
        return tuple(self._running.values())

    @property
    def broken(self) -> tuple[Rule, ...]:
        """The rules that are switched off, until their query or parameters change."""
        return tuple(self._broken.values())

    @property
    def reports_late(self) -> bool:
        """Whether a match may become certain by the watermark alone."""
        together = any(group.reports_late for group in self.groups) and len(self.events.log) > 0
        return together or any(rule.reports_late for rule in self._alone.values())

    # -- rules that change ---------------------------------------------------------------------------------------------

    def change(self, rules: Iterable[Rule]) -> None:
        """Replace the rules by these; unchanged ones continue."""
        self.edition += 1
        wanted = {rule.id: rule for rule in rules if rule.enabled}
        before, self._running, new = self._running, {}, list[Rule]()
        for id, rule in wanted.items():
            known, broken = before.get(id), self._broken.get(id)
            if known is not None and known.rule.finds_as(rule):
                self._running[id] = replace(known, rule=rule)
            elif broken is None or not broken.finds_as(rule):
                new.append(rule)
        self._broken = {id: rule for id, rule in self._broken.items() if id in wanted}
        self._place({id: k for k, id in enumerate(wanted)})
        for id, gone in before.items():
            if id not in self._running:
                self._let_go(gone)
        self._begin_all(new, before)
        self._running = {id: self._running[id] for id in wanted if id in self._running}
        for id in self._costs.keys() - self._running.keys():
            del self._costs[id]
        self._forget_empty_groups()

    def put(self, rule: Rule) -> None:
        """Add one rule, or replace the one of its id, without looking at the others; one not enabled is dropped."""
        self.edition += 1
        known, broken = self._running.get(rule.id), self._broken.get(rule.id)
        if rule.enabled and known is not None and known.rule.finds_as(rule):
            self._running[rule.id] = replace(known, rule=rule)
            return
        if rule.enabled and broken is not None and broken.finds_as(rule):
            return
        self._broken.pop(rule.id, None)
        if known is not None:
            self._let_go(self._running.pop(rule.id))
        if not rule.enabled:
            self._places.pop(rule.id, None)
        else:
            self._places.setdefault(rule.id, self._next_place)
            self._next_place += 1
            self._begin_all([rule], {} if known is None else {rule.id: known})
        if rule.id not in self._running:
            self._costs.pop(rule.id, None)
        self._forget_empty_groups()

    def resume(
        self, running: Sequence[tuple[Rule, StartPosition]], broken: Iterable[Rule], remembered: Mapping[str, Resume]
    ) -> None:
        """Continue saved rules, each from the first event that it sees, once the events have been restored.

        `remembered` restores the rules whose state does not follow from the events that are kept.
        """
        self._place({rule.id: k for k, (rule, _) in enumerate(running)})
        self._broken = {rule.id: rule for rule in broken}
        groups = dict[StreamGroup, list[LiveRule]]()
        for rule, since in running:
            try:
                self._resume(rule, since, remembered.get(rule.id), groups)
            except AuguryError as error:
                # A rule that is running already failed on the events kept here; else it fails in every share.
                self._switch_off(rule, error, everywhere=rule.id not in self._running)
        self._catch_up(groups)

    def _place(self, places: dict[str, int]) -> None:
        """Set the order of rules, which is also that of their matches."""
        self._places = self._results.order = places
        self._next_place = len(places)

    def _resume(
        self, rule: Rule, since: StartPosition, remembered: Resume | None, groups: dict[StreamGroup, list[LiveRule]]
    ) -> None:
        begun = self._begun(rule, since)
        self._running[rule.id] = begun
        self._costs[rule.id] = RuleCost(_shape(begun))
        if isinstance(begun.by, StreamGroup):
            groups.setdefault(begun.by, [])
        elif remembered is None:
            begun.by.replay(self.events.past.events, self.events.watermark)
        elif not remembered(begun.by):
            self.edition += 1
            self._running[rule.id] = self._moved(begun, self.events.now)
            self._results.began_anew(rule)

    def _begin_all(self, new: Iterable[Rule], before: Mapping[str, RunningRule]) -> None:
        """Start rules that are new or have changed; `before` are their earlier versions."""
        groups = dict[StreamGroup, list[LiveRule]]()
        for rule in new:
            self._broken.pop(rule.id, None)
            try:
                self._begin(rule, before.get(rule.id), groups)
            except AuguryError as error:
                # A rule that is running already failed on the events kept here; else it fails in every share.
                self._switch_off(rule, error, everywhere=rule.id not in self._running)
        self._catch_up(groups)

    def _begin(self, rule: Rule, before: RunningRule | None, groups: dict[StreamGroup, list[LiveRule]]) -> None:
        """Start a rule; adds its group to `groups`, which have to catch up, with the rules that report past matches."""
        begun = self._begun(rule, self.events.backfill if rule.backfill else self.events.now)
        same = before is not None and before.meaning == begun.meaning
        if same:
            assert before is not None
            begun = self._moved(begun, before.since)
        self._running[rule.id] = begun
        if not same:
            self._costs.pop(rule.id, None)
        self._costs.setdefault(rule.id, RuleCost()).shape = _shape(begun)
        match begun.by:
            case StreamGroup() as group if same:
                groups.setdefault(group, [])
            case StreamGroup() as group if rule.backfill:
                groups.setdefault(group, []).append(group.rule(rule.id))
            case StandaloneRule() as alone if same:
                assert before is not None
                self._take_over(rule, alone, before)
            case StandaloneRule() as alone if rule.backfill:
                self._alone_step(rule, lambda: alone.backfill(self.events.past.events, self.events.watermark))

    def _begun(self, rule: Rule, since: StartPosition) -> RunningRule:
        """A running rule before its first event."""
        shaped = self._plans.shapes.shape(rule)
        if shaped is not None and goes_together(shaped):
            group = self._newest.get(shaped.shaped.shape)
            if group is None or group.full:
                group = StreamGroup(shaped, self._plans)
                if self.share is not None:
                    self.share.require(group.template.key)
                self._newest[shaped.shaped.shape] = group
                self.groups.append(group)
            group.add(shaped, since)
            return RunningRule(rule, group, since, shaped)
        compiled = CompiledRule.of(rule, self._columns, self._options)
        if self.share is not None:
            self.share.require(shared_key(compiled.program))
        alone = self._alone[rule.id] = StandaloneRule(compiled, since)
        return RunningRule(rule, alone, since)

    def _moved(self, begun: RunningRule, since: StartPosition) -> RunningRule:
        """The same rule with another first event."""
        match begun.by:
            case StreamGroup() as group:
                group.remove(begun.rule.id)
                assert begun.grouped is not None
                group.add(begun.grouped, since)
            case StandaloneRule() as alone:
                alone.since = since
        return replace(begun, since=since)

    def _take_over(self, rule: Rule, alone: StandaloneRule, before: RunningRule) -> None:
        """Continue with the state the rule had before its RETURN changed."""
        if alone.compiled.replayable:
            alone.replay(self.events.past.events, self.events.watermark)
        elif not (isinstance(before.by, StandaloneRule) and alone.continues(before.by)):
            self._running[rule.id] = self._moved(self._running[rule.id], self.events.now)

    def _catch_up(self, groups: Mapping[StreamGroup, Sequence[LiveRule]]) -> None:
        """Feed groups the events that are kept; the rules listed report their matches in them."""
        past, watermark = self.events.past, self.events.watermark
        for group, reporting in groups.items():
            with within(group.options.watching):
                if reporting:
                    began = perf_counter()
                    step = group.backfill(reporting, past.shared, watermark)
                    self._note_group(group, step, self.events.log, perf_counter() - began)
                failed = group.rebuild(past.shared, watermark)
            self._switch_off_all(failed)

    def _let_go(self, gone: RunningRule) -> None:
        """Remove a rule and its state from its group, or from the standalone rules."""
        match gone.by:
            case StreamGroup() as group:
                group.remove(gone.rule.id)
            case StandaloneRule():
                self._alone.pop(gone.rule.id, None)

    def _forget_empty_groups(self) -> None:
        self._newest = {shape: group for shape, group in self._newest.items() if len(group)}
        self.groups = [group for group in self.groups if len(group)]

    def _switch_off(self, rule: Rule, error: AuguryError, *, everywhere: bool = False) -> None:
        """Switch a rule off, `everywhere` if it is wrong whatever the events are."""
        self.edition += 1
        share = self.share
        if share is None:
            self._results.failed(rule, error)
        elif not everywhere:
            note = f"\n  = note: it is switched off for share {share.number + 1} of {share.of} of the keys"
            self._results.failed(rule, error, note)
        elif rule.share(share.of) == share.number:
            self._results.failed(rule, error)
        self._broken[rule.id] = rule
        self._alone.pop(rule.id, None)
        self._running.pop(rule.id, None)

    def _switch_off_all(self, failed: FailedRules) -> None:
        for live, error in failed:
            self._switch_off(self._running[live.rule.rule.id].rule, error)

    # -- events that come ----------------------------------------------------------------------------------------------

    def feed(self, arrived: Arrivals) -> RuleMatches:
        """Add events, and return what the rules find."""
        return self._step(self.events.feed(arrived))

    def advance(self, arrived: Arrivals | None, watermark: int) -> RuleMatches:
        """Add events, none of them late, move on to a watermark, and return what the rules find."""
        return self._step(self.events.advance(arrived, watermark))

    def finish(self) -> RuleMatches:
        """Consume all held events, and return what the rules find at the end of the stream."""
        return self._step(self.events.finish())

    def _step(self, portion: Portion) -> RuleMatches:
        ended = portion.watermark == FOREVER
        if self._alone and len(portion.ready):
            schema = self._columns.schema
            self._types = types_seen(self._types, portion.ready.batch(schema), schema)
        for id, alone in list(self._alone.items()):
            self._alone_step(
                self._running[id].rule,
                lambda alone=alone: alone.step(portion, types=self._types if ended else None),  # type: ignore[misc]
                len(portion.ready),
            )
        for group in self.groups:
            began = perf_counter()
            with within(group.options.watching):
                step = group.step(portion)
            self._note_group(group, step, portion.log, perf_counter() - began)
        self._forget_empty_groups()
        self.events.let_go(self._reach)
        found, self._results = self._results.result(), self._no_results()
        return found

    @property
    def _reach(self) -> int:
        together = max((group.reach for group in self.groups), default=0)
        return max(together, max((rule.compiled.reach for rule in self._alone.values()), default=0))

    def _no_results(self) -> RuleResults:
        return RuleResults(self._time, self._places, self._costs, self._partial_matches)

    @property
    def _time(self) -> pa.DataType:
        """The type of the time of events."""
        return self._columns.arrow.field(self._columns.schema.time).type

    def _partial_matches(self) -> dict[str, int]:
        """The number of open partial matches by rule."""
        found = {id: rule.partial_matches for id, rule in self._alone.items()}
        for group in self.groups:
            found |= group.partial_matches
        return found

    def take_costs(self) -> pa.Table:
        """The costs since the last call, of rules that were given events or found matches."""
        busy = {id: cost.taken() for id, cost in self._costs.items() if cost.events or cost.matches}
        return cost_table(busy, self._partial_matches() if busy else {}, self._time)

    def _alone_step(self, rule: Rule, step: Callable[[], Matches], events: int = 0) -> None:
        """Run a step of a standalone rule and note its matches, or switch the rule off if it fails."""
        began = perf_counter()
        try:
            matches = step()
            table = matches.to_arrow()
        except AuguryError as error:
            self._switch_off(rule, error)
            return
        one = np.zeros(table.num_rows, dtype=np.int64)
        self._results.found([rule], one, table, perf_counter() - began, np.array([events]))
        self._results.warn(rule, matches.warnings)

    def _note_group(self, group: StreamGroup, step: Step, log: EventLog, seconds: float) -> None:
        """Note the matches of a step of a group."""
        rules = [self._running[live.rule.rule.id].rule for live in step.rules]
        if rules:
            try:
                table = self._table(group.query, step, log)
            except AuguryError:
                self._note_each(group, step, log, seconds / len(rules))
            else:
                self._results.found(rules, step.rule, table, seconds, step.touched)
        self._switch_off_all(step.failed)

    def _note_each(self, group: StreamGroup, step: Step, log: EventLog, seconds: float) -> None:
        """Note the matches of each rule by itself, and switch off rules whose matches cannot be converted."""
        for k, live in enumerate(step.rules):
            rule, own = self._running[live.rule.rule.id].rule, np.flatnonzero(step.rule == k)
            one = replace(step, rules=(live,), found=step.found.take(own), rule=np.zeros(len(own), dtype=np.int64))
            try:
                table = self._table(group.query, one, log)
            except AuguryError as error:
                group.remove(rule.id)
                self._switch_off(rule, error)
            else:
                self._results.found([rule], one.rule, table, seconds, step.touched[k : k + 1])

    def _table(self, query: CompiledQuery, step: Step, log: EventLog) -> pa.Table:
        return Matches(step.found, log, query.bound, self._options.callables, compiled=query).to_arrow()


def _shape(running: RunningRule) -> str:
    """The name of the compiled kernel of a rule."""
    match running.by:
        case StreamGroup() as group:
            return shape_name(group.query)
        case StandaloneRule() as alone:
            return shape_name(alone.compiled.program.last)


def shape_name(query: CompiledQuery) -> str:
    """The name of the compiled kernel of a query, which rules of one shape share."""
    kernel = query.kernel
    return kernel.source.fingerprint[:SHAPE_DIGITS] if kernel is not None else ""
