"""Consumes events in lazy chains: store them, run the generated functions, make room, forget expired ones."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from augury.budget import too_many_partial_matches
from augury.codegen.lazy.arrays import MATCH_EVENTS, MATCHES
from augury.codegen.lazy.layout import PARTITION
from augury.codegen.lazy.source import (
    NO_ROOM_FOR_MATCHES,
    NO_ROOM_IN_POOL,
    NO_ROOM_IN_STAGE,
    TOO_MANY_LISTS,
    Entry,
    EntryKind,
    LazyChainSource,
)
from augury.ir.query import BoundQuery, CountWindow, TimeWindow
from augury.jit.tier import Tier
from augury.kernels.common.expanded import Expanded
from augury.kernels.common.keys import NO_PLACES, KeyNumbers, key_words
from augury.kernels.common.reporting import WARM_UP_EVENTS
from augury.kernels.common.selecting import windows_of
from augury.kernels.common.shared import SharedReporting
from augury.kernels.lazy.state import LazyState
from augury.kernels.stream import Renumbering, StreamKernel
from augury.native.cells import ChainCell
from augury.plan import ChainVariant, LazyChainPlan
from augury.runtime.batch import Integers
from augury.runtime.columns import ColumnSpec
from augury.runtime.state import FOREVER
from augury.schema import Kind

STAGE_ROWS = 1 << 12
"""Partial matches that are handed from one function to the next at a time."""

MAX_EVENTS_IN_PLACE = 1 << 19
"""Events of matches up to which the arrays that these are written to grow; more are copied out of them."""

FEW_MATCHES = 1 << 14
"""Matches up to which there is room for sixteen times as many when there are more; then for four times as many."""

STORE_CHUNK_EVENTS = 1 << 15
"""How many events are sorted into the buffers at a time, since each must have room for all of them."""


FULL, LIMIT, FOUND = int(ChainCell.FULL), int(ChainCell.LIMIT), int(ChainCell.MATCHES)
"""Cells that are looked at in every step: NumPy takes a member of an enumeration for a number only by detours."""


@dataclass(frozen=True, slots=True, eq=False)
class Chain:
    """The kernel of one variant of the plan, ready to run."""

    source: LazyChainSource
    code: Tier
    reporting: SharedReporting
    value_specs: Mapping[str, ColumnSpec]
    reach: int | None
    """How many ticks before the last event, or the watermark, an event may matter; None without a window in time."""


def reach_of(query: BoundQuery, reporting: SharedReporting) -> int | None:
    """How many ticks before the last event an event may matter to a match to come, or to one that waits."""
    if not isinstance(query.window, TimeWindow):
        return None
    windows = 3 if reporting.waits else 2 if reporting.negated else 1
    return max(windows, windows_of(query)) * query.window.ticks + (query.longest_silence or 0)


class ChainRunner(StreamKernel[LazyState]):
    """Runs the generated functions of the evaluation order that a state has: fill buffers, search, make room."""

    plan: LazyChainPlan
    span: int
    tree: bool
    """Whether the order may change within a step."""

    @abstractmethod
    def chain(self, variant: ChainVariant) -> Chain:
        """The kernel of a variant."""

    def clock(self, live: LazyState) -> Integers:
        """The time or position that the window is measured in."""
        return live.events.view("place" if self.counts_events else "time")

    def build_up(self, live: LazyState, variant: ChainVariant, end: int) -> None:
        """Fill the buffers and pools with the events before `end`, for another variant; nothing is reported."""
        chain = self.chain(variant)
        live.changes += variant.orders != live.variant.orders
        live.seen += int(live.arrays["state_seen"].sum())
        live.variant = variant
        live.renewed(chain.source)
        stored = live.stored
        begin = live.horizon
        if self.span >= 0 and live.now != FOREVER and not (self.counts_events and self.keys):
            # What a window that is still open cannot reach need not be built.
            begin = max(begin, int(np.searchsorted(self.clock(live)[:end], live.now - self.span)))
        live.begin = begin
        self.store(live, begin, end)
        live.stored = stored
        for entry in chain.source.entries:
            if entry.kind is EntryKind.START:
                self._run(live, entry, 0, int(live.arrays["buffer_fill"][entry.buffer]), 0, None, quiet=1)

    def consume(self, live: LazyState, first: int, end: int, watermark: int, variant: ChainVariant) -> Expanded:
        """Take the events from `first` to `end`; the matches they complete.

        Where all matches are reported at once, they are good until the next events are taken.
        """
        if variant is not live.variant and variant != live.variant:
            live.now = self._now(live, first, watermark)
            self.build_up(live, variant, first)
        live.now = self._now(live, end, watermark)
        # Lists, whose numbers Python reads several times as fast as those of an array.
        before: list[int] = live.arrays["buffer_fill"].tolist()
        if live.source.pools:
            pools = live.arrays["pool_fill"]
            pools[:, 1] = pools[:, 0]
        self.store(live, first, end)
        if first == end:
            return Expanded.none()
        found = MatchesOfStep(self, live)
        after: list[int] = live.arrays["buffer_fill"].tolist()
        for entry in live.source.entries:
            more, b = entry.kind is EntryKind.MORE, entry.buffer
            if not (any(after[own] > before[own] for own in entry.lists) if more else after[b] > before[b]):
                continue
            waiting = 1 if entry.pool is None else live.arrays["pool_fill"].item(entry.pool, 1)
            if waiting and more:
                self._run(live, entry, 0, waiting, first, found)
            elif waiting:
                self._run(live, entry, before[b], after[b], first, found)
        # A tree takes the events of a step in several pieces; other matches wait, or are kept by what OUTPUT selects.
        at_once = not self.tree and self.plan.query.reports_all and not self.chain(variant).reporting.waits
        matches = found.all(in_place=at_once)
        waiting = live.waiting()
        live.peak = max(live.peak, waiting)
        if waiting > 2 * live.pruned:
            live.prune(self.support, self.span, by_partition=self.counts_events and bool(self.keys))
        return matches

    def _now(self, live: LazyState, end: int, watermark: int) -> int:
        """The least clock that an event from `end` on can have."""
        if end < live.events.length:
            return int(self.clock(live)[end])
        if watermark == FOREVER:
            return FOREVER
        if self.counts_events:
            return live.encoding.next_event
        return max(watermark, live.events.latest) if end else watermark

    def _run(
        self, live: LazyState, entry: Entry, r0: int, r1: int, first: int, found: MatchesOfStep | None, quiet: int = 0
    ) -> None:
        stream, code, nums = live.stream(), self.chain(live.variant).code, live.nums
        nums[LIMIT] = self.options.max_partial_matches
        at = r0
        while at < r1:
            end = min(r1, at + WARM_UP_EVENTS) if code.warming_up else r1
            arrays = map(live.arrays.__getitem__, entry.arrays)
            at = code(entry.name, at, end, first, live.now, quiet, nums, *stream, *arrays)
            full = nums.item(FULL)
            if not full:
                continue
            nums[FULL] = 0
            if full == NO_ROOM_FOR_MATCHES:
                assert found is not None
                found.make_room()
                live.rehead(self.support)
            elif full == TOO_MANY_LISTS:
                raise too_many_partial_matches(
                    self.options.max_partial_matches,
                    "lists for one partial match",
                    "shorten WITHIN, bound the lists, add predicates on their elements",
                )
            elif full >= NO_ROOM_IN_STAGE:
                live.rehead(self.support)
                self._make_room_on_stage(live, full - NO_ROOM_IN_STAGE, first, found, quiet)
            elif full >= NO_ROOM_IN_POOL:
                self._grow_pool(live, full - NO_ROOM_IN_POOL)
        for node in entry.stages:
            self._go_on(live, node, first, found, quiet)

    def _go_on(self, live: LazyState, node: int, first: int, found: MatchesOfStep | None, quiet: int) -> None:
        """Let another function go on with the partial matches of a stage, and empty it."""
        staged = int(live.arrays["stage_fill"][node])
        if staged:
            self._run(live, live.source.go_on[node], 0, staged, first, found, quiet)
            live.arrays["stage_fill"][node] = 0

    def _make_room_on_stage(
        self, live: LazyState, node: int, first: int, found: MatchesOfStep | None, quiet: int
    ) -> None:
        """Empty a stage; it grows if one event has filled most of it, and a few times before, to be emptied less."""
        stage = next(s for s in live.source.stages if s.node == node)
        staged, room = int(live.arrays["stage_fill"][node]), live.arrays.room(stage.owner)
        self._go_on(live, node, first, found, quiet)
        if 2 * staged < room or room < STAGE_ROWS:
            if room > self.options.max_partial_matches:
                raise too_many_partial_matches(
                    self.options.max_partial_matches, "partial matches at a time", "shorten WITHIN, add predicates"
                )
            live.arrays.resize(stage.owner, 2 * room)

    def _grow_pool(self, live: LazyState, node: int) -> None:
        pool = next(p for p in live.source.pools if p.node == node)
        # What the outermost event has made was put back, so that the pool itself tells how much it was.
        if max(live.waiting(), live.arrays.room(pool.owner)) > self.options.max_partial_matches:
            raise too_many_partial_matches(
                self.options.max_partial_matches, "partial matches at a time", "shorten WITHIN, add predicates"
            )
        live.arrays.resize(pool.owner, 2 * live.arrays.room(pool.owner))
        live.rehead(self.support)

    def store(self, live: LazyState, first: int, end: int) -> None:
        """Sort the events from `first` to `end` into the buffers."""
        chain = self.chain(live.variant)
        numbers = [self._values(live, key, spec, first, end) for key, spec in chain.value_specs.items()]
        live.reserve_keys()
        live.widen(first, end)
        stream = live.stream()
        before = int(live.arrays["buffer_fill"].sum()) if self.options.counters else 0
        chunk = WARM_UP_EVENTS if chain.code.warming_up else STORE_CHUNK_EVENTS
        for at in range(first, end, chunk):
            to = min(end, at + chunk)
            live.reserve(to - at)
            arrays = map(live.arrays.__getitem__, live.source.store_arrays)
            chain.code("store", at, to, first, *numbers, live.nums, *stream, *arrays)
        live.sort()
        if self.options.counters:
            live.stored += int(live.arrays["buffer_fill"].sum()) - before

    def _values(self, live: LazyState, key: str, spec: ColumnSpec, first: int, end: int) -> Integers:
        """The numbers of a key column's values; equal values of any columns of one kind share theirs."""
        numbers = live.values.get(key)
        if numbers is None:
            specs = self.chain(live.variant).value_specs
            same = next((n for k, n in live.values.items() if specs[k].kind is spec.kind), None)
            numbers = live.values[key] = KeyNumbers(1, coded=spec.kind is Kind.STRING) if same is None else same
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

    def find_horizon(self, live: LazyState, watermark: int) -> int:
        chain, n = self.chain(live.variant), live.events.length
        if chain.reach is not None and n:
            oldest = min(watermark, live.events.latest) - chain.reach
            first = int(live.events.view("time").searchsorted(oldest))
        elif isinstance(self.plan.query.window, CountWindow) and n and not chain.reporting.negated:
            places, partitions = live.events.view("place"), live.events.view("partition")
            have = live.counts[np.maximum(partitions, 0)] if self.keys else live.encoding.next_event
            alive = (have - places <= self.span) & (partitions >= 0)
            first = int(alive.argmax()) if alive.any() else n
        else:
            return live.horizon
        return min(first, int(live.pending.events.min())) if len(live.pending) else first

    def waiting(self, live: LazyState) -> Integers:
        """The partition of each event in a buffer, and of each partial match that waits for one."""
        fill, partition = live.arrays["buffer_fill"], live.events.view("partition")
        events = [live.arrays[f"buffer{b}_e"][: int(fill[b])] for b in range(len(live.source.layout.buffers))]
        places = [partition[part[part >= live.horizon]] for part in events]
        for pool in live.source.pools:
            places.append(live.arrays[f"pool{pool.node}_p"][: int(live.arrays["pool_fill"][pool.node, 0])])
        return np.concatenate(places) if places else np.empty(0, dtype=np.int64)

    def expire(self, live: LazyState) -> int:
        live.prune(self.support, self.span, by_partition=self.counts_events and bool(self.keys))
        return live.horizon

    def renumbered(self, live: LazyState, by: Renumbering) -> None:
        """Fill the buffers anew with the events that are left, and bring the partial matches that wait in line."""
        layout, fill = live.source.layout, live.arrays["buffer_fill"]
        cuts = [
            int(np.searchsorted(live.arrays[f"buffer{b}_e"][: int(fill[b])], by.count))
            for b in range(len(layout.buffers))
        ]
        fill[:] = live.arrays["sorted_fill"][:] = 0
        live.arrays["block_width"][:] = 1, 0
        for q in layout.indexes.values():
            live.arrays[f"chain{q}_first"][:] = live.arrays[f"chain{q}_last"][:] = -1
        # The values of key columns are numbered anew, as they come in the events that are left.
        before, live.values = live.values, {}
        stored = live.stored
        live.begin = max(0, live.begin - by.count)
        self.store(live, live.begin, live.events.length)
        live.stored = stored
        for pool in live.source.pools:
            n = int(live.arrays["pool_fill"][pool.node, 0])
            live.arrays[f"pool{pool.node}_at"][:n] -= np.array([cuts[b] for b in pool.buffers])
            partition = live.arrays[f"pool{pool.node}_p"][:n]
            if by.partitions is not None:
                partition[:] = by.partitions[partition]
            for child in pool.heads:
                key, ids = live.source.head_keys[child], live.arrays[f"pool{pool.node}_id{child}"][:n]
                there = ids >= 0
                if key != PARTITION:
                    ids[there] = self._renumbered_values(before[key], live.values[key], ids[there], by)
                elif by.partitions is not None:
                    ids[there] = by.partitions[ids[there]]
        live.rehead(self.support)

    def _renumbered_values(self, before: KeyNumbers, now: KeyNumbers, ids: Integers, by: Renumbering) -> Integers:
        """The new numbers of values of a key column, all of which are in events that are left."""
        words = before.words(0)[ids][None, :]
        if by.strings is not None and now.coded:
            words = by.strings[words]
        numbers = np.empty(len(ids), dtype=np.int64)
        now.number(self.support, np.ascontiguousarray(words), np.zeros(len(ids), dtype=np.uint8), numbers, NO_PLACES)
        return numbers


