"""EagerNfaPlan -> source of the automaton: one pass over the events, runs in a pool, matches in a shared buffer.

A node of the match buffer is one event bound to one component, with the node bound before it; runs that share a
history share its nodes. When equivalent runs are merged, the node of the event they both took has several
predecessors. docs/decisions/0010 says why this is the paper's versioned buffer.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum, auto
from itertools import accumulate
from typing import assert_never

from augury.codegen.common.absence import absence_entries, emit_absences
from augury.codegen.common.conditions import Conditions
from augury.codegen.common.constants import Constants, constants_of, functions_of
from augury.codegen.common.fitting import fits
from augury.codegen.common.inventory import NUMS, columns_of, conjuncts_of, stream_specs, with_inner
from augury.codegen.common.lines import Lines
from augury.codegen.common.naming import heading, remark
from augury.codegen.common.pools import Pools
from augury.codegen.common.runs import ReadSite, Slot, ValueVector, updates
from augury.codegen.eager.arrays import run_arrays
from augury.codegen.eager.merging import Merging
from augury.codegen.eager.present import never_null
from augury.codegen.eager.rounds import declare_rounds, emit_event, emit_mark, emit_outdone, emit_round, number
from augury.codegen.eager.until import emit_end, emit_goes_on, emit_until, until_conditions
from augury.ir.query import CountWindow, TimeWindow
from augury.ir.terms import Strategy
from augury.native.cells import RunCell
from augury.plan import Component, EagerNfaPlan, Gap, Loop, NfaState, Phase
from augury.runtime.columns import ColumnSpec
from augury.runtime.kernel_source import KernelSource, Signature, kernel_source

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


def emit_registers(out: Lines) -> None:
    """Write counters back from the registers that they are in while the events pass."""
    for name, cell in REGISTERS.items():
        out.add(f"nums[{cell}] = {name}")


def emit_room(out: Lines) -> None:
    """Go back to the caller if there is no room for the `need` runs that event i may make; its time and rank."""
    out.add("room -= need")
    with out.block("if room < 0:"):
        out.add(f"room = {ROOM} - need")
        # Room is used up as work is done, so that this is looked at often enough, and seldom.
        with out.block("if room < 0 or stopped(nums):"):
            emit_registers(out)
            out.add("return i", "the caller makes room and comes back")
    out.add("t = time[i]")
    out.add("k = rank[i]")


def automaton_source(
    branches: Sequence[Sequence[Component]],
    out: Lines,
    entries: Sequence[Signature],
    specs: tuple[ColumnSpec, ...],
    constants: Constants,
    vector: ValueVector,
    negated: tuple[Component, ...],
    functions: Mapping[str, tuple[str, ...]],
) -> EagerNfaSource:
    """The source of runs, or of instances, once its text is written."""
    return EagerNfaSource(
        kernel_source(f"{out}\n", entries, constants.arrays, ranks_strings=constants.ranks_strings, code=out.code),
        specs,
        constants.strings,
        max(1, len(vector.integers)),
        max(1, len(vector.floats)),
        tuple(k for k, s in enumerate(vector.integers) if s.holds_event),
        tuple(c.variable for components in branches for c in components),
        tuple(b for b, components in enumerate(branches) for _ in components),
        negated,
        functions,
        vector.described(),
        vector.holding_codes(),
    )


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


_DOES = {Phase.WAITING: "waiting for", Phase.BEHIND: "behind a list, waiting for", Phase.LOOPING: "looping over"}
"""What a run does in each phase, in words."""


class _Emitter:
    """Writes one kernel; its state is the text so far and what runs must remember."""

    def __init__(self, plan: EagerNfaPlan, counters: bool) -> None:
        self.plan, self.counters = plan, counters
        taken = never_null(c for b in plan.branches for c in b.components)
        self.out, self.vector = Lines(), ValueVector(never_null=taken)
        self.pools = Pools(self.out, self.vector, counters)
        self.merging = Merging(self.out, self.pools, self.vector, counters)
        self.components = [c for b in plan.branches for c in with_inner(b.components, b.absent)]
        self.components += [c for r in plan.rounds for c in with_inner((), r.absent)]
        loops = [loop for b in plan.branches for loop in b.loops]
        self.tested = [*conjuncts_of(self.components), *(j for loop in loops for j in loop.whole)]
        self.components += [latest for loop in loops for latest, _ in loop.latest]
        # What must be absent in a round reads its events by the variables of the query.
        names, inside = dict(plan.names), [c for b in plan.branches for c in b.components]
        self.components += [replace(c, variable=names[c.variable]) for c in inside if c.variable in names]
        self.constants = constants_of(self.components, self.tested)
        self.specs, self.columns = columns_of(self.components, self.tested, plan.computed)
        self.stream = stream_specs(self.constants, self.specs)
        self.advance = Signature("advance", ("i0", "n", NUMS, *self.stream, *run_arrays()))
        self.states = plan.states
        self.numbers = {state: k for k, state in enumerate(self.states)}
        # Where some step ends a run with the next event of any partition, the runs of all of them are in one list.
        self.in_one_list = Strategy.STRICT_CONTIGUITY in plan.query.strategies
        self.mixed = self.in_one_list and bool(plan.query.partition_by)
        self.first_codes = [0, *accumulate(len(branch.components) for branch in plan.branches)]
        # Conditions are written first: what they read decides what a run must remember.
        self.conditions = {
            (b, j): self._conditions(b, j)
            for b, branch in enumerate(plan.branches)
            for j in range(len(branch.components))
        }
        self.until = {place: until_conditions(c.at, c) for place, c in self.conditions.items()}
        self.rounds = {
            (b, loop.variable): self._round_conditions(b, loop)
            for b, branch in enumerate(plan.branches)
            for loop in branch.loops
        }
        self.site = ReadSite(self.vector, self.columns, self.constants, 0, "r")
        declare_rounds(plan, self.site)

    def emit(self) -> EagerNfaSource:
        self._header()
        self._advance()
        absent = [*(b.absent for b in self.plan.branches), *(r.absent for r in self.plan.rounds)]
        negated = emit_absences(
            self.out, self.plan.query, absent, self.columns, self.constants, self.stream, counters=self.counters
        )
        entries = (self.advance, *absence_entries(negated, self.stream))
        branches = [b.components for b in self.plan.branches]
        functions = functions_of(self.tested)
        source = automaton_source(
            branches, self.out, entries, self.specs, self.constants, self.vector, negated, functions
        )
        # A node that is outdone has another code of its component.
        codes = 2 if self.plan.takes_all else 1
        return replace(
            source,
            component_variables=source.component_variables * codes,
            branch_of_component=source.branch_of_component * codes,
        )

    def _conditions(self, b: int, j: int) -> Conditions:
        branch = self.plan.branches[b]
        c = branch.components[j]
        codes = {x.variable: self._code(b, k) for k, x in enumerate(branch.components)}
        if c.iterated and (c.low > 1 or c.high is not None):
            self.vector.cell("r", Slot(c.variable, "length"), j)
        at = ReadSite(self.vector, self.columns, self.constants, j, "r")
        return Conditions(c, at, codes, self.plan.query.source, self.counters)

    def _round_conditions(self, b: int, loop: Loop) -> Conditions:
        """What is tested when the last round of a group is complete."""
        none = Component(loop.variable, (), 1, 1, False, (), (), loop.whole)
        at = ReadSite(self.vector, self.columns, self.constants, loop.last, "r")
        return Conditions(none, at, {}, self.plan.query.source, self.counters)

    def _code(self, b: int, j: int) -> int:
        """The number of a component over all branches."""
        return self.first_codes[b] + j

    def _state(self, b: int, j: int, phase: Phase, left: int = -1) -> int:
        return self.numbers[NfaState(b, j, phase, left)]

    def _left_for(self, b: int, p: int, j: int) -> int:
        """The state of a run that has left component p, which may still grow if it is a list, and waits for j."""
        if self.plan.branches[b].lingers(p, j):
            return self._state(b, j, Phase.BEHIND, p)
        return self._state(b, j, Phase.WAITING)

    # -- text -----------------------------------------------------------------------------------------------------

    def _header(self) -> None:
        out = self.out
        for line in heading(self.plan.query.source):
            out.comment(line)
        out.comment()
        steps = "".join(
            f", {step.strategy}({step.variable}{'[]' if step.inside else ''})" for step in self.plan.query.steps
        )
        out.comment(remark(f"{self.plan.query.strategy}{steps}; runs {'merged' if self.plan.merge else 'not merged'}"))
        for k, s in enumerate(self.states):
            c = self.plan.branches[s.branch].components[s.component]
            out.comment(f"state {k}: {_DOES[s.phase]} {remark(c.variable)}")
        for cell, holds in self.vector.described():
            out.comment(f"{cell}: {remark(holds)}")
        out.add()
        out.add()

    def _advance(self) -> None:
        out = self.out
        out.add("@kernel")
        with out.block(self.advance.head):
            # Counters live in registers while the events pass.
            for name, cell in REGISTERS.items():
                out.add(f"{name} = nums[{cell}]")
            out.add(f"room = {ROOM}")
            with out.block("for event in range(i0, n):"):
                out.add("i = natural(event)")
                self._event()
            emit_registers(out)
            out.add("return n")

    def _event(self) -> None:
        out = self.out
        if self.in_one_list:
            out.add("g = 0", "the events of any partition end a run")
        else:
            out.add("g = part[i]")
            with out.block("if g < 0:"):
                out.add("continue")
        # Each run may take the event, proceed with it, and be merged with one that ignores it. Of many keys most have
        # no run: how many there are is then not read, which would be one more place far away in memory.
        out.add("r = first_run[g]")
        begun = self.plan.begun
        out.add(f"need = {begun} if r < 0 else {self.plan.spread} * live_runs[g] + {begun}")
        emit_room(out)
        if self.plan.merge:
            out.add("stamp += 1", "a new event: what the table of merged runs holds is out of date")
            for b in range(len(self.plan.branches)):
                out.add(f"final_{b} = -1")
            for k in range(len(self.states)):
                out.add(f"lead_{k} = idle_{k} = join_{k} = -1")
        for b, branch in enumerate(self.plan.branches):
            for j, c in enumerate(branch.components):
                out.add(f"fit_{self._code(b, j)} = {self._fits(c)}", remark(c.variable))
                if c.until is not None:
                    out.add(f"ends_{self._code(b, j)} = {self._fits(c.until)}", remark(f"until {c.until.variable}"))
        if self.plan.takes_all:
            out.add("marked = -2", "the last node that is outdone by this event")
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
                    remark(f"{_DOES[s.phase]} {c.variable}"),
                ):
                    self._consume(s)
                word = "elif"
            out.add("r = after")
        for b, branch in enumerate(self.plan.branches):
            for j in branch.entries:
                self._begin(b, j)
        if self.plan.takes_all:
            emit_outdone(out, self.first_codes[-1])
        if self.counters:
            out.add(f"nums[{PEAK_RUNS}] = max(nums[{PEAK_RUNS}], runs)", "peak of simultaneous runs")

    def _expired(self) -> str:
        each = self.plan.query.each
        apart = "" if each is None else f"t - time[node_event[run_node[r]]] > {each}"
        return " or ".join(test for test in (self._outside_window(), apart) if test)

    def _outside_window(self) -> str:
        match self.plan.query.window:
            case TimeWindow() as window:
                return f"t - run_start[r] > {self.constants.within(window)}"
            case CountWindow() as window:
                # Places are counted by partition: those of another one say nothing about this run.
                mine = f"{self._same_partition} and " if self.mixed else ""
                return f"{mine}place[i] - run_start[r] >= {self.constants.within(window)}"
            case None:
                return ""

    def _fits(self, c: Component) -> str:
        at = ReadSite(self.vector, self.columns, self.constants, -1, "r", c.variable, "i", begins=True)
        return fits(c, self.plan.query, self.constants, at.read, in_partition=self.in_one_list)

    @property
    def _same_partition(self) -> str:
        """Whether event i is of the partition of run r, where runs of all partitions are in one list."""
        return "part[i] == part[node_event[run_node[r]]]"

    def _gap(self, s: NfaState) -> Gap:
        return self.plan.branches[s.branch].gaps[s.component]

    def _consume(self, s: NfaState) -> None:
        if s.phase is Phase.LOOPING or not self.plan.branches[s.branch].outdone(s.component):
            self._look(s)
            return
        with self.out.block(
            f"if node_component[run_node[r]] >= {self.first_codes[-1]}:", "a further round was complete"
        ):
            self.pools.remove()
        with self.out.block("else:"):
            self._look(s)

    def _look(self, s: NfaState) -> None:
        match s.phase:
            case Phase.WAITING:
                self._waiting(s)
            case Phase.BEHIND:
                self._behind(s)
            case Phase.LOOPING:
                self._looping(s)

    def _waiting(self, s: NfaState) -> None:
        self._taken("took", s.branch, s.component, begins=True)
        self._move(s, s.component, self._gap(s).before, begins=True)

    def _behind(self, s: NfaState) -> None:
        """The run has left a list: what it ignores now is something that the list could not have taken."""
        out, gaps = self.out, self.plan.branches[s.branch].gaps
        inside, before = gaps[s.left].inside, gaps[s.component].before
        self._end_list(s.branch, s.left)
        self._taken("took", s.branch, s.component, begins=True)
        self._taken("could", s.branch, s.left, begins=False)
        # What ends a list may also be passed over, so that a later event ends it.
        if before is Strategy.SKIP_TILL_ANY_MATCH or inside is before is Strategy.SKIP_TILL_NEXT_MATCH:
            with out.block("if took:"):
                self._take(s.branch, s.component, begins=True, copy=True)
            rest = out.block("if could:", "the list takes all it can")
        else:
            with out.block("if took:"):
                self._take(s.branch, s.component, begins=True, copy=False)
            rest = out.block("elif could:", "the list takes all it can")
        with rest:
            self.pools.remove()
        with out.block("else:"):
            if inside is not Strategy.SKIP_TILL_NEXT_MATCH:
                # A contiguous list could have taken the next event alone, and that has passed.
                state = self._state(s.branch, s.component, Phase.WAITING)
                if inside is Strategy.PARTITION_CONTIGUITY and self.mixed:
                    with out.block(f"if {self._same_partition}:"):
                        out.add(f"run_state[r] = {state}")
                else:
                    out.add(f"run_state[r] = {state}")
            self.pools.keep()

    def _looping(self, s: NfaState) -> None:
        out, branch = self.out, self.plan.branches[s.branch]
        c = branch.components[s.component]
        self._end_list(s.branch, s.component)
        if branch.splits(s.component):
            self._taken("took", s.branch, s.component, begins=False)
            self._move(s, s.component, self._gap(s).inside, begins=False)
            return
        if not self._leaves_when_full(s.branch, s.component):
            self._growing(s)
            return
        with out.block(f"if {self._length(c)} >= {c.high}:", "full: it has left its loop"):
            self._full(s)
        with out.block("else:"):
            self._growing(s)

    def _leaves_when_full(self, b: int, j: int) -> bool:
        """Whether a run with a full list must not ignore what the next component can take.

        Other strategies end it with such an event, or let it be ignored anyway.
        """
        branch = self.plan.branches[b]
        if branch.components[j].high is None or not branch.follow(j) or branch.splits(j):
            return False
        return branch.gaps[j + 1].before is Strategy.SKIP_TILL_NEXT_MATCH

    def _full(self, s: NfaState) -> None:
        """A list that can take no more: the run waits for the next component alone."""
        branch = self.plan.branches[s.branch]
        self.out.add(f"took = fit_{self._code(s.branch, s.component + 1)}")
        self.conditions[s.branch, s.component].whole(self.out, "took", "r")
        self._taken("took", s.branch, s.component + 1, begins=True, first=False)
        self._move(s, s.component + 1, branch.gaps[s.component + 1].before, begins=True)

    def _growing(self, s: NfaState) -> None:
        """A list that may take event i, be followed by it, or both."""
        out, branch = self.out, self.plan.branches[s.branch]
        c = branch.components[s.component]
        if branch.follow(s.component):
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
        self._move(s, s.component, self._gap(s).inside, begins=False)

    def _taken(self, name: str, b: int, j: int, *, begins: bool, first: bool = True) -> None:
        """Whether event i can be bound to component j of the run."""
        out = self.out
        if first:
            out.add(f"{name} = fit_{self._code(b, j)}")
        tests = ["later"]
        if self.mixed:
            tests.append(self._same_partition)
        c = self.plan.branches[b].components[j]
        for p in self.plan.branches[b].before(j) if begins else ():
            before = self.plan.branches[b].components[p].variable
            for part in self.plan.branches[b].absent:
                if part.silence is not None and c.variable in part.before and before in part.after:
                    tests.append(f"t - time[node_event[run_node[r]]] > {part.silence}")
        if not begins and c.high is not None and not self._leaves_when_full(b, j):
            tests.append(f"{self._length(c)} < {c.high}")
        out.add(f"{name} = {name} and {' and '.join(tests)}")
        self.conditions[b, j].take(out, name, "r", begins=begins)
        self._goes_on(name, b, j, begins=begins)
        self._try_last(name, b, j)

    def _try_last(self, name: str, b: int, j: int, cells: str = "") -> None:
        """Whether event i may end the last round of a group: a free run is what run r would be, or one with `cells`."""
        out, branch = self.out, self.plan.branches[b]
        ending = branch.round_ending(j)
        if ending is None or ending[1].goes_on or not ending[1].ends or branch.components[j].iterated:
            return
        loop, round = ending
        with out.block(f"if {name}:"):
            out.add("q = free_runs[free - 1]", remark(f"as if {loop.variable} ended here"))
            self.pools.cells(cells)
            self._join(b, j, begins=True)
            emit_round(out, self.site, branch, loop, round, "q")
            self._may_end(b, loop, "q")
            out.add(f"{name} = over")

    def _may_end(self, b: int, loop: Loop, run: str) -> None:
        """Set `over` to whether the group may end with the round that a run has completed."""
        out, conditions = self.out, self.rounds[b, loop.variable]
        enough = f"{number(self.vector, loop, run)} >= {loop.low}" if loop.low > 1 else "True"
        out.add(f"over = {enough}", remark(f"may {loop.variable} end?"))
        for c in loop.whole:
            conditions.test(out, "over", c, replace(conditions.at, run=run), [], run)

    def _join(self, b: int, j: int, *, begins: bool) -> None:
        """Event i joins component j of run q: what that remembers of it."""
        emit_event(self.out, self.site, self.plan.branches[b], j, "q", begins=begins)
        variable = self.plan.branches[b].components[j].variable
        for line in updates(self.vector, self.columns, self.constants, variable, begins):
            self.out.add(line)

    def _end_list(self, b: int, j: int) -> None:
        """Note that event i ends the list of component j, if it does."""
        until = self.until[b, j]
        if until is not None:
            c = self.plan.branches[b].components[j]
            emit_end(self.out, self.vector, c, until, self._code(b, j), self._same_partition if self.mixed else "")

    def _goes_on(self, name: str, b: int, j: int, *, begins: bool) -> None:
        """Whether UNTIL lets event i be an element of component j."""
        until = self.until[b, j]
        if until is not None:
            if begins:
                emit_until(self.out, until, self._code(b, j))
            c = self.plan.branches[b].components[j]
            emit_goes_on(self.out, name, self.vector, c, self._code(b, j), begins=begins)

    def _length(self, c: Component, run: str = "r") -> str:
        return f"run_integers[{run}, {self.vector.place(Slot(c.variable, 'length'))}]"

    def _move(self, s: NfaState, j: int, strategy: Strategy, *, begins: bool) -> None:
        """What becomes of the run: the edges of the strategy."""
        out = self.out
        match strategy:
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
                if strategy is Strategy.PARTITION_CONTIGUITY and self.mixed:
                    with out.block(f"elif not ({self._same_partition}):"):
                        self._ignore(s)
                with out.block("else:"):
                    self.pools.remove()
            case _:
                assert_never(strategy)

    def _ignore(self, s: NfaState) -> None:
        """Run r stays as it is; of several that stay with the same values, one goes on for all."""
        if not self.plan.merge:
            self.pools.keep()
            return
        (bound,) = self.plan.branches[s.branch].bound(s)
        self.merging.idle(self.numbers[s], self._keys(s.branch, bound))

    def _begin(self, b: int, j: int) -> None:
        out, c = self.out, self.plan.branches[b].components[j]
        out.add(f"go = fit_{self._code(b, j)}", remark(f"begin with {c.variable}"))
        self.conditions[b, j].take(out, "go", "r", begins=True)
        self._goes_on("go", b, j, begins=True)
        self._try_last("go", b, j, cells="0")
        start = "place[i]" if isinstance(self.plan.query.window, CountWindow) else "t"
        with out.block("if go:"):
            if self._is_final(b, j):
                self._final(b, j, "-1", start)
                return
            self.pools.allocate()
            self.pools.cells("0")
            out.add("run_node[q] = -1")
            out.add(f"run_start[q] = {start}")
            self._take_into(b, j, begins=True, run=_Run.BEGUN)

    def _is_final(self, b: int, j: int) -> bool:
        """Whether a run ends with the event of component j."""
        branch = self.plan.branches[b]
        return not (branch.components[j].iterated or branch.follow(j) or branch.round_ending(j))

    def _take(self, b: int, j: int, *, begins: bool, copy: bool) -> None:
        if self._is_final(b, j):
            self._final(b, j, "run_node[r]", "run_start[r]")
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
        self._join(b, j, begins=begins)
        if branch.splits(j):
            out.add("run_rank[q] = k")
            self._node(b, j, "run_node[q]", "run_start[q]")
            self._split(b, j, run)
            return
        if not c.iterated and (branch.round_ending(j) or len(branch.follow(j)) > 1):
            out.add("run_rank[q] = k")
            self._node(b, j, "run_node[q]", "run_start[q]")
            out.add("run_node[q] = node")
            self._depart(b, j, "q", run)
            return
        state = self._state(b, j, Phase.LOOPING) if c.iterated else self._state(b, branch.follow(j)[0], Phase.WAITING)
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

    def _split(self, b: int, j: int, run: _Run) -> None:
        """Run q goes on with its list unless that is full; if the list may end here, another run leaves it."""
        out, c = self.out, self.plan.branches[b].components[j]
        out.add("run_node[q] = node")
        out.add(f"done = {self._length(c, 'q')} >= {c.low}" if c.low > 1 else "done = True")
        self.conditions[b, j].whole(out, "done", "q")
        if c.high is not None:
            with out.block(f"if {self._length(c, 'q')} < {c.high}:"):
                self._go_on(b, j, run)
            with out.block("elif done:", "full"):
                self._depart(b, j, "q", run, full=True)
            with out.block("else:"):
                self._give_up("q", run)
        else:
            self._go_on(b, j, run)

    def _go_on(self, b: int, j: int, run: _Run) -> None:
        """Run q loops on, and beside it run w leaves the list if that may end."""
        out, branch = self.out, self.plan.branches[b]
        out.add(f"run_state[q] = {self._state(b, j, Phase.LOOPING)}")
        self._place(run)
        with out.block("if done:", remark(f"leave {branch.components[j].variable}")):
            self.pools.duplicate("q")
            self._depart(b, j, "w", _Run.BEGUN if run is _Run.BEGUN else _Run.SPLIT)

    def _depart(self, b: int, j: int, name: str, run: _Run, *, full: bool = False) -> None:
        """Run `name`, which is in no list of runs unless it is the SAME, goes on to what may follow component j.

        That is the beginning of a further round, and what stands behind the group; `full` is a list that cannot grow.
        """
        out, branch = self.out, self.plan.branches[b]
        states = {k: self._state(b, k, Phase.WAITING) if full else self._left_for(b, j, k) for k in branch.follow(j)}
        after = [states[k] for k in branch.after(j)]
        ending = branch.round_ending(j)
        if ending is None:
            self._wait(name, run, after)
            return
        loop, round = ending
        emit_round(out, self.site, branch, loop, round, name)
        emit_mark(out, self.vector, loop, round, name)
        if round.probes:
            self._give_up(name, run)
            return
        if round.ends:
            self._may_end(b, loop, name)
        else:
            out.add("over = False")
        further = [states[k] for k in (loop.again if round.goes_on else loop.probed)]
        if not further:
            self._end_group(name, run, after)
            return
        go = self._go_round if round.goes_on else self._probe
        if loop.high is None:
            go(name, run, further, after)
            return
        with out.block(f"if {number(self.vector, loop, name)} < {loop.high}:"):
            go(name, run, further, after)
        with out.block("else:", "no further round"):
            self._end_group(name, run, after)

    def _probe(self, name: str, run: _Run, probes: Sequence[int], after: Sequence[int]) -> None:
        """Run `name` has left the group for good, and others look whether it could have taken a further round."""
        with self.out.block("if over:"):
            self._wait(name, run, [*after, *probes])
        with self.out.block("else:"):
            self._give_up(name, run)

    def _go_round(self, name: str, run: _Run, again: Sequence[int], after: Sequence[int]) -> None:
        """Run `name` waits for a further round; if the group may end, others wait for what stands behind it."""
        self._wait(name, run, again)
        with self.out.block("if over:"):
            if not after:
                self._match()
            for state in after:
                self._wait_beside(name, run, state)

    def _end_group(self, name: str, run: _Run, after: Sequence[int]) -> None:
        """Run `name` has taken all rounds there may be."""
        out = self.out
        with out.block("if over:"):
            if after:
                self._wait(name, run, after)
            else:
                self._match()
                self._give_up(name, run)
        with out.block("else:"):
            self._give_up(name, run)

    def _wait(self, name: str, run: _Run, states: Sequence[int]) -> None:
        """Run `name` is in the first of some states, and a copy of it in each of the others."""
        self.out.add(f"run_state[{name}] = {states[0]}")
        self._place(run, name)
        for state in states[1:]:
            self._wait_beside(name, run, state)

    def _wait_beside(self, name: str, run: _Run, state: int) -> None:
        """A copy of run `name` is in a state."""
        self.pools.duplicate(name, "other")
        self.out.add(f"run_state[other] = {state}")
        self.pools.insert("other", walking=run is not _Run.BEGUN)

    def _give_up(self, name: str, run: _Run) -> None:
        """Run `name` comes to nothing."""
        if run is _Run.SAME:
            self.pools.remove()
        else:
            self.pools.free(name)

    def _match(self) -> None:
        self.out.add("final_node[natural(found)] = node", "a match")
        self.out.add("found += 1")

    def _place(self, run: _Run, name: str = "q") -> None:
        """Run `name` is in its list of runs."""
        if run is _Run.SAME:
            self.pools.keep()
        else:
            self.pools.insert(name, walking=run is _Run.SPLIT)

    def _settle(self, b: int, j: int, run: _Run) -> None:
        """Run q holds its new node: report it if that completes a match, and keep it."""
        out, branch = self.out, self.plan.branches[b]
        c = branch.components[j]
        out.add("run_node[q] = node")
        if c.iterated and not branch.follow(j):
            low = f"{self._length(c, 'q')} >= {c.low}" if c.low > 1 else "True"
            out.add(f"done = {low}")
            self.conditions[b, j].whole(out, "done", "q")
            with out.block("if done:", "a match"):
                out.add("final_node[natural(found)] = node")
                out.add("found += 1")
        self._place(run)

    def _final(self, b: int, j: int, before: str, start: str) -> None:
        """A match ends with event i, which is bound to component j."""
        out = self.out
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
