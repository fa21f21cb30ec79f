"""A finite frame -> a frame of matches."""

from __future__ import annotations

import warnings
from functools import reduce
from operator import add

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from augury.errors import AuguryWarning
from augury.hosts.spark.blobs import ARRIVAL
from augury.hosts.spark.chunks import Chunks, cut
from augury.hosts.spark.expressions import column, row_filter, ticks
from augury.hosts.spark.group import Group
from augury.hosts.spark.partition import PartitionTask
from augury.hosts.spark.schemas import spark_schema
from augury.schema import Kind

CHUNK = "__augury_chunk"
PLACE = "__augury_place"

QUANTILES = 255
"""Times at which a stream without a key may be cut."""

ENOUGH = 50_000
"""Events that are worth a chunk of their own."""


def match_batch(frame: DataFrame, group: Group, *, partitions: int | None, chunks: int | None) -> DataFrame:
    """The matches of a finite frame; `partitions` and `chunks` say how it is split, by default by what is in it."""
    events = prepared(frame, group)
    reason = group.why_whole
    if not group.key and reason is not None and chunks != 1:
        warnings.warn(
            f"the query has no key and cannot be split by time either ({reason}): one task matches all events",
            AuguryWarning,
            stacklevel=3,
        )
    splits = reason is None and (chunks != 1 if not group.key else chunks is not None)
    pieces = _chunks(events, group, chunks, partitions) if splits else None
    return match_split(events, group, pieces, partitions)


def match_split(events: DataFrame, group: Group, chunks: Chunks | None, partitions: int | None) -> DataFrame:
    """The matches of prepared events, split by key, or into chunks, or both."""
    if chunks is not None:
        spread = _by_time(events, group, chunks, partitions)
    elif group.key:
        columns = [column(name) for name in group.key]
        spread = events.repartition(*columns) if partitions is None else events.repartition(partitions, *columns)
    else:
        spread = events.repartition(1)
    ordered = spread.sortWithinPartitions(*_order(group, events))
    return ordered.mapInArrow(PartitionTask(group, chunks), spark_schema(group.result))


def prepared(frame: DataFrame, group: Group) -> DataFrame:
    """The columns and rows that can make a difference, numbered as they come where that counts."""
    columns = [column(name) for name in group.arrow.names]
    if group.arrival_matters:
        columns.append(F.monotonically_increasing_id().alias(ARRIVAL))
    relevant = group.relevant
    test = None if relevant is None else row_filter(relevant, group.schema)
    events = frame if test is None else frame.where(test)
    return events.select(*columns)


def _order(group: Group, events: DataFrame) -> list[Column]:
    """Time first, then what settles the order of concurrent events, arrival last."""
    time = group.schema.time
    first = ticks(group.schema, time) if group.schema[time].kind is Kind.FLOAT else column(time)
    rest = [column(name) for name in group.schema.order_by[1:]]
    return [first, *rest, *([column(ARRIVAL)] if ARRIVAL in events.columns else [])]


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
        most = partitions or int(events.sparkSession.conf.get("spark.sql.shuffle.partitions") or 200)
        count = min(most, row["n"] // ENOUGH)
        bounds = [bounds[k * (number + 1) // count - 1] for k in range(1, count)]
    chunks = cut(bounds, group.reach, CHUNK)
    return chunks if len(chunks) > 1 else None


def _by_time(events: DataFrame, group: Group, chunks: Chunks, partitions: int | None) -> DataFrame:
    """Every event in each chunk that it can matter to, each chunk (of each share of the keys) in its own partition."""
    time = ticks(group.schema, group.schema.time)

    def chunk_of(at: Column, beyond: int) -> Column:
        # A time so far off that it does not fit 64 bits is null.
        return F.coalesce(reduce(add, [(at >= F.lit(bound)).cast("int") for bound in chunks.bounds]), F.lit(beyond))

    reach = F.lit(chunks.reach).cast("long")
    first = chunk_of(F.try_subtract(time, reach), 0)
    seen_in = F.when(time.isNotNull(), F.sequence(first, chunk_of(F.try_add(time, reach), len(chunks) - 1)))
    # An event without a time is an error, to be raised where the events are read, not a row to be lost here.
    spread = events.select("*", F.explode(F.coalesce(seen_in, F.array(F.lit(0)))).alias(CHUNK))
    shares = (partitions or 1) if group.key else 1
    place = column(CHUNK)
    if shares > 1:
        share = F.pmod(F.hash(*[column(name) for name in group.key]), F.lit(shares))
        place = share * F.lit(len(chunks)) + place
    return spread.withColumn(PLACE, place).repartitionById(shares * len(chunks), PLACE).drop(PLACE)
