"""The one call for finite frames and streams."""

from __future__ import annotations

import os
from collections.abc import Iterable
from typing import Unpack

from pyspark.sql import DataFrame

from augury.hosts.local import make_options, query_source
from augury.hosts.spark.batch import match_batch
from augury.hosts.spark.job import Roles, job_of
from augury.hosts.spark.options import RunOptions
from augury.hosts.spark.schemas import arrow_schema
from augury.hosts.spark.stream import match_stream


def match(
    events: DataFrame,
    query: str | os.PathLike[str],
    *,
    time: str = "ts",
    type: str | None = "type",
    order_by: str | Iterable[str] | None = None,
    time_unit: str = "s",
    watermark: str | None = None,
    late: str | None = None,
    buckets: int | None = None,
    partitions: int | None = None,
    chunks: int | None = None,
    **options: Unpack[RunOptions],
) -> DataFrame:
    """The matches of a query, of the last one when the text holds several: a frame in, a frame out.

    The columns are those of `Matches.to_arrow`: `start`, `end`, and a struct, or an array of structs, for each
    variable, or the items of RETURN. `time`, `type`, `order_by`, `time_unit` and the further options are those of
    `augury.match`. Its limits hold for each step of each task.

    A finite frame is split by the key of the query, if it has one, into `partitions`; or else by time into `chunks`,
    where a match depends on no event farther away than WITHIN. With both given, the events of each share of the keys
    are split by time as well, which helps against keys that have most of the events.

    A stream needs a watermark: `watermark="10 minutes"` says how late an event may come, or else the frame has one of
    its own. Its state is kept in `buckets` of keys. Events that come later take no part; they are counted in the
    progress of the streaming query and, with `late`, appear in a column of that name, in rows without a match.
    """
    job = job_of(
        query_source(query),
        arrow_schema(events.schema),
        Roles(time, type, order_by, time_unit),
        make_options(**options),
    )
    if events.isStreaming:
        return match_stream(events, job, watermark=watermark, buckets=buckets, late=late)
    return match_batch(events, job, partitions=partitions, chunks=chunks)
