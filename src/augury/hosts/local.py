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

from augury import arguments
from augury.budget import memory_size, seconds, too_many_matches, within
from augury.compiler import CompiledProgram, compile_program
from augury.errors import AuguryWarning, HostError, suggestion
from augury.hosts.events import Events, is_text, read_events
from augury.hosts.matches import Matches
from augury.hosts.reorder import Arrivals, arrive, in_order, ties
from augury.hosts.schemas import event_schema
from augury.hosts.stages import Found, stages, step
from augury.hosts.statistics import measure
from augury.ir.pattern import components, event_of
from augury.ir.query import TimeWindow
from augury.ir.terms import Strategy
from augury.lang import parse
from augury.loss import LossModel
from augury.options import Options
from augury.plan import GivenStatistics, Statistics, StreamStatistics
from augury.runtime.matches import MatchSet
from augury.runtime.shared import enumerated
from augury.runtime.state import FOREVER
from augury.schema import A_COLUMN, EventSchema
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


def make_options(
    *,
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
) -> Options:
    """The options of a call, checked."""
    return Options(
        plan=arguments.optional_text("plan", plan, wanted="the name of a plan"),
        order=None if order is None else arguments.texts("order", order, "the name of a variable"),
        negation=arguments.optional_text("negation", negation),
        statistics=_statistics(statistics),
        parameters=arguments.mapping("parameters", parameters, "a dict of values by name"),
        functions=arguments.callables("functions", functions),
        loss=arguments.optional("loss", loss, LossModel, "a LossModel"),
        max_matches=arguments.limit("max_matches", max_matches),
        max_partial_matches=arguments.limit("max_partial_matches", max_partial_matches),
        max_memory=None if max_memory is None else memory_size(max_memory),
        timeout=None if timeout is None else seconds(timeout),
        jit=arguments.optional_flag("jit", jit),
        cache_dir=arguments.optional_path("cache_dir", cache_dir),
        merge=arguments.flag("merge", merge),
        counters=arguments.flag("counters", counters),
        compressed=arguments.flag("compressed", compressed),
    )


def required_columns(type: str | None, order_by: tuple[str, ...] | None) -> tuple[str | None, ...]:
    """The columns beside the time that an event may not leave out."""
    return (arguments.optional_text("type", type, wanted=A_COLUMN), *(order_by or ()))


def order_columns(order_by: str | Iterable[str] | None) -> tuple[str, ...] | None:
    """The names of the columns that events are ordered by, if they were given."""
    return None if order_by is None else arguments.texts("order_by", order_by, A_COLUMN)


def _statistics(stated: Mapping[str, Any] | StreamStatistics | None) -> Statistics | None:
    return stated if stated is None or isinstance(stated, StreamStatistics) else GivenStatistics.of(stated)


def query_source(query: str | os.PathLike[str]) -> Source:
    """The query text; a path names the file that holds it."""
    if isinstance(query, str):
        return Source(query)
    if not isinstance(query, os.PathLike):
        raise arguments.unusable("query", "the text of a query, or a Path to a file that holds it", query)
    path = arguments.path("query", query)
    try:
        return Source(path.read_text(encoding="utf-8-sig"), path.name)
    except FileNotFoundError:
        raise HostError("A560", f"there is no query file `{path}`") from None
    except (OSError, ValueError) as e:
        raise HostError("A561", f"the query of `{path}` cannot be read: {e}") from e


def tie_warnings(program: CompiledProgram, events: Arrivals, schema: EventSchema) -> tuple[str, ...]:
    """What to say when concurrent events, which are in order here, meet a strategy that consumes events one by one.

    Events of different partitions are none of each other's business, unless every event of the stream counts.
    """
    found: dict[tuple[str, ...], int] = {}
    strategies, tied = set(), 0
    for query in program.queries:
        strategy = query.bound.strategy
        if strategy is Strategy.SKIP_TILL_ANY_MATCH:
            continue
        apart = () if strategy is Strategy.STRICT_CONTIGUITY else query.rewritten.key
        key = tuple(name for name in apart if name in schema)
        if key not in found:
            found[key] = ties(events, schema, key)
        if found[key]:
            strategies.add(strategy)
            tied = max(tied, found[key])
    if not tied:
        return ()
    order = "".join(f'"{name}", ' for name in schema.order_by)
    return (
        f"{tied} of the events {'is' if tied == 1 else 'are'} concurrent with an earlier one; "
        f"{' and '.join(sorted(strategies))} consumes concurrent events in arrival order. "
        f'Give a column that settles their order, such as order_by=({order}"seq")',
    )


def types_of(table: pa.Table, schema: EventSchema) -> frozenset[str]:
    """The type names that occur."""
    if schema.type is None:
        return frozenset()
    column = table[schema.type]
    values = (
        column.unique().cast(pa.string()) if is_text(column.type) else column.cast(pa.string()).unique()
    ).to_pylist()
    return frozenset(v for v in values if v is not None)


def type_warnings(program: CompiledProgram, seen: frozenset[str]) -> tuple[str, ...]:
    """What to say of type names in a query that no event has."""
    out: dict[str, None] = {}
    known = set(seen)
    for query in program.queries:
        if query.bound.schema.type is not None:
            for component in components(query.bound.pattern):
                for name in event_of(component).types:
                    if name not in known:
                        help = suggestion(name, sorted(known))
                        out[f"no event is of type `{name}`" + (f"; {help}" if help else "")] = None
        if query.bound.into is not None:
            known.add(query.bound.into)
    return tuple(out)


def _warned(found: list[Matches]) -> list[Matches]:
    """The results, once their warnings have been shown to whoever called `match` or `match_all`."""
    for text in dict.fromkeys(text for matches in found for text in matches.warnings):
        python_warnings.warn(text, AuguryWarning, stacklevel=3)
    return found
