"""Tables of rules over Spark frames: events are copied to the rules they may concern, then matched by rule."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any, Unpack, cast

import numpy as np
import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DoubleType, LongType, StringType, StructField, StructType

from augury.arguments import path, shown
from augury.engine.arrivals import Arrivals
from augury.engine.results.columns import column_name
from augury.engine.rules.buckets import COST, RuleBuckets, rule_rows
from augury.engine.rules.candidates import OpenKeys, RuleIndex, RuleValues
from augury.engine.rules.group import Group, SharedEvents, rule_columns
from augury.engine.rules.grouping import grouped, options_of
from augury.engine.rules.results import DIAGNOSTICS, diagnostic_of
from augury.engine.rules.rule_text import GroupedRule
from augury.engine.rules.table import Rule, RuleSource, read_rules
from augury.engine.rules.versions import publish
from augury.engine.sources.schemas import event_schema
from augury.engine.times import lateness_milliseconds, lateness_ticks
from augury.errors import AuguryError, HostError
from augury.hosts.spark.match import check_frame, match, slots_of
from augury.hosts.spark.options import SparkOptions, read_spark_options
from augury.hosts.spark.schemas import arrow_schema, is_frame, result_schema, spark_schema
from augury.hosts.spark.stream.match import LATE_COLUMN
from augury.hosts.spark.stream.rules import DEFAULT_RULE_BUCKETS, rules_over_stream
from augury.ir import syntax
from augury.ir.text import query_text
from augury.ir.unbind import unbind_query
from augury.options import Lateness
from augury.schema import EventSchema, Kind

EXPANDED_EVENTS = 1_000  # assigned to rules at a time; each may be copied to all of them


@dataclass(frozen=True, slots=True)
class RuleFrames:
    """The results of rules on Spark: `table` has `rule`, `labels`, `start`, `end` and `match`, the match as JSON.

    `diagnostics` has `rule`, `level`, `code` and `message` of the rules that are left out. Over a stream `costs` has
    the cost of each rule in a micro-batch: `rule`, `shape`, `seconds`, the `events` that it was given, its
    `partial_matches` afterwards, its `matches`, and the end of the last one; rules without events have no row. All
    three are views of `rows` then, which has the columns of `table` and `diagnostics`, a struct `cost`, and a struct
    `late` of events that came too late. Two streaming queries run the rules twice; one over `rows` that splits them in
    `foreachBatch` runs them once.
    """

    table: DataFrame
    diagnostics: DataFrame
    rows: DataFrame | None = None
    costs: DataFrame | None = None


def match_rules(
    events: DataFrame,
    rules: DataFrame | RuleSource | None = None,
    *,
    versions: str | os.PathLike[str] | None = None,
    keep: Lateness | None = None,
    key: str | Sequence[str] | None = None,
    **options: Unpack[SparkOptions],
) -> RuleFrames:
    """The matches of all enabled rules in a frame.

    `rules` are a frame of Spark, which is read now, or anything that `augury.Rules.read` takes. A broken rule is left
    out and reported in `diagnostics`.

    In a finite frame, rules of one shape are matched together, split by rule; the others are matched one by one. A rule
    that exceeds a budget makes the job fail, as a single query would.

    A stream needs a watermark, as for `match`, and `versions`, a folder beside its checkpoint that holds all versions
    of the rules. `rules` are published there now if they differ from the last version; leave them out if another
    process publishes them, and the stream uses the latest version there. `publish_rules` adds a version while the
    stream runs, in force from the next micro-batch on. Events are kept for `keep`, so that later rules with `backfill`
    see them. There are `buckets` that each see all events and have a share of the rules; a rule that exceeds a budget
    is switched off. With a `key`, one or more columns on which the events of every match agree, each bucket sees the
    events of its keys and has all rules; a rule whose events need not agree on it is refused, in `diagnostics`.
    """
    check_frame(events)
    if events.isStreaming:
        return _over_stream(events, rules, versions, keep, key, options)
    if key is not None:
        raise _no_key("the frame is finite, and split by rule and by what each rule has as its key")
    spark = events.sparkSession
    roles, chosen, _ = read_spark_options(options)
    enabled = [rule for rule in _read(rules) if rule.enabled]
    schema = event_schema(arrow_schema(events.schema), roles)
    groups, alone = grouped(enabled, schema, chosen)
    frames, told = list[DataFrame](), list[tuple[str, str, str, str]]()
    for group in groups:
        try:
            frames.append(_together(events, group, schema, options))
        except AuguryError:
            # Each rule is compiled alone to find out which one is wrong.
            alone += [rule.rule for rule in group]
    for rule in alone:
        try:
            own = cast("SparkOptions", {**options, "parameters": options_of(chosen, rule).parameters})
            frames.append(_alone(match(events, rule.query, **own), rule))
        except AuguryError as error:
            told.append(diagnostic_of(rule, error))
    time = events.schema[schema.time].dataType
    nothing = spark.createDataFrame([], _result_schema(StructField("start", time), StructField("end", time)))
    return RuleFrames(
        reduce(DataFrame.unionAll, frames, nothing), spark.createDataFrame(told, spark_schema(DIAGNOSTICS))
    )


def publish_rules(rules: DataFrame | RuleSource, versions: str | os.PathLike[str]) -> int:
    """Publish a version of the rules to a folder that streams read them from; returns the number of the version.

    `rules` are a frame of Spark, which is read now, or anything that `augury.Rules.read` takes. Rules equal to the last
    version are not published again.
    """
    return publish(path("versions", versions), _read(rules))


def _read(rules: Any) -> tuple[Rule, ...]:
    return read_rules(_collected(rules) if is_frame(rules) else rules)


def _over_stream(
    events: DataFrame,
    rules: DataFrame | RuleSource | None,
    versions: str | os.PathLike[str] | None,
    keep: Lateness | None,
    key: str | Sequence[str] | None,
    options: SparkOptions,
) -> RuleFrames:
    """The results of rules in a stream, while the rules may change."""
    roles, chosen, split = read_spark_options(options)
    if versions is None:
        raise HostError(
            "A689",
            "rules over a stream need a folder for their versions: after a crash it has to find those it had",
            "give versions=..., a folder that is kept as long as the checkpoint",
        )
    folder = path("versions", versions)
    folder.mkdir(parents=True, exist_ok=True)
    if rules is not None:
        publish(folder, _read(rules))
    arrow = arrow_schema(events.schema)
    schema = event_schema(arrow, roles)
    by = () if key is None else (key,) if isinstance(key, str) else tuple(key)
    for name in by:
        if name not in arrow.names:
            raise _no_key(f"there is no column {shown(name)}")
    result = result_schema(rule_rows(arrow.field(schema.time).type))
    # A task cannot report progress, and the callback may not be picklable.
    chosen = replace(chosen, progress=None)
    buckets = DEFAULT_RULE_BUCKETS if split.buckets is None else split.buckets
    kept = lateness_ticks(keep, schema, "keep") or 0
    stream = RuleBuckets(arrow, schema, chosen, buckets, result, kept, slots_of(events.sparkSession), by)
    found = rules_over_stream(events, stream, folder, lateness_milliseconds(split.lateness, schema))
    matches = found.where(F.col("match").isNotNull()).select("rule", "labels", "start", "end", "match")
    told = found.where(F.col("level").isNotNull()).select(*DIAGNOSTICS.names)
    costs = found.where(F.col(COST).isNotNull()).select("rule", f"{COST}.*")
    return RuleFrames(matches, told, found.withColumnRenamed(LATE_COLUMN, "late"), costs)


def _no_key(why: str) -> HostError:
    return HostError("A683", f"key= says how the events of a stream are cut for its rules: {why}", "leave it out")


def _collected(rules: Any) -> list[dict[str, Any]]:
    """The rows of a frame of Spark."""
    return [row.asDict(recursive=True) for row in rules.collect()]


def _result_schema(start: StructField, end: StructField) -> StructType:
    labels = StructField("labels", ArrayType(StringType()))
    return StructType([StructField("rule", StringType()), labels, start, end, StructField("match", StringType())])


def _alone(found: DataFrame, rule: Rule) -> DataFrame:
    """The matches of one rule, with the columns of all."""
    own = [F.col(_quoted(name)) for name in found.columns if name not in ("start", "end")]
    # OUTPUT COUNT reports the end of matches, not the start.
    start = F.col("start") if "start" in found.columns else F.lit(None).cast(found.schema["end"].dataType)
    labels = F.array(*map(F.lit, rule.labels)).cast("array<string>")
    return found.select(
        F.lit(rule.id).alias("rule"), labels.alias("labels"), start.alias("start"), F.col("end"), _json(own)
    )


def _json(columns: Sequence[Column]) -> Column:
    return F.to_json(F.struct(*columns), {"ignoreNullFields": "false"}).alias("match")


def _together(
    events: DataFrame, rules: Sequence[GroupedRule], schema: EventSchema, options: Mapping[str, Any]
) -> DataFrame:
    """The matches of rules of one shape, by one query over events with the columns of their rule."""
    copying = CopyToRulesTask(Group.of([rule.shaped for rule in rules]), schema)
    shape = copying.group.shape
    expanded = events.mapInArrow(copying, _with_columns(events.schema, copying))
    written = unbind_query(shape.query)
    variables = [v for v in shape.query.variables if not v.negated]
    number = [
        syntax.Attribute(v.name, shape.columns.rule, syntax.Index.FIRST if v.iterated else None) for v in variables
    ]
    if written.returns:
        told = syntax.Call("coalesce", tuple(number)) if len(number) > 1 else number[0]
        written = replace(written, returns=(*written.returns, syntax.ReturnItem(told, shape.columns.rule)))
    chosen = {**options, "parameters": {}, **({"type": copying.role} if shape.typed else {})}
    found = match(expanded, query_text(written), **cast("SparkOptions", chosen))
    if written.returns:
        rule = F.col(_quoted(shape.columns.rule))
        own = [F.col(_quoted(item.name)) for item in shape.query.returns]
    else:
        names = {v.name: F.col(_quoted(column_name(v.name))) for v in variables}
        rule = F.coalesce(*((names[v.name][0] if v.iterated else names[v.name])[shape.columns.rule] for v in variables))
        own = [
            (
                F.transform(names[v.name], lambda event: event.dropFields(*map(_quoted, copying.names)))
                if v.iterated
                else names[v.name].dropFields(*map(_quoted, copying.names))
            ).alias(column_name(v.name))
            for v in variables
        ]
    named = _named(events.sparkSession, [one.rule for one in rules])
    result = found.select(rule.alias("number"), "start", "end", _json(own))
    return result.join(F.broadcast(named), "number").select("rule", "labels", "start", "end", "match")


def _named(spark: SparkSession, rules: Sequence[Rule]) -> DataFrame:
    """Names and labels of rules by number."""
    rows = [(k, rule.id, list(rule.labels)) for k, rule in enumerate(rules)]
    return spark.createDataFrame(rows, "number long, rule string, labels array<string>")


def _quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def _with_columns(events: StructType, copying: CopyToRulesTask) -> StructType:
    kinds = {Kind.FLOAT: DoubleType(), Kind.INT: LongType(), Kind.STRING: StringType()}
    shape = copying.group.shape
    types = [LongType(), *(kinds[type.kind] for type in shape.value_types), *([StringType()] if shape.typed else [])]
    added = [StructField(name, type) for name, type in zip(copying.names, types, strict=True)]
    return StructType([*events.fields, *added])


@dataclass(slots=True, eq=False)
class CopyToRulesTask:
    """A task that copies every event once for each rule of a group that it may concern."""

    group: Group
    schema: EventSchema
    _index: RuleIndex | None = field(default=None)

    @property
    def role(self) -> str:
        """The column that holds the type of an event for the query of its rule."""
        return f"{self.group.shape.columns.rule} type"

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that the task adds."""
        columns, count = self.group.shape.columns, len(self.group.shape.value_types)
        added = (columns.rule, *map(columns.of_value, range(count)))
        return (*added, self.role) if self.group.shape.typed else added

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        values = self.group.values()
        for batch in batches:
            for first in range(0, batch.num_rows, EXPANDED_EVENTS):
                table = pa.Table.from_batches([batch.slice(first, EXPANDED_EVENTS)])
                yield from self._given(table, values).to_batches()

    def _given(self, table: pa.Table, values: RuleValues) -> pa.Table:
        # Their order is unknown here, so the index looks up each event by itself.
        nowhere = np.zeros(table.num_rows, dtype=np.int64)
        shared = SharedEvents(Arrivals(table, nowhere, nowhere, nowhere), self.schema)
        if self._index is None:
            tests = replace(self.group.tests, opened_by_first=False)
            self._index = RuleIndex(tests, values, shared.columns)
        found = self._index.candidates(shared.columns, OpenKeys.none())
        assert found is not None
        event, rule, _ = found
        taken = table.take(pa.array(event))
        added = rule_columns(self.group.shape, values, np.arange(values.count), shared, event, rule, self.role)
        for name in self.names:
            column = added[name]
            plain = column.dictionary_decode() if isinstance(column, pa.DictionaryArray) else column
            taken = taken.append_column(name, plain)
        return taken
