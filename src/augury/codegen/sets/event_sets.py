"""EventSetsPlan -> source of SES automata: SESExec and ConsumeEvent of paper 002, section 4.3, as one pass.

An instance is a run of the pool: `run_state` is the set of variables it has bound as a bit mask, with the number of the
branch above it. What a transition asks of the set is a comparison of masks, so that no state is ever written down.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import accumulate

from augury.codegen.common.absence import absence_entries, emit_absences
from augury.codegen.common.conditions import NODE_CHAIN, Conditions
from augury.codegen.common.constants import constants_of, functions_of
from augury.codegen.common.fitting import fits
from augury.codegen.common.inventory import NUMS, columns_of, conjuncts_of, stream_specs, with_inner
from augury.codegen.common.lines import Lines
from augury.codegen.common.naming import heading, remark
from augury.codegen.common.pools import Pools
from augury.codegen.common.runs import ReadSite, Slot, ValueVector, updates
from augury.codegen.eager.arrays import run_arrays
from augury.codegen.eager.source import (
    PEAK_RUNS,
    ROOM,
    EagerNfaSource,
    automaton_source,
    emit_load_registers,
    emit_partition,
    emit_room,
    emit_store_registers,
)
from augury.ir.predicate import Conjunct
from augury.ir.query import CountWindow, TimeWindow
from augury.ir.terms import Strategy
from augury.native.cells import RunCell
from augury.plan import Component, EventSetsPlan
from augury.plan.event_sets import MAX_VARIABLES
from augury.runtime.arrays import ArraySpec
from augury.runtime.kernel_source import Signature


def emit_event_sets(plan: EventSetsPlan, *, counters: bool = False) -> EagerNfaSource:
    """The kernel of a plan; the same plan gives the same text."""
    return _Emitter(plan, counters).emit()


def width(plan: EventSetsPlan) -> int:
    """The most instances that one becomes with one event."""
    return max(1 if branch.exclusive else len(branch.components) for branch in plan.branches)


@dataclass(frozen=True, slots=True)
class _Transition:
    """The transition of instances of branch `b` by an event of component `j`: its first, or a further one."""

    b: int
    j: int
    begins: bool


class _Emitter:
    """Writes one kernel; its state is the text so far and what instances must remember."""

    def __init__(self, plan: EventSetsPlan, counters: bool) -> None:
        self.plan, self.counters, self.query = plan, counters, plan.query
        self.strict = plan.query.strategy is Strategy.STRICT_CONTIGUITY
        self.vector = ValueVector()
        self.components = [c for b in plan.branches for c in with_inner(b.components, b.absent)]
        self.tested = [*conjuncts_of(self.components), *(j for b in plan.branches for j in b.conjuncts)]
        self.constants = constants_of(self.components, self.tested)
        self.specs, self.columns = columns_of(self.components, self.tested, plan.computed)
        self.stream = stream_specs(self.constants, self.specs)
        self.advance = Signature("advance", ("i0", "n", NUMS, *self.stream, *run_arrays()))
        given = ("now", "every", "listing", ArraySpec("counts"))
        self.flush = Signature("flush", (*given, NUMS, *self.stream, *run_arrays()))
        self.first_codes = [0, *accumulate(len(branch.components) for branch in plan.branches)]
        self.at = ReadSite(self.vector, self.columns, self.constants, 0, "r")
        self.out = Lines()
        self.pools = Pools(self.out, self.vector, self.counters)

    def emit(self) -> EagerNfaSource:
        self.write()
        # Only now it is known what an instance must remember.
        self.out.settle()
        absent = [b.absent for b in self.plan.branches]
        negated = emit_absences(
            self.out, self.query, absent, self.columns, self.constants, self.stream, counters=self.counters
        )
        entries = (self.advance, self.flush, *absence_entries(negated, self.stream))
        branches = [b.components for b in self.plan.branches]
        functions = functions_of(self.tested)
        return automaton_source(
            branches, self.out, entries, self.specs, self.constants, self.vector, negated, functions
        )

    # -- masks ------------------------------------------------------------------------------------------------------

    def _code(self, b: int, j: int) -> int:
        """The number of a component over all branches."""
        return self.first_codes[b] + j

    def _bits(self, b: int, variables: Iterable[str]) -> int:
        names = [c.variable for c in self.plan.branches[b].components]
        return sum(1 << names.index(v) for v in variables)

    def _all(self, b: int) -> int:
        """The state in which every variable of branch b is bound."""
        return (b << MAX_VARIABLES) + (1 << len(self.plan.branches[b].components)) - 1

    def _before(self, b: int, variable: str) -> int:
        return sum(1 << k for k in self.plan.branches[b].before(variable))

    def _after(self, b: int, variable: str) -> int:
        return sum(1 << k for k in self.plan.branches[b].after(variable))

    def _length(self, c: Component, run: str) -> str:
        return self.vector.cell(run, Slot(c.variable, "length"), 0)

    def _component(self, b: int, variable: str) -> Component:
        return next(c for c in self.plan.branches[b].components if c.variable == variable)

    def _closed(self, b: int, variable: str, mask: str, run: str) -> str:
        """Text of the condition that a bound list grows no more: something after it has begun, or it is full."""
        c, after = self._component(b, variable), self._after(b, variable)
        tests = [f"{mask} & {after} != 0"] if after else []
        tests += [f"{self._length(c, run)} >= {c.high}"] if c.high is not None else []
        return f"({' or '.join(tests)})" if tests else "False"

    # -- text -------------------------------------------------------------------------------------------------------

    def write(self) -> None:
        self._header()
        self._advance()
        self._flush()

    def _header(self) -> None:
        out = self.out
        for line in heading(self.query.source):
            out.comment(line)
        out.comment()
        out.comment(f"{self.query.strategy}; run_state is the set of bound variables")
        for b, branch in enumerate(self.plan.branches):
            bits = ", ".join(f"{1 << j} {c.variable}" for j, c in enumerate(branch.components))
            out.comment(remark(f"branch {b}: {bits}; all {self._all(b)}"))
        out.later(self._describe_cells)
        out.add()
        out.add()

    def _describe_cells(self, out: Lines) -> None:
        for cell, holds in self.vector.described():
            out.comment(f"{cell}: {remark(holds)}")

    def _update_cells(self, out: Lines, c: Component, *, begins: bool) -> None:
        """Add event i to what instance q remembers of a component."""
        for line in updates(self.vector, self.columns, self.constants, c.variable, begins):
            out.add(line)

    def _advance(self) -> None:
        out = self.out
        out.add("@kernel")
        with out.block(self.advance.head):
            # Counters live in registers while the events pass.
            emit_load_registers(out)
            out.add(f"room = {ROOM}")
            with out.block("for i in range(i0, n):"):
                self._event()
            emit_store_registers(out)
            out.add("return n")

    def _event(self) -> None:
        out = self.out
        emit_partition(out, in_one_list=self.strict, run="an instance")
        fits = []
        for b, branch in enumerate(self.plan.branches):
            for j, c in enumerate(branch.components):
                fits.append(f"fit_{self._code(b, j)}")
                out.add(f"{fits[-1]} = {self._fits(c)}", remark(c.variable))
        if self.plan.filter:
            with out.block(f"if not ({' or '.join(fits)}):", "it fits nothing"):
                out.add("continue")
        out.add(f"need = {width(self.plan)} * live_runs[g] + {len(fits)}")
        emit_room(out)
        with self._each_instance():
            if self.counters:
                out.add(f"nums[{RunCell.MERGED}] += 1", "instances looked at")
            word = "if"
            if expired := self._expired():
                with out.block(f"if {expired}:", "WITHIN: it can take nothing more"):
                    self._accept("r")
                    self.pools.free("r")
                word = "elif"
            for b in range(len(self.plan.branches)):
                with out.block(f"{word} m >> {MAX_VARIABLES} == {b}:"):
                    self._consume(b)
                word = "elif"
        for b in range(len(self.plan.branches)):
            self._start(b)
        out.add("live_runs[g] = live")
        if self.counters:
            out.add(f"nums[{PEAK_RUNS}] = max(nums[{PEAK_RUNS}], runs)", "peak of simultaneous instances")

    @contextmanager
    def _each_instance(self) -> Iterator[None]:
        """Emit a loop over the instances `r` of partition `g`, which takes each out of its list; `m` is its set."""
        out = self.out
        out.add("live = 0")
        out.add("r = first_run[g]")
        out.add("first_run[g] = -1")
        with out.block("while r >= 0:"):
            out.add("after = run_next[r]")
            out.add("m = run_state[r]")
            yield
            out.add("r = after")

    def _expired(self) -> str:
        match self.query.window:
            case TimeWindow() as window:
                return f"t - run_start[r] > {self.constants.within(window)}"
            case CountWindow() as window:
                return f"place[i] - run_start[r] >= {self.constants.within(window)}"
            case None:
                return ""

    def _fits(self, c: Component) -> str:
        at = replace(self.at, variable=c.variable, event="i", begins=True)
        return fits(c, self.query, self.constants, at.read, in_partition=self.strict)

    def _consume(self, b: int) -> None:
        """ConsumeEvent: every transition that fires makes an instance; if none does the event is ignored."""
        out, branch = self.out, self.plan.branches[b]
        out.add("moved = 0")
        if self.query.partition_by and self.strict:
            out.add("mine = part[i] == part[node_event[run_node[r]]]")
        first = self._code(b, 0)
        out.add(
            f"late = 0 if k > run_rank[r] else tied(run_node[r], {first}, k, rank, {NODE_CHAIN})",
            "concurrent with the event",
        )
        word = "if"
        for j, c in enumerate(branch.components):
            test = f"fit_{self._code(b, j)}" + (" and mine" if self.query.partition_by and self.strict else "")
            with out.block(f"{word} {test}:", remark(c.variable)):
                if c.iterated:
                    with out.block(f"if m & {1 << j} == 0:", "its first event"):
                        self._try(_Transition(b, j, begins=True))
                    with out.block("else:", "one more"):
                        self._try(_Transition(b, j, begins=False))
                else:
                    with out.block(f"if m & {1 << j} == 0:"):
                        self._try(_Transition(b, j, begins=True))
            word = "elif" if branch.exclusive else "if"
        with out.block("if moved == 0:"):
            if self.query.strategy is Strategy.SKIP_TILL_NEXT_MATCH:
                self._keep("r")
            else:
                self._accept("r")
                self.pools.free("r")
        if not branch.exclusive or any(self._closing(_Transition(b, j, True)) for j in range(len(branch.components))):
            with out.block("elif moved > 0:"):
                self.pools.free("r")

    def _try(self, x: _Transition) -> None:
        out, branch = self.out, self.plan.branches[x.b]
        c = branch.components[x.j]
        tests = []
        if x.begins:
            before = self._before(x.b, c.variable)
            if before:
                tests += [f"m & {before} == {before}", f"late & {before} == 0"]
            for u in (branch.components[k] for k in branch.before(c.variable)):
                if u.low > 1:
                    tests.append(f"{self._length(u, 'r')} >= {u.low}")
        else:
            after = self._after(x.b, c.variable)
            tests += [f"m & {after} == 0"] if after else []
            tests += [f"late & {1 << x.j} == 0"]
            tests += [f"{self._length(c, 'r')} < {c.high}"] if c.high is not None else []
        out.add(f"ok = {' and '.join(tests) or 'True'}")
        self._conditions(x, "m")
        with out.block("if ok:"):
            copy = not branch.exclusive or bool(self._closing(x))
            if copy:
                self.pools.allocate()
                out.later(lambda here: replace(self.pools, out=here).cells())
                out.add("run_node[q] = run_node[r]")
                out.add("run_start[q] = run_start[r]")
            else:
                out.add("q = r")
            self._take(x, "m", in_place=not copy)

    def _conditions(self, x: _Transition, mask: str) -> None:
        """Test every conjunct that this event decides: the rest of it is bound, no list that it needs whole is open."""
        out, branch = self.out, self.plan.branches[x.b]
        v = branch.components[x.j].variable
        for c in branch.conjuncts:
            if v not in c.variables or v in c.whole or (v in c.from_second if x.begins else v not in c.each):
                continue
            others = self._bits(x.b, set(c.variables) - {v}) & ~(self._before(x.b, v) if x.begins else 0)
            if others & self._after(x.b, v):
                continue  # nothing that comes after it is bound yet
            if mask == "0" and set(c.variables) != {v}:
                continue
            guards = [f"{mask} & {others} == {others}"] if others and mask != "0" else []
            guards += [self._closed(x.b, u, mask, "r") for u in sorted(c.whole)]
            if "False" in guards:
                continue
            at = replace(self.at, run="r", variable=v, event="i", begins=x.begins)
            with out.block(f"if {' and '.join(['ok', *guards])}:"):
                self._test(x.b, "ok", c, at, sorted(c.each - {v}), "r")

    def _test(self, b: int, name: str, c: Conjunct, at: ReadSite, walk: list[str], run: str) -> None:
        branch = self.plan.branches[b]
        codes = {x.variable: self._code(b, k) for k, x in enumerate(branch.components)}
        nothing = replace(branch.components[0], alone=(), take=(), whole=())
        Conditions(nothing, at, codes, self.query.source, self.counters).test(self.out, name, c, at, walk, run)

    def _closing(self, x: _Transition) -> list[tuple[Conjunct, list[str]]]:
        """The conjuncts that wait for a list which this transition may complete, with these lists."""
        branch = self.plan.branches[x.b]
        c = branch.components[x.j]
        ends = {branch.components[k].variable for k in branch.before(c.variable)} if x.begins else set()
        ends |= {c.variable} if c.high is not None else set()
        lists = {u for u in ends if self._component(x.b, u).iterated}
        return [(j, sorted(j.whole & lists)) for j in branch.conjuncts if j.whole & lists]

    def _take(self, x: _Transition, mask: str, *, in_place: bool) -> None:
        """Emit that event i joins instance q, and the conditions that waited for a list which this closes."""
        out, branch = self.out, self.plan.branches[x.b]
        c = branch.components[x.j]
        out.later(lambda here: self._update_cells(here, c, begins=x.begins))
        tag = f"{(x.b << MAX_VARIABLES) + (1 << x.j)}" if mask == "0" else f"{mask} | {1 << x.j}"
        out.add(f"s = {tag}")
        out.add("run_state[q] = s")
        out.add("run_rank[q] = k")
        self.pools.write_node("i", "run_node[q]", str(self._code(x.b, x.j)), "run_start[q]")
        out.add("run_node[q] = node")
        closing = self._closing(x)
        if not closing:
            if branch.sequential and branch.after(c.variable) == ():
                out.add("final_node[found] = node", "a match")
                out.add("found += 1")
                self.pools.free("q")
            else:
                self._keep("q")
            if mask != "0":
                out.add("moved = -1" if in_place else "moved += 1")
            return
        out.add("done = True")
        for conjunct, lists in closing:
            bits = self._bits(x.b, conjunct.variables)
            now = [
                f"not {self._closed(x.b, u, mask, 'r')}" if u != c.variable else self._closed(x.b, u, "s", "q")
                for u in lists
                if mask != "0" or u == c.variable
            ]
            if not now:
                continue
            whole = [self._closed(x.b, u, "s", "q") for u in sorted(conjunct.whole)]
            guards = ["done", f"s & {bits} == {bits}", f"({' or '.join(now)})", *whole]
            if "False" in guards:
                continue
            with out.block(f"if {' and '.join(guards)}:"):
                self._test(x.b, "done", conjunct, replace(self.at, run="q"), sorted(conjunct.each), "q")
        with out.block("if done:"):
            self._keep("q")
            if mask != "0":
                out.add("moved += 1")
        with out.block("else:"):
            self.pools.free("q")

    def _keep(self, run: str) -> None:
        """Emit linking an instance that goes on into its list again."""
        self.out.add(f"run_next[{run}] = first_run[g]")
        self.out.add(f"first_run[g] = {run}")
        self.out.add("live += 1")

    def _start(self, b: int) -> None:
        """The instance in the start state: any component that nothing precedes may take the event."""
        out, branch = self.out, self.plan.branches[b]
        start = "place[i]" if isinstance(self.query.window, CountWindow) else "t"
        for j, c in enumerate(branch.components):
            if branch.before(c.variable):
                continue
            x = _Transition(b, j, begins=True)
            out.add(f"ok = fit_{self._code(b, j)}", remark(f"start with {c.variable}"))
            self._conditions(x, "0")
            with out.block("if ok:"):
                self.pools.allocate()
                out.later(lambda here: replace(self.pools, out=here).cells("0"))
                out.add("run_node[q] = -1")
                out.add(f"run_start[q] = {start}")
                self._take(x, "0", in_place=False)

    def _accept(self, run: str) -> None:
        """Report an instance that can take no more, if all is bound and complete."""
        out = self.out
        for b, branch in enumerate(self.plan.branches):
            if branch.sequential:
                continue
            enough = [f"{self._length(c, run)} >= {c.low}" for c in branch.components if c.iterated and c.low > 1]
            with out.block(f"if {' and '.join([f'm == {self._all(b)}', *enough])}:"):
                waiting = [c for c in branch.conjuncts if c.whole]
                out.add("done = True")
                for c in waiting:
                    self._test(b, "done", c, replace(self.at, run=run), sorted(c.each), run)
                with out.block("if done:", "a match"):
                    out.add(f"final_node[found] = run_node[{run}]")
                    out.add("found += 1")

    def _flush(self) -> None:
        """Write `flush`, which ends the instances whose window has passed, or lists those that are matches so far."""
        out = self.out
        out.add()
        out.add()
        out.add("@kernel")
        with out.block(self.flush.head):
            emit_load_registers(out)
            with out.block("for g in range(first_run.shape[0]):"):
                with self._each_instance():
                    over = self._over()
                    out.add(f"over = every != 0{f' or {over}' if over else ''}")
                    with out.block("if over or listing != 0:"):
                        self._accept("r")
                    with out.block("if over and listing == 0:"):
                        self.pools.free("r")
                    with out.block("else:"):
                        self._keep("r")
                out.add("live_runs[g] = live")
            emit_store_registers(out)

    def _over(self) -> str:
        match self.query.window:
            case TimeWindow() as window:
                return f"now - run_start[r] > {self.constants.within(window)}"
            case CountWindow() as window:
                part = "part[node_event[run_node[r]]]" if self.strict else "g"
                return f"counts[{part}] - run_start[r] >= {self.constants.within(window)}"
            case None:
                return ""
