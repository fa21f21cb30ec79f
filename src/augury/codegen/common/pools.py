"""Statements on the pools of a kernel: runs, and the nodes and edges of the match buffer."""

from __future__ import annotations

from dataclasses import dataclass

from augury.codegen.common.lines import Lines
from augury.codegen.common.runs import ValueVector
from augury.native.cells import Cell


@dataclass(frozen=True, slots=True)
class Pools:
    """Emits statements on runs, nodes and edges; `r` is the run that is looked at, `q` the one that is made of it."""

    out: Lines
    vector: ValueVector
    counters: bool

    def allocate(self) -> None:
        self.out.add("free -= 1")
        self.out.add("q = free_runs[free]")
        self.out.add("runs += 1")
        if self.counters:
            self.out.add(f"nums[{Cell.RUNS}] += 1", "runs created")

    def free(self, run: str) -> None:
        self.out.add(f"free_runs[free] = {run}")
        self.out.add("free += 1")
        self.out.add("runs -= 1")

    def insert(self, run: str, *, walking: bool) -> None:
        """Put a new run at the head of its partition's list; `walking` that list, it is not met again."""
        self.out.add(f"run_next[{run}] = first_run[g]")
        self.out.add(f"first_run[g] = {run}")
        self.out.add("live_runs[g] += 1")
        if walking:
            with self.out.block("if link < 0:"):
                self.out.add(f"link = {run}")

    def keep(self) -> None:
        """Run r stays where it is in the list."""
        self.out.add("link = r")

    def remove(self) -> None:
        """Take run r out of the list and free it."""
        with self.out.block("if link < 0:"):
            self.out.add("first_run[g] = after")
        with self.out.block("else:"):
            self.out.add("run_next[link] = after")
        self.out.add("live_runs[g] -= 1")
        self.free("r")

    def cells(self, value: str = "") -> None:
        """Copy the value vector of run r to run q, or fill it with `value`."""
        for array, cells in (("run_integers", self.vector.integers), ("run_floats", self.vector.floats)):
            for k in range(len(cells)):
                self.out.add(f"{array}[q, {k}] = {value or f'{array}[r, {k}]'}")

    def duplicate(self, run: str, copy: str = "w") -> None:
        """Make a run `copy` that is what `run` is, but for its state and its place in the list."""
        out = self.out
        out.add("free -= 1")
        out.add(f"{copy} = free_runs[free]")
        out.add("runs += 1")
        if self.counters:
            out.add(f"nums[{Cell.RUNS}] += 1", "runs created")
        for array, cells in (("run_integers", self.vector.integers), ("run_floats", self.vector.floats)):
            for k in range(len(cells)):
                out.add(f"{array}[{copy}, {k}] = {array}[{run}, {k}]")
        for array in ("run_node", "run_start", "run_rank"):
            out.add(f"{array}[{copy}] = {array}[{run}]")

    def write_node(self, event: str, before: str, code: str, start: str) -> None:
        out = self.out
        out.add("node = natural(nodes)")
        out.add("nodes = node + 1")
        out.add(f"node_event[node] = {event}")
        out.add(f"node_before[node] = {before}")
        out.add(f"node_component[node] = {code}")
        out.add(f"node_start[node] = {start}")
        out.add("node_edge[node] = -1")
        if self.counters:
            out.add(f"nums[{Cell.BUFFER_WRITES}] += 1", "buffer writes")

    def edge(self, node: str, before: str, start: str) -> None:
        out = self.out
        out.add("edge = natural(edges)")
        out.add("edges = edge + 1")
        out.add(f"edge_node[edge] = {before}")
        out.add(f"edge_next[edge] = node_edge[{node}]")
        out.add(f"node_edge[{node}] = edge")
        out.add(f"node_start[{node}] = max(node_start[{node}], {start})")
