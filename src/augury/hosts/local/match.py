"""Match a finite stream on this machine."""

from __future__ import annotations

import datetime as dt
import os
import warnings as python_warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from augury.budget import too_many_matches, within
from augury.compiler import CompiledProgram, compile_program
from augury.engine.arrivals import Arrivals, arrive, in_order
from augury.engine.results.matches import Matches
from augury.engine.sources.events import Events, read_events
from augury.engine.sources.query_text import query_source
from augury.engine.sources.schemas import event_schema, order_columns, required_columns
from augury.engine.stages import Found, stages, step
from augury.engine.statistics.measure import measure
from augury.engine.warnings import tie_warnings, type_warnings, types_of
from augury.errors import AuguryWarning
from augury.ir.query import TimeWindow
from augury.lang import parse
from augury.loss import LossModel
from augury.options import Options, make_options
from augury.plan import StreamStatistics
from augury.runtime.matches import MatchSet
from augury.runtime.shared import enumerated
from augury.runtime.state import FOREVER
from augury.source import Source

SLICE = 5_000
"""Events between two reports of progress."""

Progress = Callable[[int, int], None]
"""Told how many events out of how many have been matched."""


def match(
    events: Events,
    query: str | os.PathLike[str],
    *,
    time: str = "ts",
    type: str | None = "type",
    order_by: str | Iterable[str] | None = None,
    time_unit: str = "s",
    plan: str | None = None,
    order: Iterable[str] | None = None,
    negation: str | None = None,
    statistics: Mapping[str, Any] | StreamStatistics | None = None,
    parameters: Mapping[str, Any] | None = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    loss: LossModel | None = None,
    max_matches: int = 1_000_000,
    max_partial_matches: int = 5_000_000,
    max_memory: int | str | None = None,
    timeout: float | str | dt.timedelta | None = None,
    jit: bool | None = None,
    merge: bool = True,
    counters: bool = False,
    compressed: bool = False,
    cache_dir: str | os.PathLike[str] | None = None,
) -> Matches:
    """The matches of a query, of the last one when the text holds several.

    `events` is an Arrow table, batch or reader, a pandas or polars frame, a path to Parquet, CSV, JSON lines or Arrow
    files, or an iterable of dicts. They are sorted by `order_by` (default: `time`). `query` is the text itself, or a
    `Path` to a file that holds it. A query that reaches one of its budgets raises `BudgetExceeded`: `max_matches`,
    `max_partial_matches` that are kept at a time, `max_memory` (bytes, or such as "2 GB"; by default half of what the
    machine or container has), `timeout` (seconds, a timedelta, or such as "30 seconds").

    `plan` forces an evaluator. The planner measures rates and selectivities on a sample of the events, except for those
    that `statistics` state: `{"rates": {"A": 3.0}, "selectivities": {"a.x < b.x": 0.1}}`, events per second by type or
    variable and the share of pairs for which a condition is true. `order` is the order in which a lazy chain binds the
    variables, `negation` when it looks for negated parts: "post-processing" or "first-chance".

    A kernel is compiled once running it as plain Python has taken a while, with `jit` at
    once or never, and kept in `cache_dir`. With `counters` it counts what it does; without `merge` equivalent runs
    stay apart. With `compressed`, matches of a sequence stay in the form they were found in, which can be exponentially
    smaller: they are counted, iterated and sliced without being written out.

    >>> events = [{"ts": 1, "type": "A"}, {"ts": 2, "type": "B"}, {"ts": 3, "type": "B"}]
    >>> match(events, "PATTERN SEQ(A a, B b) WITHIN 1 minute")
    2 matches
    start  end  a            b
    -----  ---  -----------  -----------
    1      2    ts=1 type=A  ts=2 type=B
    1      3    ts=1 type=A  ts=3 type=B
    """
    options = make_options(
        plan=plan,
        order=order,
        negation=negation,
        statistics=statistics,
        parameters=parameters,
        functions=functions,
        loss=loss,
        max_matches=max_matches,
        max_partial_matches=max_partial_matches,
        max_memory=max_memory,
        timeout=timeout,
        jit=jit,
        merge=merge,
        counters=counters,
        compressed=compressed,
        cache_dir=cache_dir,
    )
    roles: dict[str, Any] = {"time": time, "type": type, "order_by": order_columns(order_by), "time_unit": time_unit}
    return _warned(_run_within(options, events, query, roles))[-1]


