"""The memory of a lossy kernel: arrival queues in a pool, and matches that wait for their window to close."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from augury.budget import Account
from augury.codegen.common.inventory import stream_arrays
from augury.codegen.lossy.arrays import COMPONENTS, ENTRIES, MATCHES, QUEUES, STRETCHES, TABLES, table_arrays
from augury.codegen.lossy.queues import LossySource
from augury.kernels.common.keys import KeyNumbers
from augury.kernels.common.pool import ArrayPool
from augury.kernels.stream import Renumbering, StreamState
from augury.native.cells import CELLS, FIRST_COUNTER, QueueCell
from augury.plan import LossyPlan
from augury.plan.lossy import Floats
from augury.runtime.arrays import saved_arrays
from augury.runtime.batch import Integers
from augury.runtime.checks import FLOAT64, ArraySpec, read_arrays, require
from augury.runtime.columns import Encoding
from augury.runtime.events import EventStore

Arrays: TypeAlias = "tuple[npt.NDArray[Any], ...]"

PARTITIONS = 64
"""Partitions that the queues are allocated for at first; there are several queues a partition."""

SCORES = frozenset(spec.name for spec in table_arrays())

USED_UP = 2**62
"""The event number in a free entry of the pool, greater than any event."""


@dataclass(frozen=True, slots=True, eq=False)
class Scored:
    """Matches, one a row: the event of each positive component, -1 for one that is missing, and the score."""

    events: Integers
    scores: Floats

    @classmethod
    def none(cls, components: int) -> Scored:
        return cls(np.empty((0, components), dtype=np.int64), np.empty(0))

    def __len__(self) -> int:
        return len(self.scores)

    def __add__(self, other: Scored) -> Scored:
        return Scored(np.concatenate([self.events, other.events]), np.concatenate([self.scores, other.scores]))

    def take(self, matches: npt.NDArray[Any]) -> Scored:
        return Scored(self.events[matches], self.scores[matches])

    def shifted(self, count: int) -> Scored:
        """The same matches once the first `count` events, none of which is theirs, are forgotten."""
        return Scored(np.where(self.events >= 0, self.events - count, -1), self.scores)

    def to_tables(self) -> dict[str, pa.Table]:
        components = {f"component_{k}": column for k, column in enumerate(self.events.T)}
        return {"pending": pa.table({**components, "score": self.scores})}

    @property
    def first(self) -> Integers:
        """The earliest event of each match."""
        there = self.events >= 0
        return np.asarray(self.events[np.arange(len(self)), there.argmax(axis=1)])

    @property
    def last(self) -> Integers:
        there = self.events[:, ::-1] >= 0
        return np.asarray(self.events[np.arange(len(self)), self.events.shape[1] - 1 - there.argmax(axis=1)])


@dataclass(slots=True, eq=False, kw_only=True)
class LossyState(StreamState):
    """The state of a lossy kernel between steps: arrays that are changed in place."""

    pool: ArrayPool
    queues: int
    """Queues of each partition: one a component, then those that are only watched."""

    @classmethod
    def start(
        cls,
        source: LossySource,
        tables: Mapping[str, npt.NDArray[Any]],
        *,
        keys: int,
        components: int,
        memory: Account | None = None,
    ) -> LossyState:
        """`tables` are what scores are looked up in."""
        sizes = {ENTRIES: 256, QUEUES: PARTITIONS * source.queues, COMPONENTS: components, MATCHES: 1024}
        pool = ArrayPool(source.arrays, sizes, "arrival queues", memory, tables)
        pool["free_entries"][:] = np.arange(sizes[ENTRIES])
        nums = np.zeros(CELLS, dtype=np.int64)
        nums[QueueCell.FREE] = sizes[ENTRIES]
        return cls(
            encoding=Encoding.start(source.strings),
            events=EventStore(source.specs, with_places=False),
            keys=KeyNumbers(keys),
            nums=nums,
            pool=pool,
            pending=Scored.none(components),
            queues=source.queues,
            memory=memory,
        )

    def stream(self, source: LossySource) -> Arrays:
        """The arrays of the events, in the order that generated functions know them in."""
        return tuple(stream_arrays(self.events, self.encoding, source.specs, source.source))

    @property
    def used(self) -> int:
        """How many entries the queues hold."""
        return self.pool.room(ENTRIES) - int(self.nums[QueueCell.FREE])

    def grow_entries(self) -> None:
        """Twice as many entries."""
        old, free = self.pool.room(ENTRIES), int(self.nums[QueueCell.FREE])
        self.pool.resize(ENTRIES, 2 * old)
        self.pool["free_entries"][free : free + old] = np.arange(old, 2 * old)
        self.nums[QueueCell.FREE] = free + old

    def renumbered(self, by: Renumbering) -> None:
        """Bring the queues in line with the new numbers of events and partitions."""
        self.pool["entry_event"] -= by.count
        # The places where queues were looked at may still name an entry that is free now.
        self.pool["entry_event"][self.pool["free_entries"][: int(self.nums[QueueCell.FREE])]] = USED_UP
        if by.kept is not None:
            kept = (by.kept[:, None] * self.queues + np.arange(self.queues)).ravel()
            self.pool.take(QUEUES, kept, max(PARTITIONS, 2 * len(by.kept)) * self.queues)

    def to_tables(self) -> dict[str, pa.Table]:
        """The state as Arrow tables: the entries queue by queue, the oldest first; links follow from that."""
        order, queue = self._in_queues()
        events = self.pool["entry_event"][order]
        number = np.full(len(self.pool["entry_event"]) + 1, -1, dtype=np.int64)
        number[order] = np.arange(len(order))
        watched = self.pool["entry_watched"][order]
        # An entry that is free, or was used again for a later event, is one that has expired. Those of queues that are
        # themselves watched look at nothing.
        stale = (self.pool["entry_event"][watched] >= events[:, None]) | (queue >= self.pending.events.shape[1])[
            :, None
        ]
        held = {
            "entry_event": events,
            "entry_bound": self.pool["entry_bound"][order],
            "entry_watched": np.where(stale, -1, number[watched]),
        }
        columns = [spec.to_columns(held[spec.name]) for spec in saved_arrays(self.pool.specs, ENTRIES)]
        return StreamState.to_tables(self) | {
            "entries": pa.table({"queue": queue} | {name: column for part in columns for name, column in part.items()}),
            "counters": pa.table({"": self.nums[FIRST_COUNTER:]}),
        }

    def _in_queues(self) -> tuple[Integers, Integers]:
        """The entries in use by slot and age, and the queue of each."""
        used = np.ones(len(self.pool["entry_event"]), dtype=bool)
        used[self.pool["free_entries"][: int(self.nums[QueueCell.FREE])]] = False
        # Each entry asks the one after it, then the one twice, four times as far: the youngest knows the slot.
        up = np.where(used & (self.pool["entry_younger"] >= 0), self.pool["entry_younger"], np.arange(len(used)))
        while (up != up[up]).any():
            up = up[up]
        slot = np.full(len(used), -1, dtype=np.int64)
        heads = np.flatnonzero(self.pool["queue_youngest"] >= 0)
        slot[self.pool["queue_youngest"][heads]] = heads
        kept = np.flatnonzero(used)
        slot = slot[up[kept]]
        order = np.lexsort([self.pool["entry_event"][kept], slot])
        return kept[order], slot[order] % self.queues

    def restore(self, tables: Mapping[str, pa.Table], source: LossySource) -> None:
        """Take over the queues that `to_tables` wrote."""
        counted = ArraySpec("", low=0)
        self.nums[FIRST_COUNTER:] = read_arrays(tables, "counters", [counted], rows=CELLS - FIRST_COUNTER)[""]
        specs = saved_arrays(self.pool.specs, ENTRIES)
        columns = (ArraySpec("queue", low=0, refers_to=QUEUES), *(column for spec in specs for column in spec.columns))
        count = tables["entries"].num_rows if "entries" in tables else 0
        sizes = {"events": self.events.length, QUEUES: self.queues, ENTRIES: count}
        saved = read_arrays(tables, "entries", columns, sizes)
        entries = {spec.name: spec.from_columns(saved) for spec in specs}
        event, bound, watched = entries["entry_event"], entries["entry_bound"], entries["entry_watched"]
        queue = saved["queue"]
        partition = self.events.view("partition")[event]
        require(partition >= 0, "an event without a partition is in a queue")
        require(bound == bound, "a bound is no number")
        slot = partition * self.queues + queue
        again = slot[1:] == slot[:-1]
        require((slot[1:] > slot[:-1]) | (again & (event[1:] > event[:-1])), "a queue is out of order")
        components = self.queues - source.watching
        for k in range(source.watching):
            seen = np.flatnonzero(watched[:, k] >= 0)
            at = watched[seen, k]
            require(queue[at] == components + k, "a queue that is watched is another one")
            require(partition[at] == partition[seen], "a queue that is watched is in another partition")
            require(event[at] < event[seen], "an event is watched before it came")
        self._link(event, slot, bound, watched)

    def restored_pending(self, tables: Mapping[str, pa.Table]) -> Scored:
        names = [f"component_{k}" for k in range(self.pending.events.shape[1])]
        specs = [*(ArraySpec(name, low=-1, refers_to="events") for name in names), ArraySpec("score", FLOAT64, 0, 2)]
        arrays = read_arrays(tables, "pending", specs, {"events": self.events.length})
        events, score = np.stack([arrays[name] for name in names], axis=1), arrays["score"]
        require(score == score, "a score is no number")
        there = events >= 0
        require(there.any(axis=1), "a match that waits has no events")
        latest = np.maximum.accumulate(events, axis=1)
        require(~there[:, 1:] | (events[:, 1:] > latest[:, :-1]), "the events of a match that waits are out of order")
        pending = Scored(events, score)
        partition = self.events.view("partition")
        first = partition[pending.first]
        require(first >= 0, "a match that waits has no partition")
        require(~there | (partition[events] == first[:, None]), "a match that waits has two partitions")
        return pending

    def _link(self, event: Integers, slot: Integers, bound: Floats, watched: Integers) -> None:
        """Put entries, which have been checked and come slot by slot, into the pool with their links."""
        count = len(event)
        while self.pool.room(ENTRIES) < 2 * count:
            self.grow_entries()
        pool, size = self.pool, self.pool.room(ENTRIES)
        pool["free_entries"][: size - count] = np.arange(count, size)
        self.nums[QueueCell.FREE] = size - count
        pool["entry_event"][:] = USED_UP
        pool["entry_event"][:count], pool["entry_bound"][:count], pool["entry_watched"][:count] = event, bound, watched
        pool.reserve(QUEUES, max(1, len(self.keys)) * self.queues)
        links = (pool[name] for name in ("entry_older", "entry_younger", "queue_oldest", "queue_youngest"))
        _chain(slot, np.arange(count), *links)
        # An entry can be the greatest of its queue to come only if no younger one has as much.
        greatest = np.flatnonzero(bound > _greatest_after(slot, bound))
        greatest = greatest[slot[greatest] % self.queues < self.pending.events.shape[1]]
        links = (pool[name] for name in ("best_older", "best_younger", "queue_best", "queue_last_best"))
        _chain(slot[greatest], greatest, *links)


def _chain(
    slot: Integers, entry: Integers, older: Integers, younger: Integers, first: Integers, last: Integers
) -> None:
    """Link entries, which come slot by slot and the oldest first."""
    if not len(entry):
        return
    again = slot[1:] == slot[:-1]
    older[entry] = np.concatenate([[-1], np.where(again, entry[:-1], -1)])
    younger[entry] = np.concatenate([np.where(again, entry[1:], -1), [-1]])
    ends = np.flatnonzero(~again)
    first[slot[np.concatenate([[0], ends + 1])]] = entry[np.concatenate([[0], ends + 1])]
    last[slot[np.concatenate([ends, [len(slot) - 1]])]] = entry[np.concatenate([ends, [len(slot) - 1]])]


def _greatest_after(slot: Integers, bound: Floats) -> Floats:
    """The greatest bound among the entries after each entry of a slot, -1 if there are none.

    Of the next one, then of two, of four: each round looks twice as far.

    >>> _greatest_after(np.array([0, 0, 0, 1]), np.array([0.1, 0.5, 0.3, 0.9])).tolist()
    [0.5, 0.3, -1.0, -1.0]
    """
    count = len(slot)
    found = np.full(count, -1.0)
    if not count:
        return found
    same = slot[1:] == slot[:-1]
    found[:-1][same] = bound[1:][same]
    step = 1
    while step < count:
        same = slot[step:] == slot[:-step]
        if not same.any():
            break
        further = found.copy()
        further[:-step][same] = np.maximum(found[:-step][same], found[step:][same])
        found, step = further, 2 * step
    return found


def score_tables(plan: LossyPlan, source: LossySource) -> dict[str, npt.NDArray[Any]]:
    """The tables of a plan's edges as the arrays that the kernel looks scores up in (`table_arrays`)."""
    n = len(plan.positive)
    tables = [e.table for e in source.tabulated if e.table is not None]
    sizes = {TABLES: max(1, len(tables)), STRETCHES: max(1, sum(len(t.starts) for t in tables)), COMPONENTS: n}
    found = {spec.name: spec.allocate(sizes[spec.owner]) for spec in source.arrays if spec.name in SCORES}
    for name in ("edge_table", "lead_table", "tail_table"):
        found[name][:] = -2
    for e in plan.edges:
        table = -1 if e.table is None else source.tabulated.index(e)
        if e.source < 0:
            found["lead_table"][e.target] = table
        elif e.target == n:
            found["tail_table"][e.source], found["tail_score"][e.source] = table, e.peak
        else:
            found["edge_table"][e.source, e.target] = table
    if tables:
        found["table_first"][:] = np.cumsum([0, *(len(t.starts) for t in tables)])
        found["stretch_start"][:] = np.concatenate([t.starts for t in tables])
        found["stretch_series"][:] = np.concatenate([np.column_stack([t.ends, t.coefficients]) for t in tables])
        found["table_most"][:] = np.stack([t.running for t in tables])
    return found
