"""Fits a loss model to a history of events or matches."""

from __future__ import annotations

import os
from typing import Unpack

import numpy as np

from augury.compiler import CompiledQuery, compile_program
from augury.engine.arrivals import Arrivals, arrive, in_order
from augury.engine.loss.subqueries import exact_rows, part_of
from augury.engine.results.matches import Matches
from augury.engine.sources.events import Events, read_events
from augury.engine.sources.query_text import query_source
from augury.engine.sources.schemas import event_schema
from augury.errors import HostError
from augury.ir.lossy import Step, last_positive, sequence
from augury.ir.query import BoundQuery, TimeWindow
from augury.loss import Delay, Empirical, LossModel
from augury.options import MatchOptions, Options, read_options
from augury.plan.lossy import Floats
from augury.runtime.batch import Integers
from augury.runtime.shared import enumerated
from augury.schema import UNITS


def fit_loss(
    history: Events | Matches,
    query: str | os.PathLike[str],
    *,
    rate: float | None = None,
    last: bool = False,
    bins: int = 32,
    scoring: str = "paper",
    **given: Unpack[MatchOptions],
) -> LossModel:
    """Fit histograms of the delays and the loss rate of each component, for the last query of a text.

    Without `rate`, the history is taken to be lossy, and the components to happen whenever all others do: how often
    one is missing beside the others is its loss rate. With `rate`, the history is taken to be complete, and events to
    be lost at that rate from now on: how often a component is missing is then how often it does not happen, which the
    histogram holds as a delay beyond the window. `last` lets the last component be missing too.

    Of the first component the delay counts backwards, from the next component on. The options are those of `match`.
    """
    if isinstance(history, Matches):
        return _model(_from_matches(history), rate, last, bins, scoring)
    roles, options = read_options(given)
    table = read_events(history, roles.time, roles.required)
    schema = event_schema(table.schema, roles)
    compiled = compile_program(query_source(query), schema, options).last
    events = in_order(arrive(table, schema, 0), schema)
    return _model(_from_events(compiled, events, options), rate, last, bins, scoring)


class _History:
    """Counts from a history: the delays in seconds, and how often each component was observed."""

    def __init__(self, query: BoundQuery) -> None:
        if query.threshold is None or not isinstance(query.window, TimeWindow):
            raise HostError(
                "A557", "a loss model is fitted to a query with THRESHOLD and a WITHIN in time", "add both to the query"
            )
        self.query, self.steps = query, sequence(query.pattern)
        self.tick = UNITS[query.schema.time_unit] / 1e9
        self.window = query.window.ticks * self.tick
        self.delays: dict[str, Floats] = {}
        self.there: dict[str, tuple[float, float]] = {}
        """By variable, the number of cases in which the component was observed, and in which it was not."""

    @property
    def positive(self) -> list[str]:
        return [s.variable for s in self.steps if not s.negated]

    def reference_of(self, step: Step) -> tuple[str | None, bool]:
        """The positive component that a delay is measured from, and whether it is a later one."""
        at = self.steps.index(step)
        earlier = [s.variable for s in self.steps[:at] if not s.negated]
        later = [s.variable for s in self.steps[at + 1 :] if not s.negated]
        return (earlier[-1], False) if earlier else (later[0], True) if later else (None, False)


def _from_events(compiled: CompiledQuery, events: Arrivals, options: Options) -> _History:
    query = compiled.bound
    seen = _History(query)
    complete = exact_rows(part_of(query, seen.positive), compiled, events, options)
    for step in seen.steps:
        base, later = seen.reference_of(step)
        if base is None:
            continue
        if step.negated:
            _first_after(seen, step, base, later, compiled, events, options)
            continue
        a, b = (step.variable, base) if later else (base, step.variable)
        # One delay a pair of events, however many matches they are both part of.
        pairs = np.unique(np.stack([complete[a], complete[b]]), axis=1)
        delays = (events.time[pairs[1]] - events.time[pairs[0]]) * seen.tick
        seen.delays[step.variable] = delays.astype(np.float64)
        others = [v for v in seen.positive if v != step.variable]
        without = exact_rows(part_of(query, others), compiled, events, options)
        with_it = {tuple(row) for row in np.stack([complete[v] for v in others], axis=1).tolist()}
        cases = {tuple(row) for row in np.stack([without[v] for v in others], axis=1).tolist()}
        seen.there[step.variable] = (float(len(with_it)), float(len(cases - with_it)))
    return seen


