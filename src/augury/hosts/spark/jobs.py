"""Spark as a host of the engine, and jobs for its frames."""

from __future__ import annotations

import os
from dataclasses import dataclass

import pyarrow as pa

from augury.engine.host import FiniteStream
from augury.engine.job import Job, job_of
from augury.hosts.spark.schemas import result_schema
from augury.options import Options, Roles
from augury.source import Source


@dataclass(frozen=True, slots=True)
class SparkHost:
    """Spark's implementation of what the engine requires of a host."""

    def result_types(self, arrow: pa.Schema) -> pa.Schema:
        return result_schema(arrow)

    def scratch_folder(self) -> str | None:
        return os.environ.get("SPARK_LOCAL_DIRS", "").split(",")[0] or None


def spark_job(
    source: Source,
    events: pa.Schema,
    roles: Roles,
    options: Options,
    *,
    stream: FiniteStream | None = None,
    live: bool = False,
) -> Job:
    """`job_of` with the result types of Spark."""
    return job_of(source, events, roles, options, stream=stream, live=live, host=SparkHost())
