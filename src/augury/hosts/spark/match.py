"""`match` and `match_all` for finite frames and streams."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from functools import reduce
from typing import Unpack

from pyspark.sql import DataFrame, SparkSession

from augury.arguments import mapping, optional_text, unusable
from augury.compiler import CompiledProgram
from augury.engine.exchange.kernels import CompiledFile, compiled_kernels
from augury.engine.group import QUERY, groups, one_group
from augury.engine.job import Job
from augury.engine.sources.query_text import query_source
from augury.engine.times import lateness_milliseconds
from augury.errors import HostError
from augury.hosts.spark.batch.match import match_batch
from augury.hosts.spark.batch.sample import SampledFrame
from augury.hosts.spark.jobs import spark_job
from augury.hosts.spark.options import SparkOptions, Splitting, read_spark_options
from augury.hosts.spark.schemas import arrow_schema, is_frame
from augury.hosts.spark.stream.match import match_stream
from augury.options import Options, Roles


def match(
    events: DataFrame, query: str | os.PathLike[str], *, late: str | None = None, **options: Unpack[SparkOptions]
) -> DataFrame:
    """The matches of a query, of the last one when the text holds several: a frame in, a frame out.

    The columns are those of `Matches.to_arrow`: `start`, `end`, and a struct, or an array of structs, for each
    variable, or the items of RETURN. The options are those of `augury.match` and `SparkOptions`. Limits hold for each
    step of each task.

    A finite frame is split by the key of the query, if it has one, into `partitions`; or else by time into `chunks`,
    where a match depends on no event farther away than WITHIN. Where one key has most of the events, they are split by
    time instead of by key; `chunks=1` prevents it. With both given, the events of each share of the keys are split by
    time.

    To choose the plan and the cuts, this call reads a sample of the events and the distribution of their times.

    A stream needs a watermark: `lateness="10 minutes"` says how late an event may come, unless the frame has one of its
    own. Its state is kept in `buckets` of keys, or without a key in one bucket, or in ranges of time as long as so many
    windows. Events that come later are left out; they are counted in the progress of the streaming query and, with
    `late`, returned in a column of that name, in rows without a match.

    Options for the other kind of frame are ignored, so that one call serves both.
    """
    check_frame(events)
    roles, chosen, split = read_spark_options(options)
    late = optional_text("late", late, wanted="the name of a column")
    sampled = SampledFrame(events)
    job = job_for(sampled, query, roles, chosen)
    watermark = watermark_text(split, job)
    if events.isStreaming:
        return match_stream(events, one_group(job), watermark=watermark, buckets=split.buckets, late=late)
    return match_batch(sampled, one_group(job), partitions=split.partitions, chunks=split.chunks)


def match_all(
    events: DataFrame, queries: Mapping[str, str | os.PathLike[str]], **options: Unpack[SparkOptions]
) -> DataFrame:
    """The matches of many queries, by name, in one frame: `query`, `start`, `end`, and a struct for each query.

    Queries with the same key read, shuffle and sort the events once. The struct named like a query holds the columns of
    its matches, and is null in the rows of the others: `found.where("query = 'rally'").select("start", "rally.*")`.
    The options are those of `match`.
    """
    check_frame(events)
    queries = mapping("queries", queries, "a dict of queries by name")
    if not queries:
        raise HostError("A580", "there is no query to match", "give queries={name: text, ...}")
    taken = sorted({QUERY, "start", "end"} & queries.keys())
    if taken:
        raise HostError("A581", f"a query cannot be named `{taken[0]}`, like a column of the result")
    roles, chosen, split = read_spark_options(options)
    sampled = SampledFrame(events, everything=len(queries) > 1)
    jobs = [(name, job_for(sampled, query, roles, chosen)) for name, query in queries.items()]
    watermark = watermark_text(split, jobs[0][1])
    found = [
        match_stream(
            events,
            group,
            watermark=watermark,
            # Queries without a key that are not cut by time use one bucket, whatever the others use.
            buckets=split.buckets if group.key or group.why_not_by_time is None else None,
            late=None,
        )
        if events.isStreaming
        else match_batch(sampled, group, partitions=split.partitions, chunks=split.chunks)
        for group in groups(jobs, arrow_schema(events.schema))
    ]
    return reduce(lambda one, other: one.unionAll(other), found)


def watermark_text(split: Splitting, job: Job) -> str | None:
    """The lateness of events in Spark's notation; None if none is given."""
    milliseconds = lateness_milliseconds(split.lateness, job.schema)
    return None if milliseconds is None else f"{milliseconds} milliseconds"


def check_frame(events: object) -> None:
    """Check that the events are a frame of Spark."""
    if not is_frame(events):
        help = "use augury.match for it, or make it a frame of Spark with spark.createDataFrame"
        raise unusable("events", "a DataFrame of Spark", events, help)


def job_for(sampled: SampledFrame, query: str | os.PathLike[str], roles: Roles, options: Options) -> Job:
    """The query compiled for the frame, with statistics from a sample where the choice of the plan needs them."""
    events = sampled.frame
    measurable = not events.isStreaming and options.statistics is None
    job = spark_job(
        query_source(query),
        arrow_schema(events.schema),
        roles,
        options,
        stream=sampled if measurable else None,
        live=events.isStreaming,
    )
    job = replace(job, slots=slots_of(events.sparkSession))
    return replace(job, kernels=kernels_to_send(events.sparkSession, job.program, options))


def kernels_to_send(spark: SparkSession, program: CompiledProgram, options: Options) -> tuple[CompiledFile, ...]:
    """The compiled kernels of a program for workers that do not find them in the cache of the driver."""
    if options.jit is False or _shares_disk(spark):
        return ()
    return compiled_kernels(program, options.cache_dir)


def slots_of(spark: SparkSession) -> int:
    """Number of tasks that run in one executor at a time and share its memory."""
    local = re.fullmatch(r"local(?:\[(\*|\d+).*\])?", spark.conf.get("spark.master", "") or "")
    if local is not None:
        return (os.cpu_count() or 1) if local[1] == "*" else int(local[1] or 1)
    cores, task = (int(spark.conf.get(name, "1") or 1) for name in ("spark.executor.cores", "spark.task.cpus"))
    return max(1, cores // max(1, task))


def _shares_disk(spark: SparkSession) -> bool:
    """Whether workers run on the driver's machine as its children, and so find its cache."""
    return (spark.conf.get("spark.master", "") or "").split("[")[0] == "local"
