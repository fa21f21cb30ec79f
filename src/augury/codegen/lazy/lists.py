"""Loops over the lists of an iterated component (`iterate`, paper 000, section 4.5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from augury.codegen.common.expressions import false, true
from augury.codegen.common.lines import Lines
from augury.codegen.common.naming import remark
from augury.codegen.common.runs import Place, ValueVector, updates
from augury.codegen.lazy.layout import PARTITION, Buffer
from augury.codegen.lazy.nest import Node, one_way
from augury.codegen.lazy.search import Searches
from augury.codegen.lazy.source import LIMIT, TOO_MANY_LISTS
from augury.ir.predicate import Compare, Conjunct, Element, Ref
from augury.plan import Component


class Lists(Searches):
    """Writes them."""

    def _list(
        self, out: Lines, node: Node, bound: Sequence[str], report: Callable[[Lines, int], None], *, fresh: bool
    ) -> None:
        """Every list of candidates that the bounds and predicates allow (`iterate`, paper 000, section 4.5).

        Lists grow depth first; one whose last element fails a test is never extended. Unless what is bound is `fresh`,
        a list somewhere must hold an event of this step.
        """
        self.order = node.order
        c = node.step.component
        v, b, vector = self.names[c.variable], self._buffer(c.variable), self.vectors[c.variable]
        key, group = self._key(node), self._group(node, bound)
        if key is None:
            self._range(out, node, bound, root=False)
            if not fresh and not node.children and not any(self.component[u].iterated for u in bound):
                # The only list: without a new candidate there is no new one.
                with out.block(f"if hi_{v} <= lo_{v} or {b.name}_e[hi_{v} - 1] < i0:"):
                    out.add("continue")
            out.add(f"at_{v} = lo_{v}")
            following, over = f"at_{v} + 1", f"at_{v} >= hi_{v}"
            q = self.layout.index(b, group) if group is not None else -1
            if group is not None:
                following = f"X{q}_next[at_{v}] if d_{v} > 0 else at_{v} + 1"
                over = f"at_{v} < 0 or at_{v} >= hi_{v}"
        else:
            q = self._start_of_walk(out, v, b, node.step, bound, key, backward=False, lists=True)
            following = f"X{q}_next[at_{v}]"
            over = f"at_{v} < 0"
            if node.step.before:
                over += f" or {b.name}_{self.rank}[at_{v}] >= {self._earliest(node.step.before)}"
            elif self.span >= 0:
                over += f" or {b.name}_t[at_{v}] - {self._earliest(bound, 't')} > {self.span}"
        if c.high is not None:
            over += f" or d_{v} >= {c.high}"
        if not any(self.component[u].iterated for u in bound):
            out.add("lists = 0")
        out.add(f"d_{v} = 0")
        for array, cells, zero in (("RI", vector.integers, "0"), ("RF", vector.floats, "0.0")):
            for k in range(len(cells)):
                out.add(f"{array}_{v}[0, {k}] = {zero}")
        with out.block("while True:", f"iterate {self._label(node)}"):
            with out.block(f"if {over}:"):
                with out.block(f"if d_{v} == 0:"):
                    out.add("break")
                out.add(f"d_{v} -= 1")
                out.add(f"at_{v} = S_{v}[d_{v}]")
                out.add(f"at_{v} = {following}")
                out.add("continue")
            out.add(f"j_{v} = at_{v}")
            out.add(f"at_{v} = {following}")
            out.add(f"e_{v} = {b.name}_e[j_{v}]")
            self._candidate(out, node, bound, key, group)
            self._take_into_list(out, c, vector, b)
            out.add("lists += 1")
            with out.block(f"if lists > nums[{LIMIT}]:"):
                self._full(out, f"{TOO_MANY_LISTS}")
            self._cut(out, c)
            if key is None and group is not None:
                with out.block(f"if d_{v} == 1:"):
                    out.add(f"at_{v} = X{q}_next[j_{v}]")
            out.add(f"ok = d_{v} >= {c.low}" if c.low > 1 else "ok = True")
            self._list_tests(out, c.whole, c, whole=True)
            with out.block("if ok:"):
                if self.counters:
                    out.add(f"seen{node.number} += 1", "partial matches")
                for child in node.children:
                    self._list(out, child, (*bound, c.variable), report, fresh=fresh)
                for branch in node.completes:
                    if fresh:
                        report(out, branch)
                    else:
                        lists = [u for u in (*bound, c.variable) if self.component[u].iterated]
                        ends = [f"E_{self.names[u]}[d_{self.names[u]} - 1] >= i0" for u in lists]
                        with out.block(f"if {' or '.join(ends)}:", "not found before"):
                            report(out, branch)

    def _cut(self, out: Lines, c: Component) -> None:
        """Do not extend a list that has gone too far, since more elements cannot bring it back."""
        v = self.names[c.variable]
        for j in c.whole:
            if one_way(j, c):
                test = false(j.expr, self._place(f"d_{v}").read, self.constants).value
                with out.block(f"if {test}:", f"no longer list can be true: {self._origin(j)}"):
                    out.add(f"d_{v} -= 1")
                    out.add("continue")

    def _group(self, node: Node, bound: Sequence[str]) -> str | None:
        """The key that all elements of a list share, where nothing bound before tells it."""
        c = node.step.component
        if self.query.partition_by and self.plan.indexed:
            return PARTITION if not any(not self.component[u].iterated for u in bound) else None
        for j in c.take if self.plan.indexed else ():
            e = j.expr
            if (
                isinstance(e, Compare)
                and e.operator == "="
                and isinstance(e.left, Ref)
                and isinstance(e.right, Ref)
                and e.left.variable == e.right.variable == c.variable
                and {e.left.element, e.right.element} == {Element.EACH, Element.PREVIOUS}
                and e.left.column == e.right.column
            ):
                return e.left.column
        return None

    def _candidate(
        self, out: Lines, node: Node, bound: Sequence[str], key: tuple[str, str, str] | None, group: str | None
    ) -> None:
        """Pass over an event that cannot be the next element."""
        c, step = node.step.component, node.step
        v, b = self.names[c.variable], self._buffer(c.variable)
        with out.block(f"if d_{v} > 0 and rank[e_{v}] <= rank[E_{v}[d_{v} - 1]]:", "concurrent with the last one"):
            out.add("continue")
        if key is not None:
            if step.after:
                with out.block(
                    f"if {b.name}_{self.rank}[j_{v}] <= {self._latest(step.after)}:",
                    remark(f"after {', '.join(step.after)}"),
                ):
                    out.add("continue")
            elif self.span >= 0 and bound:
                with out.block(f"if {self._latest(bound, 't')} - {b.name}_t[j_{v}] > {self.span}:", "WITHIN"):
                    out.add("continue")
        elif self.query.partition_by and bound:
            with out.block(f"if {b.name}_p[j_{v}] != {self._partition(bound)}:", "another partition"):
                out.add("continue")
        if self.query.partition_by and key is None and not bound and group is None:
            with out.block(f"if d_{v} > 0 and {b.name}_p[j_{v}] != part[E_{v}[0]]:", "another partition"):
                out.add("continue")
        if self._by_partition and key is None and bound:
            self._within(out, f"{b.name}_t[j_{v}]", bound, low=not step.after, high=not step.before)
        if self.span >= 0 and not step.after and not step.before:
            test = f"d_{v} > 0 and {b.name}_t[j_{v}] - {self.layout.clock}[E_{v}[0]] > {self.span}"
            with out.block(f"if {test}:", "WITHIN"):
                out.add("continue")
        self._others(out, node, bound, f"e_{v}")
        out.add("ok = True")
        self._list_tests(out, c.take, c, whole=False)
        with out.block("if not ok:"):
            out.add("continue")

    def _take_into_list(self, out: Lines, c: Component, vector: ValueVector, b: Buffer) -> None:
        v = self.names[c.variable]
        out.add(f"S_{v}[d_{v}] = j_{v}")
        out.add(f"E_{v}[d_{v}] = e_{v}")
        for array, cells in (("RI", vector.integers), ("RF", vector.floats)):
            for k in range(len(cells)):
                out.add(f"{array}_{v}[d_{v} + 1, {k}] = {array}_{v}[d_{v}, {k}]")
        first = updates(vector, self.columns, self.constants, c.variable, True, f"d_{v} + 1", f"e_{v}")
        later = updates(vector, self.columns, self.constants, c.variable, False, f"d_{v} + 1", f"e_{v}")
        if first == later:
            for line in first:
                out.add(line)
        else:
            for head, lines in ((f"if d_{v} == 0:", first), ("else:", later)):
                with out.block(head):
                    for line in lines or ["pass"]:
                        out.add(line)
        out.add(f"d_{v} += 1")

    def _list_tests(self, out: Lines, conjuncts: Sequence[Conjunct], c: Component, *, whole: bool) -> None:
        """Set `ok` to false when a conjunct does not hold for the event that would join, or for the whole list."""
        v = c.variable
        name = self.names[v]
        if whole:
            for j in conjuncts:
                self._list_test(out, j, self._place(f"d_{name}"), sorted(j.each))
            return
        for begins, head in ((True, f"if d_{name} == 0:"), (False, "else:")):
            mine = [j for j in conjuncts if not (v in j.from_second if begins else v not in j.each)]
            with out.block(head):
                for j in mine:
                    at = self._place(f"d_{name}", v, f"e_{name}", begins)
                    self._list_test(out, j, at, sorted(j.each - {v}))
                if not mine:
                    out.add("pass")

    def _list_test(self, out: Lines, j: Conjunct, at: Place, walked: Sequence[str]) -> None:
        if self.counters:
            with out.block("if ok:"):
                out.add("predicates += 1")
        depth = out.depth
        events: dict[str, tuple[str, str]] = {}
        for u in walked:
            name = self.names[u]
            out.add(f"for k_{name} in range({1 if u in j.from_second else 0}, d_{name}):")
            out.depth += 1
            events[u] = (f"E_{name}[k_{name}]", f"E_{name}[k_{name} - 1]")
        text = true(j.expr, replace(at, walked=events).read, self.constants).value
        out.add(f"ok = ok and {text}", self._origin(j))
        out.depth = depth
