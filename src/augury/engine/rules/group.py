"""Rules of one shape as one stream: every event is repeated for each rule that it can concern.

Each copy has the number of the rule as its key and the values of the rule as columns, so that one kernel matches all
rules.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa

from augury.compiler import CompiledQuery, compile_bound
from augury.engine.arrivals import Arrivals
from augury.engine.host import Totals
from augury.engine.rules.candidates import RuleValues, Tests, tests_of
from augury.engine.rules.event_columns import EventColumns
from augury.engine.rules.shapes import Shape, ShapedRule, role
from augury.engine.scan.needed import decisive_columns
from augury.engine.sources.column_types import engine_table
from augury.engine.statistics.measure import measure
from augury.engine.statistics.sampling import scaled
from augury.ir import syntax
from augury.ir.query import BoundQuery
from augury.options import Options
from augury.plan import StreamStatistics
from augury.rewrite import rewrite
from augury.runtime.batch import EventBatch, Integers
from augury.runtime.matches import MatchSet
from augury.schema import STRING, EventSchema
from augury.source import Source

RULE_BITS = 21  # low bits of a row number in the stream of a group, which hold the number of the rule

MAX_RULES = 1 << RULE_BITS  # rules of one shape in one kernel

NO_ROLE = ""  # type of an event whose own type the rule does not name

MEASURED_EVENTS = 50_000  # events of a group's stream that the planner measures


@dataclass(slots=True, eq=False)
class SharedEvents:
    """Events in order, converted once for all groups.

    Strings are dictionary-encoded, so that copying an event copies numbers.
    """

    events: Arrivals
    schema: EventSchema
    columns: EventColumns = field(init=False)

    def __post_init__(self) -> None:
        table = engine_table(self.events.table, self.schema.type, coded=True)
        for k, column in enumerate(table.schema):
            if pa.types.is_string(column.type) or pa.types.is_large_string(column.type):
                table = table.set_column(k, column.name, table[k].combine_chunks().dictionary_encode())
        self.events = replace(self.events, table=table.combine_chunks())
        self.columns = EventColumns(self.events.table, self.events.time, self.schema.type)

    def slice(self, start: int, stop: int) -> SharedEvents:
        """The events from `start` up to `stop`."""
        if not start and stop == len(self.events):
            return self
        return SharedEvents(self.events.slice(start, stop), self.schema)

    @property
    def any_ties(self) -> bool:
        """Whether two events have the same time."""
        return bool((self.events.time[1:] == self.events.time[:-1]).any())


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Rules of one shape, and the tests of their index."""

    shape: Shape
    rules: tuple[ShapedRule, ...]
    tests: Tests
    read: tuple[str, ...]
    """The columns of the events that the kernel reads."""
    key: tuple[str, ...]
    """The columns on which all events of a match agree."""

    @classmethod
    def of(cls, rules: Sequence[ShapedRule]) -> Group:
        shape = rules[0].shape
        rewritten = rewrite(shape.query)
        decisive = decisive_columns([rewritten])
        added = {shape.columns.rule, *(shape.columns.of_value(k) for k in range(len(shape.value_types)))}
        if shape.typed:
            added.add(str(shape.query.schema.type))
        read = tuple(c for c in shape.query.schema.names if c in decisive and c not in added)
        return cls(shape, tuple(rules), tests_of(shape, rewritten), read, rewritten.key)

    def part(self, first: int, end: int) -> Group:
        """The rules from `first` up to `end`."""
        return replace(self, rules=self.rules[first:end])

    def values(self) -> RuleValues:
        """The values and types in which the rules differ."""
        return RuleValues.of(self.shape, [(rule.values, rule.types) for rule in self.rules])


