"""The memory of the eager automaton: runs in a pool, their histories in a shared buffer, matches that wait."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from augury.budget import Account
from augury.codegen.common.inventory import stream_arrays
from augury.codegen.eager.nfa import EagerNfaSource
from augury.kernels.common.keys import KeyNumbers
from augury.kernels.common.reporting import Expanded
from augury.kernels.common.segment import Segment
from augury.kernels.common.totals import Weighed
from augury.kernels.eager.checks import EDGES as EDGE_SPECS
from augury.kernels.eager.checks import NODES as NODE_SPECS
from augury.kernels.eager.checks import RUNS, Arrays
from augury.kernels.stream import Renumbering, StreamState
from augury.runtime.batch import Integers
from augury.runtime.checks import FLOAT64, ArraySpec, read_arrays
from augury.runtime.columns import ColumnSpec, Encoding
from augury.runtime.events import EventStore

NODES, EDGES, FREE, OUT, LIVE, STAMP = range(6)
"""Cells of `nums` that the generated kernel keeps."""

Check: TypeAlias = "Callable[[EagerState, Arrays, Arrays, Arrays], None]"
"""What refuses runs, nodes and edges that a family cannot have made."""


@dataclass(slots=True, eq=False, kw_only=True)
class EagerState(StreamState):
    """Everything that outlives a step, as arrays that are changed in place."""

    source: EagerNfaSource
    pool: dict[str, npt.NDArray[Any]]
    segments: list[Segment] = field(default_factory=list)
    """What a step has found so far, if it is not to be written out."""
    tallies: list[tuple[Integers, Integers, Weighed]] = field(default_factory=list)
    """How many matches events complete, and what they come to, if they are only counted."""
    looked: int = 0
    """How many nodes were looked at for what matches come to."""
    next_look: int = 4096
    """How many events there must be before it is worth looking which of them are still in a run."""

    @classmethod
    def start(
        cls,
        source: EagerNfaSource,
        *,
        keys: int,
        with_places: bool,
        merge: bool,
        walks: int,
        totals: tuple[ColumnSpec, ...] = (),
        memory: Account | None = None,
    ) -> EagerState:
        """`totals` are columns that aggregates over matches read."""
        runs, nodes = 64, 1024
        pool: dict[str, npt.NDArray[Any]] = {
            name: np.zeros(runs, dtype=np.int64) for name in ("RS", "RN", "RT", "RK", "RX")
        }
        pool["FREE"] = np.arange(runs, dtype=np.int64)
        pool["RI"] = np.zeros((runs, source.integers), dtype=np.int64)
        pool["RF"] = np.zeros((runs, source.floats), dtype=np.float64)
        pool |= {name: np.zeros(nodes, dtype=np.int64) for name in ("NE", "NP", "NC", "NT", "NM", "OUT")}
        pool |= {name: np.zeros(nodes if merge else 1024, dtype=np.int64) for name in ("XN", "XX")}
        pool["P_head"] = np.full(64, -1, dtype=np.int64)
        pool["P_live"] = np.zeros(64, dtype=np.int64)
        pool |= {name: np.zeros(4 * runs if merge else 1, dtype=np.int64) for name in ("HT", "HG")}
        pool["WALK"] = np.zeros((max(1, walks), nodes if walks else 1), dtype=np.int64)
        nums = np.zeros(16, dtype=np.int64)
        nums[FREE] = runs
        return cls(
            source=source,
            encoding=Encoding.start(source.strings),
            events=EventStore((*source.specs, *totals), with_places=with_places),
            keys=KeyNumbers(keys),
            nums=nums,
            pool=pool,
            pending=Expanded.none(),
            memory=memory,
        )

    def stream(self) -> list[npt.NDArray[Any]]:
        return stream_arrays(self.events, self.encoding, self.source.specs, self.source.source)

    def cut_segment(self, start: Integers, span: int) -> None:
        """Set the matches reported so far aside, with the buffer they lie in."""
        nodes, edges = int(self.nums[NODES]), int(self.nums[EDGES])
        if self.memory is not None:
            self.memory.claim("compressed matches", 8 * (5 * nodes + 2 * edges + 4 * self.events.length))
        buffer = {k: self.pool[k][:nodes].copy() for k in ("NE", "NP", "NC", "NT", "NM")}
        buffer |= {k: self.pool[k][: max(1, edges)].copy() for k in ("XN", "XX")}
        finals = self.pool["OUT"][: int(self.nums[OUT])].copy()
        columns = (self.events.view(name).copy() for name in ("time", "rank", "rows"))
        self.segments.append(Segment(finals, buffer, start.copy(), span, *columns))
        self.nums[OUT] = 0
        if self.memory is not None:
            self.memory.hold("compressed matches", sum(segment.nbytes for segment in self.segments))

    def _claim(self, names: Iterable[str], size: int) -> None:
        """Before arrays of the pool become `size` long; the old ones are there until the new ones are filled."""
        if self.memory is not None:
            self.memory.hold("partial matches", sum(array.nbytes for array in self.pool.values()))
            self.memory.claim("partial matches", sum(size * self.pool[k].nbytes // len(self.pool[k]) for k in names))

    def grow_runs(self, least: int) -> None:
        """Room for at least `least` more runs."""
        old = len(self.pool["RS"])
        new = max(2 * old, old + least)
        grown = ("RS", "RN", "RT", "RK", "RX", "RI", "RF")
        self._claim((*grown, "FREE"), new)
        for name in grown:
            self.pool[name] = _longer(self.pool[name], new)
        free = _longer(self.pool["FREE"], new)
        count = int(self.nums[FREE])
        free[count : count + new - old] = np.arange(old, new)
        self.pool["FREE"] = free
        self.nums[FREE] = count + new - old
        if len(self.pool["HT"]) > 1:
            size = 1 << (4 * new - 1).bit_length()
            self._claim(("HT", "HG"), size)
            self.pool["HT"] = np.zeros(size, dtype=np.int64)
            self.pool["HG"] = np.zeros(size, dtype=np.int64)

    def grow_buffer(self, least: int, names: tuple[str, ...]) -> None:
        for name in names:
            size = len(self.pool[name])
            self._claim((name,), max(2 * size, size + least))
            self.pool[name] = _longer(self.pool[name], max(2 * size, size + least))
        if "NE" in names and self.pool["WALK"].shape[1] > 1:
            self.pool["WALK"] = np.zeros((self.pool["WALK"].shape[0], len(self.pool["NE"])), dtype=np.int64)

    def grow_partitions(self, count: int) -> None:
        old = len(self.pool["P_head"])
        if count > old:
            head = np.full(max(2 * old, count), -1, dtype=np.int64)
            head[:old] = self.pool["P_head"]
            self.pool["P_head"] = head
            self.pool["P_live"] = _longer(self.pool["P_live"], len(head))

    def renumbered(self, by: Renumbering, *, by_partition: bool) -> None:
        """Bring runs and nodes in line with the new numbers of events, partitions and strings.

        Unless runs are listed `by_partition`, all are in the first list.
        """
        self.next_look -= by.count
        self.pool["NE"][: int(self.nums[NODES])] -= by.count
        for cell in self.source.event_cells:
            self.pool["RI"][:, cell] -= by.count
        if by.strings is not None:
            for cell in self.source.code_cells:
                self.pool["RI"][:, cell] = by.strings[self.pool["RI"][:, cell]]
        if by.kept is not None and by_partition:
            for name, fill in (("P_head", -1), ("P_live", 0)):
                lists = np.full(max(64, 2 * len(by.kept)), fill, dtype=np.int64)
                lists[: len(by.kept)] = self.pool[name][by.kept]
                self.pool[name] = lists

    def strings_held(self) -> list[Integers]:
        """The codes of strings that runs remember."""
        runs = np.ones(len(self.pool["RS"]), dtype=bool)
        runs[self.pool["FREE"][: int(self.nums[FREE])]] = False
        return [self.pool["RI"][runs, cell] for cell in self.source.code_cells]

    def to_tables(self) -> dict[str, pa.Table]:
        """The state as Arrow tables; free cells are not written."""
        nodes, edges = int(self.nums[NODES]), int(self.nums[EDGES])
        used = _used_runs(self)
        integers = self.pool["RI"][used[:, 1]]
        # Of variables that are not bound yet there is no event: what stands there was moved along with the others.
        integers[:, list(self.source.event_cells)] = np.maximum(integers[:, list(self.source.event_cells)], 0)
        return StreamState.to_tables(self) | {
            "runs": pa.table(
                {
                    "partition": used[:, 0],
                    **{name: self.pool[name][used[:, 1]] for name in ("RS", "RN", "RT", "RK")},
                    **{f"RI{k}": column for k, column in enumerate(integers.T)},
                    **{f"RF{k}": column for k, column in enumerate(self.pool["RF"][used[:, 1]].T)},
                }
            ),
            "nodes": pa.table({name: self.pool[name][:nodes] for name in ("NE", "NP", "NC", "NT", "NM")}),
            "edges": pa.table({name: self.pool[name][:edges] for name in ("XN", "XX")}),
        }

    def restore(self, tables: Mapping[str, pa.Table], check: Check) -> None:
        """Take over the runs and histories that `to_tables` wrote; `check` refuses those of no use."""
        sizes = {
            "partitions": max(1, len(self.keys)),
            "events": self.events.length,
            "components": len(self.source.component_variables),
            **{name: tables[name].num_rows if name in tables else 0 for name in ("nodes", "edges")},
        }
        cells = [ArraySpec(f"RI{k}") for k in range(self.pool["RI"].shape[1])]
        cells += [ArraySpec(f"RF{k}", FLOAT64) for k in range(self.pool["RF"].shape[1])]
        runs = read_arrays(tables, "runs", [*RUNS, *cells], sizes)
        nodes, edges = read_arrays(tables, "nodes", NODE_SPECS, sizes), read_arrays(tables, "edges", EDGE_SPECS, sizes)
        check(self, runs, nodes, edges)
        self._take_over(runs, nodes, edges)

    def _take_over(self, runs: Arrays, nodes: Arrays, edges: Arrays) -> None:
        """Put runs, which have been checked, and their histories into the pools."""
        count = len(runs["RS"])
        if count > self.nums[FREE]:
            self.grow_runs(count)
        self.grow_buffer(len(nodes["NE"]), tuple(nodes))
        self.grow_buffer(len(edges["XN"]), tuple(edges))
        for name, values in (*nodes.items(), *edges.items()):
            self.pool[name][: len(values)] = values
        self.nums[NODES], self.nums[EDGES] = len(nodes["NE"]), len(edges["XN"])
        self.grow_partitions(int(runs["partition"].max(initial=0)) + 1)
        free = len(self.pool["RS"])
        self.pool["FREE"][: free - count] = np.arange(count, free)
        self.nums[FREE], self.nums[LIVE] = free - count, count
        for name in ("RS", "RN", "RT", "RK"):
            self.pool[name][:count] = runs[name]
        for array in ("RI", "RF"):
            for k in range(self.pool[array].shape[1]):
                self.pool[array][:count, k] = runs[f"{array}{k}"]
        for run, partition in enumerate(runs["partition"].tolist()):
            self.pool["RX"][run] = self.pool["P_head"][partition]
            self.pool["P_head"][partition] = run
            self.pool["P_live"][partition] += 1


def _longer(array: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    larger = np.zeros((size, *array.shape[1:]), dtype=array.dtype)
    larger[: len(array)] = array
    return larger


def _used_runs(state: EagerState) -> Integers:
    """Partition and number of every run, partition by partition."""
    found = []
    following = state.pool["RX"].tolist()
    for partition in np.flatnonzero(state.pool["P_head"] >= 0).tolist():
        run = int(state.pool["P_head"][partition])
        while run >= 0:
            found.append((partition, run))
            run = following[run]
    return np.array(found, dtype=np.int64).reshape(-1, 2)
