"""The memory of a lossy kernel: arrival queues in a pool, and matches that wait for their window to close."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from augury.codegen.inventory import stream_arrays
from augury.codegen.keys import KeyNumbers
from augury.codegen.lossy import FREED, PATH, QUEUES, LossySource
from augury.codegen.tier import Tier
from augury.plan import LossyPlan
from augury.plan.lossy import BUCKETS, Floats
from augury.runtime.batch import Integers
from augury.runtime.columns import Encoding
from augury.runtime.events import EventStore

Arrays: TypeAlias = "tuple[npt.NDArray[Any], ...]"

PARTITIONS = 64
ENTRIES = ("QE", "QU", "QO", "QY", "QN", "MO", "MY")
SLOTS = ("HEAD", "TAIL", "MF", "MB")
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

    @property
    def first(self) -> Integers:
        """The earliest event of each match."""
        there = self.events >= 0
        return np.asarray(self.events[np.arange(len(self)), there.argmax(axis=1)])

    @property
    def last(self) -> Integers:
        there = self.events[:, ::-1] >= 0
        return np.asarray(self.events[np.arange(len(self)), self.events.shape[1] - 1 - there.argmax(axis=1)])


@dataclass(slots=True, eq=False)
class LossyState:
    """Everything that outlives a step, as arrays that are changed in place."""

    encoding: Encoding
    events: EventStore
    keys: KeyNumbers
    nums: Integers
    pool: dict[str, npt.NDArray[Any]]
    pending: Scored
    ends: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Per partition, rank and time of the end of the last match kept (NONOVERLAP)."""
    horizon: int = 0
    broken: bool = False

    @classmethod
    def start(cls, source: LossySource, *, keys: int, components: int, slots: int) -> LossyState:
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
        events = EventStore(source.specs, with_places=False)
        return cls(Encoding.start(source.strings), events, KeyNumbers(keys), nums, pool, Scored.none(components))

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

    def grow_entries(self) -> None:
        """Twice as many entries."""
        old = len(self.pool["FREE"])
        for name in ENTRIES:
            self.pool[name] = _longer(self.pool[name], 2 * old)
        free = _longer(self.pool["FREE"], 2 * old)
        count = int(self.nums[FREED])
        free[count : count + old] = np.arange(old, 2 * old)
        self.pool["FREE"] = free
        self.nums[FREED] = count + old

    def grow_output(self, least: int) -> None:
        size = max(2 * len(self.pool["OUT_score"]), least)
        self.pool["OUT"] = _longer(self.pool["OUT"], size)
        self.pool["OUT_score"] = _longer(self.pool["OUT_score"], size)

    def grow_slots(self, slots: int) -> None:
        for name in SLOTS:
            old = self.pool[name]
            if slots > len(old):
                self.pool[name] = np.full(max(2 * len(old), slots), -1, dtype=np.int64)
                self.pool[name][: len(old)] = old

    def shift(self, count: int) -> None:
        """Forget the first `count` events, of which no entry in use speaks."""
        self.events.drop(count)
        self.pool["QE"] -= count
        # The places where queues were looked at may still name an entry that is free now.
        self.pool["QE"][self.pool["FREE"][: int(self.nums[FREED])]] = USED_UP
        moved = np.where(self.pending.events >= 0, self.pending.events - count, -1)
        self.pending = Scored(moved, self.pending.scores)

    def forget_partitions(self, queues: int, since: int, support: Tier) -> None:
        """Number the partitions anew if most have no event left.

        What a match that ended before `since` blocks (NONOVERLAP) is past as well.
        """
        known, part = len(self.keys), self.events.view("partition")
        live = np.unique(part[part >= 0])
        if known <= PARTITIONS or 2 * len(live) > known:
            return
        number = np.full(known, -1, dtype=np.int64)
        number[live] = np.arange(len(live))
        part[part >= 0] = number[part[part >= 0]]
        self.ends = {
            int(number[p]): (rank, time) for p, (rank, time) in self.ends.items() if number[p] >= 0 and time >= since
        }
        for name in SLOTS:
            old = self.pool[name][: known * queues].reshape(known, queues)
            self.pool[name] = np.full(max(PARTITIONS, 2 * len(live)) * queues, -1, dtype=np.int64)
            self.pool[name][: len(live) * queues] = old[live].ravel()
        kept = self.keys.to_table().take(pa.array(live))
        self.keys = KeyNumbers(self.keys.width)
        self.keys.restore(support, kept)

    def to_tables(self) -> dict[str, pa.Table]:
        return {
            "entries": pa.table(
                {
                    **{name: self.pool[name] for name in ENTRIES if name != "QN"},
                    **{f"QN{k}": column for k, column in enumerate(self.pool["QN"].T)},
                    "FREE": self.pool["FREE"],
                }
            ),
            "slots": pa.table({name: self.pool[name] for name in SLOTS}),
            "partitions": self.keys.to_table(),
            "numbers": pa.table({"": self.nums}),
            "pending": pa.table(
                {
                    **{f"component_{k}": column for k, column in enumerate(self.pending.events.T)},
                    "score": self.pending.scores,
                }
            ),
            "ends": pa.table(
                {
                    "partition": pa.array(list(self.ends), pa.int64()),
                    "rank": pa.array([r for r, _ in self.ends.values()], pa.int64()),
                    "time": pa.array([t for _, t in self.ends.values()], pa.int64()),
                }
            ),
            **{f"encoding.{name}": table for name, table in self.encoding.to_tables().items()},
            **self.events.to_tables(),
        }

    def restore(self, tables: Mapping[str, pa.Table], support: Tier) -> None:
        """Take over what `to_tables` wrote into a state that is new."""
        prefix = "encoding."
        self.encoding = Encoding.from_tables(
            {name.removeprefix(prefix): table for name, table in tables.items() if name.startswith(prefix)}
        )
        self.events.restore(tables)
        self.nums = _column(tables["numbers"], "")
        self.keys.restore(support, tables["partitions"])
        entries, slots = tables["entries"], tables["slots"]
        for name in (*ENTRIES, "FREE"):
            if name != "QN":
                self.pool[name] = _column(entries, name)
        self.pool["QN"] = np.stack([_column(entries, f"QN{k}") for k in range(self.pool["QN"].shape[1])], axis=1)
        self.pool["QN"] = np.ascontiguousarray(self.pool["QN"])
        for name in SLOTS:
            self.pool[name] = _column(slots, name)
        waiting = tables["pending"]
        columns = [_column(waiting, f"component_{k}") for k in range(self.pending.events.shape[1])]
        self.pending = Scored(np.stack(columns, axis=1), _column(waiting, "score"))
        self.ends = {row["partition"]: (row["rank"], row["time"]) for row in tables["ends"].to_pylist()}


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


def _column(table: pa.Table, name: str) -> npt.NDArray[Any]:
    return np.array(table.column(name).to_numpy())


def _longer(array: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    larger = np.zeros((size, *array.shape[1:]), dtype=array.dtype)
    larger[: len(array)] = array
    return larger
