"""Lists in linked chains: `walk`, which goes back from a completing event through single events and lists.

For each component there is one chain of links (`codegen.linked.chains`). A list is a way back within the chain of its
component; the depth of the walk is not known beforehand, so that it keeps a stack (`walk_arrays`).
Where what lies behind an event depends on that event alone (`LinkedPlan.direct`), one that led to no match is not tried
again with the same completing event.

Earlier elements are tried before the list is left: the first match that a walk finds is the latest (SEMANTICS, section
7).
"""

from __future__ import annotations

from collections.abc import Sequence

from augury.codegen.common.constants import Constants
from augury.codegen.common.expressions import Code, Leaf, true
from augury.codegen.common.inventory import NUMS, names_of
from augury.codegen.common.lines import Lines
from augury.codegen.common.naming import remark
from augury.codegen.common.runs import Columns
from augury.codegen.linked.arrays import combine_lists_arrays, walked_arrays
from augury.ir.predicate import Conjunct, Element, Ref, walk
from augury.ir.terms import OutputMode
from augury.native.cells import LinkCell
from augury.plan import LinkedPlan
from augury.runtime.arrays import ArraySpec
from augury.runtime.kernel_source import Signature

OPEN, LEFT, DONE = range(3)
"""What is left to do at an event: earlier elements of its list, the component before, nothing."""


def reads_one_element(c: Conjunct) -> bool:
    """Whether a conjunct that holds for a list holds for its last element alone as well."""
    return not c.from_second and not any(isinstance(e, Ref) and e.element is Element.FIRST for e in walk(c.expr))