class MatchesOfStep:
    """The matches of a step, taken out of the arrays that generated code writes them to."""

    def __init__(self, kernel: ChainRunner, live: LazyState) -> None:
        self.kernel, self.live = kernel, live
        self.parts: list[Expanded] = []
        self.count = 0

    def make_room(self) -> None:
        live = self.live
        if self.count + int(live.nums[ChainCell.SO_FAR]) > self.kernel.options.max_matches:
            raise self.kernel.too_many()
        if live.nums[ChainCell.MATCHES] and live.arrays.room(MATCH_EVENTS) >= MAX_EVENTS_IN_PLACE:
            self.parts.append(self._written().copy())
            live.nums[ChainCell.MATCHES] = live.nums[ChainCell.EVENTS] = 0
        else:
            # A step that finds more than a few matches mostly finds many: each time the arrays grow takes a while.
            times = 16 if live.arrays.room(MATCHES) < FEW_MATCHES else 4
            for owner in (MATCHES, MATCH_EVENTS):
                live.arrays.resize(owner, times * live.arrays.room(owner))

    def all(self, *, in_place: bool) -> Expanded:
        """All matches in one piece; a single part may be left `in_place`, in the arrays that it was written to."""
        if not self.parts and not self.live.nums.item(FOUND):
            return Expanded.none()
        last = self._written()
        self.live.nums[ChainCell.MATCHES] = self.live.nums[ChainCell.EVENTS] = 0
        if self.parts:
            return Expanded.of([*self.parts, last])
        return last if in_place else last.copy()

    def _written(self) -> Expanded:
        """The matches that generated code has written since the arrays were empty, still in these arrays."""
        live, fixed = self.live, self.live.source.fixed
        m, w = int(live.nums[ChainCell.MATCHES]), int(live.nums[ChainCell.EVENTS])
        self.count += m
        if self.count > self.kernel.options.max_matches:
            raise self.kernel.too_many()
        held = sum(p.events.nbytes * (1 if fixed else 2) + 8 * len(p) for p in self.parts)
        # They are brought together, put in order and written by variable: three copies at a time.
        self.kernel.memory.claim("matches", 3 * (held + 8 * (2 * w + m)))
        events = live.arrays["match_event"][:w]
        if fixed:
            return Expanded.alike(fixed, events, in_time=live.source.in_time)
        return Expanded(live.arrays["match_offset"][: m + 1], events, live.arrays["match_component"][:w])
