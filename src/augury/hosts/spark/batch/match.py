"""A finite frame -> a frame of matches."""

from __future__ import annotations

import os
import warnings
from functools import reduce
from operator import and_

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from augury.engine.cut.chunks import Chunks, cut
from augury.engine.exchange.blobs import ARRIVAL
from augury.engine.exchange.shuffle import PACKED, PLACE, PackTask, PlaceTask
from augury.engine.group import Group
from augury.engine.statistics.sampling import Heaviest, heaviest
from augury.errors import AuguryWarning
from augury.hosts.spark.batch.sample import Look
from augury.hosts.spark.expressions import column, row_filter, ticks
from augury.hosts.spark.releases import partitioned_by_id
from augury.hosts.spark.renaming import map_in_arrow
from augury.hosts.spark.schemas import spark_schema

QUANTILES = 255
"""Times at which a stream without a key may be cut."""

ENOUGH = 50_000
"""Events that are worth a chunk of their own."""

SOME, MOST = 0.1, 0.75
"""A key with twice its part of the events is too much for one task, but not below the first, and always above the
second share."""


def match_batch(look: Look, group: Group, *, partitions: int | None, chunks: int | None) -> DataFrame:
    """The matches of a finite frame; `partitions` and `chunks` say how it is split, by default by what is in it."""
    events = prepared(look.frame, group)
    reason = group.why_whole
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
    heavy = _dominating(look, group, partitions or shuffle_partitions(look.frame))
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


def _dominating(look: Look, group: Group, partitions: int) -> Heaviest | None:
    """The key that has so many of the events that the task which gets it would keep all others waiting."""
    if partitions == 1:
        return None
    too_much = min(MOST, max(SOME, 2 / partitions))
    seen = heaviest(look.sample(group.key))
    if seen is None or seen.share <= too_much:
        return None
    # The first events of a partition may be of one key by chance: all events are counted before any are split.
    same = [column(name) == F.lit(value) for name, value in zip(group.key, seen.key, strict=True)]
    counted = look.frame.select(F.count(F.lit(1)), F.count_if(reduce(and_, same))).first()
    assert counted is not None
    share = counted[1] / max(1, counted[0])
    return Heaviest(seen.key, share) if share > too_much else None


def match_split(events: DataFrame, group: Group, chunks: Chunks | None, partitions: int | None) -> DataFrame:
    """The matches of prepared events, split by key, or into chunks, or both."""
    shares = _shares(events, group, chunks, partitions)
    pack = PackTask(group.schema, group.key, shares, chunks, group.coded)
    packed = map_in_arrow(events, pack, spark_schema(PACKED))
    placed = partitioned_by_id(packed, pack.places, PLACE)
    return placed.mapInArrow(PlaceTask(group, chunks, scratch), spark_schema(group.result))


def _shares(events: DataFrame, group: Group, chunks: Chunks | None, partitions: int | None) -> int:
    if not group.key:
        return 1
    if partitions is not None or chunks is not None:
        return partitions or 1
    return shuffle_partitions(events)


def scratch() -> str | None:
    """Where Spark wants temporary files of a task; the machine's own folder if it does not say."""
    return os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0] or None


def shuffle_partitions(frame: DataFrame) -> int:
    """Into how many partitions Spark is told to shuffle."""
    return int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions") or 200)


def prepared(frame: DataFrame, group: Group) -> DataFrame:
    """The columns and rows that can make a difference, numbered as they come where that counts."""
    columns = [column(name) for name in group.arrow.names]
    if group.arrival_matters:
        columns.append(F.monotonically_increasing_id().alias(ARRIVAL))
    relevant = group.relevant
    test = None if relevant is None else row_filter(relevant, group.schema)
    events = frame if test is None else frame.where(test)
    return events.select(*columns)


def _chunks(events: DataFrame, group: Group, wanted: int | None, partitions: int | None) -> Chunks | None:
    """Where to cut the stream; None when it is not worth it."""
    if wanted == 1:
        return None
    number = QUANTILES if wanted is None else wanted - 1
    shares = [(k + 1) / (number + 1) for k in range(number)]
    time = ticks(group.schema, group.schema.time)
    row = events.select(F.percentile_approx(time, shares, 10_000).alias("q"), F.count(F.lit(1)).alias("n")).first()
    assert row is not None
    if not row["n"] or row["q"] is None:
        return None
    bounds = list(row["q"])
    if wanted is None:
        most = partitions or shuffle_partitions(events)
        count = min(most, row["n"] // ENOUGH)
        bounds = [bounds[k * (number + 1) // count - 1] for k in range(1, count)]
    chunks = cut(bounds, group.reach)
    return chunks if len(chunks) > 1 else None
