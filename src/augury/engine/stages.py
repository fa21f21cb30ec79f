"""The queries of a program over the same events, each seeing the events that earlier ones derive."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from augury.budget import Budget, within
from augury.compiler import CompiledProgram, CompiledQuery, counted, load
from augury.engine.arrivals import Arrivals, EventLog, in_order, order_ranks, release
from augury.engine.kept import KeptEvents
from augury.engine.results.columns import last_events, return_columns, returned_type
from augury.engine.scan.narrow import of_types, pushdown_of
from augury.engine.sources.column_types import EngineColumns, conform, engine_columns, engine_type, is_text
from augury.errors import HostError
from augury.ir.query import TimeWindow
from augury.ir.terms import OutputMode
from augury.nouns import per_batch
from augury.options import Options
from augury.runtime.matches import MatchSet
from augury.runtime.shared import FoundMatches, enumerated, matches_in
from augury.runtime.state import FOREVER, LONG_AGO, Kernel, RunState
from augury.timing import CallStage

FIRST_DERIVED = 2**62
"""Events derived from matches are numbered from here: after every event of a stream whose end is not known."""

LAST_DERIVED = 2**63 - 2**32
"""The largest next number in a saved state: what is left above it is enough for the derived events of any batch."""


@per_batch
class Stage:
    """One query of a program, with its kernel state and the events that it holds.

    `arrow` is the schema of the events it sees. It runs `lag` ticks behind the watermark, because the queries before it
    may derive events that late; None waits for the end of the stream. `held` are the events that wait, `log` those that
    a match may still bind, held ones included. The stages of a program share a `budget`.
    """

    query: CompiledQuery
    kernel: Kernel
    arrow: pa.Schema
    lag: int | None
    state: RunState
    held: Arrivals
    log: KeptEvents
    budget: Budget
    columns: EngineColumns
    """Casts of the events to the kernel's types."""


@per_batch
class StageResult:
    """The matches that one query found in a step, and the events that they bind."""

    query: CompiledQuery
    matches: FoundMatches
    log: EventLog
    counters: dict[str, int] | None


def stages(program: CompiledProgram, arrow: pa.Schema, options: Options) -> tuple[Stage, ...]:
    """The stages of a program before its first event; `arrow` are the columns of the events."""
    options = options.with_budget()
    assert options.budget is not None
    built: list[Stage] = []
    lag: int | None = 0
    for query in program.queries:
        with options.clock.stage(CallStage.LOADING):
            kernel = load(query, options)
        nothing, kept = Arrivals.none(arrow), KeptEvents(arrow)
        columns = engine_columns(arrow, query.bound.schema.type, coded=True)
        built.append(Stage(query, kernel, arrow, lag, kernel.start(), nothing, kept, options.budget, columns))
        if query.bound.into is not None:
            arrow = _with_derived(query, arrow)
            own = _reporting_delay(query)
            lag = None if lag is None or own is None else lag + own
    return tuple(built)


def step(
    program: Sequence[Stage], events: Arrivals, watermark: int, next_derived: int, options: Options
) -> tuple[tuple[Stage, ...], tuple[StageResult, ...], int]:
    """Feed events, which are in order, to every query, and the events that a query derives to the queries after it.

    Derived events are numbered from `next_derived`; the next free number is returned last.
    """
    with within(program[0].budget):
        return _step(program, events, watermark, next_derived, options)


def _step(
    program: Sequence[Stage], events: Arrivals, watermark: int, next_derived: int, options: Options
) -> tuple[tuple[Stage, ...], tuple[StageResult, ...], int]:
    moved: list[Stage] = []
    found: list[StageResult] = []
    for stage in program:
        schema = stage.query.bound.schema
        table = conform(events.table, stage.arrow, fill=True)
        incoming = events if table is events.table else replace(events, table=table)
        bound = _behind(watermark, stage.lag)
        log = stage.log + incoming
        if stage.lag == 0:
            ready, held = incoming, stage.held
        else:
            ready, held = release(stage.held + incoming, bound)
        if bound == FOREVER:
            ready = _of_its_types(ready, stage.query)
        if stage.lag != 0:
            ready = in_order(ready, schema)
        with options.clock.stage(CallStage.MATCHING, len(ready)):
            state, matches = stage.kernel.step(stage.state, ready.batch(schema, stage.columns), bound)
        found.append(StageResult(stage.query, matches, log, counted(stage.kernel, state, options)))
        if stage.query.bound.into is not None and matches_in(matches):
            derived = _derive(stage, enumerated(matches), log.everything(), next_derived, options)
            next_derived += len(derived)
            events = replace(events, table=conform(events.table, derived.table.schema, fill=True)) + derived
        moved.append(_moved(stage, state, held, _prune(log, stage, state, held, bound)))
    return tuple(moved), tuple(found), next_derived


