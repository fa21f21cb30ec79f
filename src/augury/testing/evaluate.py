"""Evaluation of a query over a small table, without a host."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa

from augury.compiler import CompiledQuery, compile_program, load
from augury.families import FAMILIES
from augury.ir.query import BoundQuery
from augury.options import Options
from augury.plan import FamilyName, Unsupported
from augury.planner import Hints, planned
from augury.planner.hints import NO_HINTS
from augury.reference import ReferenceKernel
from augury.runtime.batch import EventBatch, time_ticks
from augury.runtime.matches import MatchSet
from augury.runtime.shared import enumerated
from augury.runtime.state import FOREVER, LONG_AGO, Kernel, RunState
from augury.schema import EventSchema
from augury.source import Source


def compiled(text: str, table: pa.Table, options: Options | None = None) -> CompiledQuery:
    """The last query of `text`, compiled for the columns of `table`."""
    schema = EventSchema.from_arrow(table.schema)
    return compile_program(Source(text), schema, options or Options()).last


def family_plan(family: FamilyName, query: BoundQuery, hints: Hints = NO_HINTS) -> Any | Unsupported:
    """The plan of a family for a query, or the reason why it has none."""
    return planned(FAMILIES[family], query, hints)


def reference_matches(query: BoundQuery, table: pa.Table, options: Options | None = None) -> MatchSet:
    """All matches of a bound query over a table in time order."""
    return run(ReferenceKernel(query, options or Options()), query.schema, [table])


def kernel_of(text: str, table: pa.Table, options: Options | None = None) -> tuple[Kernel, EventSchema]:
    """The live kernel of `text`, and the schema it reads."""
    query = compiled(text, table, options)
    return load(query, options or Options()), query.bound.schema


def run(kernel: Kernel, schema: EventSchema, batches: Iterable[pa.Table], *, save: bool = False) -> MatchSet:
    """Feed batches in order, with a watermark that follows the events; with `save`, the state is saved and restored."""
    state = kernel.start()
    row, watermark = 0, LONG_AGO
    found: list[MatchSet] = []
    for table in batches:
        time = time_ticks(table, schema)
        watermark = max(watermark, *time.tolist(), LONG_AGO)
        rows = np.arange(row, row + table.num_rows, dtype=np.int64)
        state, matches = kernel.step(state, EventBatch(table, rows, time), watermark)
        if save:
            state = RunState.from_bytes(state.to_bytes())
        row += table.num_rows
        found.append(enumerated(matches))
    rest = EventBatch(table.slice(0, 0), np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
    found.append(enumerated(kernel.step(state, rest, FOREVER)[1]))
    result = MatchSet.concat(found[0].variables, found)
    assert len(set(result)) == len(result), "a match was reported twice"
    return result
