"""Queries compiled for frames of Spark."""

from __future__ import annotations

import pyarrow as pa

from augury.engine.job import Job, Roles, job_of
from augury.engine.statistics.sampling import Sampled
from augury.hosts.spark.schemas import result_schema
from augury.options import Options
from augury.source import Source


def spark_job(
    source: Source,
    events: pa.Schema,
    roles: Roles,
    options: Options,
    *,
    look: Sampled | None = None,
    live: bool = False,
) -> Job:
    """`job_of`, with results of the types that Spark has."""
    return job_of(source, events, roles, options, look=look, live=live, result_types=result_schema)