def _of_its_types(events: Arrivals, query: CompiledQuery) -> Arrivals:
    """The events of the types that can matter to a query: at the end of a stream these are all that it is given."""
    type, types = query.bound.schema.type, pushdown_of(query.rewritten, events.table.column_names).types
    if type is None or types is None:
        return events
    mask = of_types(events.table[type], types)
    return events if mask is None else events.where(mask)


def _moved(stage: Stage, state: RunState, held: Arrivals, log: KeptEvents) -> Stage:
    """The stage after a step; `replace` would cost a small batch as much as its kernel does."""
    return Stage(stage.query, stage.kernel, stage.arrow, stage.lag, state, held, log, stage.budget, stage.columns)


def _behind(watermark: int, lag: int | None) -> int:
    if watermark == FOREVER or lag == 0:
        return watermark
    return LONG_AGO if lag is None else max(LONG_AGO, watermark - lag)


def _reporting_delay(query: CompiledQuery) -> int | None:
    """How long after its last event a match may be reported, in ticks; None if not before the end of the stream.

    A negated part, or maximality, can look ahead for a window from the first event on, its last tick included. A cover
    grows as long as its chains do.
    """
    if query.bound.output not in (OutputMode.ALL, OutputMode.NONOVERLAP):
        return None
    if not isinstance(query.bound.window, TimeWindow):
        return None
    return query.bound.window.ticks + (query.bound.longest_silence or 0) + 1


def _with_derived(query: CompiledQuery, arrow: pa.Schema) -> pa.Schema:
    """The columns after a query with INTO; a column that is both given and derived has the engine's type for it."""
    schema = query.bound.schema
    taken = {schema.type, *schema.order_by}
    for item in query.bound.returns:
        if item.name in taken:
            raise HostError(
                "A512",
                f"RETURN ... AS {item.name} of INTO {query.bound.into} would replace the "
                + ("type" if item.name == schema.type else "time or order")
                + " of the derived event",
                "choose another name with AS: a derived event has the time of the last event of its match",
            )
        derived = returned_type(item, arrow)
        if item.name not in arrow.names:
            arrow = arrow.append(pa.field(item.name, derived))
        elif arrow.field(item.name).type != derived:
            arrow = arrow.set(arrow.names.index(item.name), pa.field(item.name, engine_type(derived)))
    assert schema.type is not None
    if not is_text(arrow.field(schema.type).type):
        arrow = arrow.set(arrow.names.index(schema.type), pa.field(schema.type, pa.string()))
    return arrow


def _prune(kept: KeptEvents, stage: Stage, state: RunState, held: Arrivals, bound: int) -> KeptEvents:
    """The events that a later match may still bind."""
    if stage.lag == 0:
        # The first stage: no event waits here, and no derived one comes in.
        return kept.since(state.oldest_row)
    log = kept.everything()
    keep = log.rows >= state.oldest_row
    delay = _reporting_delay(stage.query)
    if delay is not None:
        # Derived events have the highest numbers, so that only their time tells their age: an open match ends less
        # than `delay` before `bound`, and starts less than another one earlier.
        keep &= (log.rows == log.anchors) | (log.time >= max(LONG_AGO, bound - 2 * delay))
    return KeptEvents.of(log.where(keep | np.isin(log.rows, held.rows)))


def _derive(stage: Stage, found: MatchSet, log: Arrivals, first_row: int, options: Options) -> Arrivals:
    """Derive one event per match: INTO's type, the order key of the last event, the items of RETURN, the rest null."""
    query = stage.query.bound
    assert query.schema.type is not None
    # Only events that matches bind are ranked: there are mostly few of them.
    bound = [found.completed_by[found.completed_by >= 0], *(rows.flatten().to_numpy() for rows in found.rows)]
    log = log.take(np.sort(log.positions(np.unique(np.concatenate(bound)))))
    last = log.take(last_events(found, log, order_ranks(log, query.schema)))
    arrow = _with_derived(stage.query, stage.arrow)
    columns = {name: last.table[name] for name in query.schema.order_by}
    columns[query.schema.type] = pa.array([query.into] * len(found), pa.string())
    columns |= return_columns(found, log, query, options.callables)
    table = conform(pa.table(columns), arrow, fill=True)
    rows = np.arange(first_row, first_row + len(found), dtype=np.int64)
    return Arrivals(table, rows, last.anchors, last.time)
