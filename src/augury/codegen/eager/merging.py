"""Statements that merge equivalent runs of an automaton (paper 001, section 5.3).

Two runs are equivalent when they are in one state and agree on the cells that the rest of the automaton can read. While
an event is looked at, `lead` is by state the first run that took it and `idle` the first that did not.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from augury.codegen.common.lines import Lines
from augury.codegen.common.pools import Pools
from augury.codegen.common.runs import Slot, ValueVector
from augury.native.cells import RunCell


@dataclass(frozen=True, slots=True)
class Merging:
    """Emits the statements that find and merge equivalent runs.

    A key is the text of a cell, the run left open, and whether it is a float.
    """

    out: Lines
    pools: Pools
    vector: ValueVector
    counters: bool

    def keys(self, bound: Collection[str], j: int, current: Collection[Slot]) -> list[tuple[str, bool]]:
        """The cells of the variables `bound` that components from j on read, but for `current`."""
        return [
            (f"{array}[{{}}, {k}]", slot.is_float)
            for array, cells in (("run_integers", self.vector.integers), ("run_floats", self.vector.floats))
            for k, slot in enumerate(cells)
            if slot.variable in bound and slot not in current and any(r >= j for r in self.vector.readers[slot])
        ]

    def idle(self, state: int, keys: Sequence[tuple[str, bool]]) -> None:
        """Run r stays as it is; of several that stay with the same values, one goes on for all."""
        out = self.out
        lead, join = f"idle_{state}", f"join_{state}"
        # An event concurrent with the last one of a run is closed to it: only then may two runs differ in that one.
        open_to_all = ["later", f"{lead} >= 0", f"k > run_rank[{lead}]"]
        with out.block(f"if {' and '.join([*open_to_all, *_same(keys, lead, 'r')])}:", "an equivalent run: merge"):
            with out.block(f"if {join} < 0:"):
                self.pools.write_node(f"node_event[run_node[{lead}]]", f"run_node[{lead}]", "-1", f"run_start[{lead}]")
                out.add(f"{join} = node", "no event: two histories become one")
                out.add(f"run_node[{lead}] = node")
            self.pools.edge(join, "run_node[r]", "run_start[r]")
            out.add(f"node_event[{join}] = max(node_event[{join}], node_event[run_node[r]])")
            out.add(f"run_rank[{lead}] = max(run_rank[{lead}], run_rank[r])")
            out.add(f"run_start[{lead}] = max(run_start[{lead}], run_start[r])")
            self._count()
            self.pools.remove()
        with out.block("else:"):
            with out.block(f"if {lead} < 0:"):
                out.add(f"{lead} = r")
            self.pools.keep()

    def find(self, state: int, keys: Sequence[tuple[str, bool]]) -> None:
        """Find the run m that has taken event i too and is equivalent to run q; -1 if there is none."""
        out = self.out
        # Mostly the runs that take an event agree with the first that did; the table is for those that do not.
        out.add(f"m = lead_{state}")
        if not keys:
            return
        same = " and ".join(_same(keys, "m", "q"))
        with out.block(f"if m >= 0 and not ({same}):"):
            out.add(f"h = mix({state})")
            for text, is_float in keys:
                out.add(f"h = mix(h ^ {'bits' if is_float else 'int'}({text.format('q')}))")
            out.add("h = h & (table_run.shape[0] - 1)")
            out.add("m = -1")
            with out.block("while table_stamp[h] == stamp:"):
                out.add("m = table_run[h]")
                with out.block(f"if run_state[m] == {state} and {same}:"):
                    out.add("break")
                out.add("m = -1")
                out.add("h = (h + 1) & (table_run.shape[0] - 1)")
            with out.block("if m < 0:"):
                out.add("table_stamp[h] = stamp")
                out.add("table_run[h] = q")

    def join_taken(self) -> None:
        """Run m goes on for run q, which has taken the same event."""
        self.pools.edge("run_node[m]", "run_node[q]", "run_start[q]")
        self.out.add("run_start[m] = max(run_start[m], run_start[q])")
        self._count()

    def _count(self) -> None:
        if self.counters:
            self.out.add(f"nums[{RunCell.MERGED}] += 1", "merged")


def _same(keys: Sequence[tuple[str, bool]], one: str, other: str) -> list[str]:
    return [f"same({text.format(one)}, {text.format(other)})" for text, _ in keys]
