"""The memory of the eager automaton: runs in a pool, their histories in a shared buffer, matches that wait."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from augury.budget import Account
from augury.codegen.common.inventory import stream_arrays
from augury.codegen.eager.arrays import EDGES, MATCHES, NODES, PARTITIONS, RUNS, TABLE, run_arrays
from augury.codegen.eager.source import EagerNfaSource
from augury.kernels.common.expanded import Expanded
from augury.kernels.common.keys import KeyNumbers
from augury.kernels.common.pool import ArrayPool
from augury.kernels.common.segment import Segment
from augury.kernels.common.totals import Weighed
from augury.kernels.eager.checks import Arrays
from augury.kernels.stream import Renumbering, StreamState
from augury.native.cells import CELLS, RunCell
from augury.runtime.arrays import ArraySpec, saved_arrays
from augury.runtime.batch import Integers
from augury.runtime.checks import read_arrays
from augury.runtime.columns import ColumnSpec, Encoding
from augury.runtime.events import EventStore

Check: TypeAlias = "Callable[[EagerState, Arrays, Arrays, Arrays], None]"
"""What refuses runs, nodes and edges that a family cannot have made."""


@dataclass(slots=True, eq=False, kw_only=True)
class EagerState(StreamState):
    """Everything that outlives a step, as arrays that are changed in place."""

    source: EagerNfaSource
    pool: ArrayPool
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
        totals: tuple[ColumnSpec, ...] = (),
        memory: Account | None = None,
    ) -> EagerState:
        """`totals` are columns that aggregates over matches read."""
        specs = run_arrays(source.integers, source.floats, source.walks)
        sizes = {RUNS: 64, PARTITIONS: 64, NODES: 1024, EDGES: 1024, MATCHES: 1024, TABLE: 256 if merge else 1}
        pool = ArrayPool(specs, sizes, "partial matches", memory)
        pool["free_runs"][:] = np.arange(sizes[RUNS])
        nums = np.zeros(CELLS, dtype=np.int64)
        nums[RunCell.FREE] = sizes[RUNS]
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
        nodes, edges = int(self.nums[RunCell.NODES]), int(self.nums[RunCell.EDGES])
        if self.memory is not None:
            self.memory.claim("compressed matches", 8 * (5 * nodes + 2 * edges + 4 * self.events.length))
        buffer = {spec.name: self.pool[spec.name][:nodes].copy() for spec in self.saved(NODES)}
        buffer |= {spec.name: self.pool[spec.name][: max(1, edges)].copy() for spec in self.saved(EDGES)}
        finals = self.pool["final_node"][: int(self.nums[RunCell.FOUND])].copy()
        columns = (self.events.view(name).copy() for name in ("time", "rank", "rows"))
        self.segments.append(Segment(finals, buffer, start.copy(), span, *columns))
        self.nums[RunCell.FOUND] = 0
        if self.memory is not None:
            self.memory.hold("compressed matches", sum(segment.nbytes for segment in self.segments))

    def grow_runs(self, least: int) -> None:
        """Ensure room for at least `least` more runs."""
        old = self.pool.room(RUNS)
        self.pool.grow(RUNS, least)
        new, count = self.pool.room(RUNS), int(self.nums[RunCell.FREE])
        self.pool["free_runs"][count : count + new - old] = np.arange(old, new)
        self.nums[RunCell.FREE] = count + new - old
        if self.pool.room(TABLE) > 1:
            self.pool.resize(TABLE, 1 << (4 * new - 1).bit_length())
            self.pool["table_stamp"][:] = 0

    def renumbered(self, by: Renumbering, *, by_partition: bool) -> None:
        """Bring runs and nodes in line with the new numbers of events, partitions and strings.

        Unless runs are listed `by_partition`, all are in the first list.
        """
        self.next_look -= by.count
        self.pool["node_event"][: int(self.nums[RunCell.NODES])] -= by.count
        for cell in self.source.event_cells:
            self.pool["run_integers"][:, cell] -= by.count
        if by.strings is not None:
            for cell in self.source.code_cells:
                self.pool["run_integers"][:, cell] = by.strings[self.pool["run_integers"][:, cell]]
        if by.kept is not None and by_partition:
            self.pool.take(PARTITIONS, by.kept, max(64, 2 * len(by.kept)))

    def strings_held(self) -> list[Integers]:
        """The codes of strings that runs remember."""
        runs = np.ones(len(self.pool["run_state"]), dtype=bool)
        runs[self.pool["free_runs"][: int(self.nums[RunCell.FREE])]] = False
        return [self.pool["run_integers"][runs, cell] for cell in self.source.code_cells]

    def saved(self, owner: str) -> tuple[ArraySpec, ...]:
        """The arrays of runs, nodes or edges that the state is saved with."""
        return saved_arrays(self.pool.specs, owner)

    def to_tables(self) -> dict[str, pa.Table]:
        """The state as Arrow tables; free cells are not written."""
        nodes, edges = int(self.nums[RunCell.NODES]), int(self.nums[RunCell.EDGES])
        used = _used_runs(self)
        held = {spec.name: self.pool[spec.name][used[:, 1]] for spec in self.saved(RUNS)}
        # Of variables that are not bound yet there is no event: what stands there was moved along with the others.
        cells = list(self.source.event_cells)
        held["run_integers"][:, cells] = np.maximum(held["run_integers"][:, cells], 0)
        columns = [spec.to_columns(held[spec.name]) for spec in self.saved(RUNS)]
        runs = {"partition": used[:, 0]} | {name: column for part in columns for name, column in part.items()}
        return StreamState.to_tables(self) | {
            "runs": pa.table(runs),
            "nodes": pa.table({spec.name: self.pool[spec.name][:nodes] for spec in self.saved(NODES)}),
            "edges": pa.table({spec.name: self.pool[spec.name][:edges] for spec in self.saved(EDGES)}),
        }

    def restore(self, tables: Mapping[str, pa.Table], check: Check) -> None:
        """Take over the runs and histories that `to_tables` wrote; `check` refuses those of no use."""
        sizes = {
            PARTITIONS: max(1, len(self.keys)),
            "events": self.events.length,
            "components": len(self.source.component_variables),
            **{name: tables[name].num_rows if name in tables else 0 for name in (NODES, EDGES)},
        }
        nodes = read_arrays(tables, "nodes", self.saved(NODES), sizes)
        edges = read_arrays(tables, "edges", self.saved(EDGES), sizes)
        specs = self.saved(RUNS)
        columns = (ArraySpec("partition", low=0, refers_to=PARTITIONS), *(c for spec in specs for c in spec.columns))
        saved = read_arrays(tables, "runs", columns, sizes)
        runs = {"partition": saved["partition"]} | {spec.name: spec.from_columns(saved) for spec in specs}
        check(self, runs, nodes, edges)
        self._take_over(runs, nodes, edges)

    def _take_over(self, runs: Arrays, nodes: Arrays, edges: Arrays) -> None:
        """Put runs, which have been checked, and their histories into the pools."""
        count = len(runs["run_state"])
        if count > self.nums[RunCell.FREE]:
            self.grow_runs(count)
        self.pool.grow(NODES, len(nodes["node_event"]))
        self.pool.grow(EDGES, len(edges["edge_node"]))
        for name, values in (*nodes.items(), *edges.items()):
            self.pool[name][: len(values)] = values
        self.nums[RunCell.NODES], self.nums[RunCell.EDGES] = len(nodes["node_event"]), len(edges["edge_node"])
        self.pool.reserve(PARTITIONS, int(runs["partition"].max(initial=0)) + 1)
        free = self.pool.room(RUNS)
        self.pool["free_runs"][: free - count] = np.arange(count, free)
        self.nums[RunCell.FREE], self.nums[RunCell.LIVE] = free - count, count
        for spec in self.saved(RUNS):
            self.pool[spec.name][:count] = runs[spec.name]
        for run, partition in enumerate(runs["partition"].tolist()):
            self.pool["run_next"][run] = self.pool["first_run"][partition]
            self.pool["first_run"][partition] = run
            self.pool["live_runs"][partition] += 1


def _used_runs(state: EagerState) -> Integers:
    """Partition and number of every run, partition by partition."""
    found = []
    following = state.pool["run_next"].tolist()
    for partition in np.flatnonzero(state.pool["first_run"] >= 0).tolist():
        run = int(state.pool["first_run"][partition])
        while run >= 0:
            found.append((partition, run))
            run = following[run]
    return np.array(found, dtype=np.int64).reshape(-1, 2)
