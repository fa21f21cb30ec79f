"""Lists in linked chains: `walk`, which goes back from a completing event through single events and lists.

For each component there is one chain of nodes (`codegen.linked.chains`). A list is a way back within the chain of its
component; the depth of the walk is not known beforehand, so that it keeps a stack: events (SE), their components (SC),
how many of a list there are so far (SK), the node to try next in its own chain (SX) and in that of the component before
(SU), and what is left to do (SP). ED is the depth at which each component was bound last. Where what lies behind an
event depends on that event alone (`LinkedPlan.direct`), one that led to no match is not tried again with the same
completing event (DEAD; SN are the nodes, SM how many matches there were when they were bound).

Earlier elements are tried before the list is left: the first match that a walk finds is the latest (SEMANTICS, section
7).
"""

from __future__ import annotations

from collections.abc import Sequence

from augury.codegen.common.cells import Cell
from augury.codegen.common.constants import Constants
from augury.codegen.common.expressions import Code, Leaf, true
from augury.codegen.common.lines import Lines
from augury.codegen.common.naming import remark
from augury.codegen.common.runs import Columns
from augury.ir.predicate import Conjunct, Element, Ref, walk
from augury.ir.terms import OutputMode
from augury.plan import LinkedPlan

STACK = ("SE", "SC", "SK", "SX", "SU", "SP", "SN", "SM", "DEAD", "ED")
"""The arrays of a walk; `ED` has a cell for each component and one for the depth, the others one for each node."""

