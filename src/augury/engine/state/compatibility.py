"""Decides which job may continue the state that another one saved."""

from __future__ import annotations

from dataclasses import replace

from augury.compiler import CompiledProgram, CompiledQuery
from augury.engine.cut.by_key import shared_key
from augury.engine.job import Job
from augury.ir.unbind import unbind_query


def state_identity(job: Job, buckets: int) -> dict[str, str]:
    """Facts that must be equal to continue a saved state, by name in messages; RETURN and the plan may change."""
    schema = job.schema
    return {
        "query": meaning(job.program),
        "time column": f"{schema.time} ({schema[schema.time]}, ticks of {schema.time_unit})",
        "type column": str(schema.type),
        "order_by": ", ".join(schema.order_by),
        "key": ", ".join(shared_key(job.program)) or "none",
        "buckets": str(buckets),
    }


def meaning(program: CompiledProgram) -> str:
    """The text of a program's queries, without the RETURN of the last one: it decides which matches are found."""
    queries = program.queries
    return ";\n".join(_without_return(q) if q is program.last else str(unbind_query(q.bound)) for q in queries)


def _without_return(query: CompiledQuery) -> str:
    return str(unbind_query(replace(query.bound, returns=(), into=None)))


def evaluators(program: CompiledProgram) -> list[str]:
    """The plan and the kernel of each query; only the same ones can continue a kernel's own state."""
    return [
        "reference" if q.kernel is None else f"{type(q.choice.plan).__name__} {q.kernel.source.fingerprint}"
        for q in program.queries
    ]
