"""Lazy chains as a kernel: encode a batch, sort it into the input buffers, let the chains look for matches.

The evaluation order belongs to the state, since it may change with the stream: between two steps when the rates have
left what the plan was made for, and for a tree (paper 000, section 7) wherever in a batch another order is the better
one. Partial matches of the new order are built from the events of the live window; they are not reported again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from augury.codegen.keys import NO_PLACES, KeyNumbers, key_words
from augury.codegen.lazy_chain import emit_lazy_chain
from augury.codegen.lazy_layout import PARTITION
from augury.codegen.lazy_rates import close, events_in_window, live_rates, rates_of_pieces
from augury.codegen.lazy_shared import snapshot
from augury.codegen.lazy_source import (
    COUNTERS,
    ENTRIES,
    FULL,
    MATCHES,
    NO_ROOM_FOR_MATCHES,
    NO_ROOM_IN_POOL,
    Entry,
    LazyChainSource,
)
from augury.codegen.lazy_state import LazyState
from augury.codegen.live import LiveTables, in_use
from augury.codegen.reporting import SLICE, Bindings, Expanded, span_of
from augury.codegen.shared import SharedReporting
from augury.codegen.support import support_source
from augury.codegen.tier import Tier
from augury.codegen.totals import Totals, Weighed
from augury.errors import TooManyMatches
from augury.ir.predicate import Ref
from augury.ir.query import CountWindow, TimeWindow
from augury.ir.terms import OutputMode
from augury.options import Options
from augury.plan import LazyChainPlan
from augury.runtime.batch import EventBatch, Integers
from augury.runtime.columns import ColumnSpec, encode
from augury.runtime.matches import MatchSet
from augury.runtime.shared import FoundMatches, SharedMatches
from augury.runtime.state import FOREVER, RunState

VERSION = 1
FAMILY = "lazy-chain"

PATIENCE = 1 << 14
"""How many events are left lying that nothing can come of, before the others are moved to their place."""

CHUNK = 1 << 15
"""How many events are sorted into the buffers at a time, since each must have room for all of them."""

Reorder: TypeAlias = "Callable[[LazyChainPlan, Mapping[str, float]], tuple[tuple[str, ...], ...]]"
"""The best evaluation orders of a plan for so many events of each variable in a window."""


Orders: TypeAlias = "tuple[tuple[str, ...], ...]"


@dataclass(frozen=True, slots=True, eq=False)
class _Chain:
    """One evaluation order, ready to run."""

    source: LazyChainSource
    code: Tier
    reporting: SharedReporting
    value_specs: Mapping[str, ColumnSpec]


class LazyKernel:
    """Runs the chains of a plan; what it remembers of the events, and its evaluation order, is in the state."""

    def __init__(
        self,
        plan: LazyChainPlan,
        options: Options,
        source: LazyChainSource | None = None,
        *,
        reorder: Reorder | None = None,
        tree: bool = False,
        piece: int = 1 << 10,
    ) -> None:
        """`source` is what the plan was emitted as with these options, if it was.

        With `reorder` the order follows the stream from step to step, in a `tree` also within one, every half window
        but no more often than every `piece` events.
        """
        output = plan.query.output
        self.tallies = plan.unary and output is OutputMode.COUNT
        self.shares = self.tallies or (plan.unary and output is OutputMode.ALL and options.compressed)
        if self.shares:
            reorder = None
        self.plan, self.options, self.reorder, self.tree, self.piece = plan, options, reorder, tree, piece
        self.support = Tier(support_source(), options)
        self.totals = Totals(plan.query)
        self.span = span_of(plan.query.window)
        schema = plan.query.schema
        self.keys = tuple(
            ColumnSpec(f"key_{k}", schema[c].kind, Ref("e", c, schema[c]))
            for k, c in enumerate(plan.query.partition_by)
        )
        self.chains: dict[Orders, _Chain] = {}
        if source is not None:
            self.chains[_orders(plan)] = self._ready(source)

    def _ready(self, source: LazyChainSource) -> _Chain:
        code = Tier(source.source, self.options, source.functions)
        bindings = Bindings(
            source.component_variables, source.branch_of_component, source.absent, source.negated, source.fixed
        )
        specs = {spec.name: spec for spec in source.specs}
        names = source.layout.columns.names
        return _Chain(
            source,
            code,
            SharedReporting(self.plan.query, bindings, code, self.support),
            {key: specs[names[key]] for key in source.layout.key_columns if key != PARTITION},
        )

    def _chain(self, orders: Orders) -> _Chain:
        """The kernel of an order, generated when it first occurs."""
        chain = self.chains.get(orders)
        if chain is None:
            plan = self.plan.in_order(orders)
            chain = self.chains[orders] = self._ready(emit_lazy_chain(plan, counters=self.options.counters))
        return chain

    # -- the contract -----------------------------------------------------------------------------------------------

    def start(self) -> RunState:
        return self._saved(self._new_state())

    def step(self, state: RunState, batch: EventBatch, watermark: int) -> tuple[RunState, FoundMatches]:
        live = self._live(state)
        # The arrays are changed in place: after an error halfway through, there is no way back.
        live.broken = True
        first = live.events.length
        encoded, live.encoding = encode(
            batch,
            self.plan.query.schema,
            (*live.source.specs, *self.keys, *self.totals.specs),
            live.encoding,
            functions=self.options.callables,
        )
        live.events.append(encoded)
        view = live.events.view
        words, null = key_words(encoded.arrays, encoded.length, self.keys)
        live.keys.number(self.support, words, null, view("partition")[first:], view("place")[first:])
        matches = self._shared(live, first) if self.shares else self._reported(live, first, watermark)
        live.horizon = self._horizon(live, watermark)
        if 2 * live.horizon > live.events.length and live.horizon > PATIENCE:
            self._compact(live)
        if self.reorder is not None and not self.tree and encoded.length:
            self._follow(live)
        live.broken = False
        return self._saved(live), matches

    def _reported(self, live: LazyState, first: int, watermark: int) -> MatchSet:
        found = live.pending + Expanded.of(
            [self._consume(live, lo, hi, watermark, orders) for lo, hi, orders in self._segments(live, first)]
        )
        if len(found) > self.options.max_matches:
            raise self._too_many()
        return self._chain(live.orders).reporting.report(live, found, watermark)

    def _shared(self, live: LazyState, first: int) -> FoundMatches:
        """Only store the events: the buffers are the factorised result."""
        reporting = self._chain(live.orders).reporting
        (branch,) = self.plan.branches
        sequence = [live.source.buffer_of[c.variable] for c in branch.in_sequence]
        begin = int(live.arrays["FILL"][sequence[-1]])
        self._store(live, first, live.events.length)
        if live.arrays["FILL"][sequence[-1]] == begin:
            return reporting.nothing
        taken = snapshot(live, sequence, first, begin)
        if self.tallies:
            each = taken.count(self.span, self.support)[1]
            weighed = Weighed.none(len(each), self.totals)
            if self.totals:
                weights = self.totals.weights(live.events, live.encoding.dictionary)
                variables = [c.variable for c in branch.in_sequence]
                weighed, steps = taken.weigh(self.span, self.support, self.totals, variables, weights)
                live.weighed += steps
            return reporting.counted(live, np.arange(len(each)), each, weighed)
        return SharedMatches(
            reporting.positive,
            lambda: taken.count(self.span, self.support)[0],
            lambda: (
                reporting.match_set(found, taken.rank, taken.time, taken.rows)
                for found in taken.batches(self.span, self.support)
            ),
            lambda size, seed: reporting.sampled([taken.segment(self.span, self.support)], size, seed),
        )

    def counters(self, state: RunState) -> dict[str, int]:
        """The measures of the paper, if the options asked for them; by step only for the order that runs now."""
        live = self._live(state)
        seen = live.arrays["SEEN"]
        by_step = {
            f"partial_matches[{b},{k}]": int(seen[n]) for n, steps in enumerate(live.source.nodes) for b, k in steps
        }
        totals = (int(live.nums[8]), live.seen + int(seen.sum()), live.peak, live.stored + int(live.nums[11]))
        weighed = {"weighed": live.weighed} if self.totals else {}
        return dict(zip(COUNTERS, totals, strict=True)) | by_step | {"orders": live.changes + 1} | weighed

    def _new_state(self) -> LazyState:
        orders = _orders(self.plan)
        return LazyState.start(
            self._chain(orders).source,
            orders,
            keys=len(self.keys),
            with_places=self._counts,
            totals=self.totals.specs,
        )

    def _saved(self, live: LazyState) -> RunState:
        rows = live.events.view("rows")[live.horizon :]
        oldest = int(rows.min()) if len(rows) else live.encoding.next_event
        return RunState(FAMILY, VERSION, LiveTables(live, lambda: self._compact(live)), {}, oldest)

    def _live(self, state: RunState) -> LazyState:
        live = in_use(state, LazyState, FAMILY, VERSION)
        if live is not None:
            return live
        live = self._new_state()
        live.restore(state.tables, self.support)
        self._build_up(live, live.orders, live.events.length)
        return live

    @property
    def _counts(self) -> bool:
        return isinstance(self.plan.query.window, CountWindow)

    def _clock(self, live: LazyState) -> Integers:
        """What the window is measured in."""
        return live.events.view("place" if self._counts else "time")

    def _too_many(self) -> TooManyMatches:
        return TooManyMatches(
            f"more than {self.options.max_matches} matches\n = help: raise max_matches, ask for OUTPUT NONOVERLAP, "
            "shorten WITHIN, or add predicates"
        )

    # -- the order ----------------------------------------------------------------------------------------------------

    def _segments(self, live: LazyState, first: int) -> Iterator[tuple[int, int, Orders]]:
        """The new events in pieces, each with the order to evaluate it in."""
        n = live.events.length
        if self.reorder is None or not self.tree or n == first or (self._counts and self.keys):
            yield first, n, live.orders
            return
        clock, code = self._clock(live), self._chain(live.orders).code
        piece = max(self.piece, events_in_window(clock, self.span) // 2)
        at, orders = first, live.orders
        plan = self.plan.in_order(orders)
        for k, rates in enumerate(rates_of_pieces(live, code, clock, self.span, first, piece)):
            better = self.reorder(plan, rates)
            if better != orders:
                if first + k * piece > at:
                    yield at, first + k * piece, orders
                at, orders = first + k * piece, better
                plan = self.plan.in_order(orders)
        yield at, n, orders

    def _follow(self, live: LazyState) -> None:
        """Take on another order if the rates of the live window ask for it."""
        assert self.reorder is not None
        # Places of different partitions do not ascend together.
        rates = live_rates(live, self._clock(live), -1 if self._counts and self.keys else self.span)
        if close(rates, live.rates):
            return
        live.rates = rates
        better = self.reorder(self.plan.in_order(live.orders), rates)
        if better != live.orders:
            self._build_up(live, better, live.events.length)

    def _build_up(self, live: LazyState, orders: Orders, end: int) -> None:
        """Fill the buffers and pools with the events before `end`, for another order; nothing is reported."""
        chain = self._chain(orders)
        live.changes += orders != live.orders
        live.seen += int(live.arrays["SEEN"].sum())
        live.orders = orders
        live.renewed(chain.source)
        stored = live.stored
        begin = live.horizon
        if self.span >= 0 and live.now != FOREVER and not (self._counts and self.keys):
            # What a window that is still open cannot reach need not be built.
            begin = max(begin, int(np.searchsorted(self._clock(live)[:end], live.now - self.span)))
        live.begin = begin
        self._store(live, begin, end)
        live.stored = stored
        for entry in chain.source.entries:
            if entry.kind == "start":
                self._run(live, entry, 0, int(live.arrays["FILL"][entry.buffer]), 0, None, quiet=1)

    # -- consuming --------------------------------------------------------------------------------------------------

    def _consume(self, live: LazyState, first: int, end: int, watermark: int, orders: Orders) -> Expanded:
        """Take the events from `first` to `end`; the matches they complete."""
        if orders != live.orders:
            live.now = self._now(live, first, watermark)
            self._build_up(live, orders, first)
        live.now = self._now(live, end, watermark)
        cuts = live.arrays["FILL"].copy()
        live.arrays["PF"][:, 1] = live.arrays["PF"][:, 0]
        self._store(live, first, end)
        if first == end:
            return Expanded.none()
        found = _Found(self, live)
        fill = live.arrays["FILL"]
        fresh = fill > cuts
        for entry in live.source.entries:
            waiting = 1 if entry.pool is None else int(live.arrays["PF"][entry.pool, 1])
            if entry.kind == "more":
                if waiting and fresh[list(entry.lists)].any():
                    self._run(live, entry, 0, waiting, first, found)
            elif waiting and fresh[entry.buffer]:
                self._run(live, entry, int(cuts[entry.buffer]), int(fill[entry.buffer]), first, found)
        found.flush()
        live.peak = max(live.peak, live.waiting())
        if live.waiting() > 2 * live.pruned:
            live.prune(self.support, self.span, by_partition=self._counts and bool(self.keys))
        return Expanded.of(found.parts)

    def _now(self, live: LazyState, end: int, watermark: int) -> int:
        """The least clock that an event from `end` on can have."""
        if end < live.events.length:
            return int(self._clock(live)[end])
        if watermark == FOREVER:
            return FOREVER
        if self._counts:
            return live.encoding.next_event
        times = live.events.view("time")
        return max(watermark, int(times[-1])) if len(times) else watermark

    def _run(
        self, live: LazyState, entry: Entry, r0: int, r1: int, first: int, found: _Found | None, quiet: int = 0
    ) -> None:
        stream, code = live.stream(), self._chain(live.orders).code
        at = r0
        while at < r1:
            end = min(r1, at + SLICE) if code.warming_up else r1
            arrays = (live.arrays[name] for name in live.source.arrays)
            at = code(entry.name, at, end, first, live.now, quiet, live.nums, *stream, *arrays)
            full = int(live.nums[FULL])
            live.nums[FULL] = 0
            if full == NO_ROOM_FOR_MATCHES:
                assert found is not None
                found.make_room()
                live.rehead(self.support)
            elif full >= NO_ROOM_IN_POOL:
                self._grow_pool(live, full - NO_ROOM_IN_POOL)

    def _grow_pool(self, live: LazyState, node: int) -> None:
        pool = next(p for p in live.source.pools if p.node == node)
        # What the outermost event has made was put back, so that the pool itself tells how much it was.
        if max(live.waiting(), len(live.arrays[f"P{node}__t"])) > self.options.max_runs:
            raise TooManyMatches(
                f"more than {self.options.max_runs} partial matches at a time: the pattern explodes on this "
                "stream\n = help: shorten WITHIN, add predicates, or raise max_runs"
            )
        live.grow_pool(pool)
        live.rehead(self.support)

    def _store(self, live: LazyState, first: int, end: int) -> None:
        """Sort the events from `first` to `end` into the buffers."""
        chain = self._chain(live.orders)
        numbers = [self._values(live, key, spec, first, end) for key, spec in chain.value_specs.items()]
        live.reserve_keys()
        stream = live.stream()
        before = int(live.arrays["FILL"].sum())
        chunk = SLICE if chain.code.warming_up else CHUNK
        for at in range(first, end, chunk):
            to = min(end, at + chunk)
            live.reserve(to - at)
            arrays = (live.arrays[name] for name in live.source.arrays)
            chain.code("store", at, to, first, *numbers, live.nums, *stream, *arrays)
        live.sort()
        live.stored += int(live.arrays["FILL"].sum()) - before

    def _values(self, live: LazyState, key: str, spec: ColumnSpec, first: int, end: int) -> Integers:
        """The numbers of a key column's values; equal values of any columns of one kind share theirs."""
        numbers = live.values.get(key)
        if numbers is None:
            specs = self._chain(live.orders).value_specs
            same = next((n for k, n in live.values.items() if specs[k].kind is spec.kind), None)
            numbers = live.values[key] = KeyNumbers(1) if same is None else same
        arrays = {
            name: live.events.view(name)[first:end]
            for name in (spec.name, f"{spec.name}_null")
            if name in live.events.arrays
        }
        words, null = key_words(arrays, end - first, (spec,))
        out = np.empty(end - first, dtype=np.int64)
        numbers.number(self.support, words, null, out, NO_PLACES)
        return out

    # -- forgetting -------------------------------------------------------------------------------------------------

    def _horizon(self, live: LazyState, watermark: int) -> int:
        """The first event that a match to come can still hold, or that can decide about one."""
        window, reporting = self.plan.query.window, self._chain(live.orders).reporting
        n = live.events.length
        if isinstance(window, TimeWindow) and n:
            time = live.events.view("time")
            now = min(watermark, int(time[-1]))
            reach = 3 if reporting.waits else 2 if reporting.negated else 1
            if self.plan.query.output is OutputMode.NONOVERLAP:
                reach = max(reach, 2)
            first = int(np.searchsorted(time, now - reach * window.ticks, side="left"))
        elif isinstance(window, CountWindow) and n and not reporting.negated:
            places, partitions = live.events.view("place"), live.events.view("partition")
            have = live.counts[np.maximum(partitions, 0)] if self.keys else live.encoding.next_event
            alive = (have - places <= self.span) & (partitions >= 0)
            first = int(alive.argmax()) if alive.any() else n
        else:
            return live.horizon
        return min(first, int(live.pending.events.min())) if len(live.pending) else first

    def _compact(self, live: LazyState) -> None:
        """Throw away every event that nothing can come of."""
        live.prune(self.support, self.span, by_partition=self._counts and bool(self.keys))
        count = live.horizon
        if not count:
            return
        layout, fill = live.source.layout, live.arrays["FILL"]
        cuts = [int(np.searchsorted(live.arrays[f"B{b}_e"][: int(fill[b])], count)) for b in range(len(layout.buffers))]
        live.events.drop(count)
        live.horizon = 0
        live.pending.events -= count
        fill[:] = live.arrays["SORTED"][:] = 0
        for q in layout.indexes.values():
            live.arrays[f"X{q}_first"][:] = live.arrays[f"X{q}_last"][:] = -1
        stored = live.stored
        live.begin = max(0, live.begin - count)
        self._store(live, live.begin, live.events.length)
        live.stored = stored
        for pool in live.source.pools:
            n = int(live.arrays["PF"][pool.node, 0])
            for v, b in zip(pool.variables, pool.buffers, strict=True):
                live.arrays[f"P{pool.node}_{v}"][:n] -= cuts[b]


