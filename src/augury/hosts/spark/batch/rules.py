"""Matching of rules over a finite frame: one job, in which the events are shuffled once."""

from __future__ import annotations

import warnings

from pyspark.sql import DataFrame

from augury.engine.exchange.kernels import CompiledFile
from augury.engine.exchange.shuffle import PACKED, PARTITION, PackEachTask
from augury.engine.rules.cutting import RulePart, parts_of
from augury.engine.rules.finite import CutRules, MatchRulesTask, coded_columns
from augury.engine.rules.planned import PlannedRules
from augury.engine.scan.needed import ComponentFilter
from augury.errors import AuguryWarning
from augury.hosts.spark.batch.match import dominating, selected, shuffle_partitions, time_cut
from augury.hosts.spark.batch.sample import SampledFrame
from augury.hosts.spark.jobs import SparkHost
from augury.hosts.spark.releases import partitioned_by_id
from augury.hosts.spark.renaming import map_in_arrow
from augury.hosts.spark.schemas import spark_schema
from augury.options import Options

MAX_NAMED_RULES = 5  # of those that a warning is about


def match_rules_batch(
    sampled: SampledFrame,
    planned: PlannedRules,
    options: Options,
    *,
    partitions: int | None,
    chunks: int | None,
    kernels: tuple[CompiledFile, ...],
    slots: int,
) -> DataFrame:
    """The matches of planned rules, of which there is at least one, in a finite frame."""
    schema = planned.schema
    relevant = None if planned.types is None else (ComponentFilter(tuple(sorted(planned.types)), ()),)
    events = selected(sampled.frame, planned.arrow.names, relevant, schema, numbered=planned.arrival_matters)
    parts = tuple(_cut(sampled, events, planned, part, partitions, chunks) for part in parts_of(planned))
    pack = PackEachTask(tuple(part.pack(schema, coded_columns(planned.arrow)) for part in parts))
    packed = map_in_arrow(events, pack, spark_schema(PACKED))
    placed = partitioned_by_id(packed, pack.partitions, PARTITION)
    match = MatchRulesTask(parts, planned.arrow, schema, options, SparkHost(), kernels, slots)
    return placed.mapInArrow(match, spark_schema(match.result))


def _cut(
    sampled: SampledFrame,
    events: DataFrame,
    planned: PlannedRules,
    part: RulePart,
    partitions: int | None,
    chunks: int | None,
) -> CutRules:
    """How the events are cut for a part of the rules, as `match` cuts them for a query."""
    by_time = part.halo is not None and chunks != 1
    if not part.key and not by_time:
        if part.halo is None and chunks != 1:
            _warn_of_one_task(part)
        return CutRules(part)
    shares = (partitions or shuffle_partitions(sampled.frame)) if part.key else 1
    if not by_time:
        return CutRules(part, shares)
    assert part.halo is not None
    if part.key and chunks is not None:
        return CutRules(part, partitions or 1, time_cut(events, planned.schema, part.halo, chunks, partitions))
    if part.key and dominating(sampled, part.key, shares) is None:
        return CutRules(part, shares)
    cut = time_cut(events, planned.schema, part.halo, chunks, partitions)
    return CutRules(part, shares) if cut is None else CutRules(part, 1, cut)


def _warn_of_one_task(part: RulePart) -> None:
    ids = part.names
    named = ", ".join(f"`{id}`" for id in ids[:MAX_NAMED_RULES]) + (", ..." if len(ids) > MAX_NAMED_RULES else "")
    warnings.warn(
        f"rules that have no key and cannot be split by time either ({part.why_not_by_time}): "
        f"one task matches all events for {named}",
        AuguryWarning,
        stacklevel=5,
    )