def match_all(
    events: Events,
    query: str | os.PathLike[str],
    *,
    time: str = "ts",
    type: str | None = "type",
    order_by: str | Iterable[str] | None = None,
    time_unit: str = "s",
    plan: str | None = None,
    order: Iterable[str] | None = None,
    negation: str | None = None,
    statistics: Mapping[str, Any] | StreamStatistics | None = None,
    parameters: Mapping[str, Any] | None = None,
    functions: Mapping[str, Callable[..., Any]] | None = None,
    loss: LossModel | None = None,
    max_matches: int = 1_000_000,
    max_partial_matches: int = 5_000_000,
    max_memory: int | str | None = None,
    timeout: float | str | dt.timedelta | None = None,
    jit: bool | None = None,
    merge: bool = True,
    counters: bool = False,
    compressed: bool = False,
    cache_dir: str | os.PathLike[str] | None = None,
) -> list[Matches]:
    """The matches of every query of a program, in the order the queries are written; see `match`."""
    options = make_options(
        plan=plan,
        order=order,
        negation=negation,
        statistics=statistics,
        parameters=parameters,
        functions=functions,
        loss=loss,
        max_matches=max_matches,
        max_partial_matches=max_partial_matches,
        max_memory=max_memory,
        timeout=timeout,
        jit=jit,
        merge=merge,
        counters=counters,
        compressed=compressed,
        cache_dir=cache_dir,
    )
    roles: dict[str, Any] = {"time": time, "type": type, "order_by": order_columns(order_by), "time_unit": time_unit}
    return _warned(_run_within(options, events, query, roles))


def _run_within(
    options: Options, events: Events, query: str | os.PathLike[str], roles: dict[str, Any]
) -> list[Matches]:
    """Read the events and match them, all within one budget."""
    options = options.watched()
    assert options.budget is not None
    with within(options.budget):
        table = read_events(events, roles["time"], required_columns(roles["type"], roles["order_by"]))
        return run(table, query_source(query), options, **roles)


def run(
    table: pa.Table,
    source: Source,
    options: Options,
    *,
    time: str = "ts",
    type: str | None = "type",
    order_by: str | Iterable[str] | None = None,
    time_unit: str = "s",
    progress: Progress | None = None,
    every: int = SLICE,
) -> list[Matches]:
    """The matches of every query over a table of events; `progress` is told after `every` so many of them."""
    options = options.with_budget()
    assert options.budget is not None
    roles: dict[str, Any] = {"time": time, "type": type, "order_by": order_by, "time_unit": time_unit}
    with within(options.budget):
        return _run(table, source, options, **roles, progress=progress, every=every)


def _run(
    table: pa.Table,
    source: Source,
    options: Options,
    *,
    time: str,
    type: str | None,
    order_by: str | Iterable[str] | None,
    time_unit: str,
    progress: Progress | None,
    every: int,
) -> list[Matches]:
    if table.num_columns == 0:
        return [Matches.nothing() for _ in parse(source).queries]
    schema = event_schema(table.schema, time, type, order_by, time_unit)
    sort = cache(lambda: in_order(arrive(table, schema, 0), schema))
    # Errors of the query come before those of the events, which are sorted early only if the planner wants to see them.
    program = compile_program(source, schema, options, measure=lambda query: measure(sort(), query))
    chain = stages(program, table.schema, options)
    events = sort()
    notes = (*tie_warnings(program, events, schema), *type_warnings(program, types_of(table, schema)))
    collected: list[list[Found]] = [[] for _ in program.queries]
    next_derived = len(events)
    done = 0
    for part, watermark in _parts(events, program, None if progress is None else every):
        chain, found, next_derived = step(chain, part, watermark, next_derived, options)
        for all_of_one, new in zip(collected, found, strict=True):
            all_of_one.append(new)
        if progress is not None:
            done += len(part)
            progress(done, len(events))
    return [_joined(pieces, options, notes) for pieces in collected]


def _parts(events: Arrivals, program: CompiledProgram, every: int | None) -> Iterable[tuple[Arrivals, int]]:
    """The stream in slices, when someone watches and every window lets a kernel forget what it has seen."""
    bounded = all(isinstance(q.bound.window, TimeWindow) for q in program.queries)
    if every is None or not bounded or len(events) <= every:
        yield events, FOREVER
        return
    for start in range(0, len(events), every):
        part = events.slice(start, min(start + every, len(events)))
        yield part, FOREVER if start + every >= len(events) else int(part.time[-1])


def _joined(pieces: Sequence[Found], options: Options, notes: tuple[str, ...]) -> Matches:
    """One result from those of the slices."""
    found, log = pieces[0].matches, pieces[0].log
    if len(pieces) > 1:
        found = MatchSet.concat(found.variables, [enumerated(piece.matches) for piece in pieces])
        for piece in pieces[1:]:
            log = log + piece.log
        _, once = np.unique(log.rows, return_index=True)
        log = log.take(once)
        if len(found) > options.max_matches:
            raise too_many_matches(options.max_matches, "shorten WITHIN, or add predicates")
    query = pieces[0].query
    return Matches(found, log, query.bound, options.callables, notes, counters=pieces[-1].counters, compiled=query)


def _warned(found: list[Matches]) -> list[Matches]:
    """The results, once their warnings have been shown to whoever called `match` or `match_all`."""
    for text in dict.fromkeys(text for matches in found for text in matches.warnings):
        python_warnings.warn(text, AuguryWarning, stacklevel=3)
    return found
