"""LinkedPlan -> source of CoverMatch and CombineMatch (paper 003, algorithms 1 and 2).

A list stands for one way to choose a chain for each component up to some component: L_parent is the list of the
component before, L_chain the chain, L_tail the last of its nodes, the events of the chain with which some partial
match in these chains ends. N_up is the last node of the list before when a node was made: none of those after it can
come before it. The paper exposes only the tail of a list; with predicates, windows or concurrent events a match may
need an earlier one, so `extend_<n>` walks back from the tail until it has found one.

Only COVER asks for combinations of chains. For ALL and LATEST all events of a component are one chain: the matches are
the same, and on a stream of short chains there are as many combinations as partial matches (a departure from the paper,
whose CombineMatch joins the chains of the covers). An event that ends ALL matches is not looked at before they are
joined.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from augury.codegen.common.absence import MATCH, emit_absences
from augury.codegen.common.cells import Cell
from augury.codegen.common.constants import constants_of, functions_of
from augury.codegen.common.expressions import Code, Leaf, true
from augury.codegen.common.inventory import columns_of, conjuncts_of, stream_names, with_inner
from augury.codegen.common.lines import Lines
from augury.codegen.common.naming import heading, origin, remark
from augury.codegen.linked.lists import Walk, reads_one_element
from augury.ir.predicate import Conjunct, Element, Ref, walk
from augury.ir.query import CountWindow, span_of
from augury.ir.terms import OutputMode
from augury.plan import Component, LinkedPlan
from augury.runtime.columns import ColumnSpec
from augury.runtime.kernel_source import KernelSource, kernel_source

NODES, LISTS, CHAINS, FOUND, ENTRIES = range(5)
"""Cells of `nums`: how many nodes, lists, chains, final lists or matches, and events of matches there are."""

MAX_NESTED_COMPONENTS = 12
"""Components whose loops stand in one function; another one goes on. CPython nests 20 loops at most."""

COUNTERS = ("predicates", "temporary_matches", "copies")
"""The measures of paper 003, in cells 8 and following of `nums`."""

LINKS = ("N_event", "N_prev", "N_up", "N_list", "L_parent", "L_chain", "L_tail", "L_next", "L_child", "L_depth")
PARTITIONS = ("HEAD", "LIVE", "REL", "CH", "ROOT", "C_last")
FINAL = ("F_parent", "F_chain", "F_next", "F_up", "F_own", "F_events", "M", "BEST", "KEEP")

WALK = "N_event, N_prev, N_up, L_tail"
"""The arrays that a walk back through the lists reads."""


@dataclass(frozen=True, slots=True)
class LinkedSource:
    """The generated kernel and what its caller must know to feed it."""

    source: KernelSource
    specs: tuple[ColumnSpec, ...]
    strings: tuple[str, ...]
    component_variables: tuple[str, ...]
    negated: tuple[Component, ...]
    functions: Mapping[str, tuple[str, ...]]


def emit_linked(plan: LinkedPlan, *, counters: bool = False) -> LinkedSource:
    """The kernel of a plan; the same plan gives the same text."""
    return _Emitter(plan, counters).emit()


@dataclass(frozen=True, slots=True)
class _Ending:
    """What loops backwards through the chains lead to."""

    name: str
    """The function they stand in; what goes on with them elsewhere takes the same `arguments`."""
    arguments: str
    found: Callable[[], None]
    """Writes what is done inside all of them."""
    result: str
    """What a function that goes on returns at its end."""
    found_there: tuple[str, ...]
    """What follows when such a function has returned True."""


class _Emitter:
    """Writes one kernel; its state is the text so far."""

    def __init__(self, plan: LinkedPlan, counters: bool) -> None:
        self.plan, self.query, self.counters = plan, plan.query, counters
        self.out = Lines()
        self.rest = Lines()
        """Functions that go on with the components of a long pattern."""
        self.size = len(plan.components)
        components = list(with_inner(plan.components, plan.absent))
        self.tested = [*conjuncts_of(components), *plan.conjuncts]
        self.constants = constants_of(components, self.tested)
        self.specs, self.columns = columns_of(components, self.tested, plan.computed)
        self.arguments = stream_names(self.constants, self.specs)
        self.window = span_of(plan.query.window)
        self.clock = "place" if isinstance(plan.query.window, CountWindow) else "time"
        self.names = [c.variable for c in plan.components]
        self.lists = any(c.iterated for c in plan.components)
        # With lists, whether an event ends a partial match is asked of lists of one element, for which fewer conditions
        # are known to hold; `walk` tests all of them.
        self.quick = [c for c in plan.conjuncts if not self.lists or reads_one_element(c)]

    def emit(self) -> LinkedSource:
        out = self.out
        for line in heading(self.query.source):
            out.comment(line)
        out.comment()
        out.comment(f"linked chains; OUTPUT {self.query.output}")
        for j, c in enumerate(self.plan.components):
            out.comment(remark(f"component {j}: {c.variable}"))
        absent = (self.plan.absent,)
        negated = emit_absences(
            out, self.query, absent, self.columns, self.constants, self.arguments, counters=self.counters
        )
        for j in range(1, self.size):
            if j < self.size - 1 or not self._joins:
                self._extend(j)
        self._advance()
        if self.lists:
            self._walk()
        elif self.query.output is OutputMode.ALL:
            self._combine()
        out.lines += self.rest.lines
        entries = ["advance", *(["combine"] if self.lists or self.query.output is OutputMode.ALL else [])]
        entries += ["absent", "fits"] if negated else []
        return LinkedSource(
            kernel_source(
                f"{out}\n", tuple(entries), self.constants.arrays, ranks_strings=self.constants.ranks_strings
            ),
            self.specs,
            self.constants.strings,
            tuple(self.names),
            negated,
            functions_of(self.tested),
        )

    @property
    def _joins(self) -> bool:
        """Whether the matches of an event are joined without asking first whether there are any."""
        return self.query.output is OutputMode.ALL

    @property
    def _checks(self) -> bool:
        """Whether negated parts are looked for in the search for the latest match; ALL checks them at the end."""
        return bool(self.plan.absent) and self.query.output is not OutputMode.ALL

    def _fits(self, c: Component) -> str:
        def read(leaf: Leaf) -> Code:
            assert isinstance(leaf, Ref)
            return self.columns.at(leaf.column, leaf.type, "i")

        tests = []
        if c.types and self.query.schema.type is not None:
            tests.append(" or ".join(f"type_[i] == {self.constants.code(t)}" for t in c.types))
        tests += [true(j.expr, read, self.constants).value for j in c.alone]
        return " and ".join(f"({t})" for t in tests) or "True"

    def _text(self, j: Conjunct) -> str:
        def read(leaf: Leaf) -> Code:
            assert isinstance(leaf, Ref)
            return self.columns.at(leaf.column, leaf.type, f"e{self.names.index(leaf.variable)}")

        return true(j.expr, read, self.constants).value

    def _origin(self, c: Conjunct) -> str:
        return origin(c, self.query.source)

    def _def(self, head: str) -> str:
        self.out.add()
        self.out.add()
        self.out.add("@kernel")
        return head

    def _match_arguments(self) -> str:
        return f", {', '.join(MATCH)}" if self._checks else ""

    # -- from an event back through the chains ------------------------------------------------------------------------

    def _extend(self, j: int) -> None:
        """Write `extend_<j>`: puts the latest partial match of list L that event i goes on into M."""
        out = self.out
        last = j == self.size - 1
        match = self._match_arguments() if last else ""
        with out.block(self._def(f"def extend_{j}(i, L, {WALK}, M, KEEP, nums, {self.arguments}{match}):")):
            out.add(f"e{j} = i", remark(self.names[j]))
            out.add(f"M[{j}] = i")
            out.add(f"n{j - 1} = L_tail[L]")
            arguments = f"{WALK}, M, KEEP, nums, {self.arguments}{match}"
            self._back(
                j, j - 1, _Ending(f"extend_{j}", arguments, lambda: self._found(last), "False", ("return True",))
            )
            out.add("return False")

    def _found(self, last: bool) -> None:
        out = self.out
        if last and self._checks:
            positive = [v.name for v in self.query.variables if not v.negated]
            for k, v in enumerate(self.names):
                out.add(f"M_events[{k}] = e{k}")
                out.add(f"V_events[{positive.index(v)}] = e{k}")
            out.add(f"absent(0, 1, KEEP, nums, {self.arguments}, {', '.join(MATCH)})")
            with out.block("if KEEP[0] == 0:"):
                out.add("continue")
        out.add("return True")

    def _back_rest(self, j: int, d: int, ending: _Ending) -> None:
        """Call a function that goes on with component d, and write it."""
        name = f"{ending.name}_from_{d}"
        with self.out.block(f"if {name}(n{d}, {ending.arguments}):"):
            for line in ending.found_there:
                self.out.add(line)
        caller, self.out = self.out, Lines()
        with self.out.block(self._def(f"def {name}(n{d}, {ending.arguments}):")):
            for k in range(d + 1, j + 1):
                self.out.add(f"e{k} = M[{k}]", remark(self.names[k]))
            if ending.result != "False":
                self.out.add(f"{ending.result} = False")
            self._back(j, d, ending)
            self.out.add(f"return {ending.result}")
        self.rest.lines += self.out.lines
        self.out = caller

    def _back(self, j: int, d: int, ending: _Ending) -> None:
        """Loops over the nodes of the components before j, the latest first."""
        out = self.out
        with out.block(f"while n{d} >= 0:"):
            out.add(f"e{d} = N_event[n{d}]", remark(self.names[d]))
            if d > 0:
                with out.block("if stopped(nums):"):
                    out.add("break")
                out.add(f"n{d - 1} = N_up[n{d}]")
            out.add(f"n{d} = N_prev[n{d}]")
            if self.window >= 0:
                with out.block(f"if {self.clock}[e{j}] - {self.clock}[e{d}] > {self.window}:", "WITHIN"):
                    out.add("break", "those before it are earlier still")
            with out.block(f"if rank[e{d}] >= rank[e{d + 1}]:"):
                out.add("continue")
            for c in self.quick:
                places = [self.names.index(v) for v in c.variables]
                if min(places) == d and max(places) <= j and not (max(places) == j and self._of_last(c, j)):
                    if self.counters:
                        out.add(f"nums[{Cell.PREDICATES}] += 1", "predicate evaluations")
                    with out.block(f"if not {self._text(c)}:", self._origin(c)):
                        out.add("continue")
            out.add(f"M[{d}] = e{d}")
            if d == 0:
                ending.found()
            elif (j - d) % MAX_NESTED_COMPONENTS == 0:
                self._back_rest(j, d - 1, ending)
            else:
                self._back(j, d - 1, ending)

    def _of_last(self, c: Conjunct, j: int) -> bool:
        """Whether a conjunct reads the last element of component j, which an event that joins it need not be."""
        last = (e for e in walk(c.expr) if isinstance(e, Ref) and e.element is Element.LAST)
        return any(e.variable == self.names[j] for e in last)

    # -- one pass over the events -------------------------------------------------------------------------------------

    def _advance(self) -> None:
        out = self.out
        head = ", ".join((*LINKS, *PARTITIONS, *FINAL))
        with out.block(
            self._def(f"def advance(i0, n, quiet, nums, {self.arguments}, {head}{self._match_arguments()}):")
        ):
            with out.block("for i in range(i0, n):"):
                self._event()
            out.add("return n")

    def _event(self) -> None:
        out, last = self.out, self.size - 1
        out.add("g = part[i]")
        with out.block("if g < 0:"):
            out.add("continue")
        out.add("mask = 0")
        for j, c in enumerate(self.plan.components):
            with out.block(f"if {self._fits(c)}:", remark(c.variable)):
                out.add(f"mask |= {1 << j}")
        with out.block("if mask == 0:", "no component could bind it: it breaks no chain"):
            out.add("continue")
        with out.block("if stopped(nums):"):
            out.add("return i")
        out.add(f"need = LIVE[g] + {self.size}")
        pools = ("N_event", "L_parent", "C_last", "F_next")
        room = ", ".join(f"{name}.shape[0] - nums[{cell}]" for cell, name in enumerate(pools))
        with out.block(f"if min({room}) < need:"):
            out.add("return i", "the caller makes room and comes back")
        if self.query.output is OutputMode.COVER:
            for j in range(self.size):
                with out.block(f"if mask & {1 << j} != 0:"):
                    with out.block(f"if REL[g] & {1 << j} == 0:", remark(f"a new chain of {self.names[j]}")):
                        out.add(f"CH[{j}, g] = nums[2]")
                        out.add("nums[2] += 1")
                    out.add(f"C_last[CH[{j}, g]] = i")
            out.add("REL[g] = mask")
        if self.query.output is OutputMode.LATEST and not self.lists:
            out.add("BEST[0] = -1")
        for j in range(last, 0, -1):
            with out.block(f"if mask & {1 << j} != 0:", remark(f"go on with {self.names[j]}")):
                self._link(j)
        with out.block("if mask & 1 != 0:", remark(f"begin with {self.names[0]}")):
            out.add("q = ROOT[g]")
            with out.block("if q < 0 or L_chain[q] != CH[0, g]:"):
                self._new_list(0, "-1")
                out.add("ROOT[g] = q")
            self._node(0)
        if self.query.output is OutputMode.LATEST and not self.lists:
            with out.block("if BEST[0] >= 0 and quiet == 0:", "the latest match that the event completes"):
                for d in range(self.size):
                    out.add(f"F_events[nums[3], {d}] = BEST[{d}]")
                out.add("nums[3] += 1")

    def _link(self, j: int) -> None:
        """Go through the lists of the component before; those out of the window are let go."""
        out, last = self.out, self.size - 1
        out.add("before = -1")
        out.add(f"L = HEAD[{j - 1}, g]")
        match = self._match_arguments() if j == last else ""
        with out.block("while L >= 0:"):
            out.add("after = L_next[L]")
            if self.window >= 0:
                with out.block(
                    f"if {self.clock}[i] - {self.clock}[N_event[L_tail[L]]] > {self.window}:", "WITHIN has passed"
                ):
                    with out.block("if before < 0:"):
                        out.add(f"HEAD[{j - 1}, g] = after")
                    with out.block("else:"):
                        out.add("L_next[before] = after")
                    out.add("L_next[L] = -2", "until its chain goes on")
                    out.add("LIVE[g] -= 1")
                    out.add("L = after")
                    out.add("continue")
            if j == last and self._joins:
                self._linked(j)
            else:
                with out.block(f"if extend_{j}(i, L, {WALK}, M, KEEP, nums, {self.arguments}{match}):"):
                    self._linked(j)
            out.add("before = L")
            out.add("L = after")

    def _linked(self, j: int) -> None:
        """The event goes on from list L."""
        if self.counters:
            self.out.add("nums[9] += 1", "temporary matches")
            self.out.add("nums[10] += 1", "copies")
        if j == self.size - 1:
            self._final(j)
        if j < self.size - 1 or self.plan.components[j].iterated:
            self._inner(j)

    def _inner(self, j: int) -> None:
        out = self.out
        out.add("q = L_child[L]")
        with out.block(f"if q < 0 or L_chain[q] != CH[{j}, g]:", "another chain"):
            self._new_list(j, "L")
            out.add("L_child[L] = q")
        self._node(j, count=False)

    def _new_list(self, j: int, parent: str) -> None:
        out = self.out
        out.add("q = nums[1]")
        out.add("nums[1] += 1")
        out.add(f"L_parent[q] = {parent}")
        out.add(f"L_chain[q] = CH[{j}, g]")
        out.add("L_tail[q] = -1")
        out.add("L_child[q] = -1")
        out.add(f"L_depth[q] = {j}")
        self._expose(j)

    def _expose(self, j: int) -> None:
        self.out.add(f"L_next[q] = HEAD[{j}, g]")
        self.out.add(f"HEAD[{j}, g] = q")
        self.out.add("LIVE[g] += 1")

    def _node(self, j: int, count: bool = True) -> None:
        out = self.out
        if self.window >= 0:
            with out.block("if L_next[q] == -2:"):
                self._expose(j)
        if self.counters and count:
            out.add("nums[9] += 1", "temporary matches")
        out.add("N_event[nums[0]] = i")
        out.add("N_list[nums[0]] = q")
        out.add(f"N_up[nums[0]] = {'L_tail[L]' if j else '-1'}")
        out.add("N_prev[nums[0]] = L_tail[q]", "it covers the one before it in the chain")
        out.add("L_tail[q] = nums[0]")
        out.add("nums[0] += 1")

    def _final(self, j: int) -> None:
        """A match is complete."""
        out = self.out
        match OutputMode.ALL if self.lists else self.query.output:
            case OutputMode.ALL:
                with out.block("if quiet == 0:"):
                    if self.plan.components[j].iterated:
                        out.add("F_own[nums[3]] = L_tail[L_child[L]] if L_child[L] >= 0 else -1")
                    out.add("F_up[nums[3]] = L_tail[L]")
                    out.add("F_events[nums[3], 0] = i")
                    out.add("nums[3] += 1")
            case OutputMode.LATEST:
                out.add("later = BEST[0] < 0")
                with out.block(f"for d in range({self.size - 1}, -1, -1):"), out.block("if M[d] != BEST[d]:"):
                    out.add("later = later or M[d] > BEST[d]")
                    out.add("break")
                with out.block("if later:"):
                    for d in range(self.size):
                        out.add(f"BEST[{d}] = M[{d}]")
            case _:
                out.add("q = L_child[L]")
                with out.block(f"if q < 0 or F_chain[q] != CH[{j}, g]:", "another combination of chains"):
                    out.add("q = nums[3]")
                    out.add("nums[3] += 1")
                    out.add("F_parent[q] = L")
                    out.add(f"F_chain[q] = CH[{j}, g]")
                    out.add("F_next[q] = 0")
                    out.add("L_child[L] = q")
                for d in range(self.size):
                    out.add(f"F_events[q, {d}] = M[{d}]", "the latest so far" if d == 0 else "")

    # -- all matches --------------------------------------------------------------------------------------------------

    def _combine(self) -> None:
        """Write `combine`: every match that ends with an event found by `advance`, by joining the chains backwards."""
        out, last = self.out, self.size - 1
        with out.block(self._def(f"def combine(f0, nf, F_up, F_events, O, {WALK}, M, nums, {self.arguments}):")):
            with out.block("for f in range(f0, nf):"):
                out.add("first = nums[4]")
                out.add("full = False")
                out.add(f"e{last} = F_events[f, 0]", remark(self.names[last]))
                out.add(f"M[{last}] = e{last}")
                out.add(f"n{last - 1} = F_up[f]")
                arguments = f"O, {WALK}, M, nums, {self.arguments}"
                self._back(last, last - 1, _Ending("combine", arguments, self._write, "full", ("full = True", "break")))
                with out.block("if full:"):
                    out.add("nums[4] = first")
                    out.add("return f", "the caller makes room and comes back")
            out.add("return nf")

    def _walk(self) -> None:
        """Write `walk` and the `combine` of lists."""
        self._def("")
        conjuncts = [(c, self._origin(c)) for c in self.plan.conjuncts]
        walk = Walk(self.out, self.plan, conjuncts, self.columns, self.constants, self.arguments, self.counters)
        walk.emit(self.clock, self.window)
        self._def("")
        walk.emit_combine()

    def _write(self) -> None:
        out = self.out
        with out.block("if nums[4] >= O.shape[0]:"):
            out.add("full = True")
            out.add("break")
        for d in range(self.size):
            out.add(f"O[nums[4], {d}] = e{d}")
        out.add("nums[4] += 1")
