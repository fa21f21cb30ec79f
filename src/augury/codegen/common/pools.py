"""Statements on the pools of a kernel: runs, and the nodes and edges of the match buffer."""

from __future__ import annotations

from dataclasses import dataclass

from augury.codegen.common.lines import Lines
from augury.codegen.common.runs import ValueVector


@dataclass(frozen=True, slots=True)
class Pools:
    """Writes them; `r` is the run that is looked at, `q` the one that is made of it."""

    out: Lines
    vector: ValueVector
    counters: bool

    def allocate(self) -> None:
        self.out.add("free -= 1")
        self.out.add("q = FREE[free]")
        self.out.add("runs += 1")
        if self.counters:
            self.out.add("nums[9] += 1", "runs created")

    def free(self, run: str) -> None:
        self.out.add(f"FREE[free] = {run}")
        self.out.add("free += 1")
        self.out.add("runs -= 1")

    def insert(self, run: str, *, walking: bool) -> None:
        """Put a new run at the head of its partition's list; `walking` that list, it is not met again."""
        self.out.add(f"RX[{run}] = P_head[g]")
        self.out.add(f"P_head[g] = {run}")
        self.out.add("P_live[g] += 1")
        if walking:
            with self.out.block("if link < 0:"):
                self.out.add(f"link = {run}")

    def keep(self) -> None:
        """Run r stays where it is in the list."""
        self.out.add("link = r")

    def remove(self) -> None:
        """Take run r out of the list and free it."""
        with self.out.block("if link < 0:"):
            self.out.add("P_head[g] = after")
        with self.out.block("else:"):
            self.out.add("RX[link] = after")
        self.out.add("P_live[g] -= 1")
        self.free("r")

    def cells(self, value: str = "") -> None:
        """Copy the value vector of run r to run q, or fill it with `value`."""
        for array, cells in (("RI", self.vector.integers), ("RF", self.vector.floats)):
            for k in range(len(cells)):
                self.out.add(f"{array}[q, {k}] = {value or f'{array}[r, {k}]'}")

    def write_node(self, event: str, before: str, code: str, start: str) -> None:
        out = self.out
        out.add("node = natural(nodes)")
        out.add("nodes = node + 1")
        out.add(f"NE[node] = {event}")
        out.add(f"NP[node] = {before}")
        out.add(f"NC[node] = {code}")
        out.add(f"NT[node] = {start}")
        out.add("NM[node] = -1")
        if self.counters:
            out.add("nums[11] += 1", "buffer writes")

    def edge(self, node: str, before: str, start: str) -> None:
        out = self.out
        out.add("edge = natural(edges)")
        out.add("edges = edge + 1")
        out.add(f"XN[edge] = {before}")
        out.add(f"XX[edge] = NM[{node}]")
        out.add(f"NM[{node}] = edge")
        out.add(f"NT[{node}] = max(NT[{node}], {start})")
