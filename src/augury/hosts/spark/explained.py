"""Explanation of how Spark matches a query."""

from __future__ import annotations

import os
from typing import Unpack

from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from augury.engine.group import Group, one_group
from augury.engine.sources.query_text import query_source
from augury.hosts.spark.batch.sample import SampledFrame
from augury.hosts.spark.expressions import expression, row_filter
from augury.hosts.spark.jobs import spark_job
from augury.hosts.spark.match import check_frame, job_for
from augury.hosts.spark.releases import can, split_table
from augury.hosts.spark.schemas import arrow_schema
from augury.hosts.spark.sql.tables import ANY_QUERY
from augury.options import MatchOptions, read_options


def explain(query: str | os.PathLike[str], schema: DataFrame | StructType, **options: Unpack[MatchOptions]) -> str:
    """The columns and rows of a frame that reach Python for a query, how they are split, and what costs time in SQL.

    The arguments are those of `augury.explain`, which describes the plan. `schema` is a frame, which is sampled for the
    choice of the plan, or the schema of a finite one.
    """
    if isinstance(schema, StructType):
        columns, live = schema.names, False
        job = spark_job(query_source(query), arrow_schema(schema), *read_options(options))
    else:
        check_frame(schema)
        columns, live = schema.columns, schema.isStreaming
        job = job_for(SampledFrame(schema), query, *read_options(options))
    group = one_group(job)
    parts = {
        "plan": ", then ".join(compiled.choice.plan.family for compiled in job.program.queries),
        "columns": f"{', '.join(group.arrow.names)} ({len(group.arrow)} of {len(columns)})",
        "rows": _rows(group),
        "split": _split(group, live=live),
        **({} if live else {**_skipped(group), "match_files": _of_files(group), **_in_sql(group)}),
    }
    width = max(map(len, parts)) + 2
    return "\n".join(f"{name:{width}}{text}" for name, text in parts.items())


def _rows(group: Group) -> str:
    """The conditions that Spark tests before the shuffle; the engine tests the rest."""
    relevant = group.relevant
    if relevant is None or row_filter(relevant, group.schema) is None:
        return "all"
    tests = [
        " and ".join(
            ["|".join(one.types) or "any type", *(str(c) for c in one.conjuncts if expression(c.expr) is not None)]
        )
        for one in relevant
    ]
    return "; ".join(dict.fromkeys(tests))


def _skipped(group: Group) -> dict[str, str]:
    """The tests by which tasks skip stretches of time, from bounds on their events, before a kernel runs."""
    if not group.requirements:
        return {}
    (what,) = group.requirements
    tests = [str(c) for c in group.jobs[0].last.rewritten.conjuncts if c.expr in what.tests]
    missing = " or ".join(f"no {'|'.join(event.types) or 'event'} {event.variable}" for event in what.events)
    place = "times of a key" if group.key else "times"
    return {"skipped": f"{place} with {missing}, or with no values for {' and '.join(tests)}"}


def _split(group: Group, *, live: bool) -> str:
    if group.key:
        return f"by key: {', '.join(group.key)}"
    reason = group.why_not_by_time
    if live and reason is None:
        return "not at all: there is no key; buckets=8 would split it by time"
    if reason is None:
        return "by time, for there is no key: each piece with one window around it"
    return f"not at all: there is no key, and {reason}"


def _of_files(group: Group) -> str:
    reason = group.why_not_by_time
    if reason is None:
        return "no shuffle where row groups tell their times"
    return "no shuffle where no key is in two files" if group.key else f"a shuffle: {reason}"


def _in_sql(group: Group) -> dict[str, str]:
    path = "the Arrow path" if can("Arrow table functions") else "the row path"
    call = {"register": f"{path}; call it with {split_table('...', group.key)}"}
    if not can("register_any_query"):
        return call
    return call | {ANY_QUERY: "the row path, 5 to 6 times as expensive; it finds its partitions by itself"}
