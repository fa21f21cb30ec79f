"""A finite frame -> a frame of matches."""

from __future__ import annotations

import warnings
from functools import reduce
from operator import add

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from augury.errors import AuguryWarning
from augury.hosts.spark.blobs import ARRIVAL
from augury.hosts.spark.chunks import Chunks, by_end, cut, reach_of, why_whole
from augury.hosts.spark.expressions import column, row_filter, ticks
from augury.hosts.spark.job import Job
from augury.hosts.spark.keys import shared_key
from augury.hosts.spark.needs import arrival_matters, relevant_rows
from augury.hosts.spark.partition import PartitionTask
from augury.hosts.spark.schemas import spark_schema
from augury.schema import Kind

CHUNK = "__augury_chunk"
PLACE = "__augury_place"

QUANTILES = 255
"""Times at which a stream without a key may be cut."""

ENOUGH = 50_000
"""Events that are worth a chunk of their own."""


def match_batch(frame: DataFrame, job: Job, *, partitions: int | None, chunks: int | None) -> DataFrame:
    """The matches of a finite frame; `partitions` and `chunks` say how it is split, by default by what is in it."""
    events = prepared(frame, job)
    key = shared_key(job.program)
    reason = why_whole(job.program)
    if not key and reason is not None and chunks != 1:
        warnings.warn(
            f"the query has no key and cannot be split by time either ({reason}): one task matches all events",
            AuguryWarning,
            stacklevel=4,
        )
    pieces = _chunks(events, job, chunks, partitions) if reason is None and (not key or chunks) else None
    if pieces is None:
        spread = _by_key(events, key, partitions) if key else events.repartition(1)
    else:
        spread = _by_time(events, job, pieces, key, partitions)
    result = spark_schema(job.result)
    return spread.sortWithinPartitions(*_order(job, events)).mapInArrow(PartitionTask(job, pieces), result)


def prepared(frame: DataFrame, job: Job) -> DataFrame:
    """The columns and rows that can make a difference, numbered as they come where that counts."""
    columns = [column(name) for name in job.arrow.names]
    if arrival_matters(job.program):
        columns.append(F.monotonically_increasing_id().alias(ARRIVAL))
    relevant = relevant_rows(job.program)
    test = None if relevant is None else row_filter(relevant, job.schema)
    events = frame if test is None else frame.where(test)
    return events.select(*columns)


def _order(job: Job, events: DataFrame) -> list[Column]:
    """Time first, then what settles the order of concurrent events, arrival last."""
    time = job.schema.time
    first = ticks(job.schema, time) if job.schema[time].kind is Kind.FLOAT else column(time)
    rest = [column(name) for name in job.schema.order_by[1:]]
    return [first, *rest, *([column(ARRIVAL)] if ARRIVAL in events.columns else [])]


def _by_key(events: DataFrame, key: tuple[str, ...], partitions: int | None) -> DataFrame:
    columns = [column(name) for name in key]
    return events.repartition(*columns) if partitions is None else events.repartition(partitions, *columns)


def _chunks(events: DataFrame, job: Job, wanted: int | None, partitions: int | None) -> Chunks | None:
    """Where to cut the stream; None when it is not worth it."""
    if wanted == 1:
        return None
    number = QUANTILES if wanted is None else wanted - 1
    shares = [(k + 1) / (number + 1) for k in range(number)]
    time = ticks(job.schema, job.schema.time)
    row = events.select(F.percentile_approx(time, shares, 10_000).alias("q"), F.count(F.lit(1)).alias("n")).first()
    assert row is not None
    if not row["n"]:
        return None
    bounds = list(row["q"])
    if wanted is None:
        most = partitions or int(events.sparkSession.conf.get("spark.sql.shuffle.partitions") or 200)
        count = min(most, row["n"] // ENOUGH)
        bounds = bounds[:: -(-(number + 1) // count)] if count > 1 else []
    chunks = cut(bounds, reach_of(job.program), CHUNK, by_end=by_end(job.program))
    return chunks if len(chunks) > 1 else None


def _by_time(events: DataFrame, job: Job, chunks: Chunks, key: tuple[str, ...], partitions: int | None) -> DataFrame:
    """Every event in each chunk that it can matter to, each chunk (of each share of the keys) in its own partition."""
    time = ticks(job.schema, job.schema.time)

    def chunk_of(at: Column, beyond: int) -> Column:
        # A time so far off that it does not fit 64 bits is null.
        return F.coalesce(reduce(add, [(at >= F.lit(bound)).cast("int") for bound in chunks.bounds]), F.lit(beyond))

    reach = F.lit(chunks.reach).cast("long")
    first = chunk_of(F.try_subtract(time, reach), 0)
    seen_in = F.when(time.isNotNull(), F.sequence(first, chunk_of(F.try_add(time, reach), len(chunks) - 1)))
    # An event without a time is an error, to be raised where the events are read, not a row to be lost here.
    spread = events.select("*", F.explode(F.coalesce(seen_in, F.array(F.lit(0)))).alias(CHUNK))
    shares = (partitions or 1) if key else 1
    place = column(CHUNK)
    if shares > 1:
        share = F.pmod(F.hash(*[column(name) for name in key]), F.lit(shares))
        place = share * F.lit(len(chunks)) + place
    return spread.withColumn(PLACE, place).repartitionById(shares * len(chunks), PLACE).drop(PLACE)
