"""What is known at a place of a nest of loops: names, order, window, partition, and the texts of conjuncts.

`j_v0_a` is the position in its buffer of the event bound to a, `e_v0_a`, `t_v0_a`, `p_v0_a` are its number, clock and
partition, `r_v0_a` is its rank where the clock does not tell the order, `v0_a__c0_price` is a column of it. Of an
iterated variable, `E_v1_b[:d_v1_b]` are the events bound so far.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from augury.codegen.common.constants import constants_of
from augury.codegen.common.expressions import Code, Leaf, true
from augury.codegen.common.inventory import columns_of, conjuncts_of, with_inner
from augury.codegen.common.lines import Lines
from augury.codegen.common.naming import origin, remark
from augury.codegen.common.runs import Place, ValueVector
from augury.codegen.lazy.layout import PARTITION, Buffer, Layout
from augury.codegen.lazy.nest import Node, nest
from augury.ir.predicate import Compare, Conjunct, Ref
from augury.ir.query import CountWindow, span_of
from augury.plan import Absence, ChainStep, LazyChainPlan
from augury.runtime.identifiers import identifiers


class Known:
    """The names of one kernel; `order` is that of the events bound at the place that is written now."""

    def __init__(self, plan: LazyChainPlan, counters: bool) -> None:
        self.plan, self.query, self.counters = plan, plan.query, counters
        components = [c for b in plan.branches for c in with_inner(b.components, b.absent)]
        self.tested = [*conjuncts_of(components), *plan.conjuncts]
        self.constants = constants_of(components, self.tested)
        self.specs, self.columns = columns_of(components, self.tested, plan.computed)
        self.nest = nest(plan)
        self.negated = self._looked_for()
        """The states that look for negated parts, by the state where they do and the part."""
        self.layout = Layout(plan.query, self.columns, self.specs, self.constants)
        self.names = identifiers("v", [v.name for v in plan.query.variables])
        self.span = span_of(plan.query.window)
        self.rank = self.layout.rank
        self.vectors = {
            c.variable: ValueVector(suffix=f"_{self.names[c.variable]}")
            for b in plan.branches
            for c in b.components
            if c.iterated
        }
        self.component = {c.variable: c for c in components}
        self.order: frozenset[tuple[str, str]] = frozenset()
        self.outer: set[int] = set()
        """The nodes whose ranges have been narrowed by the first event already."""
        self.kept: set[int] = set()
        """The nodes of which the events that fit the first one are kept beside."""

    def _looked_for(self) -> dict[tuple[int, Absence], Node]:
        found: dict[tuple[int, Absence], Node] = {}
        for n in self.nest.nodes:
            for part in n.step.absent:
                (c,) = part.components
                c = self.plan.leaving_implied(c, n.path)
                after, before = (tuple(u for u in n.path if u in side) for side in (part.after, part.before))
                step = ChainStep(c, after, before, (), None, near=self.plan.near(c, n.path[0]))
                found[n.number, part] = Node(len(self.nest.nodes) + len(found), step, (*n.path, c.variable), n)
        return found

    def _buffer(self, v: str) -> Buffer:
        return self.layout.buffer(self.component[v])

    @property
    def _by_partition(self) -> bool:
        """Whether places are counted by partition, so that they do not ascend along a buffer."""
        return isinstance(self.query.window, CountWindow) and bool(self.query.partition_by)

    def _nearest(self, variables: Iterable[str], *, last: bool) -> list[str]:
        """Those that no other one stands between."""
        vs = list(variables)
        return [v for v in vs if not any(((v, u) if last else (u, v)) in self.order for u in vs)]

    def _end(self, v: str, what: str, *, last: bool) -> str:
        """Rank or clock of the first or last event of a bound variable."""
        name = self.names[v]
        if not self.component[v].iterated:
            return f"{what}_{name}"
        array = "rank" if what == "r" else self.layout.clock
        return f"{array}[E_{name}[{f'd_{name} - 1' if last else '0'}]]"

    def _latest(self, variables: Iterable[str], what: str = "") -> str:
        return most("max", [self._end(v, what or self.rank, last=True) for v in self._nearest(variables, last=True)])

    def _earliest(self, variables: Iterable[str], what: str = "") -> str:
        return most("min", [self._end(v, what or self.rank, last=False) for v in self._nearest(variables, last=False)])

    def _within(self, out: Lines, clock: str, bound: Sequence[str], *, low: bool, high: bool = True) -> None:
        if self.span < 0 or not bound:
            return
        tests = [f"{clock} - {self._earliest(bound, 't')} > {self.span}"] if high else []
        tests += [f"{self._latest(bound, 't')} - {clock} > {self.span}"] if low else []
        if tests:
            with out.block(f"if {' or '.join(tests)}:", "WITHIN"):
                out.add("continue")

    def _key(self, node: Node) -> tuple[str, str, str] | None:
        """The key that candidates are found by: their column, and a bound variable with its column."""
        bound = node.parent.path if node.parent else ()
        if not self.plan.indexed or not bound:
            return None
        singles = [u for u in bound if not self.component[u].iterated]
        if self.query.partition_by:
            if not singles:
                return None
            near = [u for u in (*node.step.before, *node.step.after) if u in singles] or singles
            return PARTITION, near[0], PARTITION
        key = node.step.key
        return None if key is None else (key.column, key.other, key.other_column)

    def _partition(self, bound: Sequence[str]) -> str:
        u = self.names[bound[0]]
        return f"part[E_{u}[0]]" if self.component[bound[0]].iterated else f"p_{u}"

    def _same_partition(self, out: Lines, node: Node, bound: Sequence[str]) -> None:
        if self.query.partition_by and bound and self._key(node) is None:
            v = self.names[node.variable]
            with out.block(f"if p_{v} != {self._partition(bound)}:", "another partition"):
                out.add("continue")

    def _others(self, out: Lines, node: Node, bound: Sequence[str], event: str) -> None:
        """An event is bound once: those bound before that the order does not keep apart are left out."""
        mine = node.step.component
        for u in bound:
            c = self.component[u]
            apart = u in node.step.after or u in node.step.before
            if apart or (mine.types and c.types and not set(mine.types) & set(c.types)):
                continue
            name = self.names[u]
            test = f"contains(E_{name}, 0, d_{name}, {event})" if c.iterated else f"{event} == e_{name}"
            with out.block(f"if {test}:", remark(f"bound to {u}")):
                out.add("continue")

    def _cheap_first(self, conjuncts: Sequence[Conjunct]) -> list[Conjunct]:
        """Comparisons of scalars before anything that loops over the elements of lists."""
        return sorted(conjuncts, key=lambda j: 0 if isinstance(j.expr, Compare) and "dot" not in str(j) else 1)

    def _tests(self, out: Lines, conjuncts: Sequence[Conjunct]) -> None:
        for j in self._cheap_first(conjuncts):
            if self.counters:
                out.add("predicates += 1")
            with out.block(f"if not {self._text(j)}:", self._origin(j)):
                out.add("continue")

    def _leaf(self, leaf: Leaf) -> Code:
        assert isinstance(leaf, Ref)
        return self._single(leaf)

    def _single(self, r: Ref) -> Code:
        return self.layout.single(self._buffer(r.variable), self.names[r.variable], r)

    def _text(self, j: Conjunct) -> str:
        """A conjunct over single events; a negated list stands for any one of its events."""
        return true(j.expr, self._leaf, self.constants).value

    def _place(
        self, run: str = "", variable: str | None = None, event: str | None = None, begins: bool = False
    ) -> Place:
        runs = {v: (x, f"d_{self.names[v]}") for v, x in self.vectors.items()}
        return Place(
            ValueVector(),
            self.columns,
            self.constants,
            0,
            run,
            variable,
            event,
            begins,
            lists=runs,
            single=self._single,
        )

    def _origin(self, c: Conjunct) -> str:
        return origin(c, self.query.source)

    def _label(self, node: Node) -> str:
        c = node.step.component
        return remark(f"{'|'.join(c.types) or 'any'} {c.variable}")

    def _linked(self, other: str, column: str) -> Buffer:
        b = self._buffer(other)
        b.keys[column] = None
        return b

    def _loads(self, out: Lines, variables: Iterable[str], body: Lines) -> None:
        """Read what `body` uses of the events that variables are bound to."""
        text = body.code
        for variable in variables:
            v, b = self.names[variable], self._buffer(variable)
            loads = [(f"{x}_{v}", f"{b.name}_{x}") for x in self.layout.places]
            if self.query.partition_by:
                loads.append((f"p_{v}", f"{b.name}_p"))
            loads += [(f"{v}__{x}", f"{b.name}__{x}") for x in b.columns]
            for name, array in loads:
                if re.search(rf"\b{name}\b", text):
                    out.add(f"{name} = {array}[j_{v}]")

    def _iterated(self, node: Node) -> bool:
        return node.step.component.iterated


def most(function: str, texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{function}({', '.join(texts)})" if texts else ""
