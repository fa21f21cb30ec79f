"""LazyChainPlan -> source of the chains: nested loops over input buffers, the rarest component outside.

`store` sorts new events into the buffers. `start_*` takes the new events of a first state and looks for the others in
the buffers, whatever their place in the pattern (paper 000, section 4). A partial match that events still to come may
complete is kept in the pool of its state; `resume_*` tries new events with the partial matches of earlier steps, and
`more_*` does so for lists. So every partial match is made once: when the last of its events arrives.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial

from augury.codegen.absence import emit_absences
from augury.codegen.expressions import Code, Leaf, true
from augury.codegen.inventory import (
    STREAM,
    columns_of,
    conjuncts_of,
    emitted_names,
    functions_of,
    strings_of,
    with_inner,
)
from augury.codegen.lazy_layout import PARTITION, Buffer, Layout
from augury.codegen.lazy_nest import Node, identifiers, nest
from augury.codegen.lines import Lines
from augury.codegen.reporting import span_of
from augury.codegen.runs import Place, ValueVector, updates
from augury.codegen.source import KernelSource, kernel_source
from augury.ir.predicate import Compare, Conjunct, Element, Ref
from augury.ir.query import CountWindow
from augury.plan import Absence, ChainStep, Component, LazyChainPlan
from augury.runtime.columns import ColumnSpec

MATCHES, ENTRIES, FULL = range(3)
"""Cells of `nums`: how many matches and events of matches there are, and what had no room left."""

NO_ROOM_FOR_MATCHES = 1
NO_ROOM_IN_POOL = 2
"""And higher numbers: 2 + n for the pool of node n."""

COUNTERS = ("predicates", "partial_matches", "peak_partial_matches", "buffer_writes")
"""The measures of paper 000, in cells 8 and following of `nums`."""

OUTPUT = ("O_offsets", "O_events", "O_codes")
"""Matches as they are found."""


@dataclass(frozen=True, slots=True)
class Pool:
    """The partial matches of a node that wait: `P<node>_<variable>` are positions in buffers, `t` their earliest clock.

    `heads` are the waiting children that find theirs by key.
    """

    node: int
    variables: tuple[str, ...]
    buffers: tuple[int, ...]
    heads: tuple[int, ...]

    @property
    def arrays(self) -> tuple[str, ...]:
        keyed = [f"P{self.node}_{x}{child}" for child in self.heads for x in ("id", "next", "head")]
        return (*(f"P{self.node}_{v}" for v in self.variables), f"P{self.node}__t", f"P{self.node}__p", *keyed)


@dataclass(frozen=True, slots=True)
class Entry:
    """A generated function to call for each step.

    `start` goes over new events of `buffer`, `resume` too, with the waiting partial matches of `pool`; `more` goes over
    these (over one empty match when there is no pool).
    """

    name: str
    kind: str
    buffer: int
    pool: int | None
    lists: tuple[int, ...] = ()
    """For `more`, the buffers of its lists."""


@dataclass(frozen=True, slots=True)
class LazyChainSource:
    """The generated kernel and what its caller must know to feed it."""

    source: KernelSource
    specs: tuple[ColumnSpec, ...]
    strings: tuple[str, ...]
    layout: Layout
    arrays: tuple[str, ...]
    pools: tuple[Pool, ...]
    entries: tuple[Entry, ...]
    lists: Mapping[str, tuple[int, int, int]]
    """Identifiers of iterated variables: their buffer, and the integer and float cells of their value vectors."""
    component_variables: tuple[str, ...]
    branch_of_component: tuple[int, ...]
    absent: tuple[tuple[Absence, ...], ...]
    negated: int
    functions: Mapping[str, tuple[str, ...]]
    fixed: int
    """The number of events of every match, where all have as many and are bound in order; else 0."""
    nodes: tuple[tuple[tuple[int, int], ...], ...]
    """For each counter of partial matches the (branch, step) pairs it counts."""
    buffer_of: Mapping[str, int]
    head_keys: Mapping[int, str]
    """The key columns by which the waiting partial matches of a node's parent are found."""


