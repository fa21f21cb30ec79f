"""EagerNfaPlan -> source of the automaton: one pass over the events, runs in a pool, matches in a shared buffer.

A node of the match buffer is one event bound to one component, with the node bound before it; runs that share a
history share its nodes. When equivalent runs are merged, the node of the event they both took has several
predecessors. docs/decisions/0010 says why this is the paper's versioned buffer.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import Enum, auto
from itertools import accumulate

from augury.codegen.common.absence import emit_absences
from augury.codegen.common.conditions import Conditions
from augury.codegen.common.constants import constants_of, functions_of
from augury.codegen.common.inventory import columns_of, conjuncts_of, stream_names, with_inner
from augury.codegen.common.lines import Lines
from augury.codegen.common.naming import heading, remark
from augury.codegen.common.pools import Pools
from augury.codegen.common.runs import ReadSite, Slot, ValueVector, updates
from augury.codegen.eager.arrays import ARGUMENTS, RunCell
from augury.codegen.eager.merging import Merging
from augury.codegen.eager.present import never_null
from augury.ir.query import CountWindow, TimeWindow
from augury.ir.terms import Strategy
from augury.plan import Component, EagerNfaPlan
from augury.runtime.columns import ColumnSpec
from augury.runtime.kernel_source import KernelSource, kernel_source

REGISTERS = {
    "nodes": RunCell.NODES,
    "edges": RunCell.EDGES,
    "free": RunCell.FREE,
    "found": RunCell.FOUND,
    "runs": RunCell.LIVE,
    "stamp": RunCell.STAMP,
}
"""How far the pools are filled: local variables while the events pass, cells of `nums` before and after."""

PEAK_RUNS = RunCell.PEAK_RUNS

ROOM = "min(free, node_event.shape[0] - nodes, edge_node.shape[0] - edges, final_node.shape[0] - found)"
"""How many more runs, nodes, edges and matches there is place for; an event counts on the most it may need."""

COUNTERS = ("predicates", "runs", "peak_runs", "buffer_writes", "merged")
"""The measures of the papers, in cells 8 and following of `nums`."""


@dataclass(frozen=True, slots=True)
class EagerNfaSource:
    """The generated kernel and what its caller must know to feed it."""

    source: KernelSource
    specs: tuple[ColumnSpec, ...]
    strings: tuple[str, ...]
    integers: int
    floats: int
    event_cells: tuple[int, ...]
    component_variables: tuple[str, ...]
    branch_of_component: tuple[int, ...]
    negated: tuple[Component, ...]
    functions: Mapping[str, tuple[str, ...]]
    """Registered functions that the kernel calls, with the kinds of their arguments."""
    cells: tuple[tuple[str, str], ...]
    """The value vector of a run: each cell with what it holds."""
    code_cells: tuple[int, ...]
    """The cells of integers that hold codes of strings."""


def emit_eager_nfa(plan: EagerNfaPlan, *, counters: bool = False) -> EagerNfaSource:
    """The kernel of a plan; the same plan gives the same text."""
    return _Emitter(plan, counters).emit()


class _Run(Enum):
    """Where the run comes from that takes an event."""

    SAME = auto()
    """It is the run that is looked at, in its place in the list."""
    SPLIT = auto()
    """It is a copy of that run."""
    BEGUN = auto()
    """It is new, and the list has been gone through."""


@dataclass(slots=True)
class _State:
    """A state of one of the automata: waiting for its component, or looping over further events of it."""

    branch: int
    component: int
    looping: bool


class _Emitter:
    """Writes one kernel; its state is the text so far and what runs must remember."""

    def __init__(self, plan: EagerNfaPlan, counters: bool) -> None:
        self.plan, self.counters = plan, counters
        taken = never_null(c for b in plan.branches for c in b.components)
        self.out, self.vector = Lines(), ValueVector(never_null=taken)
        self.pools = Pools(self.out, self.vector, counters)
        self.merging = Merging(self.out, self.pools, self.vector, counters)
        self.components = [c for b in plan.branches for c in with_inner(b.components, b.absent)]
        self.tested = conjuncts_of(self.components)
        self.constants = constants_of(self.components, self.tested)
        self.specs, self.columns = columns_of(self.components, self.tested, plan.computed)
        self.arguments = stream_names(self.constants, self.specs)
        self.states = [
            _State(b, j, looping)
            for b, branch in enumerate(plan.branches)
            for j, c in enumerate(branch.components)
            for looping in (False, True)
            # After a list, the proceed edge leads straight into the next component: nobody waits for it.
            if (c.iterated if looping else j > 0 and not branch.components[j - 1].iterated)
        ]
        self.numbers = {(s.branch, s.component, s.looping): k for k, s in enumerate(self.states)}
        self.first_codes = [0, *accumulate(len(branch.components) for branch in plan.branches)]
        # Conditions are written first: what they read decides what a run must remember.
        self.conditions = {
            (b, j): self._conditions(b, j)
            for b, branch in enumerate(plan.branches)
            for j in range(len(branch.components))
        }

    def emit(self) -> EagerNfaSource:
        self._header()
        self._advance()
        absent = [b.absent for b in self.plan.branches]
        negated = emit_absences(
            self.out, self.plan.query, absent, self.columns, self.constants, self.arguments, counters=self.counters
        )
        entries = ("advance", *(("absent", "fits") if negated else ()))
        return EagerNfaSource(
            kernel_source(f"{self.out}\n", entries, self.constants.arrays, ranks_strings=self.constants.ranks_strings),
            self.specs,
            self.constants.strings,
            max(1, len(self.vector.integers)),
            max(1, len(self.vector.floats)),
            tuple(k for k, s in enumerate(self.vector.integers) if s.holds_event),
            tuple(c.variable for branch in self.plan.branches for c in branch.components),
            tuple(b for b, branch in enumerate(self.plan.branches) for _ in branch.components),
            negated,
            functions_of(self.tested),
            self.vector.described(),
            self.vector.holding_codes(),
        )

    def _conditions(self, b: int, j: int) -> Conditions:
        branch = self.plan.branches[b]
        c = branch.components[j]
        codes = {x.variable: self._code(b, k) for k, x in enumerate(branch.components)}
        if c.iterated and (c.low > 1 or c.high is not None):
            self.vector.cell("r", Slot(c.variable, "length"), j)
        at = ReadSite(self.vector, self.columns, self.constants, j, "r")
        return Conditions(c, at, codes, self.plan.query.source, self.counters)

    def _code(self, b: int, j: int) -> int:
        """The number of a component over all branches."""
        return self.first_codes[b] + j

    def _state(self, b: int, j: int, looping: bool) -> int:
        return self.numbers[b, j, looping]

    # -- text -----------------------------------------------------------------------------------------------------

    def _header(self) -> None:
        out = self.out
        for line in heading(self.plan.query.source):
            out.comment(line)
        out.comment()
        out.comment(f"{self.plan.query.strategy}; runs {'merged' if self.plan.merge else 'not merged'}")
        for k, s in enumerate(self.states):
            c = self.plan.branches[s.branch].components[s.component]
            out.comment(f"state {k}: {'looping over' if s.looping else 'waiting for'} {remark(c.variable)}")
        for cell, holds in self.vector.described():
            out.comment(f"{cell}: {remark(holds)}")
        out.add()
        out.add()

    def _advance(self) -> None:
        out = self.out
        out.add("@kernel")
        with out.block(f"def advance(i0, n, nums, {self.arguments}, {', '.join(ARGUMENTS)}):"):
            # Counters live in registers while the events pass.
            for name, cell in REGISTERS.items():
                out.add(f"{name} = nums[{cell}]")
            out.add(f"room = {ROOM}")
            with out.block("for event in range(i0, n):"):
                out.add("i = natural(event)")
                self._event()
            self._save()
            out.add("return n")

    def _save(self) -> None:
        for name, cell in REGISTERS.items():
            self.out.add(f"nums[{cell}] = {name}")

    def _event(self) -> None:
        out, strict = self.out, self.plan.query.strategy is Strategy.STRICT_CONTIGUITY
        if strict:
            out.add("g = 0", "the events of any partition end a run")
        else:
            out.add("g = part[i]")
            with out.block("if g < 0:"):
                out.add("continue")
        # Each run may take the event, proceed with it, and be merged with one that ignores it. Of many keys most have
        # no run: how many there are is then not read, which would be one more place far away in memory.
        out.add("r = first_run[g]")
        out.add(f"need = {len(self.plan.branches)} if r < 0 else 3 * live_runs[g] + {len(self.plan.branches)}")
        out.add("room -= need")
        with out.block("if room < 0:"):
            out.add(f"room = {ROOM} - need")
            # Room is used up as work is done, so that this is looked at often enough, and seldom.
            with out.block("if room < 0 or stopped(nums):"):
                self._save()
                out.add("return i", "the caller makes room and comes back")
        out.add("t = time[i]")
        out.add("k = rank[i]")
        if self.plan.merge:
            out.add("stamp += 1", "a new event: what the table of merged runs holds is out of date")
            for b in range(len(self.plan.branches)):
                out.add(f"final_{b} = -1")
            for k in range(len(self.states)):
                out.add(f"lead_{k} = idle_{k} = join_{k} = -1")
        for b, branch in enumerate(self.plan.branches):
            for j, c in enumerate(branch.components):
                out.add(f"fit_{self._code(b, j)} = {self._fits(c)}", remark(c.variable))
        out.add("link = -1", "the run before r")
        with out.block("while r >= 0:"):
            out.add("after = run_next[r]")
            out.add("later = k > run_rank[r]", "than the last event of the run")
            word = "if"
            expired = self._expired()
            if expired:
                with out.block(f"if {expired}:", "WITHIN"):
                    self.pools.remove()
                word = "elif"
            for k, s in enumerate(self.states):
                c = self.plan.branches[s.branch].components[s.component]
                others = k + 1 < len(self.states) or word == "if"
                with out.block(
                    f"{word} run_state[r] == {k}:" if others else "else:",
                    remark(f"{'looping over' if s.looping else 'waiting for'} {c.variable}"),
                ):
                    (self._looping if s.looping else self._waiting)(s)
                word = "elif"
            out.add("r = after")
        for b in range(len(self.plan.branches)):
            self._begin(b)
        if self.counters:
            out.add(f"nums[{PEAK_RUNS}] = max(nums[{PEAK_RUNS}], runs)", "peak of simultaneous runs")

    def _expired(self) -> str:
        match self.plan.query.window:
            case TimeWindow(ticks):
                return f"t - run_start[r] > {ticks}"
            case CountWindow(events):
                return f"place[i] - run_start[r] >= {events}"
            case None:
                return ""

    def _fits(self, c: Component) -> str:
        tests = []
        if c.types and self.plan.query.schema.type is not None:
            codes = [self.constants.code(t) for t in c.types]
            tests.append(" or ".join(f"type_[i] == {code}" for code in codes))
        if self.plan.query.strategy is Strategy.STRICT_CONTIGUITY:
            tests.append("part[i] >= 0")
        at = ReadSite(self.vector, self.columns, self.constants, -1, "r", c.variable, "i", begins=True)
        tests += [Conditions.text(j, at) for j in c.alone]
        return " and ".join(f"({t})" for t in tests) or "True"

    def _waiting(self, s: _State) -> None:
        self._taken("took", s.branch, s.component, begins=True)
        self._move(s, s.component, begins=True)

    def _looping(self, s: _State) -> None:
        out, branch = self.out, self.plan.branches[s.branch]
        c = branch.components[s.component]
        if s.component + 1 < len(branch.components):
            # The proceed edge, constrained: only when the next component can begin with this event.
            out.add(f"go = fit_{self._code(s.branch, s.component + 1)}")
            if c.low > 1:
                out.add(f"go = go and {self._length(c)} >= {c.low}")
            with out.block("if go:"):
                self.conditions[s.branch, s.component].whole(out, "go", "r")
                self._taken("go", s.branch, s.component + 1, begins=True, first=False)
            with out.block("if go:", remark(f"proceed to {branch.components[s.component + 1].variable}")):
                self._take(s.branch, s.component + 1, begins=True, copy=True)
        self._taken("took", s.branch, s.component, begins=False)
        self._move(s, s.component, begins=False)

    def _taken(self, name: str, b: int, j: int, *, begins: bool, first: bool = True) -> None:
        """Whether event i can be bound to component j of the run."""
        out, c = self.out, self.plan.branches[b].components[j]
        if first:
            out.add(f"{name} = fit_{self._code(b, j)}")
        tests = ["later"]
        if self.plan.query.strategy is Strategy.STRICT_CONTIGUITY and self.plan.query.partition_by:
            tests.append("part[i] == part[node_event[run_node[r]]]")
        if not begins and c.high is not None:
            tests.append(f"{self._length(c)} < {c.high}")
        out.add(f"{name} = {name} and {' and '.join(tests)}")
        self.conditions[b, j].take(out, name, "r", begins=begins)

    def _length(self, c: Component) -> str:
        return f"RI[r, {self.vector.place(Slot(c.variable, 'length'))}]"

    def _move(self, s: _State, j: int, *, begins: bool) -> None:
        """What becomes of the run: the edges of the strategy."""
        out = self.out
        match self.plan.query.strategy:
            case Strategy.SKIP_TILL_ANY_MATCH:
                with out.block("if took:"):
                    self._take(s.branch, j, begins=begins, copy=True)
                self._ignore(s)
            case Strategy.SKIP_TILL_NEXT_MATCH:
                with out.block("if took:"):
                    self._take(s.branch, j, begins=begins, copy=False)
                with out.block("else:"):
                    self._ignore(s)
            case Strategy.PARTITION_CONTIGUITY | Strategy.STRICT_CONTIGUITY:
                with out.block("if took:"):
                    self._take(s.branch, j, begins=begins, copy=False)
                with out.block("else:"):
                    self.pools.remove()

    def _ignore(self, s: _State) -> None:
        """Run r stays as it is; of several that stay with the same values, one goes on for all."""
        if not self.plan.merge:
            self.pools.keep()
            return
        state = self._state(s.branch, s.component, s.looping)
        self.merging.idle(state, self._keys(s.branch, s.component if s.looping else s.component - 1))

    def _begin(self, b: int) -> None:
        out, c = self.out, self.plan.branches[b].components[0]
        out.add(f"go = fit_{self._code(b, 0)}", remark(f"begin with {c.variable}"))
        self.conditions[b, 0].take(out, "go", "r", begins=True)
        start = "place[i]" if isinstance(self.plan.query.window, CountWindow) else "t"
        with out.block("if go:"):
            if len(self.plan.branches[b].components) == 1 and not c.iterated:
                self._final(b, "-1", start)
                return
            self.pools.allocate()
            self.pools.cells("0")
            out.add("run_node[q] = -1")
            out.add(f"run_start[q] = {start}")
            self._take_into(b, 0, begins=True, run=_Run.BEGUN)

    def _take(self, b: int, j: int, *, begins: bool, copy: bool) -> None:
        branch = self.plan.branches[b]
        last = j + 1 == len(branch.components)
        if last and not branch.components[j].iterated:
            self._final(b, "run_node[r]", "run_start[r]")
            if not copy:
                self.pools.remove()
            return
        if copy:
            self.pools.allocate()
            self.pools.cells()
            self.out.add("run_node[q] = run_node[r]")
            self.out.add("run_start[q] = run_start[r]")
        else:
            self.out.add("q = r")
        self._take_into(b, j, begins=begins, run=_Run.SPLIT if copy else _Run.SAME)

    def _take_into(self, b: int, j: int, *, begins: bool, run: _Run) -> None:
        """Event i joins component j of run q, which moves on."""
        out, branch = self.out, self.plan.branches[b]
        c = branch.components[j]
        for line in updates(self.vector, self.columns, self.constants, c.variable, begins):
            out.add(line)
        state = self._state(b, j, True) if c.iterated else self._state(b, j + 1, False)
        if run is not _Run.SAME or begins:
            out.add(f"run_state[q] = {state}")
        out.add("run_rank[q] = k")
        if not self.plan.merge:
            self._node(b, j, "run_node[q]", "run_start[q]")
            self._settle(b, j, run)
            return
        # All runs that get here have just taken event i, and remember the same of it.
        current = ("last",) if c.iterated else ("first", "last")
        keys = self._keys(b, j, [s for s in self.vector.of(c.variable) if s.element in current])
        self.merging.find(state, keys)
        with out.block("if m >= 0:", "an equivalent run took the same event: merge"):
            self.merging.join_taken()
            if run is _Run.SAME:
                self.pools.remove()
            else:
                self.pools.free("q")
        with out.block("else:"):
            with out.block(f"if lead_{state} < 0:"):
                out.add(f"lead_{state} = q")
            self._node(b, j, "run_node[q]", "run_start[q]")
            self._settle(b, j, run)

    def _settle(self, b: int, j: int, run: _Run) -> None:
        """Run q holds its new node: report it if that completes a match, and keep it."""
        out, branch = self.out, self.plan.branches[b]
        c = branch.components[j]
        out.add("run_node[q] = node")
        if c.iterated and j + 1 == len(branch.components):
            low = f"{self._length(c).replace('[r,', '[q,')} >= {c.low}" if c.low > 1 else "True"
            out.add(f"done = {low}")
            self.conditions[b, j].whole(out, "done", "q")
            with out.block("if done:", "a match"):
                out.add("final_node[natural(found)] = node")
                out.add("found += 1")
        if run is _Run.SAME:
            self.pools.keep()
        else:
            self.pools.insert("q", walking=run is _Run.SPLIT)

    def _final(self, b: int, before: str, start: str) -> None:
        """A match ends with event i."""
        out = self.out
        j = len(self.plan.branches[b].components) - 1
        if self.plan.merge:
            with out.block(f"if final_{b} >= 0:", "another run ends with the same event"):
                self.pools.edge(f"final_{b}", before, start)
            with out.block("else:", "a match"):
                self._node(b, j, before, start)
                out.add("final_node[natural(found)] = node")
                out.add("found += 1")
                out.add(f"final_{b} = node")
        else:
            self._node(b, j, before, start)
            out.add("final_node[natural(found)] = node", "a match")
            out.add("found += 1")

    def _node(self, b: int, j: int, before: str, start: str) -> None:
        self.pools.write_node("i", before, str(self._code(b, j)), start)

    def _keys(self, b: int, j: int, current: Collection[Slot] = ()) -> list[tuple[str, bool]]:
        """The cells that the rest of the automaton can read, but for `current`, which need no comparison."""
        return self.merging.keys({c.variable for c in self.plan.branches[b].components[: j + 1]}, j, current)
