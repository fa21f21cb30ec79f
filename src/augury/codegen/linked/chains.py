"""LinkedPlan -> source of CoverMatch and CombineMatch (paper 003, algorithms 1 and 2).

A list (`codegen.linked.arrays`) stands for one way to choose a chain for each component up to some component; its
links are the events of the last chain with which some partial match in these chains ends. A link remembers the last
link of the list before when it was made: none of those after it can come before it. The paper exposes only the tail of
a list; with predicates, windows or concurrent events a match may need an earlier one, so `extend_<n>` walks back from
the tail until it has found one.

Only COVER asks for combinations of chains. For ALL and LATEST all events of a component are one chain: the matches are
the same, and on a stream of short chains there are as many combinations as partial matches (a departure from the paper,
whose CombineMatch joins the chains of the covers). An event that ends ALL matches is not looked at before they are
joined.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from augury.codegen.common.absence import MATCH, absence_entries, emit_absences
from augury.codegen.common.constants import constants_of, functions_of
from augury.codegen.common.expressions import Code, Leaf, true
from augury.codegen.common.fitting import fits
from augury.codegen.common.inventory import NUMS, columns_of, conjuncts_of, names_of, stream_specs, with_inner
from augury.codegen.common.lines import Lines
from augury.codegen.common.naming import heading, origin, remark
from augury.codegen.linked.arrays import combine_arrays, linked_arrays
from augury.codegen.linked.lists import Walk, reads_one_element
from augury.ir.predicate import Conjunct, Element, Ref, walk
from augury.ir.query import CountWindow, span_of
from augury.ir.terms import OutputMode
from augury.native.cells import LinkCell
from augury.plan import Component, LinkedPlan
from augury.runtime.arrays import ArraySpec
from augury.runtime.columns import ColumnSpec
from augury.runtime.kernel_source import KernelSource, Signature, kernel_source

MAX_NESTED_COMPONENTS = 12
"""Components whose loops stand in one function; another one goes on. CPython nests 20 loops at most."""

POOLS = {
    LinkCell.LINKS: "link_event",
    LinkCell.LISTS: "list_parent",
    LinkCell.CHAINS: "chain_last",
    LinkCell.FINALS: "final_given",
}
"""Cells of `nums` that say how far arrays are filled, each with one of these arrays."""

WALK = "link_event, link_before, link_above, list_tail"
"""The arrays that a walk back through the lists reads."""


@dataclass(frozen=True, slots=True)
class LinkedSource:
    """The generated kernel and what its caller must know to feed it."""

    source: KernelSource
    arrays: tuple[ArraySpec, ...]
    """What `advance` takes after the arrays of the stream."""
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
    """The body of loops backwards through the chains, and the function that the loops stand in."""

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
        self.arrays = linked_arrays(self.size)
        components = list(with_inner(plan.components, plan.absent))
        self.tested = [*conjuncts_of(components), *plan.conjuncts]
        self.constants = constants_of(components, self.tested)
        self.specs, self.columns = columns_of(components, self.tested, plan.computed)
        self.stream = stream_specs(self.constants, self.specs)
        self.arguments = names_of(self.stream)
        self.window = span_of(plan.query.window)
        self.within = self.constants.integer("span", self.window) if self.window >= 0 else ""
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
            out, self.query, absent, self.columns, self.constants, self.stream, counters=self.counters
        )
        for j in range(1, self.size):
            if j < self.size - 1 or not self._joins:
                self._extend(j)
        entries = [self._advance()]
        if self.lists:
            entries.append(self._walk())
        elif self.query.output is OutputMode.ALL:
            entries.append(self._combine())
        out.lines += self.rest.lines
        entries += absence_entries(negated, self.stream)
        return LinkedSource(
            kernel_source(
                f"{out}\n",
                entries,
                self.constants.arrays,
                ranks_strings=self.constants.ranks_strings,
                code=out.code,
            ),
            self.arrays,
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
        return fits(c, self.query, self.constants, self.columns.of("i"))

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
        return f", {names_of(MATCH)}" if self._checks else ""

    # -- from an event back through the chains ------------------------------------------------------------------------

    def _extend(self, j: int) -> None:
        """Write `extend_<j>`: puts the latest partial match of list L that event i goes on into `path_event`."""
        out = self.out
        last = j == self.size - 1
        match = self._match_arguments() if last else ""
        with out.block(self._def(f"def extend_{j}(i, L, {WALK}, path_event, keep, nums, {self.arguments}{match}):")):
            out.add(f"e{j} = i", remark(self.names[j]))
            out.add(f"path_event[{j}] = i")
            out.add(f"n{j - 1} = list_tail[L]")
            arguments = f"{WALK}, path_event, keep, nums, {self.arguments}{match}"
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
            out.add(f"absent(0, 1, keep, nums, {self.arguments}, {names_of(MATCH)})")
            with out.block("if keep[0] == 0:"):
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
                self.out.add(f"e{k} = path_event[{k}]", remark(self.names[k]))
            if ending.result != "False":
                self.out.add(f"{ending.result} = False")
            self._back(j, d, ending)
            self.out.add(f"return {ending.result}")
        self.rest.lines += self.out.lines
        self.out = caller

    def _back(self, j: int, d: int, ending: _Ending) -> None:
        """Emit loops over the nodes of the components before j, the latest first."""
        out = self.out
        with out.block(f"while n{d} >= 0:"):
            out.add(f"e{d} = link_event[n{d}]", remark(self.names[d]))
            if d > 0:
                with out.block("if stopped(nums):"):
                    out.add("break")
                out.add(f"n{d - 1} = link_above[n{d}]")
            out.add(f"n{d} = link_before[n{d}]")
            if self.window >= 0:
                with out.block(f"if {self.clock}[e{j}] - {self.clock}[e{d}] > {self.within}:", "WITHIN"):
                    out.add("break", "those before it are earlier still")
            with out.block(f"if rank[e{d}] >= rank[e{d + 1}]:"):
                out.add("continue")
            for c in self.quick:
                places = [self.names.index(v) for v in c.variables]
                if min(places) == d and max(places) <= j and not (max(places) == j and self._of_last(c, j)):
                    if self.counters:
                        out.add(f"nums[{LinkCell.PREDICATES}] += 1", "predicate evaluations")
                    with out.block(f"if not {self._text(c)}:", self._origin(c)):
                        out.add("continue")
            out.add(f"path_event[{d}] = e{d}")
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

    def _advance(self) -> Signature:
        out, match = self.out, MATCH if self._checks else ()
        advance = Signature("advance", ("i0", "n", "quiet", NUMS, *self.stream, *self.arrays, *match))
        with out.block(self._def(advance.head)):
            with out.block("for i in range(i0, n):"):
                self._event()
            out.add("return n")
        return advance

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
        out.add(f"need = live_lists[g] + {self.size}")
        room = ", ".join(f"{name}.shape[0] - nums[{cell}]" for cell, name in POOLS.items())
        with out.block(f"if min({room}) < need:"):
            out.add("return i", "the caller makes room and comes back")
        if self.query.output is OutputMode.COVER:
            for j in range(self.size):
                with out.block(f"if mask & {1 << j} != 0:"):
                    with out.block(f"if growing[g] & {1 << j} == 0:", remark(f"a new chain of {self.names[j]}")):
                        out.add(f"newest_chain[{j}, g] = nums[{LinkCell.CHAINS}]")
                        out.add(f"nums[{LinkCell.CHAINS}] += 1")
                    out.add(f"chain_last[newest_chain[{j}, g]] = i")
            out.add("growing[g] = mask")
        if self.query.output is OutputMode.LATEST and not self.lists:
            out.add("best_event[0] = -1")
        for j in range(last, 0, -1):
            with out.block(f"if mask & {1 << j} != 0:", remark(f"go on with {self.names[j]}")):
                self._link(j)
        with out.block("if mask & 1 != 0:", remark(f"begin with {self.names[0]}")):
            out.add("q = root_list[g]")
            with out.block("if q < 0 or list_chain[q] != newest_chain[0, g]:"):
                self._new_list(0, "-1")
                out.add("root_list[g] = q")
            self._node(0)
        if self.query.output is OutputMode.LATEST and not self.lists:
            with out.block("if best_event[0] >= 0 and quiet == 0:", "the latest match that the event completes"):
                for d in range(self.size):
                    out.add(f"final_events[nums[{LinkCell.FINALS}], {d}] = best_event[{d}]")
                out.add(f"nums[{LinkCell.FINALS}] += 1")

    def _link(self, j: int) -> None:
        """Emit the loop over the lists of the component before, which drops those out of the window."""
        out, last = self.out, self.size - 1
        out.add("before = -1")
        out.add(f"L = first_list[{j - 1}, g]")
        match = self._match_arguments() if j == last else ""
        with out.block("while L >= 0:"):
            out.add("after = list_next[L]")
            if self.window >= 0:
                with out.block(
                    f"if {self.clock}[i] - {self.clock}[link_event[list_tail[L]]] > {self.within}:", "WITHIN has passed"
                ):
                    with out.block("if before < 0:"):
                        out.add(f"first_list[{j - 1}, g] = after")
                    with out.block("else:"):
                        out.add("list_next[before] = after")
                    out.add("list_next[L] = -2", "until its chain goes on")
                    out.add("live_lists[g] -= 1")
                    out.add("L = after")
                    out.add("continue")
            if j == last and self._joins:
                self._linked(j)
            else:
                with out.block(f"if extend_{j}(i, L, {WALK}, path_event, keep, nums, {self.arguments}{match}):"):
                    self._linked(j)
            out.add("before = L")
            out.add("L = after")

    def _linked(self, j: int) -> None:
        """The event goes on from list L."""
        if self.counters:
            self.out.add(f"nums[{LinkCell.TEMPORARY_MATCHES}] += 1", "temporary matches")
            self.out.add(f"nums[{LinkCell.COPIES}] += 1", "copies")
        if j == self.size - 1:
            self._final(j)
        if j < self.size - 1 or self.plan.components[j].iterated:
            self._inner(j)

    def _inner(self, j: int) -> None:
        out = self.out
        out.add("q = list_child[L]")
        with out.block(f"if q < 0 or list_chain[q] != newest_chain[{j}, g]:", "another chain"):
            self._new_list(j, "L")
            out.add("list_child[L] = q")
        self._node(j, count=False)

    def _new_list(self, j: int, parent: str) -> None:
        out = self.out
        out.add(f"q = nums[{LinkCell.LISTS}]")
        out.add(f"nums[{LinkCell.LISTS}] += 1")
        out.add(f"list_parent[q] = {parent}")
        out.add(f"list_chain[q] = newest_chain[{j}, g]")
        out.add("list_tail[q] = -1")
        out.add("list_child[q] = -1")
        out.add(f"list_depth[q] = {j}")
        self._expose(j)

    def _expose(self, j: int) -> None:
        self.out.add(f"list_next[q] = first_list[{j}, g]")
        self.out.add(f"first_list[{j}, g] = q")
        self.out.add("live_lists[g] += 1")

    def _node(self, j: int, count: bool = True) -> None:
        out = self.out
        if self.window >= 0:
            with out.block("if list_next[q] == -2:"):
                self._expose(j)
        if self.counters and count:
            out.add(f"nums[{LinkCell.TEMPORARY_MATCHES}] += 1", "temporary matches")
        out.add(f"link_event[nums[{LinkCell.LINKS}]] = i")
        out.add(f"link_list[nums[{LinkCell.LINKS}]] = q")
        out.add(f"link_above[nums[{LinkCell.LINKS}]] = {'list_tail[L]' if j else '-1'}")
        out.add(f"link_before[nums[{LinkCell.LINKS}]] = list_tail[q]", "it covers the one before it in the chain")
        out.add(f"list_tail[q] = nums[{LinkCell.LINKS}]")
        out.add(f"nums[{LinkCell.LINKS}] += 1")

    def _final(self, j: int) -> None:
        """A match is complete."""
        out = self.out
        match OutputMode.ALL if self.lists else self.query.output:
            case OutputMode.ALL:
                with out.block("if quiet == 0:"):
                    if self.plan.components[j].iterated:
                        own = "list_tail[list_child[L]] if list_child[L] >= 0 else -1"
                        out.add(f"final_own[nums[{LinkCell.FINALS}]] = {own}")
                    out.add(f"final_above[nums[{LinkCell.FINALS}]] = list_tail[L]")
                    out.add(f"final_events[nums[{LinkCell.FINALS}], 0] = i")
                    out.add(f"nums[{LinkCell.FINALS}] += 1")
            case OutputMode.LATEST:
                out.add("later = best_event[0] < 0")
                with (
                    out.block(f"for d in range({self.size - 1}, -1, -1):"),
                    out.block("if path_event[d] != best_event[d]:"),
                ):
                    out.add("later = later or path_event[d] > best_event[d]")
                    out.add("break")
                with out.block("if later:"):
                    for d in range(self.size):
                        out.add(f"best_event[{d}] = path_event[{d}]")
            case _:
                out.add("q = list_child[L]")
                with out.block(f"if q < 0 or final_chain[q] != newest_chain[{j}, g]:", "another combination of chains"):
                    out.add(f"q = nums[{LinkCell.FINALS}]")
                    out.add(f"nums[{LinkCell.FINALS}] += 1")
                    out.add("final_parent[q] = L")
                    out.add(f"final_chain[q] = newest_chain[{j}, g]")
                    out.add("final_given[q] = 0")
                    out.add("list_child[L] = q")
                for d in range(self.size):
                    out.add(f"final_events[q, {d}] = path_event[{d}]", "the latest so far" if d == 0 else "")

    # -- all matches --------------------------------------------------------------------------------------------------

    def _combine(self) -> Signature:
        """Write `combine`: every match that ends with an event found by `advance`, by joining the chains backwards."""
        out, last = self.out, self.size - 1
        combine = Signature("combine", ("f0", "nf", *combine_arrays(), NUMS, *self.stream))
        with out.block(self._def(combine.head)):
            with out.block("for f in range(f0, nf):"):
                out.add(f"first = nums[{LinkCell.MATCHES}]")
                out.add("full = False")
                out.add(f"e{last} = final_events[f, 0]", remark(self.names[last]))
                out.add(f"path_event[{last}] = e{last}")
                out.add(f"n{last - 1} = final_above[f]")
                arguments = f"out_events, {WALK}, path_event, nums, {self.arguments}"
                self._back(last, last - 1, _Ending("combine", arguments, self._write, "full", ("full = True", "break")))
                with out.block("if full:"):
                    out.add(f"nums[{LinkCell.MATCHES}] = first")
                    out.add("return f", "the caller makes room and comes back")
            out.add("return nf")
        return combine

    def _walk(self) -> Signature:
        """Write `walk` and the `combine` of lists."""
        self._def("")
        conjuncts = [(c, self._origin(c)) for c in self.plan.conjuncts]
        walk = Walk(self.out, self.plan, conjuncts, self.columns, self.constants, self.stream, self.counters)
        walk.emit(self.clock, self.within)
        self._def("")
        return walk.emit_combine()

    def _write(self) -> None:
        out = self.out
        with out.block(f"if nums[{LinkCell.MATCHES}] >= out_events.shape[0]:"):
            out.add("full = True")
            out.add("break")
        for d in range(self.size):
            out.add(f"out_events[nums[{LinkCell.MATCHES}], {d}] = e{d}")
        out.add(f"nums[{LinkCell.MATCHES}] += 1")