def _first_after(
    seen: _History,
    step: Step,
    base: str,
    later: bool,
    compiled: CompiledQuery,
    events: Arrivals,
    options: Options,
) -> None:
    """Note the delay from each event of the positive component to the nearest event of the negated one beside it."""
    pairs = exact_rows(part_of(seen.query, (base, step.variable)), compiled, events, options)
    bases: Integers = exact_rows(part_of(seen.query, (base,)), compiled, events, options)[base]
    nearest: dict[int, int] = {}
    for at, event in zip(pairs[base].tolist(), pairs[step.variable].tolist(), strict=True):
        distance = abs(int(events.time[event] - events.time[at]))
        nearest[at] = min(nearest.get(at, distance), distance)
    delays = np.array(list(nearest.values()), dtype=np.float64) * seen.tick
    seen.delays[step.variable] = delays
    seen.there[step.variable] = (float(len(nearest)), float(len(bases) - len(nearest)))


def _from_matches(history: Matches) -> _History:
    """Collect delays between neighbours that were both observed; matches that are part of another are left out."""
    if history.query is None:
        raise _nothing_of("its components")
    seen = _History(history.query)
    matches = enumerated(history.found)
    rows = np.stack(
        [np.array([r[0] if r else -1 for r in column.to_pylist()], dtype=np.int64) for column in matches.rows], axis=1
    ).reshape(len(matches), len(matches.variables))
    rows = rows[_maximal(rows)]
    place = {v: k for k, v in enumerate(matches.variables)}
    log = history.log.everything()
    for step in seen.steps:
        base, later = seen.reference_of(step)
        if base is None or step.negated:
            continue
        mine, other = rows[:, place[step.variable]], rows[:, place[base]]
        both = (mine >= 0) & (other >= 0)
        first, second = (mine, other) if later else (other, mine)
        start, end = log.positions(first[both]), log.positions(second[both])
        delays = (log.time[end] - log.time[start]).astype(np.float64) * seen.tick
        seen.delays[step.variable] = delays
        seen.there[step.variable] = (float((mine >= 0).sum()), float((mine < 0).sum()))
    return seen


def _maximal(rows: Integers) -> list[int]:
    """The matches that no other one extends by an event."""
    found: set[tuple[int, ...]] = set()
    listed = [tuple(row) for row in rows.tolist()]
    for row in listed:
        bound = [k for k, r in enumerate(row) if r >= 0]
        for chosen in range(1, 2 ** len(bound) - 1):
            found.add(tuple(r if k in bound and chosen >> bound.index(k) & 1 else -1 for k, r in enumerate(row)))
    return [k for k, row in enumerate(listed) if row not in found]


def _model(seen: _History, rate: float | None, last: bool, bins: int, scoring: str) -> LossModel:
    rates: dict[str, float] = {}
    delays: dict[str, Delay] = {}
    final = last_positive(seen.steps)
    for step in seen.steps:
        v = step.variable
        if v not in seen.delays:
            continue
        with_it, without = seen.there[v]
        never = without if step.negated or rate is not None else 0.0
        if not step.negated and rate is None:
            if with_it == 0:
                raise _nothing_of(f"`{v}`")
            rates[v] = without / (with_it + without)
        if v != final or last:
            share = never / (with_it + never) if with_it + never > 0 else 1.0
            delays[v] = histogram(v, seen.delays[v], share, seen.window, seen.tick, bins)
    return LossModel(rate or 0.0, rates, delays, scoring=scoring)


def histogram(variable: str, values: Floats, never: float, window: float, tick: float, bins: int) -> Empirical:
    """A histogram of delays with equally many in each bin; the share that `never` happens lies beyond the window.

    >>> histogram("x", np.array([1.0, 2.0, 3.0, 4.0]), 0.2, 10.0, 1.0, 2)
    Empirical(edges=(0.0, 2.0, 4.0, 20.0, 40.0), counts=(2.0, 2.0, 0.0, 1.0))
    """
    total = float(len(values))
    if not total and never < 1:
        raise _nothing_of(f"`{variable}`")
    edges, counts = [0.0], []
    if total:
        edges = [max(0.0, float(values.min()) - tick)]
        wanted = np.quantile(values, np.arange(1, bins + 1) / bins, method="inverted_cdf")
        edges += np.unique(np.maximum(wanted, tick / 2)).tolist()
        # A bin holds its upper edge: delays are whole ticks, and a delay that is reached has happened.
        bin_of = np.maximum(np.searchsorted(edges, values, side="left") - 1, 0)
        counts = np.bincount(bin_of, minlength=len(edges) - 1).astype(float).tolist()
    if never > 0:
        far = 2 * max(window, edges[-1])
        edges += [far, 2 * far]
        counts += [0.0, total * never / (1 - never) if total else 1.0]
    return Empirical(tuple(edges), tuple(counts))


def _nothing_of(what: str) -> HostError:
    return HostError(
        "A558", f"history shows nothing of {what}", "fit to a longer history, or state the delays and rates yourself"
    )
