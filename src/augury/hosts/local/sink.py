"""Writes the matches of a finite stream to a file as they are found."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from pathlib import Path

import pyarrow as pa

from augury.compiler import CompiledProgram
from augury.engine.cut.portions import NotInOrder
from augury.engine.results.files import write_parquet
from augury.engine.results.matches import Matches
from augury.engine.scan.scan import Scan
from augury.engine.sources.schemas import KnownColumns
from augury.hosts.local.finite import MatchesWhileRead, check_sortable, matches_in, while_read
from augury.options import Options, Progress
from augury.runtime.matches import MatchSet
from augury.runtime.shared import enumerated

MATCHES_PER_FETCH = 1 << 16
"""Matches whose events are fetched together: enough to be worth reading their row groups again."""


def sink(
    program: CompiledProgram, known: KnownColumns, options: Options, path: Path, *, progress: Progress | None = None
) -> tuple[int, tuple[str, ...]]:
    """Write the matches of the last query of a program to a Parquet file; their number, and warnings."""
    assert known.scan is not None
    query = program.last
    reading = None
    if all(one.bound.into is None for one in program.queries):
        reading = while_read(query, known.scan, options, progress, keep=False)
    if reading is not None:
        try:
            return _as_found(reading, known.scan, options, path), reading.warnings
        except NotInOrder:
            check_sortable(query, known.scan, options)
    found = matches_in(program, known, options, progress=progress)[-1]
    found.sink_parquet(path)
    return found.count(), found.warnings


def _as_found(reading: MatchesWhileRead, scan: Scan, options: Options, path: Path) -> int:
    query = reading.query.bound
    written = 0

    def shown(parts: list[MatchSet]) -> Matches:
        variables = tuple(v.name for v in query.variables if not v.negated)
        return Matches(MatchSet.concat(variables, parts), scan.log, query, options.callables)

    schema = shown([]).to_arrow().schema

    def batches() -> Iterator[pa.RecordBatch]:
        nonlocal written
        waiting: list[MatchSet] = []
        for part in chain(reading, [None]):
            if part is not None:
                waiting.append(enumerated(part))
            if part is None or sum(map(len, waiting)) >= MATCHES_PER_FETCH:
                written += sum(map(len, waiting))
                yield from shown(waiting).to_arrow().cast(schema).to_batches()
                waiting = []

    write_parquet(pa.RecordBatchReader.from_batches(schema, batches()), path)
    return written
