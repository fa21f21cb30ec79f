"""Matching of a finite frame."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import reduce
from operator import and_

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from augury.engine.cut.by_time import CutAt, cut_at_quantiles
from augury.engine.exchange.blobs import ARRIVAL
from augury.engine.exchange.shuffle import PACKED, PARTITION, MatchTask, PackTask
from augury.engine.group import Group
from augury.engine.scan.needed import ComponentFilter
from augury.engine.statistics.sampling import Heaviest, heaviest
from augury.errors import AuguryWarning
from augury.hosts.spark.batch.sample import SampledFrame
from augury.hosts.spark.expressions import column, row_filter, ticks
from augury.hosts.spark.jobs import SparkHost
from augury.hosts.spark.releases import partitioned_by_id
from augury.hosts.spark.renaming import map_in_arrow
from augury.hosts.spark.schemas import spark_schema
from augury.schema import EventSchema

MAX_CUTS = 255
"""Quantiles of the event times requested from Spark, and so the most places where a stream is cut."""

MIN_CHUNK_EVENTS = 50_000
"""Smallest number of events in a chunk; smaller chunks cost more to schedule than to match."""

MAX_LIGHT_SHARE, MIN_HEAVY_SHARE = 0.1, 0.75
"""Shares of the events up to which a key never dominates a stream, and above which it always does. In between, it does
if it has twice as many events as an average partition."""


def match_batch(sampled: SampledFrame, group: Group, *, partitions: int | None, chunks: int | None) -> DataFrame:
    """The matches of a finite frame, split into `partitions` and `chunks`, which default to what its events suggest."""
    events = prepared(sampled.frame, group)
    reason = group.why_not_by_time
    if not group.key and reason is not None and chunks != 1:
        warnings.warn(
            f"the query has no key and cannot be split by time either ({reason}): one task matches all events",
            AuguryWarning,
            stacklevel=3,
        )
    if reason is not None or chunks == 1:
        return match_split(events, group, None, partitions)
    if not group.key or chunks is not None:
        return match_split(events, group, _chunks(events, group, chunks, partitions), partitions)
    heavy = dominating(sampled, group.key, partitions or shuffle_partitions(sampled.frame))
    pieces = None if heavy is None else _chunks(events, group, None, partitions)
    if heavy is not None and pieces is not None:
        named = ", ".join(f"{name}={value!r}" for name, value in zip(group.key, heavy.key, strict=True))
        warnings.warn(
            f"{heavy.share:.0%} of the events have the key {named}: they are split by time, not by key. "
            "Give partitions= and chunks= to split them by both, or chunks=1 to split them by key",
            AuguryWarning,
            stacklevel=3,
        )
    return match_split(events, group, pieces, None if pieces is not None else partitions)


def dominating(sampled: SampledFrame, key: Sequence[str], partitions: int) -> Heaviest | None:
    """The key with so many of the events that its task would finish long after all others, if there is one."""
    if partitions == 1:
        return None
    too_much = min(MIN_HEAVY_SHARE, max(MAX_LIGHT_SHARE, 2 / partitions))
    seen = heaviest(sampled.sample(key))
    if seen is None or seen.share <= too_much:
        return None
    # The first events of a partition may share a key by chance, so all events are counted before a key is split.
    same = [column(name) == F.lit(value) for name, value in zip(key, seen.key, strict=True)]
    counted = sampled.frame.select(F.count(F.lit(1)), F.count_if(reduce(and_, same))).first()
    assert counted is not None
    share = counted[1] / max(1, counted[0])
    return Heaviest(seen.key, share) if share > too_much else None


def match_split(events: DataFrame, group: Group, cut: CutAt | None, partitions: int | None) -> DataFrame:
    """The matches of prepared events, split by key, or by time, or both."""
    shares = _shares(events, group, cut, partitions)
    pack = PackTask(group.schema, group.key, shares, cut, group.coded)
    packed = map_in_arrow(events, pack, spark_schema(PACKED))
    placed = partitioned_by_id(packed, pack.partitions, PARTITION)
    return placed.mapInArrow(MatchTask(group, cut, SparkHost()), spark_schema(group.result))


def _shares(events: DataFrame, group: Group, cut: CutAt | None, partitions: int | None) -> int:
    if not group.key:
        return 1
    if partitions is not None or cut is not None:
        return partitions or 1
    return shuffle_partitions(events)


def shuffle_partitions(frame: DataFrame) -> int:
    """The number of partitions that Spark shuffles into."""
    return int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions") or 200)


def prepared(frame: DataFrame, group: Group) -> DataFrame:
    """The columns and rows that can affect matches, numbered in order of arrival where that matters."""
    return selected(frame, group.arrow.names, group.relevant, group.schema, numbered=group.arrival_matters)


def selected(
    frame: DataFrame,
    names: Sequence[str],
    relevant: tuple[ComponentFilter, ...] | None,
    schema: EventSchema,
    *,
    numbered: bool,
) -> DataFrame:
    """These columns of the rows that are `relevant`, `numbered` in order of arrival if that matters."""
    columns = [column(name) for name in names]
    if numbered:
        columns.append(F.monotonically_increasing_id().alias(ARRIVAL))
    test = None if relevant is None else row_filter(relevant, schema)
    events = frame if test is None else frame.where(test)
    return events.select(*columns)


def _chunks(events: DataFrame, group: Group, wanted: int | None, partitions: int | None) -> CutAt | None:
    return time_cut(events, group.schema, group.halo, wanted, partitions)


def time_cut(
    events: DataFrame, schema: EventSchema, halo: int, wanted: int | None, partitions: int | None
) -> CutAt | None:
    """Times to cut the stream at, into `wanted` chunks if that is given; None if cutting does not pay."""
    if wanted == 1:
        return None
    number = MAX_CUTS if wanted is None else wanted - 1
    shares = [(k + 1) / (number + 1) for k in range(number)]
    time = ticks(schema, schema.time)
    row = events.select(F.percentile_approx(time, shares, 10_000).alias("q"), F.count(F.lit(1)).alias("n")).first()
    assert row is not None
    if not row["n"] or row["q"] is None:
        return None
    bounds = list(row["q"])
    if wanted is None:
        most = partitions or shuffle_partitions(events)
        count = min(most, row["n"] // MIN_CHUNK_EVENTS)
        bounds = [bounds[k * (number + 1) // count - 1] for k in range(1, count)]
    cut = cut_at_quantiles(bounds, halo)
    return cut if len(cut) > 1 else None
