"""Which job may continue the state that another one saved."""

from __future__ import annotations

from dataclasses import replace

from augury.compiler import CompiledProgram, CompiledQuery
from augury.engine.cut.by_key import shared_key
from augury.engine.job import Job
from augury.ir.unbind import unbind_query


def state_identity(job: Job, buckets: int) -> dict[str, str]:
    """What must be the same to continue a state, by what it is called in messages; RETURN and the plan may change."""
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
    """What the queries of a program find, whatever RETURN of the last one shows of it."""
    queries = program.queries
    return ";\n".join(_without_return(q) if q is program.last else str(unbind_query(q.bound)) for q in queries)


def _without_return(query: CompiledQuery) -> str:
    return str(unbind_query(replace(query.bound, returns=(), into=None)))


def evaluators(program: CompiledProgram) -> list[str]:
    """The plan and kernel that wrote the state of each query; no other can continue a kernel's own state."""
    return [
        "reference" if q.kernel is None else f"{type(q.choice.plan).__name__} {q.kernel.source.fingerprint}"
        for q in program.queries
    ]
