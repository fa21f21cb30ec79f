"""Measures rates and selectivities of a query on a sample of the events, for the planner."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from augury.engine.arrivals import Arrivals
from augury.engine.sources.column_types import engine_table
from augury.engine.statistics.vectorized import Read, comparable, compare, not_ruled_out
from augury.ir.branches import branches
from augury.ir.evaluate import evaluate
from augury.ir.functions import BUILTINS
from augury.ir.normal_form import normal_conjuncts
from augury.ir.pattern import components, variable_of
from augury.ir.predicate import Call, Conjunct, Expr, Ref, Value, walk
from augury.ir.query import BoundQuery, CountWindow, TimeWindow
from augury.plan import StreamStatistics
from augury.planner.expected import conjunct_text, partition_text
from augury.runtime.arrow_numbers import to_arrow, to_numpy
from augury.runtime.batch import Integers
from augury.runtime.values import to_values
from augury.schema import Kind

SAMPLE_BLOCKS, SAMPLE_BLOCK_EVENTS = 20, 5_000
"""The sample of a long stream: evenly spaced blocks of consecutive events, so that it holds whole windows."""

SAMPLE_PAIRS, PAIRS_PER_EVENT = 10_000, 4
"""Sampled pairs of events for which Arrow compares two columns, and the largest number of pairs per event."""

BOUNDED_PAIRS = 1_000
"""Sampled pairs of lists that are bounded by leading coefficients, which takes as long as comparing the lists."""

EVALUATED_TUPLES = 200
"""Sampled tuples of events for which a condition is evaluated in Python."""

LIST_ELEMENTS = 3
"""Events per list in such a tuple."""

SEED = 0
"""Seed of the sampling: the same events always give the same statistics."""


@dataclass(frozen=True, slots=True, eq=False)
class _Sample:
    """A sample of events, by position in the stream, and by variable those of its types.

    `clock` are the times, or the positions for a count window, and `reach` is the window; `earlier` holds (u, v) iff u
    precedes v. `random` is called for random numbers when some are needed: not every query loads them.
    """

    events: Arrivals
    looked: Integers
    clock: Integers
    reach: int | None
    fitting: dict[str, Integers]
    earlier: frozenset[tuple[str, str]]
    random: Callable[[], np.random.Generator]

    def compare(self, e: Expr, places: Mapping[str, Integers]) -> npt.NDArray[np.bool_]:
        """A mask of the tuples of places for which the comparison `e` is true."""
        return compare(e, self._read(places))

    def not_ruled_out(self, e: Expr, places: Mapping[str, Integers]) -> npt.NDArray[np.bool_] | None:
        """For each tuple of places whether leading coefficients leave a comparison of lists open; None for others."""
        return not_ruled_out(e, self._read(places))

    def _read(self, places: Mapping[str, Integers]) -> Read:
        return lambda variable, column: self.rows([column], places[variable])[column]

    def rows(self, names: Sequence[str], places: Integers) -> pa.Table:
        """Columns of the events at `places` of the sample, as the engine reads them."""
        return engine_table(self.events.table.select(list(names)).take(to_arrow(self.looked[places])), None)

    def partners(self, anchors: Integers, of: str, variable: str) -> Integers:
        """A random event of `variable` within the window of each anchor, an event of `of`; -1 if there is none."""
        pool = self.fitting[variable]
        if not len(pool):
            return np.full(len(anchors), -1)
        at, clock = self.clock[anchors], self.clock[pool]
        low, high = np.zeros(len(anchors), dtype=np.int64), np.full(len(anchors), len(pool))
        if self.reach is not None:
            low = np.searchsorted(clock, at - self.reach, "left")
            high = np.searchsorted(clock, at + self.reach, "right")
        if (of, variable) in self.earlier:
            low = np.maximum(low, np.searchsorted(clock, at, "right"))
        if (variable, of) in self.earlier:
            high = np.minimum(high, np.searchsorted(clock, at, "left"))
        picks = low + (self.random().random(len(anchors)) * (high - low)).astype(np.int64)
        return np.where(high > low, pool[np.minimum(picks, len(pool) - 1)], -1)


def measure(events: Arrivals, query: BoundQuery) -> StreamStatistics:
    """Rates and selectivities of a query over events that are in order.

    Conditions that call registered functions are not measured, since that would call them.
    """
    if not len(events):
        return StreamStatistics()
    columns = events.table.column_names
    known = [c for c in normal_conjuncts(query.conjuncts, query.pattern_order) if c.variables and _can(c, columns)]
    sample = _sample(events, query)
    share = len(sample.looked) / len(events)
    ticks = max(1, int(events.time[-1]) - int(events.time[0]))
    fitting, rates = {}, {}
    for v, pool in sample.fitting.items():
        alone = [c for c in known if c.variables == (v,) and c.one_event]
        fitting[v], passed = _passing(sample, pool, alone)
        # Events that do not occur in the sample count as half an event.
        rates[v] = max(0.5, len(fitting[v]) * passed / share) / ticks
    sample = replace(sample, fitting=fitting)
    several = [c for c in known if len(c.variables) > 1 or not c.one_event]
    found: dict[str, _Share] = {}
    for together in _over_the_same(several):
        found |= _shares(sample, together, query)
    if partition_text(query) and set(query.partition_by) <= set(columns):
        found[partition_text(query)] = _Share(_agreement(sample, query))
    return StreamStatistics(
        rates,
        {text: share.true for text, share in found.items() if share.true is not None},
        len(events) / ticks,
        float(ticks),
        f"measured on {'all' if share == 1 else f'{len(sample.looked)} of'} {len(events)} events",
        {text: share.left for text, share in found.items() if share.left is not None},
    )


def _can(c: Conjunct, columns: Sequence[str]) -> bool:
    return all(
        (not isinstance(e, Call) or e.function in BUILTINS) and (not isinstance(e, Ref) or e.column in columns)
        for e in walk(c.expr)
    )


def _sample(events: Arrivals, query: BoundQuery) -> _Sample:
    size = len(events)
    looked = np.arange(size, dtype=np.int64)
    if size > SAMPLE_BLOCKS * SAMPLE_BLOCK_EVENTS:
        starts = np.linspace(0, size - SAMPLE_BLOCK_EVENTS, SAMPLE_BLOCKS).astype(np.int64)
        looked = (starts[:, None] + looked[:SAMPLE_BLOCK_EVENTS]).ravel()
    clock, reach = events.time[looked], None
    match query.window:
        case TimeWindow(ticks):
            reach = ticks
        case CountWindow(number):
            clock, reach = looked, number - 1
        case None:
            pass
    fitting = _fitting(events, looked, query)
    return _Sample(events, looked, clock, reach, fitting, _earlier(query), cache(lambda: np.random.default_rng(SEED)))


def _fitting(events: Arrivals, looked: Integers, query: BoundQuery) -> dict[str, Integers]:
    """The events of the sample that are of each variable's types."""
    everything = np.arange(len(looked), dtype=np.int64)
    name = query.schema.type
    if name is None or not query.names_types:
        return dict.fromkeys((v.name for v in query.variables), everything)
    column = events.table[name]
    taken = column if len(looked) == len(column) else column.take(to_arrow(looked))
    types = taken.cast(pa.string()).combine_chunks().dictionary_encode()
    names = types.dictionary.to_pylist()
    # A null is of no type: its code is the last of all.
    codes = to_numpy(types.indices.fill_null(len(names)) if types.null_count else types.indices)
    return {
        v.name: np.flatnonzero(np.array([*(n in v.types for n in names), False])[codes]) if v.types else everything
        for v in query.variables
    }


