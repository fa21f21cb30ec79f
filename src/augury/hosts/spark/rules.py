"""Tables of rules over Spark frames: finite ones, and streams while their rules change."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Unpack

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from augury.arguments import path, shown
from augury.compiler import CompiledProgram
from augury.engine.rules.buckets import COST, RuleBuckets, rule_rows
from augury.engine.rules.planned import plan_rules
from augury.engine.rules.results import DIAGNOSTICS, match_schema
from augury.engine.rules.table import Rule, RuleSource, read_rules
from augury.engine.rules.versions import publish
from augury.engine.sources.schemas import event_schema
from augury.engine.times import lateness_milliseconds, lateness_ticks
from augury.errors import HostError
from augury.hosts.spark.batch.rules import match_rules_batch
from augury.hosts.spark.batch.sample import SampledFrame
from augury.hosts.spark.match import check_frame, kernels_to_send, slots_of
from augury.hosts.spark.options import SparkOptions, read_spark_options
from augury.hosts.spark.schemas import arrow_schema, is_frame, result_schema, spark_schema
from augury.hosts.spark.stream.match import LATE_COLUMN
from augury.hosts.spark.stream.rules import DEFAULT_RULE_BUCKETS, rules_over_stream
from augury.options import Lateness


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

    A finite frame is read and shuffled once for all rules: split by a key that they share, or by time, or where no way
    fits all of them, by each. `partitions` and `chunks` hold as for `match`. Rules of one shape are matched together. A
    rule that exceeds a budget makes the job fail, as a single query would, with its name. To choose plans and cuts,
    this call reads a sample of the events and the distribution of their times.

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
        raise _no_key("the frame is finite, and split by what the keys of its rules have in common")
    return _over_frame(events, rules, options)


def publish_rules(rules: DataFrame | RuleSource, versions: str | os.PathLike[str]) -> int:
    """Publish a version of the rules to a folder that streams read them from; returns the number of the version.

    `rules` are a frame of Spark, which is read now, or anything that `augury.Rules.read` takes. Rules equal to the last
    version are not published again.
    """
    return publish(path("versions", versions), _read(rules))


def _read(rules: Any) -> tuple[Rule, ...]:
    return read_rules(_collected(rules) if is_frame(rules) else rules)


def _over_frame(events: DataFrame, rules: DataFrame | RuleSource | None, options: SparkOptions) -> RuleFrames:
    """The results of rules in a finite frame."""
    spark = events.sparkSession
    roles, chosen, split = read_spark_options(options)
    # A task cannot report progress, and the callback may not be picklable.
    chosen = replace(chosen, progress=None)
    enabled = [rule for rule in _read(rules) if rule.enabled]
    sampled, arrow = SampledFrame(events, everything=True), arrow_schema(events.schema)
    planned = plan_rules(enabled, arrow, roles, chosen, sampled)
    if planned.all:
        compiled = CompiledProgram(tuple(query for one in planned.all for query in one.program.queries))
        table = match_rules_batch(
            sampled,
            planned,
            chosen,
            partitions=split.partitions,
            chunks=split.chunks,
            kernels=kernels_to_send(spark, compiled, chosen),
            slots=slots_of(spark),
        )
    else:
        nothing = result_schema(match_schema(arrow.field(planned.schema.time).type))
        table = spark.createDataFrame([], spark_schema(nothing))
    return RuleFrames(table, spark.createDataFrame(list(planned.told), spark_schema(DIAGNOSTICS)))


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