def _orders(plan: LazyChainPlan) -> Orders:
    return tuple(b.evaluation for b in plan.branches)


class _Found:
    """The matches of a step, taken out of the arrays that generated code writes them to."""

    def __init__(self, kernel: LazyKernel, live: LazyState) -> None:
        self.kernel, self.live = kernel, live
        self.parts: list[Expanded] = []
        self.count = 0

    def make_room(self) -> None:
        if self.live.nums[MATCHES]:
            self.flush()
        else:
            for name in ("O_offsets", "O_events", "O_codes"):
                self.live.grow(name, 4 * len(self.live.arrays[name]))

    def flush(self) -> None:
        live, fixed = self.live, self.live.source.fixed
        m, w = int(live.nums[MATCHES]), int(live.nums[ENTRIES])
        live.nums[MATCHES] = live.nums[ENTRIES] = 0
        if not m:
            return
        self.count += m
        if self.count > self.kernel.options.max_matches:
            raise self.kernel._too_many()
        offsets = live.arrays["O_offsets"][: m + 1].copy()
        events = live.arrays["O_events"][:w].copy()
        codes = np.tile(np.arange(fixed), m) if fixed else live.arrays["O_codes"][:w].copy()
        self.parts.append(Expanded(offsets, events, codes))
        # Room for more, so that the next ones cost less.
        for name in ("O_offsets", "O_events", "O_codes"):
            if len(live.arrays[name]) < 1 << 17:
                live.grow(name, 4 * len(live.arrays[name]))