def _earlier(query: BoundQuery) -> frozenset[tuple[str, str]]:
    """Pairs of variables of which the first precedes the second in some branch, negated ones included."""
    found: set[tuple[str, str]] = set()
    for branch in branches(query.pattern):
        found |= branch.order
        for part in branch.absent:
            for v in map(variable_of, components(part.body)):
                found |= {(u, v) for u in part.after} | {(v, u) for u in part.before}
    return frozenset(found)


def _evenly(places: Integers, number: int) -> Integers:
    if len(places) <= number:
        return places
    return places[np.linspace(0, len(places) - 1, number).astype(np.int64)]


def _passing(sample: _Sample, pool: Integers, alone: Sequence[Conjunct]) -> tuple[Integers, float]:
    """Filter `pool` by the conditions that Arrow can test; also the share of the rest that passes the others."""
    slow = [c for c in alone if not comparable(c.expr)]
    for c in alone:
        if c not in slow and len(pool):
            pool = pool[sample.compare(c.expr, dict.fromkeys(c.variables, pool))]
    some = _evenly(pool, EVALUATED_TUPLES)
    if not slow or not len(some):
        return pool, 1.0
    held = sum(all(_true(c, row) for c in slow) for row in _bindings(sample, slow, {slow[0].variables[0]: [some]}))
    return pool, max(held, 0.5) / len(some)


def _over_the_same(conjuncts: Sequence[Conjunct]) -> list[list[Conjunct]]:
    """Group conditions by the variables they read, those that are fast to test first."""
    groups: dict[tuple[str, ...], list[Conjunct]] = {}
    for c in sorted(conjuncts, key=lambda c: not _fast(c)):
        groups.setdefault(tuple(sorted(c.variables)), []).append(c)
    return list(groups.values())


def _fast(c: Conjunct) -> bool:
    return comparable(c.expr) and len(c.variables) > 1


class _Share(NamedTuple):
    """The share of tuples for which a condition is true, and the share `left` undecided by leading coefficients."""

    true: float | None
    left: float | None = None


