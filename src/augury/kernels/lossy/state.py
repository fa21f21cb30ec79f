"""The memory of a lossy kernel: arrival queues in a pool, and matches that wait for their window to close."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from augury.budget import Account
from augury.codegen.common.inventory import stream_arrays
from augury.codegen.lossy.queues import FREED, PATH, QUEUES, LossySource
from augury.kernels.common.keys import KeyNumbers
from augury.kernels.stream import Renumbering, StreamState
from augury.plan import LossyPlan
from augury.plan.lossy import BUCKETS, Floats
from augury.runtime.batch import Integers
from augury.runtime.checks import FLOAT64, ArraySpec, read_arrays, require
from augury.runtime.columns import Encoding
from augury.runtime.events import EventStore

Arrays: TypeAlias = "tuple[npt.NDArray[Any], ...]"

PARTITIONS = 64
ENTRIES = ("QE", "QU", "QO", "QY", "QN", "MO", "MY")
SLOTS = ("HEAD", "TAIL", "MF", "MB")
COUNTERS = 8
"""The first cell of `nums` that counts what the kernel does."""

USED_UP = 2**62
"""The event of an entry that is free: later than any."""


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
    """Everything that outlives a step, as arrays that are changed in place."""

    pool: dict[str, npt.NDArray[Any]]
    queues: int
    """Queues of each partition: one a component, then those that are only watched."""

    @classmethod
    def start(
        cls, source: LossySource, *, keys: int, components: int, slots: int, memory: Account | None = None
    ) -> LossyState:
        entries = 256
        pool: dict[str, npt.NDArray[Any]] = {
            name: np.zeros(entries, dtype=np.int64) for name in ENTRIES if name not in ("QU", "QN")
        }
        pool["QU"] = np.zeros(entries)
        pool["QN"] = np.zeros((entries, max(1, source.watching)), dtype=np.int64)
        pool["FREE"] = np.arange(entries, dtype=np.int64)
        pool |= {name: np.full(PARTITIONS * source.queues, -1, dtype=np.int64) for name in SLOTS}
        pool["B"] = np.full(slots, -1, dtype=np.int64)
        pool |= {name: np.full(components, -1, dtype=np.int64) for name in ("QB", "PC", "PA", "PX")}
        pool |= {name: np.zeros(components) for name in ("U", "PS")}
        pool["OUT"] = np.empty((1024, components), dtype=np.int64)
        pool["OUT_score"] = np.empty(1024)
        nums = np.zeros(16, dtype=np.int64)
        nums[FREED] = entries
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

    def arguments(self, stream: Arrays, tables: Arrays) -> Arrays:
        """What `advance` takes after the events to consume, in its order."""
        return (
            self.nums,
            *stream,
            *(self.pool[name] for name in QUEUES),
            *tables,
            *(self.pool[name] for name in PATH),
        )

    @property
    def used(self) -> int:
        """How many entries the queues hold."""
        return len(self.pool["FREE"]) - int(self.nums[FREED])

    def _claim(self, what: str, names: Iterable[str], size: int) -> None:
        """Before arrays of the pool become `size` long; the old ones are there until the new ones are filled."""
        if self.memory is not None:
            self.memory.hold("arrival queues", sum(array.nbytes for array in self.pool.values()))
            self.memory.claim(what, sum(size * self.pool[k].nbytes // len(self.pool[k]) for k in names))

    def grow_entries(self) -> None:
        """Twice as many entries."""
        old = len(self.pool["FREE"])
        self._claim("arrival queues", (*ENTRIES, "FREE"), 2 * old)
        for name in ENTRIES:
            self.pool[name] = _longer(self.pool[name], 2 * old)
        free = _longer(self.pool["FREE"], 2 * old)
        count = int(self.nums[FREED])
        free[count : count + old] = np.arange(old, 2 * old)
        self.pool["FREE"] = free
        self.nums[FREED] = count + old

    def grow_output(self, least: int) -> None:
        size = max(2 * len(self.pool["OUT_score"]), least)
        self._claim("matches", ("OUT", "OUT_score"), size)
        self.pool["OUT"] = _longer(self.pool["OUT"], size)
        self.pool["OUT_score"] = _longer(self.pool["OUT_score"], size)

    def grow_slots(self, slots: int) -> None:
        for name in SLOTS:
            old = self.pool[name]
            if slots > len(old):
                self.pool[name] = np.full(max(2 * len(old), slots), -1, dtype=np.int64)
                self.pool[name][: len(old)] = old

    def renumbered(self, by: Renumbering) -> None:
        """Bring the queues in line with the new numbers of events and partitions."""
        self.pool["QE"] -= by.count
        # The places where queues were looked at may still name an entry that is free now.
        self.pool["QE"][self.pool["FREE"][: int(self.nums[FREED])]] = USED_UP
        if by.partitions is not None and by.kept is not None:
            known, live = len(by.partitions), len(by.kept)
            for name in SLOTS:
                old = self.pool[name][: known * self.queues].reshape(known, self.queues)
                self.pool[name] = np.full(max(PARTITIONS, 2 * live) * self.queues, -1, dtype=np.int64)
                self.pool[name][: live * self.queues] = old[by.kept].ravel()

    def to_tables(self) -> dict[str, pa.Table]:
        """The state as Arrow tables: the entries queue by queue, the oldest first; links follow from that."""
        order, queue = self._in_queues()
        events = self.pool["QE"][order]
        number = np.full(len(self.pool["QE"]) + 1, -1, dtype=np.int64)
        number[order] = np.arange(len(order))
        watched = self.pool["QN"][order]
        # An entry that is free, or was used again for a later event, is one that has expired. Those of queues that are
        # themselves watched look at nothing.
        stale = (self.pool["QE"][watched] >= events[:, None]) | (queue >= self.pending.events.shape[1])[:, None]
        return StreamState.to_tables(self) | {
            "entries": pa.table(
                {
                    "event": events,
                    "queue": queue,
                    "bound": self.pool["QU"][order],
                    **{f"watched_{k}": column for k, column in enumerate(np.where(stale, -1, number[watched]).T)},
                }
            ),
            "counters": pa.table({"": self.nums[COUNTERS:]}),
        }

    def _in_queues(self) -> tuple[Integers, Integers]:
        """The entries in use by slot and age, and the queue of each."""
        used = np.ones(len(self.pool["QE"]), dtype=bool)
        used[self.pool["FREE"][: int(self.nums[FREED])]] = False
        # Each entry asks the one after it, then the one twice, four times as far: the youngest knows the slot.
        up = np.where(used & (self.pool["QY"] >= 0), self.pool["QY"], np.arange(len(used)))
        while (up != up[up]).any():
            up = up[up]
        slot = np.full(len(used), -1, dtype=np.int64)
        heads = np.flatnonzero(self.pool["HEAD"] >= 0)
        slot[self.pool["HEAD"][heads]] = heads
        kept = np.flatnonzero(used)
        slot = slot[up[kept]]
        order = np.lexsort([self.pool["QE"][kept], slot])
        return kept[order], slot[order] % self.queues

    def restore(self, tables: Mapping[str, pa.Table], source: LossySource) -> None:
        """Take over the queues that `to_tables` wrote."""
        counted = ArraySpec("", low=0)
        self.nums[COUNTERS:] = read_arrays(tables, "counters", [counted], rows=len(self.nums) - COUNTERS)[""]
        count = tables["entries"].num_rows if "entries" in tables else 0
        specs = (
            ArraySpec("event", low=0, refers_to="events"),
            ArraySpec("queue", low=0, refers_to="queues"),
            ArraySpec("bound", FLOAT64, 0, 2),
            *(ArraySpec(f"watched_{k}", low=-1, refers_to="entries") for k in range(self.pool["QN"].shape[1])),
        )
        sizes = {"events": self.events.length, "queues": self.queues, "entries": count}
        entries = read_arrays(tables, "entries", specs, sizes)
        event, queue = entries["event"], entries["queue"]
        partition = self.events.view("partition")[event]
        require(partition >= 0, "an event without a partition is in a queue")
        require(entries["bound"] == entries["bound"], "a bound is no number")
        slot = partition * self.queues + queue
        again = slot[1:] == slot[:-1]
        require((slot[1:] > slot[:-1]) | (again & (event[1:] > event[:-1])), "a queue is out of order")
        watched = np.stack([entries[spec.name] for spec in specs[3:]], axis=1)
        components = self.queues - source.watching
        for k in range(source.watching):
            seen = np.flatnonzero(watched[:, k] >= 0)
            at = watched[seen, k]
            require(queue[at] == components + k, "a queue that is watched is another one")
            require(partition[at] == partition[seen], "a queue that is watched is in another partition")
            require(event[at] < event[seen], "an event is watched before it came")
        self._link(event, slot, entries["bound"], watched)

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
        while len(self.pool["FREE"]) < 2 * count:
            self.grow_entries()
        pool, size = self.pool, len(self.pool["FREE"])
        pool["FREE"][: size - count] = np.arange(count, size)
        self.nums[FREED] = size - count
        pool["QE"][:] = USED_UP
        pool["QE"][:count], pool["QU"][:count], pool["QN"][:count] = event, bound, watched
        self.grow_slots(max(1, len(self.keys)) * self.queues)
        _chain(slot, np.arange(count), pool["QO"], pool["QY"], pool["TAIL"], pool["HEAD"])
        # An entry can be the greatest of its queue to come only if no younger one has as much.
        greatest = np.flatnonzero(bound > _greatest_after(slot, bound))
        greatest = greatest[slot[greatest] % self.queues < self.pending.events.shape[1]]
        _chain(slot[greatest], greatest, pool["MO"], pool["MY"], pool["MF"], pool["MB"])


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
    """For each entry the greatest bound of those after it in its slot, -1 if there are none.

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


