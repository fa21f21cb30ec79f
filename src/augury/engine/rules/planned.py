"""Rules over a finite stream, planned once: what its tasks are given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from augury.compiler import CompiledProgram, CompiledQuery, Measure, compile_program
from augury.engine.arrivals import Arrivals
from augury.engine.host import FiniteStream, Totals
from augury.engine.job import measured_on, sampled_events
from augury.engine.rules.candidates import OpenKeys, RuleIndex
from augury.engine.rules.group import Group, SharedEvents, compile_group, stream_of
from augury.engine.rules.grouping import grouped, options_of, source_of
from augury.engine.rules.matching import MAX_PAIRS
from augury.engine.rules.results import diagnostic_of
from augury.engine.rules.rule_text import GroupedRule
from augury.engine.rules.table import Rule
from augury.engine.scan.needed import arrival_matters, component_filters, decisive_columns, needed_columns
from augury.engine.sources.schemas import event_schema
from augury.errors import AuguryError
from augury.ir.query import BoundQuery
from augury.options import Options, Roles
from augury.plan import StreamStatistics
from augury.runtime.batch import EventBatch
from augury.schema import EventSchema


@dataclass(frozen=True, slots=True, eq=False)
class PlannedGroup:
    """Rules of one shape, and the query that matches them together."""

    rules: tuple[GroupedRule, ...]
    query: CompiledQuery

    @property
    def program(self) -> CompiledProgram:
        return CompiledProgram((self.query,))

    @property
    def types(self) -> frozenset[str] | None:
        """The types of the events that can matter to one of the rules; None where any type can."""
        shape = self.rules[0].shaped.shape
        filters = component_filters((self.query.rewritten,))
        if not shape.typed or filters is None or not all(one.types for one in filters):
            return None
        return frozenset(name for rule in self.rules for name in rule.shaped.types)


@dataclass(frozen=True, slots=True, eq=False)
class PlannedRule:
    """A rule that is matched alone, with its queries."""

    rule: Rule
    program: CompiledProgram

    @property
    def types(self) -> frozenset[str] | None:
        """The types of the events that can matter to the rule; None where any type can."""
        filters = component_filters(self.program.rewritten)
        if filters is None or len(self.program.queries) > 1 or not all(one.types for one in filters):
            return None
        return frozenset(name for one in filters for name in one.types)


Planned: TypeAlias = PlannedGroup | PlannedRule


@dataclass(frozen=True, eq=False)
class PlannedRules:
    """All rules that can run, over events of which they need the columns `arrow`.

    `told` are the diagnostics of the others: rule, level, code and message.
    """

    groups: tuple[PlannedGroup, ...]
    alone: tuple[PlannedRule, ...]
    told: tuple[tuple[str, str, str, str], ...]
    arrow: pa.Schema
    schema: EventSchema

    @property
    def all(self) -> tuple[Planned, ...]:
        """The groups, then the rules that are matched alone."""
        return (*self.groups, *self.alone)

    @cached_property
    def types(self) -> frozenset[str] | None:
        """The types of the events that can matter to any rule; None where any type can."""
        each = [one.types for one in self.all]
        known = [types for types in each if types is not None]
        return frozenset[str]().union(*known) if len(known) == len(each) else None

    @property
    def arrival_matters(self) -> bool:
        """Whether the order in which events of the same time arrive can change the matches."""
        return any(arrival_matters(one.program) for one in self.all)


def plan_rules(
    rules: Sequence[Rule], events: pa.Schema, roles: Roles, options: Options, stream: FiniteStream
) -> PlannedRules:
    """Plan the rules for events of these columns; the planner measures a sample of the `stream`.

    Rules of one shape have one plan, which does not depend on how the stream is cut.
    """
    schema = event_schema(events, roles)
    groups, rest = grouped(rules, schema, options)
    sample = StreamSample(stream, events, schema) if options.statistics is None else None
    together, alone, told = list[PlannedGroup](), list[PlannedRule](), list[tuple[str, str, str, str]]()
    for group in groups:
        try:
            together.append(_planned_group(group, options, sample))
        except AuguryError:
            # Each rule is compiled alone to find out which one is wrong.
            rest += [one.rule for one in group]
    measure = None if sample is None else measured_once(sample.measure)
    for rule in rest:
        try:
            program = compile_program(source_of(rule), schema, options_of(options, rule), measure=measure)
        except AuguryError as error:
            told.append(diagnostic_of(rule, error))
        else:
            alone.append(PlannedRule(_without_more(rule), program))
    programs = [*(group.program for group in together), *(one.program for one in alone)]
    names = frozenset[str]().union(*map(_needed, programs))
    arrow = pa.schema([field for field in events if field.name in names])
    return PlannedRules(tuple(together), tuple(alone), tuple(told), arrow, schema)


class StreamSample:
    """A sample of a finite stream, in the forms in which rules are planned for it, and the size of the stream."""

    def __init__(self, stream: FiniteStream, arrow: pa.Schema, schema: EventSchema) -> None:
        self.stream, self.arrow, self.schema = stream, arrow, schema
        self.measure: Measure = measured_on(stream, arrow, schema)

    @cached_property
    def totals(self) -> Totals | None:
        return self.stream.totals(self.schema)

    @cached_property
    def events(self) -> Arrivals:
        # Totals come first: they say how far apart the events of the sample should be.
        _ = self.totals
        return sampled_events(self.stream, self.arrow, self.schema)

    @cached_property
    def shared(self) -> SharedEvents:
        """The events in the form in which groups read them."""
        return SharedEvents(self.events, self.schema)

    def stream_of(self, group: Group) -> EventBatch:
        """The stream of a group, or of so many of its rules that it is not too long."""
        count = len(group.rules)
        while True:
            part = group.part(0, count)
            values = part.values()
            index = RuleIndex(part.tests, values, self.shared.columns)
            limit = MAX_PAIRS if count > 1 else None
            pairs = index.candidates(self.shared.columns, OpenKeys.none(), limit)
            if pairs is not None:
                event, rule, _ = pairs
                return stream_of(part, values, np.arange(count), self.shared, event, rule)
            count //= 2

    def whole(self, sampled: int) -> Totals | None:
        """The size of a stream of which `sampled` events come from the sample."""
        if self.totals is None:
            return None
        return replace(self.totals, events=round(self.totals.events * sampled / max(1, len(self.events))))


def _planned_group(rules: Sequence[GroupedRule], options: Options, sample: StreamSample | None) -> PlannedGroup:
    first = rules[0]
    group = Group.of([one.shaped for one in rules])
    batch = sample.stream_of(group) if sample is not None and len(sample.events) else None
    whole = None if sample is None or batch is None else sample.whole(len(batch))
    query = compile_group(group, source_of(first.rule), first.written, options, batch, whole=whole)
    # A task needs neither the trees of the texts nor the places of values in them.
    bare = (
        replace(
            one,
            rule=_without_more(one.rule),
            written=first.written,
            shaped=replace(one.shaped, shape=group.shape, spans=()),
        )
        for one in rules
    )
    return PlannedGroup(tuple(bare), query)


def _without_more(rule: Rule) -> Rule:
    return replace(rule, more={})


def _needed(program: CompiledProgram) -> frozenset[str]:
    """The columns of the events that are read or shown."""
    if len(program.queries) > 1:
        return frozenset(program.queries[0].bound.schema.names)
    return needed_columns(program) | decisive_columns(program.rewritten)


def measured_once(measure: Measure) -> Measure:
    """Measures the rates of events for the first rule of each text only, so that all rules of a text have one plan.

    Selectivities are left out: they depend on the values in conditions, which differ from rule to rule.
    """
    found = dict[tuple[object, ...], StreamStatistics]()

    def measured(query: BoundQuery) -> StreamStatistics:
        text = query.source.text, query.variables, query.into
        if text not in found:
            found[text] = replace(measure(query), selectivities={}, bounded={})
        return found[text]

    return measured