def _shares(sample: _Sample, together: Sequence[Conjunct], query: BoundQuery) -> dict[str, _Share]:
    """The selectivity of each condition: the share of tuples of events inside a window for which it is true.

    Each is measured on tuples for which the conditions before it are true: `a.x < b.x` and `b.x < a.x + 1` are seldom
    true at once, however often each is.
    """
    found: dict[str, _Share] = {}
    passed: dict[str, list[Integers]] | None = None
    for c in together:
        drawn = _drawn(sample, c, query) if passed is None else passed
        number = len(next(iter(drawn.values()))[0])
        if not number:
            found[conjunct_text(c)] = _Share(None)
            continue
        left = None
        if _fast(c):
            tuples = {v: places[0] for v, places in drawn.items()}
            true = sample.compare(c.expr, tuples)
            some = _evenly(np.arange(number), BOUNDED_PAIRS)
            left = sample.not_ruled_out(c.expr, {v: places[some] for v, places in tuples.items()})
        else:
            some = _evenly(np.arange(number), EVALUATED_TUPLES)
            drawn = {v: [places[some] for places in lists] for v, lists in drawn.items()}
            true = np.array([_true(c, row) for row in _bindings(sample, [c], drawn)], dtype=bool)
        share = max(int(true.sum()), 0.5) / len(true)
        found[conjunct_text(c)] = _Share(share, None if left is None else float(left.mean()))
        # Lists are sampled anew: a condition on some elements says little about others.
        if true.any() and not any(query[v].iterated for v in c.variables):
            passed = {v: [places[true] for places in lists] for v, lists in drawn.items()}
    return found


def _drawn(sample: _Sample, c: Conjunct, query: BoundQuery) -> dict[str, list[Integers]]:
    """Sample tuples of events inside a window, by variable; an iterated variable has several."""
    first, fast = c.variables[0], _fast(c)
    anchors = _evenly(sample.fitting[first], SAMPLE_PAIRS if fast else EVALUATED_TUPLES)
    if fast:
        anchors = np.resize(anchors, min(SAMPLE_PAIRS, PAIRS_PER_EVENT * len(anchors)))
    drawn = {}
    for v in c.variables:
        number = LIST_ELEMENTS if query[v].iterated and not fast else 1
        own = [anchors] if v == first else [sample.partners(anchors, first, v)]
        drawn[v] = own + [sample.partners(anchors, first, v) for _ in range(number - 1)]
    everything = np.stack([places for lists in drawn.values() for places in lists])
    in_order = np.sort(everything, axis=0)
    # No event is bound twice.
    fine = (everything >= 0).all(axis=0) & (in_order[1:] != in_order[:-1]).all(axis=0)
    return {v: [places[fine] for places in lists] for v, lists in drawn.items()}


def _agreement(sample: _Sample, query: BoundQuery) -> float | None:
    """The share of pairs of events inside a window that are in the same partition; None without any pair."""
    positive = [v.name for v in query.variables if not v.negated]
    wanted = np.zeros(len(sample.looked), dtype=bool)
    for v in positive:
        wanted[sample.fitting[v]] = True
    pool = np.flatnonzero(wanted)
    both = replace(sample, fitting={"": pool}, earlier=frozenset())
    anchors = _evenly(pool, SAMPLE_PAIRS)
    others = both.partners(anchors, "", "")
    fine = (others >= 0) & (others != anchors)
    if not fine.any():
        return None
    left, right = (sample.rows(query.partition_by, places[fine]) for places in (anchors, others))
    agree = np.ones(int(fine.sum()), dtype=bool)
    for name in query.partition_by:
        if query.schema[name].kind is Kind.NULL:
            # Arrow does not compare them; events without a value agree with none.
            return 0.0
        agree &= pc.equal(left[name], right[name]).fill_null(False).to_numpy()
    return max(int(agree.sum()), 0.5) / len(agree)


Tuple: TypeAlias = "dict[str, list[dict[str, Value]]]"
"""Events by variable."""


def _bindings(sample: _Sample, conjuncts: Sequence[Conjunct], drawn: dict[str, list[Integers]]) -> list[Tuple]:
    """The drawn tuples as events, with the columns that the conjuncts read; the events of a list in their order."""
    names = sorted({e.column for c in conjuncts for e in walk(c.expr) if isinstance(e, Ref)})
    out: list[Tuple] = [{} for _ in next(iter(drawn.values()))[0]]
    for v, lists in drawn.items():
        places = np.sort(np.stack(lists), axis=0)
        table = sample.rows(names, places.ravel())
        values = [to_values(table[name]) for name in names]
        events = [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)] or [{}] * places.size
        for k, binding in enumerate(out):
            binding[v] = events[k :: len(out)]
    return out


def _true(c: Conjunct, bindings: Tuple) -> bool:
    """Whether `c` is true of the last elements of its lists."""
    return evaluate(c.expr, bindings, elements={v: len(bindings[v]) - 1 for v in c.each}) is True