def stream_of(
    group: Group, values: RuleValues, numbers: Integers, shared: SharedEvents, event: Integers, rule: Integers
) -> EventBatch:
    """The stream of a group: the event of each pair with the columns of its rule; `numbers` are those of the rules."""
    shape, schema = group.shape, group.shape.query.schema
    taken = shared.events.table.select(list(group.read)).take(pa.array(event))
    columns = dict(zip(taken.column_names, taken.columns, strict=True))
    columns |= rule_columns(shape, values, numbers, shared, event, rule, str(schema.type))
    rows = (shared.events.rows[event] << RULE_BITS) | numbers[rule]
    return EventBatch(pa.table(columns), rows, shared.events.time[event])


def rule_columns(
    shape: Shape,
    values: RuleValues,
    numbers: Integers,
    shared: SharedEvents,
    event: Integers,
    rule: Integers,
    type_column: str,
) -> dict[str, pa.Array]:
    """The columns that rules add to events: number, values, and in `type_column` the role of the event's type."""
    columns: dict[str, pa.Array] = {shape.columns.rule: pa.array(numbers[rule])}
    if shape.typed:
        columns[type_column] = _roles(values, shared, event, rule)
    for k, type in enumerate(shape.value_types):
        own = values.values[k]
        if type == STRING:
            texts, (places,) = values.texts(k)
            coded = pa.array(places[rule].astype(np.int32))
            columns[shape.columns.of_value(k)] = pa.DictionaryArray.from_arrays(coded, pa.array(texts, pa.string()))
        else:
            numeric = own.astype(np.float64 if type.kind == "float" else np.int64)
            columns[shape.columns.of_value(k)] = pa.array(numeric[rule])
    return columns


def _roles(values: RuleValues, shared: SharedEvents, event: Integers, rule: Integers) -> pa.Array:
    """The roles of the events' types in the queries of their rules."""
    coded = values.types_of(tuple(range(len(values.types))))
    code = shared.columns.codes(str(shared.schema.type), coded.texts)[event]
    found = np.zeros(len(event), dtype=np.int32)
    for k, places in enumerate(coded.places):
        found[code == places[rule]] = k + 1
    called = pa.array([NO_ROLE, *(role(k) for k in range(len(values.types)))], pa.string())
    return pa.DictionaryArray.from_arrays(pa.array(found), called)


def compile_group(
    group: Group,
    source: Source,
    written: syntax.Query,
    options: Options,
    sample: EventBatch | None,
    *,
    whole: Totals | None = None,
    live: bool = False,
) -> CompiledQuery:
    """The plan of a group, for a stream like the `sample`, or for a `live` one that has not been seen.

    `whole` is the size of the group's stream, if the sample is only a part of it.
    """
    measured = None
    if sample is not None and len(sample):
        table = sample.table.slice(0, MEASURED_EVENTS)
        rows, time = sample.rows[:MEASURED_EVENTS], sample.time[:MEASURED_EVENTS]
        events = Arrivals(table, rows, rows, time)

        def measured(query: BoundQuery) -> StreamStatistics:
            return scaled(measure(events, query), len(events), whole)

    bound = replace(group.shape.query, source=source)
    return compile_bound(source, written, bound, replace(options, parameters={}), measure=measured, live=live)


def rules_of(found: MatchSet) -> Integers:
    """The rule number of each match of a group."""
    rule = np.zeros(len(found), dtype=np.int64)
    for column in found.rows:
        offsets = column.offsets.to_numpy()
        bound = offsets[1:] > offsets[:-1]
        rule[bound] = column.values.to_numpy()[offsets[:-1][bound]] & (MAX_RULES - 1)
    return rule


def original_rows(found: MatchSet) -> MatchSet:
    """The matches of a group with the rows that their events have in the stream itself."""
    rows = tuple(
        pa.ListArray.from_arrays(column.offsets, pa.array(column.values.to_numpy() >> RULE_BITS))
        for column in found.rows
    )
    return replace(found, rows=rows)


def by_rule(found: MatchSet) -> tuple[MatchSet, Integers]:
    """The matches of a group in a stable order by rule, and the rule number of each."""
    rule = rules_of(found)
    order = np.argsort(rule, kind="stable")
    return original_rows(found.take(order)), rule[order]
