"""Lazy chains as a kernel: encode a batch, sort it into the input buffers, let the chains look for matches.

The evaluation order belongs to the state, since it may change with the stream: between two steps when the rates have
left what the plan was made for, and for a tree (paper 000, section 7) wherever in a batch another order is the better
one. Partial matches of the new order are built from the events of the live window; they are not reported again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from typing import TypeAlias

import numpy as np
import pyarrow as pa

from augury.codegen.lazy.chain import emit_lazy_chain
from augury.codegen.lazy.layout import PARTITION
from augury.codegen.lazy.source import (
    COUNTERS,
    LazyChainSource,
)
from augury.ir.query import span_of
from augury.ir.terms import OutputMode
from augury.jit.background import compile_in_background
from augury.jit.tier import Tier
from augury.kernels.common.expanded import Expanded
from augury.kernels.common.reporting import Bindings
from augury.kernels.common.restoring import restore_pending
from augury.kernels.common.shared import SharedReporting
from augury.kernels.common.totals import Totals, Weighed
from augury.kernels.lazy.consume import Chain, ChainRunner, reach_of
from augury.kernels.lazy.rates import Pieces, events_in_window, live_window, new_pieces
from augury.kernels.lazy.shared import snapshot
from augury.kernels.lazy.state import LazyState
from augury.native.cells import ChainCell
from augury.options import Options
from augury.plan import ChainVariant, LazyChainPlan
from augury.runtime.columns import ColumnSpec, EncodedBatch
from augury.runtime.shared import FoundMatches, SharedMatches
from augury.runtime.state import FOREVER, RunState

STRETCH_EVENTS = 1 << 16
"""How many events of a long batch are taken together: what is remembered of them fits in the caches."""

LOOKS_A_WINDOW = 8
"""Checks of the rates per window, counted in events of the most frequent variable."""

MAX_VARIANTS = 8
"""Kernels of one plan that a live stream compiles; beyond that it stays with those it has."""

Better: TypeAlias = "Callable[[LazyChainPlan, Mapping[str, float]], LazyChainPlan]"
"""The plan for so many events of each variable in a window: the one given unless another variant is better."""


class LazyKernel(ChainRunner):
    """Runs the chains of a plan; what it remembers of the events, and its evaluation order, is in the state."""

    family = "lazy-chain"
    version = 1
    state_type = LazyState

    def __init__(
        self,
        plan: LazyChainPlan,
        options: Options,
        source: LazyChainSource | None = None,
        *,
        better: Better | None = None,
        tree: bool = False,
        piece_events: int = 1 << 10,
        noise_events: int = 4,
        stretch_events: int = STRETCH_EVENTS,
    ) -> None:
        """`source` is what the plan was emitted as with these options, if it was.

        With `better` the order follows the stream from step to step, in a `tree` also within one, every half window,
        but neither more often than every `piece_events`; `noise_events` more or less in a window say nothing about
        rates. Longer batches may be taken in stretches of `stretch_events`.
        """
        output = plan.query.output
        self.tallies = plan.unary and output is OutputMode.COUNT
        self.shares = self.tallies or (plan.unary and plan.query.reports_all and options.compressed)
        if self.shares:
            better = None
        super().__init__(plan.query, options, plan.query.partition_by)
        self.plan, self.better, self.tree = plan, better, tree
        self.piece_events, self.noise_events, self.stretch_events = piece_events, noise_events, stretch_events
        self.totals = Totals(plan.query)
        self.span = span_of(plan.query.window)
        self.plans = {plan.variant: plan}
        self.chains: dict[ChainVariant, Chain] = {}
        self.asked_last: tuple[ChainVariant, Chain] | None = None
        """The variant that was asked for last, and its kernel."""
        self.compiling: dict[ChainVariant, tuple[LazyChainSource, Future[bool]]] = {}
        """Variants whose kernels are compiled beside a live stream, or could not be."""
        if source is not None:
            self.chains[plan.variant] = self._ready(source)

    def _ready(self, source: LazyChainSource) -> Chain:
        code = Tier(source.source, self.options, source.functions)
        bindings = Bindings(
            source.component_variables,
            source.branch_of_component,
            source.absent,
            source.negated,
            source.fixed,
            tuple(b.partial for b in self.plan.branches) if self.plan.query.output.has_timeouts else (),
            in_time=source.in_time,
        )
        specs = {spec.name: spec for spec in source.specs}
        names = source.layout.columns.names
        rows_only = self.options.rows_only and not self.tree
        reporting = SharedReporting(self.plan.query, bindings, code, self.support, rows_only=rows_only)
        return Chain(
            source,
            code,
            reporting,
            {key: specs[names[key]] for key in source.layout.key_columns if key != PARTITION},
            reach_of(self.plan.query, reporting),
        )

    def chain(self, variant: ChainVariant) -> Chain:
        """The kernel of a variant, generated when it first occurs."""
        asked = self.asked_last
        if asked is not None and asked[0] is variant:
            # Comparing the whole variant takes as long as a small kernel runs.
            return asked[1]
        chain = self.chains.get(variant)
        if chain is None:
            source = emit_lazy_chain(self.plans[variant], counters=self.options.counters)
            chain = self.chains[variant] = self._ready(source)
        self.asked_last = variant, chain
        return chain

    def available(self, variant: ChainVariant) -> bool:
        """Whether a variant can be taken on now; a live stream asks for its kernel, and goes on without it."""
        running = self.chain(self.plan.variant)
        if variant in self.chains or not self.options.live or not running.code.compilable:
            return True
        asked = self.compiling.get(variant)
        if asked is None:
            # A registered function is known to this process alone.
            if running.source.functions or len(self.chains) + len(self.compiling) >= MAX_VARIANTS:
                return False
            source = emit_lazy_chain(self.plans[variant], counters=self.options.counters)
            self.compiling[variant] = source, compile_in_background(source.source, self.options.cache_dir)
            return False
        source, compiled = asked
        if not compiled.done() or not compiled.result():
            return False
        del self.compiling[variant]
        chain = self.chains[variant] = self._ready(source)
        chain.code.compile()
        return True

    # -- a step -----------------------------------------------------------------------------------------------------

    @property
    def codes(self) -> tuple[Tier, ...]:
        self.chain(self.plan.variant)
        return tuple(chain.code for chain in self.chains.values())

    def columns(self, live: LazyState) -> tuple[ColumnSpec, ...]:
        return (*live.source.specs, *self.totals.specs)

    def literals(self, live: LazyState) -> tuple[str, ...]:
        return live.source.strings

    def taken_together(self, live: LazyState, encoded: EncodedBatch, first: int) -> int:
        """The end of the events that are taken together from `first` on.

        A long batch is taken in stretches, so that each has the memory, still in the caches, of the one before. This is
        done where nobody can tell: all matches are reported, each as soon as its last event is there, which orders
        them, and no partial match waits for events. Concurrent events stay together. A stretch is no shorter than what
        is remembered, so that work on all of that adds up to no more than the batch.
        """
        size = max(self.stretch_events, live.events.length - live.horizon)
        if (
            encoded.length - first <= 2 * size
            or self.shares
            or self.tree
            or not self.plan.query.reports_all
            or self.span < 0
            or live.source.pools
            or self.chain(live.variant).reporting.waits
        ):
            return encoded.length
        return int(np.searchsorted(encoded.rank, encoded.rank[first + size - 1], side="right"))

    def advance(self, live: LazyState, first: int, watermark: int) -> Expanded:
        if self.shares:
            # Only stored: the buffers are the factorised result.
            (branch,) = self.plan.branches
            live.begun = int(live.arrays["buffer_fill"][live.source.buffer_of[branch.in_sequence[-1].variable]]), first
            self.store(live, first, live.events.length)
            return Expanded.none()
        if self.better is None or not self.tree:
            found = self.consume(live, first, live.events.length, watermark, live.variant)
        else:
            segments = self._segments(live, first)
            found = Expanded.of([self.consume(live, lo, hi, watermark, variant) for lo, hi, variant in segments])
        if len(live.pending) + len(found) > self.options.max_matches:
            raise self.too_many()
        return found

    def report(self, live: LazyState, found: Expanded, watermark: int) -> FoundMatches:
        if self.shares:
            return self._shared(live)
        return self.chain(live.variant).reporting.report(live, found, watermark)

    def after_batch(self, live: LazyState, encoded: EncodedBatch, watermark: int) -> None:
        if self.better is None or self.tree or watermark == FOREVER or not encoded.length:
            return
        if live.encoding.next_event >= live.next_look:
            self._follow(live)
        if live.wanted is not None and self.available(live.wanted):
            self.build_up(live, live.wanted, live.events.length)
            live.wanted = None

    def _shared(self, live: LazyState) -> FoundMatches:
        """The matches of the last events, from the buffers that they lie in."""
        reporting = self.chain(live.variant).reporting
        (branch,) = self.plan.branches
        sequence = [live.source.buffer_of[c.variable] for c in branch.in_sequence]
        begin, first = live.begun
        if live.arrays["buffer_fill"][sequence[-1]] == begin:
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
            lambda: taken.total(self.span, self.support),
            lambda: (
                reporting.match_set(found, taken.rank, taken.time, taken.rows)
                for found in taken.batches(self.span, self.support)
            ),
            lambda size, seed: reporting.sampled([taken.segment(self.span, self.support)], size, seed),
            self.support.claim,
        )

    def counters(self, state: RunState) -> dict[str, int]:
        """The measures of the paper, if the options asked for them; by step only for the order that runs now."""
        live = self.live(state)
        seen = live.arrays["state_seen"]
        by_step = {
            f"partial_matches[{b},{k}]": int(seen[n]) for n, steps in enumerate(live.source.nodes) for b, k in steps
        }
        cells = ChainCell.PREDICATES, ChainCell.BUFFER_WRITES, ChainCell.BOUNDS
        predicates, stored, bounds = (int(live.nums[cell]) for cell in cells)
        totals = (predicates, live.seen + int(seen.sum()), live.peak, live.stored + stored)
        found = dict(zip(COUNTERS, totals, strict=True)) | by_step | {"orders": live.changes + 1}
        if bounds:
            found["bounds"] = bounds
        if self.totals:
            found["weighed"] = live.weighed
        return found

    def new_state(self, used_up: LazyState | None = None) -> LazyState:
        return LazyState.start(
            self.chain(self.plan.variant).source,
            self.plan.variant,
            keys=len(self.keys),
            with_places=self.counts_events,
            totals=self.totals.specs,
            memory=self.memory,
            used_up=used_up,
        )

    def restore_pending(self, live: LazyState, tables: Mapping[str, pa.Table]) -> Expanded:
        reporting = self.chain(live.variant).reporting
        return restore_pending(tables, live.events, reporting.branch_of, reporting.fixed)

    def restore_family(self, live: LazyState, tables: Mapping[str, pa.Table]) -> None:
        live.restore(tables)
        self.build_up(live, live.variant, live.events.length)

    # -- the order ----------------------------------------------------------------------------------------------------

    def _segments(self, live: LazyState, first: int) -> Iterator[tuple[int, int, ChainVariant]]:
        """The new events in pieces, each with the variant to evaluate it in."""
        n = live.events.length
        if n == first or (self.counts_events and self.keys):
            yield first, n, live.variant
            return
        clock = self.clock(live)
        window = events_in_window(clock, self.span)
        piece = max(self.piece_events, window // 2)
        at, variant = first, live.variant
        if live.wanted is not None and self.available(live.wanted):
            variant, live.wanted = live.wanted, None
        for k, better in self._better_variants(
            live, new_pieces(live, self.chain(live.variant).code, window, first, piece)
        ):
            live.wanted = None
            if not self.available(better):
                live.wanted = better
                continue
            if first + k * piece > at:
                yield at, first + k * piece, variant
            at, variant = first + k * piece, better
        yield at, n, variant

    def _follow(self, live: LazyState) -> None:
        """Take on another variant if the rates of the live window ask for it."""
        # Places of different partitions do not ascend together.
        span = -1 if self.counts_events and self.keys else self.span
        pieces = live_window(live, self.clock(live), span)
        before = live.rates
        found = [better for _, better in self._better_variants(live, pieces)]
        if live.rates is not before:
            live.wanted = found[-1] if found else None
        # At first after twice as many events each time; then rates take some of a window to become others.
        seen = live.encoding.next_event
        live.next_look = seen + min(seen, max(self.piece_events, int(pieces.counts[-1].max()) // LOOKS_A_WINDOW))

    def _better_variants(self, live: LazyState, pieces: Pieces) -> Iterator[tuple[int, ChainVariant]]:
        """The pieces from which on another variant is better than the one before, with it.

        That is thought about when rates have left those of the last time.
        """
        assert self.better is not None
        variant, rates = live.variant, np.array([live.rates.get(v, np.nan) for v in pieces.variables])
        at = pieces.moved(self.support, 0, rates, self.noise_events)
        while at < len(pieces.counts) - 1:
            live.rates = dict(zip(pieces.variables, rates.tolist(), strict=True))
            plan = self.better(self.plans[variant], live.rates)
            # A variant that was left and comes back is compiled already.
            self.plans.setdefault(plan.variant, plan)
            if plan.variant != variant:
                variant = plan.variant
                yield at, variant
            at = pieces.moved(self.support, at + 1, rates, self.noise_events)
