"""The state of one bucket as bytes, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from augury.errors import HostError, names
from augury.hosts.reorder import Arrivals
from augury.hosts.snapshot import get_arrivals, put_arrivals
from augury.hosts.spark.bucket import Bucket, replayable, replayed
from augury.hosts.spark.job import Job
from augury.hosts.spark.meaning import evaluators, meaning
from augury.hosts.stages import Stage
from augury.runtime.state import RunState

FAMILY, VERSION = "spark-bucket", 1
CODEC = "lz4"

SPARE = 1 << 16
"""Bytes that a state may grow by before it is worth to look for what it could forget."""


def header(job: Job, buckets: int) -> bytes:
    """What a checkpoint was written by, without any events."""
    return _packed(RunState(FAMILY, VERSION, {}, {"meaning": meaning(job, buckets)}))


def check_header(data: bytes, job: Job, buckets: int) -> None:
    """Refuse a checkpoint that another query wrote."""
    _refuse_another(_unpacked(data).facts["meaning"], meaning(job, buckets))


def save_bucket(bucket: Bucket, job: Job, buckets: int) -> bytes:
    """One blob: compressed Arrow tables with JSON facts."""
    bucket, states = _lean(bucket, job)
    tables: dict[str, pa.Table] = {}
    put_arrivals(tables, "held", bucket.held)
    for k, stage in enumerate(bucket.stages):
        put_arrivals(tables, f"held{k}", stage.held)
        put_arrivals(tables, f"log{k}", stage.log)
        tables[f"state{k}"] = pa.table({"state": pa.array([states[k]], pa.large_binary())})
    facts = {
        "meaning": meaning(job, buckets),
        "evaluators": evaluators(job),
        "next_row": bucket.next_row,
        "next_derived": bucket.next_derived,
        "watermark": bucket.watermark,
        "lean": bucket.lean,
    }
    return _packed(RunState(FAMILY, VERSION, tables, facts))


def _lean(bucket: Bucket, job: Job) -> tuple[Bucket, list[bytes]]:
    """The states as bytes; made anew once they have doubled: a kernel forgets events, but not the keys it has seen."""
    states = [stage.state.to_bytes() for stage in bucket.stages]
    if sum(map(len, states)) <= 2 * bucket.lean + SPARE or not replayable(job):
        return bucket, states
    stage = replayed(bucket.stages[0], job, bucket.watermark)
    state = stage.state.to_bytes()
    return replace(bucket, stages=(stage,), lean=len(state)), [state]


def load_bucket(data: bytes, job: Job, buckets: int) -> Bucket:
    """Read what `save_bucket` wrote, perhaps for a query with another RETURN or another plan."""
    saved = _unpacked(data)
    facts, tables = saved.facts, saved.tables
    _refuse_another(facts["meaning"], meaning(job, buckets))
    fresh = job.stages()
    chain = tuple(
        replace(stage, held=_fitting(tables, f"held{k}", stage.arrow), log=_fitting(tables, f"log{k}", stage.arrow))
        for k, stage in enumerate(fresh)
    )
    if facts["evaluators"] == evaluators(job):
        chain = tuple(
            replace(stage, state=RunState.from_bytes(tables[f"state{k}"]["state"][0].as_py()))
            for k, stage in enumerate(chain)
        )
    else:
        chain = (_continued(chain, job, facts["watermark"]),)
    held = _fitting(tables, "held", job.arrow)
    return Bucket(chain, held, facts["next_row"], facts["next_derived"], facts["watermark"], facts["lean"])


def _continued(chain: tuple[Stage, ...], job: Job, watermark: int) -> Stage:
    """The stage as another evaluator would have it after the same events."""
    if not replayable(job):
        raise HostError(
            "A571",
            "another plan cannot continue this checkpoint: a program of several queries, OUTPUT NONOVERLAP or COVER, "
            "and a window without a time depend on more than the events that are kept",
            "force the plan the checkpoint was written by with plan=..., or start with a new checkpoint",
        )
    return replayed(chain[0], job, watermark)


def _fitting(tables: Mapping[str, pa.Table], name: str, arrow: pa.Schema) -> Arrivals:
    """Saved events with the columns that the query needs now."""
    events = get_arrivals(tables, name)
    there = events.table.schema
    missing = [field.name for field in arrow if field.name not in there.names]
    changed = [f.name for f in arrow if f.name in there.names and there.field(f.name).type != f.type]
    if missing or changed:
        what = [f"lack {names(missing)}"] if missing else []
        what += [f"have another type in {names(changed)}"] if changed else []
        raise HostError(
            "A572",
            f"the events kept in the checkpoint do not fit the query: they {' and '.join(what)}",
            "start with a new checkpoint: columns that nobody asked for before have not been kept",
        )
    return replace(events, table=events.table.select(arrow.names))


def _refuse_another(saved: Mapping[str, str], now: Mapping[str, str]) -> None:
    for what, value in now.items():
        if saved.get(what) != value:
            raise HostError(
                "A570",
                f"the checkpoint was written by another query: its {what} is\n{_indented(saved.get(what))}\n"
                f"and now is\n{_indented(value)}",
                "give the query a checkpoint of its own, or go back to the one that wrote this checkpoint",
            )


def _indented(text: str | None) -> str:
    return "\n".join(f"    {line}" for line in (text or "not recorded").splitlines())


def _packed(state: RunState) -> bytes:
    data = state.to_bytes()
    compressed: bytes = pa.compress(data, codec=CODEC, asbytes=True)
    return len(data).to_bytes(8, "little") + compressed


def _unpacked(data: bytes) -> RunState:
    size = int.from_bytes(data[:8], "little")
    try:
        plain: Any = pa.decompress(data[8:], size, codec=CODEC, asbytes=True)
    except (pa.ArrowException, OSError) as e:
        raise HostError("A573", f"the state in the checkpoint is damaged: {e}") from e
    state = RunState.from_bytes(plain)
    if (state.family, state.version) != (FAMILY, VERSION):
        raise HostError("A574", f"a checkpoint of version {state.version} cannot be continued by this release")
    return state