def emit_lazy_chain(plan: LazyChainPlan, *, counters: bool = False) -> LazyChainSource:
    """The kernel of a plan; the same plan gives the same text."""
    return _Emitter(plan, counters).emit()


class _Emitter:
    """Writes one kernel, twice: the first time tells which columns, indexes and cells the second one needs."""

    def __init__(self, plan: LazyChainPlan, counters: bool) -> None:
        self.plan, self.query, self.counters = plan, plan.query, counters
        components = [c for b in plan.branches for c in with_inner(b.components, b.absent)]
        self.tested = [*conjuncts_of(components), *plan.conjuncts]
        self.strings = strings_of(components, self.tested)
        self.specs, self.columns = columns_of(self.tested, plan.computed)
        self.nest = nest(plan)
        self.layout = Layout(plan.query, self.columns, self.specs, self.strings)
        self.names = identifiers([v.name for v in plan.query.variables])
        self.span = span_of(plan.query.window)
        self.vectors = {
            c.variable: ValueVector(suffix=f"_{self.names[c.variable]}")
            for b in plan.branches
            for c in b.components
            if c.iterated
        }
        self.component = {c.variable: c for c in components}
        sizes = {len(b.components) for b in plan.branches}
        ordered = all(len(b.order) == len(b.components) * (len(b.components) - 1) // 2 for b in plan.branches)
        self.fixed = sizes.pop() if len(plan.branches) == 1 and ordered and not self.vectors else 0
        self.out = Lines()
        self.entries: list[Entry] = []
        self.order: frozenset[tuple[str, str]] = frozenset()
        self.loud = False
        """Whether what is written now runs only when matches are wanted."""
        self.outer: set[int] = set()
        """The nodes whose ranges have been narrowed by the first event already."""

    def emit(self) -> LazyChainSource:
        for _ in range(2):
            self.out, self.entries = Lines(), []
            self._header()
            self.layout.store(self.out, self._arguments)
            self.layout.tally(self.out, self._stream)
            self._functions()
        negated = emit_absences(self.out, self.query, self.nest.after, self.columns, self.strings, self._stream)
        names = ("store", "tally", *(e.name for e in self.entries), *(("absent", "fits") if negated else ()))
        variables = [c.variable for b in self.plan.branches for c in b.components]
        return LazyChainSource(
            kernel_source(f"{self.out}\n".lstrip("\n"), names),
            self.specs,
            self.strings,
            self.layout,
            tuple(self._own_arrays),
            self._pools,
            tuple(self.entries),
            {
                self.names[v]: (self._buffer(v).number, max(1, len(x.integers)), max(1, len(x.floats)))
                for v, x in self.vectors.items()
            },
            tuple(variables),
            tuple(b for b, branch in enumerate(self.plan.branches) for _ in branch.components),
            self.nest.after,
            len(negated),
            functions_of(self.tested),
            self.fixed,
            tuple(self._counted(node) for node in self.nest.nodes),
            {v: self._buffer(v).number for v in variables},
            {n.number: key[0] for n in self.nest.nodes if (key := self._key(n)) is not None},
        )

    # -- names --------------------------------------------------------------------------------------------------------

    @property
    def _stream(self) -> str:
        return ", ".join([*STREAM, "string_rank", *emitted_names(self.specs)])

    @property
    def _own_arrays(self) -> list[str]:
        lists = [f"{x}_{self.names[v]}" for v in self.vectors for x in ("S", "E", "RI", "RF")]
        pools = [name for pool in self._pools for name in pool.arrays]
        return [*self.layout.arrays, *lists, "PF", "COUNT", "SEEN", *pools, *OUTPUT]

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

    def _buffer(self, v: str) -> Buffer:
        return self.layout.buffer(self.component[v])

    def _iterated(self, node: Node) -> bool:
        return node.step.component.iterated

    def _header(self) -> None:
        out = self.out
        for line in str(self.query.source.text).strip().splitlines():
            out.add(f"# {line}".rstrip())
        out.add("#")
        for k, branch in enumerate(self.plan.branches):
            out.add(f"# chain {k}: {', '.join(branch.evaluation)}; negation {self.plan.negation}")
        for b in self.layout.buffers:
            out.add(f"# {b.name}: input buffer of {', '.join(b.variables)}")

    # -- functions ----------------------------------------------------------------------------------------------------

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
        text = str(body)
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
                for register, _ in saved:
                    out.add(f"{register}_0 = {register}")
                for line in body.lines:
                    self._line(line, saved, head.split()[1])
            for register, cell in saved:
                out.add(f"{cell} = {register}")
            out.add("return r1")

    def _line(self, line: str, saved: Sequence[tuple[str, str]], at: str) -> None:
        """A line of a body; `@full` stands for going back to where the outermost event was taken."""
        if not line.lstrip().startswith("@full "):
            self.out.lines.append(line)
            return
        indent, what = line[: line.index("@")], line.split()[1]
        back = [*(f"{cell} = {register}_0" for register, cell in saved), f"nums[{FULL}] = {what}", f"return {at}"]
        self.out.lines += [indent + text for text in back]

    def _registers(self, text: str) -> list[tuple[str, str]]:
        """What a function counts while it runs, and where it is kept: written back at the end, or put back if full."""
        found = [("m", f"nums[{MATCHES}]"), ("w", f"nums[{ENTRIES}]")]
        found += [(f"f{pool.node}", f"PF[{pool.node}, 0]") for pool in self._pools if f"f{pool.node} += 1" in text]
        if self.counters:
            found += [("predicates", "nums[8]"), ("stored", "nums[11]")]
            found += [
                (f"seen{n.number}", f"SEEN[{n.number}]") for n in self.nest.nodes if f"seen{n.number} += 1" in text
            ]
        return found

    def _body(self) -> Lines:
        return Lines(depth=2)

    def _start(self, node: Node) -> None:
        v, b = self.names[node.variable], self._buffer(node.variable)
        body = self._body()
        inside = Lines(depth=2)
        deep = [n for child in node.children for x in child.children for n in x.branching if self._key(n) is None]
        for n in deep:
            self._outer_range(inside, n, node)
        self.outer = {n.number for n in deep}
        self._reached(inside, node=node, root=True)
        self.outer = set()
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
            with inside.block(f"if r_{v} <= {after}:", f"after {', '.join(c.after)}"):
                inside.add("continue")
        self._within(inside, f"t_{v}", bound, low=False)
        self._same_partition(inside, node, bound)
        self._tests(inside, node)
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
        self._list(inside, node, bound, fresh=False)
        body = self._body()
        if parent:
            for u in bound:
                body.add(f"j_{self.names[u]} = P{parent.number}_{self.names[u]}[q]")
            self._loads(body, bound, inside)
        body.lines += inside.lines
        lists = tuple(self._buffer(n.variable).number for n in node.branching)
        entry = Entry(f"more_{node.number}", "more", lists[0], parent.number if parent else None, lists)
        self._function(entry, "for q in range(r0, r1):", f"lists {self._label(node)}", body)

    def _label(self, node: Node) -> str:
        c = node.step.component
        return f"{'|'.join(c.types) or 'any'} {c.variable}"

    def _loads(self, out: Lines, variables: Iterable[str], body: Lines) -> None:
        """Read what `body` uses of the events that variables are bound to."""
        text = str(body)
        for variable in variables:
            v, b = self.names[variable], self._buffer(variable)
            loads = [(f"{x}_{v}", f"{b.name}_{x}") for x in ("e", "r", "t")]
            if self.query.partition_by:
                loads.append((f"p_{v}", f"{b.name}_p"))
            loads += [(f"{v}__{x}", f"{b.name}__{x}") for x in b.columns]
            for name, array in loads:
                if re.search(rf"\b{name}\b", text):
                    out.add(f"{name} = {array}[j_{v}]")

    # -- a state ------------------------------------------------------------------------------------------------------

    def _reached(self, out: Lines, *, node: Node, root: bool = False) -> None:
        """What follows when an event has been taken: look what must be absent, keep, go on, report."""
        for part in node.step.absent:
            self._first_chance(out, node, part)
        if self.counters:
            out.add(f"seen{node.number} += 1", "partial matches")
        self.order = node.order
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
                self._list(out, child, node.path, fresh=True)
            else:
                self._search(out, child, node.path, partial(self._reached, node=child), root)
            if idle:
                out.depth -= 1
                self.loud = False
        for branch in node.completes:
            self._report(out, branch)

    def _keep(self, out: Lines, node: Node) -> None:
        """Put the partial match into its pool, if an event to come may still be in its window."""
        p, earliest = f"P{node.number}", self._earliest_clock(node.path)
        test = "now < INT_MAX"
        if self.span >= 0:
            now = "now"
            if self._by_partition:
                now = f"COUNT[p_{self.names[node.path[0]]}]"
            test = f"now < INT_MAX and {now} - {earliest} <= {self.span}"
        with out.block(f"if {test}:", "it may wait for the stream"):
            with out.block(f"if f{node.number} >= {p}__t.shape[0]:"):
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

    def _linked(self, other: str, column: str) -> Buffer:
        b = self._buffer(other)
        b.keys[column] = None
        return b

    def _full(self, out: Lines, what: str) -> None:
        out.add("# no room: the caller makes some and comes back")
        out.add("@full " + what)

    def _report(self, out: Lines, b: int) -> None:
        branch = self.plan.branches[b]
        first = sum(len(x.components) for x in self.plan.branches[:b])
        singles = [c for c in branch.components if not c.iterated]
        lists = [self.names[c.variable] for c in branch.components if c.iterated]
        size = " + ".join([str(len(singles)), *(f"d_{v}" for v in lists)])
        with out.block("if quiet == 0:") if not self.loud else nullcontext():
            with out.block(f"if m + 1 >= O_offsets.shape[0] or w + {size} > O_events.shape[0]:"):
                self._full(out, f"{NO_ROOM_FOR_MATCHES}")
            depth = {v: sum(1 for _, later in branch.order if later == v) for v in self.component}
            for c in sorted(branch.components, key=lambda c: depth[c.variable]):
                v, code = self.names[c.variable], first + branch.components.index(c)
                if c.iterated:
                    with out.block(f"for k in range(d_{v}):"):
                        out.add(f"O_events[w] = E_{v}[k]")
                        out.add(f"O_codes[w] = {code}")
                        out.add("w += 1")
                else:
                    out.add(f"O_events[w] = e_{v}")
                    if not self.fixed:
                        out.add(f"O_codes[w] = {code}")
                    out.add("w += 1")
            n = len(branch.components)
            if len(branch.order) < n * (n - 1) // 2:
                out.add("sort_match(O_events, O_codes, O_offsets[m], w)")
            out.add("m += 1")
            out.add("O_offsets[m] = w")

    # -- looking for an event -----------------------------------------------------------------------------------------

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

    def _latest(self, variables: Iterable[str], what: str = "r") -> str:
        return _most("max", [self._end(v, what, last=True) for v in self._nearest(variables, last=True)])

    def _earliest(self, variables: Iterable[str], what: str = "r") -> str:
        return _most("min", [self._end(v, what, last=False) for v in self._nearest(variables, last=False)])

    def _earliest_clock(self, bound: Iterable[str]) -> str:
        return self._earliest(bound, "t")

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

    def _by_head(self, node: Node) -> bool:
        """Whether new events find the partial matches that wait for them by key."""
        return node.may_come and not node.step.component.iterated and self._key(node) is not None

    def _same_partition(self, out: Lines, node: Node, bound: Sequence[str]) -> None:
        if self.query.partition_by and bound and self._key(node) is None:
            v = self.names[node.variable]
            with out.block(f"if p_{v} != {self._partition(bound)}:", "another partition"):
                out.add("continue")

    def _partition(self, bound: Sequence[str]) -> str:
        u = self.names[bound[0]]
        return f"part[E_{u}[0]]" if self.component[bound[0]].iterated else f"p_{u}"

    def _search(self, out: Lines, node: Node, bound: Sequence[str], then: Callable[[Lines], None], root: bool) -> None:
        """The loop over the candidates of a state, and what happens `then` with each that passes its tests."""
        self.order = node.order
        v = self.names[node.variable]
        inside = Lines(depth=out.depth + 1)
        if self._by_partition:
            self._within(inside, f"t_{v}", bound, low=not node.step.after, high=not node.step.before)
        self._same_partition(inside, node, bound)
        self._others(inside, node, bound, f"e_{v}")
        self._tests(inside, node)
        then(inside)
        self.order = node.order
        key = self._key(node)
        if key is None:
            self._range(out, node, bound, root=root)
            out.add(f"for j_{v} in range(lo_{v}, hi_{v}):", f"take {self._label(node)}")
        else:
            self._walk(out, inside, node, bound, key)
        out.depth += 1
        self._loads(out, [node.variable], inside)
        out.lines += inside.lines
        out.depth -= 1

    def _outer_range(self, out: Lines, node: Node, root: Node) -> None:
        """Where an event of a later state may lie, by the first event alone; it ascends with the first ones."""
        v, b, first = self.names[node.variable], self._buffer(node.variable), root.variable
        fill, r = f"FILL[{b.number}]", self.names[first]
        within = self.span >= 0 and not self._by_partition
        base, top = f"base{node.number}_{v}", f"top{node.number}_{v}"
        if first in node.step.after:
            out.add(f"{base} = gallop_upper({b.name}_r, {base}, {fill}, r_{r})", f"after {first}")
        elif within:
            out.add(f"{base} = gallop_lower({b.name}_t, {base}, {fill}, t_{r} - {self.span})", "WITHIN")
        if first in node.step.before:
            out.add(f"{top} = gallop_lower({b.name}_r, {top}, {fill}, r_{r})", f"before {first}")
        elif within:
            out.add(f"{top} = gallop_upper({b.name}_t, {top}, {fill}, t_{r} + {self.span})", "WITHIN")
        else:
            out.add(f"{top} = {fill}")

    def _range(self, out: Lines, node: Node, bound: Sequence[str], *, root: bool) -> None:
        """`lo` and `hi`: where in its buffer an event may lie, by the ordering filters and the window."""
        v, b, step = self.names[node.variable], self._buffer(node.variable), node.step
        within = self.span >= 0 and not self._by_partition
        base, top = "0", f"FILL[{b.number}]"
        lower, upper = "lower_bound", "upper_bound"
        start = ""
        if root:
            # The events of a first state ascend, and with them the ranges of the next ones.
            base, start = f"from{node.number}_{v}", f"to{node.number}_{v}"
            lower, upper = "gallop_lower", "gallop_upper"
        elif node.number in self.outer:
            base, top = f"base{node.number}_{v}", f"top{node.number}_{v}"
        first = bound[0] if bound else ""
        narrowed = node.number in self.outer
        why, text, by = "", base, [""]
        if step.after:
            why, text = (
                f"after {', '.join(step.after)}",
                f"{upper}({b.name}_r, {base}, {top}, {self._latest(step.after)})",
            )
            by = self._nearest(step.after, last=True)
        elif within and bound:
            why, text = "WITHIN", f"{lower}({b.name}_t, {base}, {top}, {self._latest(bound, 't')} - {self.span})"
            by = self._nearest(bound, last=True)
        elif within:
            why, text = "WITHIN", f"{lower}({b.name}_t, {base}, {top}, {self.layout.clock}[i0] - {self.span})"
        out.add(f"lo_{v} = {base if narrowed and by == [first] else _kept(base, root) + text}", why)
        start = start or f"lo_{v}"
        why, text, by = "", top, [""]
        if step.before:
            earliest = self._earliest(step.before)
            why, text = f"before {', '.join(step.before)}", f"{lower}({b.name}_r, {start}, {top}, {earliest})"
            by = self._nearest(step.before, last=False)
        elif within and bound:
            why, text = "WITHIN", f"{upper}({b.name}_t, {start}, {top}, {self._earliest(bound, 't')} + {self.span})"
            by = self._nearest(bound, last=False)
        out.add(f"hi_{v} = {top if narrowed and by == [first] else _kept(start, root) + text}", why)

    def _walk(self, out: Lines, inside: Lines, node: Node, bound: Sequence[str], key: tuple[str, str, str]) -> None:
        """The head of a loop along the candidates with the same key, backwards where they lie before the other."""
        column, other, _ = key
        v, b, step = self.names[node.variable], self._buffer(node.variable), node.step
        backward = other in step.before
        q = self._start_of_walk(out, v, b, step, bound, key, backward=backward, lists=False)
        head: list[str] = [f"j_{v} = at_{v}", f"at_{v} = X{q}_{'prev' if backward else 'next'}[j_{v}]"]
        out.add(
            f"while at_{v} >= 0:",
            f"take {self._label(node)} with the same {column or ', '.join(self.query.partition_by)}",
        )
        stops = Lines(depth=inside.depth)
        for line in head:
            stops.add(line)
        late, early = "continue" if backward else "break", "break" if backward else "continue"
        if step.before:
            with stops.block(
                f"if {b.name}_r[j_{v}] >= {self._earliest(step.before)}:", f"before {', '.join(step.before)}"
            ):
                stops.add(late)
        elif self.span >= 0:
            with stops.block(f"if {b.name}_t[j_{v}] - {self._earliest(bound, 't')} > {self.span}:", "WITHIN"):
                stops.add(late)
        if step.after:
            with stops.block(f"if {b.name}_r[j_{v}] <= {self._latest(step.after)}:", f"after {', '.join(step.after)}"):
                stops.add(early)
        elif self.span >= 0:
            with stops.block(f"if {self._latest(bound, 't')} - {b.name}_t[j_{v}] > {self.span}:", "WITHIN"):
                stops.add(early)
        out.lines += stops.lines

    def _start_of_walk(
        self,
        out: Lines,
        v: str,
        b: Buffer,
        step: ChainStep,
        bound: Sequence[str],
        key: tuple[str, str, str],
        *,
        backward: bool,
        lists: bool,
    ) -> int:
        """Set `at` to the first candidate; the number of the index."""
        column, other, other_column = key
        u, owner = self.names[other], self._linked(other, other_column)
        q = self.layout.index(b, column)
        link = self.layout.link(owner, other_column, q)
        first = f"first_of(X{q}_first, {self.layout.key_of(owner, other_column, f'j_{u}')})"
        out.add(f"at_{v} = L{link}[j_{u}]")
        if backward:
            return q
        if other in step.after and not lists:
            out.add(f"at_{v} = X{q}_next[at_{v}] if at_{v} >= 0 else {first}")
            return q
        out.add(f"back_{v} = X{q}_prev[at_{v}] if at_{v} >= 0 else -1")
        inside = [f"back_{v} >= 0"]
        if step.after:
            inside.append(f"{b.name}_r[back_{v}] > {self._latest(step.after)}")
        elif self.span >= 0:
            inside.append(f"{self._latest(bound, 't')} - {b.name}_t[back_{v}] <= {self.span}")
        with out.block(f"while {' and '.join(inside)}:"):
            out.add(f"at_{v} = back_{v}")
            out.add(f"back_{v} = X{q}_prev[at_{v}]")
        with out.block(f"if at_{v} < 0:"):
            out.add(f"at_{v} = {first}")
        return q

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
            with out.block(f"if {test}:", f"bound to {u}"):
                out.add("continue")

    def _tests(self, out: Lines, node: Node) -> None:
        for j in self._cheap_first(node.step.component.take):
            if self.counters:
                out.add("predicates += 1")
            with out.block(f"if not {self._text(j)}:", self._origin(j)):
                out.add("continue")

    def _cheap_first(self, conjuncts: Sequence[Conjunct]) -> list[Conjunct]:
        """Comparisons of scalars before anything that loops over the elements of lists."""
        return sorted(conjuncts, key=lambda j: 0 if isinstance(j.expr, Compare) and "dot" not in str(j) else 1)

    def _single(self, r: Ref) -> Code:
        return self.layout.single(self._buffer(r.variable), self.names[r.variable], r)

    def _text(self, j: Conjunct) -> str:
        """A conjunct over single events; a negated list stands for any one of its events."""

        def read(leaf: Leaf) -> Code:
            assert isinstance(leaf, Ref)
            return self._single(leaf)

        return true(j.expr, read, self.strings)

    def _place(
        self, run: str = "", variable: str | None = None, event: str | None = None, begins: bool = False
    ) -> Place:
        runs = {v: (x, f"d_{self.names[v]}") for v, x in self.vectors.items()}
        return Place(
            ValueVector(), self.columns, self.strings, 0, run, variable, event, begins, lists=runs, single=self._single
        )

    def _origin(self, c: Conjunct) -> str:
        line, column = self.query.source.position(c.span.start)
        return f"{c}   ({self.query.source.name} {line}:{column})".replace("\n", " ")

    # -- what must be absent ------------------------------------------------------------------------------------------

    def _first_chance(self, out: Lines, node: Node, part: Absence) -> None:
        """Give up this partial match if the part occurs: its neighbours are bound."""
        (c,) = part.components
        gone = f"gone_{self.names[c.variable]}"
        after = tuple(u for u in node.path if u in part.after)
        before = tuple(u for u in node.path if u in part.before)
        looked_for = Node(-1, ChainStep(c, after, before, (), None), (*node.path, c.variable), node)

        def found(inside: Lines) -> None:
            inside.add(f"{gone} = True")
            inside.add("break")

        out.add(f"{gone} = False")
        self._search(out, looked_for, node.path, found, False)
        with out.block(f"if {gone}:", f"NOT({self._label(looked_for)})"):
            out.add("continue")

    # -- lists --------------------------------------------------------------------------------------------------------

    def _list(self, out: Lines, node: Node, bound: Sequence[str], *, fresh: bool) -> None:
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
                over += f" or {b.name}_r[at_{v}] >= {self._earliest(node.step.before)}"
            elif self.span >= 0:
                over += f" or {b.name}_t[at_{v}] - {self._earliest(bound, 't')} > {self.span}"
        if c.high is not None:
            over += f" or d_{v} >= {c.high}"
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
            if key is None and group is not None:
                with out.block(f"if d_{v} == 1:"):
                    out.add(f"at_{v} = X{q}_next[j_{v}]")
            out.add(f"ok = d_{v} >= {c.low}" if c.low > 1 else "ok = True")
            self._list_tests(out, c.whole, c, whole=True)
            with out.block("if ok:"):
                if self.counters:
                    out.add(f"seen{node.number} += 1", "partial matches")
                for child in node.children:
                    self._list(out, child, (*bound, c.variable), fresh=fresh)
                for branch in node.completes:
                    if fresh:
                        self._report(out, branch)
                    else:
                        lists = [u for u in (*bound, c.variable) if self.component[u].iterated]
                        ends = [f"E_{self.names[u]}[d_{self.names[u]} - 1] >= i0" for u in lists]
                        with out.block(f"if {' or '.join(ends)}:", "not found before"):
                            self._report(out, branch)

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
                    f"if {b.name}_r[j_{v}] <= {self._latest(step.after)}:", f"after {', '.join(step.after)}"
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
        first = updates(vector, self.columns, self.strings, c.variable, True, f"d_{v} + 1", f"e_{v}")
        later = updates(vector, self.columns, self.strings, c.variable, False, f"d_{v} + 1", f"e_{v}")
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
        text = true(j.expr, replace(at, walked=events).read, self.strings)
        out.add(f"ok = ok and {text}", self._origin(j))
        out.depth = depth


def _kept(name: str, keep: bool) -> str:
    """Assign to `name` too, from where the next search begins."""
    return f"{name} = " if keep else ""


def _most(function: str, texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{function}({', '.join(texts)})" if texts else ""