def score_tables(plan: LossyPlan, source: LossySource) -> Arrays:
    """The tables of a plan's edges as the arrays that the kernel looks scores up in.

    `S_edge`, `S_lead` and `S_tail` hold the table of the edge between two components, from the start and to the end: -1
    if the score is 1, -2 where there is no edge. `S_end` is the best score of the way to the end.
    """
    n = len(plan.positive)
    edge, lead, tail = (np.full(shape, -2, dtype=np.int64) for shape in ((n, n), n, n))
    end = np.zeros(n)
    for e in plan.edges:
        table = -1 if e.table is None else source.tabulated.index(e)
        if e.source < 0:
            lead[e.target] = table
        elif e.target == n:
            tail[e.source], end[e.source] = table, e.peak
        else:
            edge[e.source, e.target] = table
    tables = [e.table for e in source.tabulated if e.table is not None]
    if not tables:
        nothing = (np.zeros(1, dtype=np.int64), np.zeros(1), np.zeros((1, 2)), np.zeros((1, BUCKETS)))
        return (*nothing, edge, lead, tail, end)
    return (
        np.cumsum([0, *(len(t.starts) for t in tables)]).astype(np.int64),
        np.concatenate([t.starts for t in tables]),
        np.concatenate([np.column_stack([t.ends, t.coefficients]) for t in tables]),
        np.stack([t.running for t in tables]),
        edge,
        lead,
        tail,
        end,
    )


def _longer(array: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    larger = np.zeros((size, *array.shape[1:]), dtype=array.dtype)
    larger[: len(array)] = array
    return larger
