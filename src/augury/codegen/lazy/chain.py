"""LazyChainPlan -> source of the chains: nested loops over input buffers, the rarest component outside.

`store` sorts new events into the buffers. `start_*` takes the new events of a first state and looks for the others in
the buffers, whatever their place in the pattern (paper 000, section 4). A partial match that events still to come may
complete is kept in the pool of its state; `resume_*` tries new events with the partial matches of earlier steps, and
`more_*` does so for lists. So every partial match is made once: when the last of its events arrives.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from augury.codegen.common.absence import emit_absences
from augury.codegen.common.constants import functions_of
from augury.codegen.common.inventory import stream_names
from augury.codegen.common.lines import Line, Lines
from augury.codegen.common.naming import heading, remark
from augury.codegen.lazy.lists import Lists
from augury.codegen.lazy.nest import Node
from augury.codegen.lazy.report import NO_ROOM
from augury.codegen.lazy.source import (
    ENTRIES,
    FULL,
    MATCHES,
    NO_ROOM_IN_POOL,
    OUTPUT,
    SO_FAR,
    STOPPED,
    Entry,
    LazyChainSource,
    Pool,
)
from augury.plan import Absence, LazyChainPlan
from augury.runtime.kernel_source import kernel_source


def emit_lazy_chain(plan: LazyChainPlan, *, counters: bool = False) -> LazyChainSource:
    """The kernel of a plan; the same plan gives the same text."""
    return _Emitter(plan, counters).emit()


class _Emitter(Lists):
    """Writes one kernel, twice: the first time tells which columns, indexes and cells the second one needs."""

    def __init__(self, plan: LazyChainPlan, counters: bool) -> None:
        super().__init__(plan, counters)
        self.out = Lines()
        self.entries: list[Entry] = []
        self.selectors, self.selected, self.event_alone = {}, {}, set()

    def emit(self) -> LazyChainSource:
        for _ in range(2):
            self.out, self.entries, self.selectors = Lines(), [], {}
            self._header()
            self.layout.store(self.out, self._arguments, self._frequent)
            self.layout.tally(self.out, self._stream)
            self._functions()
            for selector in self.selectors.values():
                self.out.lines += selector.lines
        negated = emit_absences(
            self.out, self.query, self.nest.after, self.columns, self.constants, self._stream, counters=self.counters
        )
        names = ("store", "tally", *(e.name for e in self.entries), *(("absent", "fits") if negated else ()))
        variables = [c.variable for b in self.plan.branches for c in b.components]
        return LazyChainSource(
            source=kernel_source(
                f"{self.out}\n".lstrip("\n"), names, self.constants.arrays, ranks_strings=self.constants.ranks_strings
            ),
            specs=self.specs,
            strings=self.constants.strings,
            layout=self.layout,
            arrays=tuple(self._own_arrays),
            pools=self._pools,
            entries=tuple(self.entries),
            lists={
                self.names[v]: (self._buffer(v).number, max(1, len(x.integers)), max(1, len(x.floats)))
                for v, x in self.vectors.items()
            },
            component_variables=tuple(variables),
            branch_of_component=tuple(b for b, branch in enumerate(self.plan.branches) for _ in branch.components),
            absent=self.nest.after,
            negated=len(negated),
            functions=functions_of(self.tested),
            fixed=self.fixed,
            nodes=tuple(self._counted(node) for node in self.nest.nodes),
            node_buffers={
                n.number: self._buffer(n.variable).number for n in (*self.nest.nodes, *self.negated.values())
            },
            buffer_of={v: self._buffer(v).number for v in variables},
            head_keys={n.number: key[0] for n in self.nest.nodes if (key := self._key(n)) is not None},
        )

    @property
    def _stream(self) -> str:
        return stream_names(self.constants, self.specs)

    @property
    def _frequent(self) -> list[str]:
        """The variables by how often their events come, as far as that is known, else as the chains suppose."""
        rates = self.plan.statistics.rates
        last_first = [v for b in self.plan.branches for v in reversed(b.evaluation)]
        negated = [v for v in self.component if v not in last_first]
        return sorted([*last_first, *negated], key=lambda v: -rates.get(v, 0.0))

    @property
    def _own_arrays(self) -> list[str]:
        lists = [f"{x}_{self.names[v]}" for v in self.vectors for x in ("S", "E", "RI", "RF")]
        pools = [name for pool in self._pools for name in pool.arrays]
        return [*self.layout.arrays, *self.selected, *lists, "PF", "COUNT", "SEEN", *pools, *OUTPUT]

    @property
    def _arguments(self) -> str:
        return f"nums, {self._stream}, {', '.join(self._own_arrays)}"

    @property
    def _pools(self) -> tuple[Pool, ...]:
        return tuple(
            Pool(
                n.number,
                tuple(self.names[v] for v in n.path),
                tuple(self._buffer(v).number for v in n.path),
                tuple(c.number for c in n.children if self._by_head(c)),
            )
            for n in self.nest.nodes
            if n.stores
        )

    def _counted(self, node: Node) -> tuple[tuple[int, int], ...]:
        found = []
        for b, branch in enumerate(self.plan.branches):
            steps, _ = self.plan.steps(branch)
            k = len(node.path) - 1
            if branch.evaluation[: k + 1] == node.path and steps[k] == node.step:
                found.append((b, k))
        return tuple(found)

    def _header(self) -> None:
        out = self.out
        for line in heading(self.query.source):
            out.comment(line)
        out.comment()
        for k, branch in enumerate(self.plan.branches):
            out.comment(remark(f"chain {k}: {', '.join(branch.evaluation)}; negation {self.plan.negation}"))
        for b in self.layout.buffers:
            out.comment(remark(f"{b.name}: input buffer of {', '.join(b.variables)}"))

    def _functions(self) -> None:
        for node in self.nest.nodes:
            if self._iterated(node):
                if node.waits and (node.parent is None or not self._iterated(node.parent)):
                    self._more(node)
            elif node.parent is None:
                self._start(node)
            elif node.may_come:
                self._resume(node)

    def _function(self, entry: Entry, head: str, why: str, body: Lines) -> None:
        out = self.out
        self.entries.append(entry)
        text = body.code
        out.add()
        out.add()
        out.add("@kernel")
        with out.block(f"def {entry.name}(r0, r1, i0, now, quiet, {self._arguments}):", why):
            saved = self._registers(text)
            for register, cell in saved:
                out.add(f"{register} = {cell}")
            for near in dict.fromkeys(re.findall(r"\b(?:from|to|base|top)\d+_\w+", text)):
                out.add(f"{near} = 0")
            with out.block(head):
                with out.block("if stopped(nums):"):
                    for register, cell in saved:
                        out.add(f"{cell} = {register}")
                    out.add(f"return {head.split()[1]}")
                for register, _ in saved:
                    out.add(f"{register}_0 = {register}")
                for line in body.lines:
                    self._line(line, saved, head.split()[1])
            for register, cell in saved:
                out.add(f"{cell} = {register}")
            out.add("return r1")

    def _line(self, line: Line, saved: Sequence[tuple[str, str]], at: str) -> None:
        """A line of a body; `@full` stands for going back to where the outermost event was taken."""
        if not line.text.startswith("@full "):
            self.out.lines.append(line)
            return
        what = line.text.split()[1]
        back = [*(f"{cell} = {register}_0" for register, cell in saved), f"nums[{FULL}] = {what}", f"return {at}"]
        back[:0] = [f"nums[{SO_FAR}] = m"]
        self.out.lines += [Line(line.depth, text, "") for text in back]

    def _registers(self, text: str) -> list[tuple[str, str]]:
        """What a function counts while it runs, and where it is kept: written back at the end, or put back if full."""
        found = [("m", f"nums[{MATCHES}]"), ("w", f"nums[{ENTRIES}]")]
        found += [(f"f{pool.node}", f"PF[{pool.node}, 0]") for pool in self._pools if f"f{pool.node} += 1" in text]
        if self.counters:
            found += [("predicates", "nums[8]"), ("bounds", "nums[12]"), ("stored", "nums[11]")]
            found += [
                (f"seen{n.number}", f"SEEN[{n.number}]") for n in self.nest.nodes if f"seen{n.number} += " in text
            ]
        return found

    def _body(self) -> Lines:
        return Lines(depth=2)

    def _start(self, node: Node) -> None:
        v, b = self.names[node.variable], self._buffer(node.variable)
        body = self._body()
        inside = Lines(depth=2)
        self._reached(inside, node=node, root=True)
        self._loads(body, [node.variable], inside)
        body.lines += inside.lines
        entry = Entry(f"start_{node.number}", "start", b.number, None)
        self._function(entry, f"for j_{v} in range(r0, r1):", f"take {self._label(node)}", body)

    def _resume(self, node: Node) -> None:
        v, b, parent = self.names[node.variable], self._buffer(node.variable), node.parent
        assert parent is not None
        p = f"P{parent.number}"
        self.order = node.order
        inside = Lines(depth=3)
        bound = parent.path
        c = node.step
        after = self._latest(c.after)
        if after:
            with inside.block(f"if {self.rank}_{v} <= {after}:", remark(f"after {', '.join(c.after)}")):
                inside.add("continue")
        self._within(inside, f"t_{v}", bound, low=False)
        self._same_partition(inside, node, bound)
        self._tests(inside, node.step.component.take)
        self._reached(inside, node=node)
        body = self._body()
        loop = Lines(depth=3)
        for u in bound:
            loop.add(f"j_{self.names[u]} = {p}_{self.names[u]}[q]")
        self._loads(loop, bound, inside)
        waiting = f"PF[{parent.number}, 1]"
        key = self._key(node)
        if key is None:
            body.add(f"for q in range({waiting}):")
        else:
            g = self.layout.key_of(self._linked(node.variable, key[0]), key[0], f"j_{v}")
            body.add(f"at_q = first_of({p}_head{node.number}, {g})")
            body.add("while at_q >= 0:")
            head = Lines(depth=3)
            head.add("q = at_q")
            head.add(f"at_q = {p}_next{node.number}[q]")
            with head.block(f"if q >= {waiting}:"):
                head.add("continue", "made in this step")
            loop.lines[:0] = head.lines
        loop.lines += inside.lines
        outer = self._body()
        self._loads(outer, [node.variable], loop)
        outer.lines += body.lines + loop.lines
        why = f"take {self._label(node)} from the stream"
        over = f"for j_{v} in range(r0, r1):"
        self._function(Entry(f"resume_{node.number}", "resume", b.number, parent.number), over, why, outer)

    def _more(self, node: Node) -> None:
        parent = node.parent
        bound = parent.path if parent else ()
        inside = Lines(depth=2)
        self._list(inside, node, bound, self._report, fresh=False)
        body = self._body()
        if parent:
            if self.span >= 0 and not self._by_partition:
                with body.block(f"if {self.layout.clock}[i0] - P{parent.number}__t[q] > {self.span}:", "WITHIN"):
                    body.add("continue")
            for u in bound:
                body.add(f"j_{self.names[u]} = P{parent.number}_{self.names[u]}[q]")
            self._loads(body, bound, inside)
        body.lines += inside.lines
        lists = tuple(self._buffer(n.variable).number for n in node.branching)
        entry = Entry(f"more_{node.number}", "more", lists[0], parent.number if parent else None, lists)
        self._function(entry, "for q in range(r0, r1):", f"lists {self._label(node)}", body)

    def _reached(self, out: Lines, *, node: Node, root: bool = False) -> None:
        """What follows when an event has been taken: look what must be absent, keep, go on, report."""
        for part in node.step.absent:
            self._first_chance(out, node, part)
        if self.counters:
            out.add(f"seen{node.number} += 1", "partial matches")
        self.order = node.order
        if node.children and not root:
            # One partial match may lead to more work than all before it.
            with out.block("if stopped(nums):"):
                self._full(out, f"{STOPPED}")
        if node.stores:
            self._keep(out, node)
        for child in node.children:
            # Where no partial match is kept, there is nothing to build up quietly.
            idle = not self.loud and not any(n.stores for n in child.branching)
            if idle:
                out.add("if quiet == 0:")
                out.depth += 1
                self.loud = True
            if self._iterated(child):
                self._list(out, child, node.path, self._report, fresh=True)
            else:
                self._search(out, child, node.path, partial(self._reached, node=child), root)
            if idle:
                out.depth -= 1
                self.loud = False
        for branch in node.completes:
            self._report(out, branch)

    def _keep(self, out: Lines, node: Node) -> None:
        """Put the partial match into its pool, if an event to come may still be in its window."""
        p, earliest = f"P{node.number}", self._earliest(node.path, "t")
        test = "now < INT_MAX"
        if self.span >= 0:
            now = "now"
            if self._by_partition:
                now = f"COUNT[p_{self.names[node.path[0]]}]"
            test = f"now < INT_MAX and {now} - {earliest} <= {self.span}"
        with out.block(f"if {test}:", "it may wait for the stream"):
            with out.block(f"if f{node.number} >= {p}__t.shape[0]:"):
                out.comment(NO_ROOM)
                self._full(out, f"{NO_ROOM_IN_POOL + node.number}")
            for u in node.path:
                out.add(f"{p}_{self.names[u]}[f{node.number}] = j_{self.names[u]}")
            out.add(f"{p}__t[f{node.number}] = {earliest}")
            if self.query.partition_by:
                out.add(f"{p}__p[f{node.number}] = p_{self.names[node.path[0]]}")
            for child in node.children:
                key = self._key(child)
                if key is not None and self._by_head(child):
                    _, other, column = key
                    g = self.layout.key_of(self._linked(other, column), column, f"j_{self.names[other]}")
                    n = child.number
                    out.add(f"g = {g}")
                    out.add(f"{p}_id{n}[f{node.number}] = g")
                    with out.block("if g >= 0:"):
                        out.add(f"{p}_next{n}[f{node.number}] = {p}_head{n}[g]")
                        out.add(f"{p}_head{n}[g] = f{node.number}")
            out.add(f"f{node.number} += 1")
            if self.counters:
                out.add("stored += 1")

    def _by_head(self, node: Node) -> bool:
        """Whether new events find the partial matches that wait for them by key."""
        return node.may_come and not node.step.component.iterated and self._key(node) is not None

    def _first_chance(self, out: Lines, node: Node, part: Absence) -> None:
        """Give up this partial match if the part occurs: its neighbours are bound."""
        looked_for = self.negated[node.number, part]
        gone = f"gone_{self.names[looked_for.variable]}"

        def found(inside: Lines) -> None:
            inside.add(f"{gone} = True")
            inside.add("break")

        out.add(f"{gone} = False")
        self._search(out, looked_for, node.path, found, False)
        with out.block(f"if {gone}:", f"NOT({self._label(looked_for)})"):
            out.add("continue")