class Walk:
    """Writes `walk` and `combine` for a plan with lists; `conjuncts` come with where they were written."""

    def __init__(
        self,
        out: Lines,
        plan: LinkedPlan,
        conjuncts: Sequence[tuple[Conjunct, str]],
        columns: Columns,
        constants: Constants,
        stream: Sequence[ArraySpec],
        counters: bool,
    ) -> None:
        self.out, self.components, self.conjuncts = out, plan.components, conjuncts
        self.columns, self.constants, self.counters = columns, constants, counters
        self.direct, self.latest = plan.direct, plan.query.output is OutputMode.LATEST
        self.names = [c.variable for c in plan.components]
        self.stream, self.arguments = stream, names_of(stream)
        self.arrays = names_of(walked_arrays())

    def emit(self, clock: str, window: str) -> None:
        """Emit `walk`: length of the next match that ends with event i; 0 for none, -1 after more steps than `limit`.

        `window` is the text of the length of the window, empty if there is none.
        """
        out, last = self.out, len(self.components) - 1
        with out.block(f"def walk(i, own, up, limit, {self.arrays}, nums, {self.arguments}):"):
            out.add("depth = bound_depth[-1]")
            with out.block("if depth < 0:", "a new walk"):
                out.add("depth = 0")
                out.add("stack_event[0] = i")
                out.add(f"nums[{LinkCell.WALKED}] = 0")
                self._put("0", last, "own", "up", "1")
                self._first(last)
            out.add("steps = 0")
            with out.block("while depth >= 0:"):
                out.add("j = stack_component[depth]")
                with out.block(f"if stack_left[depth] == {OPEN}:"):
                    out.add("n = stack_own[depth]")
                    with out.block("if n < 0:"):
                        self._leave()
                    out.add("stack_own[depth] = link_before[n]")
                    out.add("c = j")
                with out.block(f"elif stack_left[depth] == {LEFT} and stack_above[depth] >= 0:"):
                    out.add("n = stack_above[depth]")
                    out.add("stack_above[depth] = link_before[n]")
                    out.add("c = j - 1")
                with out.block("else:"):
                    if self.direct:
                        with out.block(f"if depth > 0 and stack_matches[depth] == nums[{LinkCell.WALKED}]:"):
                            out.add("link_dead[stack_link[depth]] = i + 1")
                    out.add("depth -= 1")
                    out.add("continue")
                if self.direct:
                    with out.block("if link_dead[n] == i + 1:", "it led to nothing"):
                        out.add("continue")
                out.add("e = link_event[n]")
                if window:
                    with out.block(
                        f"if {clock}[i] - {clock}[e] > {window}:", "WITHIN: those before it are earlier still"
                    ):
                        with out.block("if c == j:"):
                            out.add("stack_own[depth] = -1")
                        with out.block("else:"):
                            out.add("stack_above[depth] = -1")
                        out.add("continue")
                with out.block("if rank[e] >= rank[stack_event[depth]]:"):
                    out.add("continue")
                out.add("steps += 1")
                with out.block("if steps > limit:"):
                    out.add("return -1")
                self._tests()
                out.add("k = stack_count[depth] + 1 if c == j else 1")
                out.add("depth += 1")
                out.add("stack_event[depth] = e")
                if self.direct:
                    out.add("stack_link[depth] = n")
                    out.add(f"stack_matches[depth] = nums[{LinkCell.WALKED}]")
                for p, component in enumerate(self.components):
                    with out.block(f"{'if' if p == 0 else 'elif'} c == {p}:", remark(component.variable)):
                        self._put("depth", p, "link_before[n]", "link_above[n]", "k")
            out.add("bound_depth[-1] = -1")
            out.add("return 0")

    def emit_combine(self) -> Signature:
        """Emit `combine`, which writes the matches, or only the latest, that end with each event found by `advance`."""
        out = self.out
        given: tuple[str | ArraySpec, ...] = ("f0", "nf", "limit", *combine_lists_arrays())
        combine = Signature("combine", (*given, *walked_arrays(), NUMS, *self.stream))
        with out.block(combine.head):
            with out.block("for f in range(f0, nf):"):
                out.add(f"matches, events = nums[{LinkCell.MATCHES}], nums[{LinkCell.EVENTS}]")
                out.add("bound_depth[-1] = -1")
                with out.block("while True:"):
                    with out.block("if stopped(nums):"):
                        out.add("return f")
                    end = "final_events[f, 0], final_own[f], final_above[f], limit"
                    out.add(f"size = walk({end}, {self.arrays}, nums, {self.arguments})")
                    with out.block("if size < 0:"):
                        out.add(f"nums[{LinkCell.TOO_MANY_STEPS}] = 1", "too many steps")
                        out.add("return f")
                    with out.block("if size == 0:"):
                        out.add("break")
                    no_offset = f"nums[{LinkCell.MATCHES}] + 1 >= out_offsets.shape[0]"
                    with out.block(f"if {no_offset} or nums[{LinkCell.EVENTS}] + size > out_events.shape[0]:"):
                        out.add(f"nums[{LinkCell.MATCHES}], nums[{LinkCell.EVENTS}] = matches, events")
                        out.add("return f", "the caller makes room and comes back")
                    with out.block("for d in range(size):"):
                        out.add(f"out_events[nums[{LinkCell.EVENTS}] + d] = stack_event[size - 1 - d]")
                        out.add(f"out_codes[nums[{LinkCell.EVENTS}] + d] = stack_component[size - 1 - d]")
                    out.add(f"nums[{LinkCell.EVENTS}] += size")
                    out.add(f"nums[{LinkCell.MATCHES}] += 1")
                    out.add(f"out_offsets[nums[{LinkCell.MATCHES}]] = nums[{LinkCell.EVENTS}]")
                    if self.latest:
                        out.add("break")
            out.add("return nf")
        return combine

    def _put(self, depth: str, p: int, own: str, up: str, count: str) -> None:
        """Bind an event to component p."""
        out, component = self.out, self.components[p]
        out.add(f"stack_component[{depth}] = {p}")
        out.add(f"stack_count[{depth}] = {count}")
        full = component.iterated and component.high is not None
        more = f"{own} if {count} < {component.high} else -1" if full else own
        out.add(f"stack_own[{depth}] = {more if component.iterated else '-1'}")
        out.add(f"stack_above[{depth}] = {up}")
        out.add(f"stack_left[{depth}] = {OPEN}")
        if depth == "0" or not component.iterated:
            out.add(f"bound_depth[{p}] = {depth}")
        else:
            with self.out.block("if k == 1:"):
                out.add(f"bound_depth[{p}] = {depth}")

    def _leave(self) -> None:
        """Emit the code that closes a list once no earlier element is left to try."""
        out = self.out
        out.add(f"stack_left[depth] = {LEFT}")
        for p, component in enumerate(self.components):
            if component.low > 1:
                with out.block(f"if j == {p} and stack_count[depth] < {component.low}:", remark(component.variable)):
                    out.add(f"stack_left[depth] = {DONE}")
        with out.block(f"if j == 0 and stack_left[depth] == {LEFT}:"):
            out.add(f"stack_left[depth] = {DONE}")
            out.add("bound_depth[-1] = depth")
            out.add(f"nums[{LinkCell.WALKED}] += 1")
            out.add("return depth + 1")
        out.add("continue")

    # -- predicates ---------------------------------------------------------------------------------------------------

    def _tests(self) -> None:
        """Every conjunct is tested when the first of its variables is bound, which is the last that a walk binds."""
        out = self.out
        by_place: dict[int, list[tuple[Conjunct, str]]] = {}
        for conjunct, origin in self.conjuncts:
            by_place.setdefault(min(map(self.names.index, conjunct.variables)), []).append((conjunct, origin))
        if not by_place:
            return
        out.add("fits = True")
        for p, tested in sorted(by_place.items()):
            with out.block(f"if c == {p}:", remark(self.names[p])):
                for conjunct, origin in tested:
                    self._test(p, conjunct, origin)
        with out.block("if not fits:"):
            out.add("continue")

    def _first(self, last: int) -> None:
        """Emit the conditions on the completing event alone, as the last element of a list."""
        own = (self.names[last],)
        tested = [(c, origin) for c, origin in self.conjuncts if c.variables == own and not c.from_second]
        if tested:
            self.out.add(f"e, c, j, fits = i, {last}, -1, True")
            for conjunct, origin in tested:
                self._test(last, conjunct, origin)
            with self.out.block("if not fits:"):
                self.out.add("return 0")

    def _test(self, p: int, c: Conjunct, origin: str) -> None:
        out = self.out
        condition = "fits"
        if self.components[p].iterated:
            if self.names[p] in c.from_second:
                condition += " and c == j"
            elif self.names[p] not in c.each:
                # It reads the last element, which is the first that a walk binds.
                condition += " and c != j"
        others = [v for v in c.each if v != self.names[p]]
        with out.block(f"if {condition}:"):
            if self.counters:
                out.add(f"nums[{LinkCell.PREDICATES}] += 1", "predicate evaluations")
            if not others:
                out.add(f"fits = {self._text(p, c, '')}", origin)
                return
            (each,) = others
            q = self.names.index(each)
            end = f"bound_depth[{q - 1}]" if q - 1 > p else "depth + 1"
            pairs = " - 1" if each in c.from_second else ""
            loop = out.block(
                f"for d in range(bound_depth[{q}], {end}{pairs}):", remark(f"the elements of {each}, the last first")
            )
            with loop, out.block(f"if not {self._text(p, c, each)}:", origin):
                out.add("fits = False")
                out.add("break")

    def _text(self, p: int, c: Conjunct, each: str) -> str:
        """The text of a conjunct when event e is bound to component p; `each` is gone through by depth d."""

        def event(leaf: Ref) -> str:
            q = self.names.index(leaf.variable)
            match leaf.element:
                case Element.PREVIOUS if q == p:
                    return "e"
                case Element.PREVIOUS:
                    return "stack_event[d + 1]"
                case Element.EACH if q == p:
                    return "stack_event[depth]" if leaf.variable in c.from_second else "e"
                case Element.EACH:
                    return "stack_event[d]"
                case Element.FIRST if q - 1 > p:
                    return f"stack_event[bound_depth[{q - 1}] - 1]"
                case Element.FIRST:
                    return f"stack_event[bound_depth[{p}] - 1 if c == j else depth]"
                case Element.LAST if q == p:
                    return f"(stack_event[bound_depth[{p}]] if c == j else e)"
                case _:
                    return "e" if q == p else f"stack_event[bound_depth[{q}]]"

        def read(leaf: Leaf) -> Code:
            assert isinstance(leaf, Ref)
            return self.columns.at(leaf.column, leaf.type, event(leaf))

        return true(c.expr, read, self.constants).value