FOUND_SO_FAR = 7
"""The cell of `nums` that counts the matches of a walk."""

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
        arguments: str,
        counters: bool,
    ) -> None:
        self.out, self.components, self.conjuncts = out, plan.components, conjuncts
        self.columns, self.constants, self.counters = columns, constants, counters
        self.direct, self.latest = plan.direct, plan.query.output is OutputMode.LATEST
        self.names = [c.variable for c in plan.components]
        self.arrays = f"N_event, N_prev, N_up, {', '.join(STACK)}"
        self.arguments = arguments

    def emit(self, clock: str, window: int) -> None:
        """`walk` finds the next match that ends with event i: its length, 0 for none, -1 after too many steps."""
        out, last = self.out, len(self.components) - 1
        with out.block(f"def walk(i, own, up, limit, {self.arrays}, nums, {self.arguments}):"):
            out.add("depth = ED[-1]")
            with out.block("if depth < 0:", "a new walk"):
                out.add("depth = 0")
                out.add("SE[0] = i")
                out.add(f"nums[{FOUND_SO_FAR}] = 0")
                self._put("0", last, "own", "up", "1")
                self._first(last)
            out.add("steps = 0")
            with out.block("while depth >= 0:"):
                out.add("j = SC[depth]")
                with out.block(f"if SP[depth] == {OPEN}:"):
                    out.add("n = SX[depth]")
                    with out.block("if n < 0:"):
                        self._leave()
                    out.add("SX[depth] = N_prev[n]")
                    out.add("c = j")
                with out.block(f"elif SP[depth] == {LEFT} and SU[depth] >= 0:"):
                    out.add("n = SU[depth]")
                    out.add("SU[depth] = N_prev[n]")
                    out.add("c = j - 1")
                with out.block("else:"):
                    if self.direct:
                        with out.block(f"if depth > 0 and SM[depth] == nums[{FOUND_SO_FAR}]:"):
                            out.add("DEAD[SN[depth]] = i + 1")
                    out.add("depth -= 1")
                    out.add("continue")
                if self.direct:
                    with out.block("if DEAD[n] == i + 1:", "it led to nothing"):
                        out.add("continue")
                out.add("e = N_event[n]")
                if window >= 0:
                    with out.block(
                        f"if {clock}[i] - {clock}[e] > {window}:", "WITHIN: those before it are earlier still"
                    ):
                        with out.block("if c == j:"):
                            out.add("SX[depth] = -1")
                        with out.block("else:"):
                            out.add("SU[depth] = -1")
                        out.add("continue")
                with out.block("if rank[e] >= rank[SE[depth]]:"):
                    out.add("continue")
                out.add("steps += 1")
                with out.block("if steps > limit:"):
                    out.add("return -1")
                self._tests()
                out.add("k = SK[depth] + 1 if c == j else 1")
                out.add("depth += 1")
                out.add("SE[depth] = e")
                if self.direct:
                    out.add("SN[depth] = n")
                    out.add(f"SM[depth] = nums[{FOUND_SO_FAR}]")
                for p, component in enumerate(self.components):
                    with out.block(f"{'if' if p == 0 else 'elif'} c == {p}:", remark(component.variable)):
                        self._put("depth", p, "N_prev[n]", "N_up[n]", "k")
            out.add("ED[-1] = -1")
            out.add("return 0")

    def emit_combine(self) -> None:
        """`combine` writes the matches, or the latest alone, that end with each event found by `advance`."""
        out = self.out
        given = "f0, nf, limit, F_own, F_up, F_events, OE, OC, OO"
        with out.block(f"def combine({given}, {self.arrays}, nums, {self.arguments}):"):
            with out.block("for f in range(f0, nf):"):
                out.add("matches, events = nums[4], nums[5]")
                out.add("ED[-1] = -1")
                with out.block("while True:"):
                    with out.block("if stopped(nums):"):
                        out.add("return f")
                    end = "F_events[f, 0], F_own[f], F_up[f], limit"
                    out.add(f"size = walk({end}, {self.arrays}, nums, {self.arguments})")
                    with out.block("if size < 0:"):
                        out.add("nums[6] = 1", "too many steps")
                        out.add("return f")
                    with out.block("if size == 0:"):
                        out.add("break")
                    with out.block("if nums[4] + 1 >= OO.shape[0] or nums[5] + size > OE.shape[0]:"):
                        out.add("nums[4], nums[5] = matches, events")
                        out.add("return f", "the caller makes room and comes back")
                    with out.block("for d in range(size):"):
                        out.add("OE[nums[5] + d] = SE[size - 1 - d]")
                        out.add("OC[nums[5] + d] = SC[size - 1 - d]")
                    out.add("nums[5] += size")
                    out.add("nums[4] += 1")
                    out.add("OO[nums[4]] = nums[5]")
                    if self.latest:
                        out.add("break")
            out.add("return nf")

    def _put(self, depth: str, p: int, own: str, up: str, count: str) -> None:
        """Bind an event to component p."""
        out, component = self.out, self.components[p]
        out.add(f"SC[{depth}] = {p}")
        out.add(f"SK[{depth}] = {count}")
        full = component.iterated and component.high is not None
        more = f"{own} if {count} < {component.high} else -1" if full else own
        out.add(f"SX[{depth}] = {more if component.iterated else '-1'}")
        out.add(f"SU[{depth}] = {up}")
        out.add(f"SP[{depth}] = {OPEN}")
        if depth == "0" or not component.iterated:
            out.add(f"ED[{p}] = {depth}")
        else:
            with self.out.block("if k == 1:"):
                out.add(f"ED[{p}] = {depth}")

    def _leave(self) -> None:
        """No earlier element is left to try: the list is what it is."""
        out = self.out
        out.add(f"SP[depth] = {LEFT}")
        for p, component in enumerate(self.components):
            if component.low > 1:
                with out.block(f"if j == {p} and SK[depth] < {component.low}:", remark(component.variable)):
                    out.add(f"SP[depth] = {DONE}")
        with out.block(f"if j == 0 and SP[depth] == {LEFT}:"):
            out.add(f"SP[depth] = {DONE}")
            out.add("ED[-1] = depth")
            out.add(f"nums[{FOUND_SO_FAR}] += 1")
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
        """What is asked of the completing event alone, as the last element of a list."""
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
                out.add(f"nums[{Cell.PREDICATES}] += 1", "predicate evaluations")
            if not others:
                out.add(f"fits = {self._text(p, c, '')}", origin)
                return
            (each,) = others
            q = self.names.index(each)
            end = f"ED[{q - 1}]" if q - 1 > p else "depth + 1"
            pairs = " - 1" if each in c.from_second else ""
            loop = out.block(
                f"for d in range(ED[{q}], {end}{pairs}):", remark(f"the elements of {each}, the last first")
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
                    return "SE[d + 1]"
                case Element.EACH if q == p:
                    return "SE[depth]" if leaf.variable in c.from_second else "e"
                case Element.EACH:
                    return "SE[d]"
                case Element.FIRST if q - 1 > p:
                    return f"SE[ED[{q - 1}] - 1]"
                case Element.FIRST:
                    return f"SE[ED[{p}] - 1 if c == j else depth]"
                case Element.LAST if q == p:
                    return f"(SE[ED[{p}]] if c == j else e)"
                case _:
                    return "e" if q == p else f"SE[ED[{q}]]"

        def read(leaf: Leaf) -> Code:
            assert isinstance(leaf, Ref)
            return self.columns.at(leaf.column, leaf.type, event(leaf))

        return true(c.expr, read, self.constants).value
