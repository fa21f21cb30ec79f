"""Loops over the candidates of a state: a range of its buffer, those with the same key, or with fitting values."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from augury.codegen.common.expressions import value
from augury.codegen.common.lines import Line, Lines
from augury.codegen.common.naming import remark
from augury.codegen.lazy.known import most
from augury.codegen.lazy.layout import Buffer
from augury.codegen.lazy.near import Blocks
from augury.codegen.lazy.nest import Node
from augury.ir.predicate import Conjunct
from augury.plan import Bound, ChainStep, Near


@dataclass(frozen=True, slots=True)
class Manner:
    """How the candidates of a state are found."""

    key: tuple[str, str, str] | None
    """By walking along those with the same key."""
    chosen: tuple[Conjunct, ...]
    """What selectors test."""
    rest: tuple[Conjunct, ...]
    """What of that is tested now; the others were for the first event."""
    sorts: bool
    kept: bool
    """Among those that were kept for the first event."""
    near: Near | None
    noted: bool
    """Among those whose lists are near that of the first event, which is noted once for each of these."""

    @property
    def listed(self) -> bool:
        """Whether the places of those that pass are written down before they are taken."""
        return bool(self.rest) or self.sorts


class Searches(Blocks):
    """Writes them."""

    def _search(self, out: Lines, node: Node, bound: Sequence[str], then: Callable[[Lines], None], root: bool) -> None:
        """The loop over the candidates of a state, and what happens `then` with each that passes its tests."""
        self.order = node.order
        v, depth = self.names[node.variable], out.depth
        manner = self._manner(node)
        later = self._later(node) if root else []
        inside = Lines(depth=depth + 1 + bool(manner.listed and later))
        self._untested(inside, node, bound, manner)
        tested = bool(inside.lines)
        # What a selector tests is known when the loop begins.
        narrowed = [n for n in later if self._key(n) is None]
        self.outer |= {n.number for n in narrowed}
        self.kept |= {n.number for n in narrowed if self._kept_for_first(n)}
        then(inside)
        self.outer -= {n.number for n in later}
        self.kept -= {n.number for n in later}
        self.order = node.order
        alone = manner.kept and re.search(rf"\b([jprt]_{v}|{v}__\w+)\b", inside.code) is None
        if alone:
            self.event_alone.add(node.number)
        if manner.key is None:
            self._range(out, node, bound, root=root)
        if manner.listed:
            self._write_down(out, node, manner)
            if later:
                out.add(f"if found_{v} > 0:")
                out.depth += 1
        self._narrow(out, narrowed, bound, inside)
        if not tested and (manner.listed or manner.kept) and self._only_reports(node):
            self._report_all(out, node, manner)
        else:
            self._take(out, node, bound, manner, inside, alone=alone)
        out.depth = depth

    def _manner(self, node: Node) -> Manner:
        key, chosen, kept = self._key(node), self._chosen(node), node.number in self.kept
        rest = tuple(j for j in chosen if not kept or j not in self._kept_for_first(node))
        near = node.step.near if not chosen else None
        noted = near is not None and self._noted(node, near)
        return Manner(key, chosen, rest, key is None and bool(node.step.bounds), kept, near, noted)

    def _later(self, node: Node) -> list[Node]:
        """The states after a first one, and those of negated parts that are looked for at any of them."""
        later = [n for child in node.children for n in child.branching]
        numbers = [n.number for n in (node, *later)]
        return later + [found for (at, _), found in self.negated.items() if at in numbers]

    def _untested(self, out: Lines, node: Node, bound: Sequence[str], manner: Manner) -> None:
        """The tests of a candidate that are left when it has been found."""
        v = self.names[node.variable]
        if self._by_partition:
            self._within(out, f"t_{v}", bound, low=not node.step.after, high=not node.step.before)
        self._same_partition(out, node, bound)
        self._others(out, node, bound, f"e_{v}")
        known = (*manner.chosen, *([manner.near.conjunct] if manner.near is not None and manner.noted else []))
        tested = set(map(id, known))
        self._tests(out, [j for j in node.step.component.take if id(j) not in tested])

    def _write_down(self, out: Lines, node: Node, manner: Manner) -> None:
        """Set `found` to the number of candidates whose places are written down."""
        if manner.rest:
            self._select(out, node, manner.rest, kept=manner.kept)
        else:
            self._sorted_search(out, node, node.step.bounds)

    def _narrow(self, out: Lines, later: Sequence[Node], bound: Sequence[str], inside: Lines) -> None:
        """What the first event decides about later states, once for all that is `inside`."""
        for n in later:
            self._outer_range(out, n, bound[0])
            noted = f"noted{n.number}_{self.names[n.variable]}"
            if noted in inside.code:
                out.add(f"{noted} = False")
            if self._kept_for_first(n):
                self._keep_for_first(out, n)

    def _take(
        self, out: Lines, node: Node, bound: Sequence[str], manner: Manner, inside: Lines, *, alone: bool
    ) -> None:
        """The loop itself; `alone` if all that is read of an event is its number."""
        v = self.names[node.variable]
        if manner.key is not None:
            self._walk(out, inside, node, bound, manner.key)
        elif manner.listed or manner.kept:
            span, _, at = self._places(node, manner)
            out.add(f"for at_{v} in range({span}):", f"take {self._label(node)}")
            place = f"j_{v} = {f'F{node.number}[{at}]' if manner.kept else at}"
            self._first_line(out, f"e_{v} = H{node.number}_e[{at}]" if alone else place)
        elif manner.near is not None:
            self._abreast(out, node, manner.near, noted=manner.noted)
        else:
            out.add(f"for j_{v} in range(lo_{v}, hi_{v}):", f"take {self._label(node)}")
        out.depth += 1
        self._loads(out, [] if alone else [node.variable], inside)
        out.lines += inside.lines

    def _report_all(self, out: Lines, node: Node, manner: Manner) -> None:
        """The loop where each candidate found is a match."""
        span, size, at = self._places(node, manner)
        source = f"H{node.number}" if manner.kept else self._buffer(node.variable).name
        self._report_each(out, node, span, size, f"{source}_e[{at}]")

    def _places(self, node: Node, manner: Manner) -> tuple[str, str, str]:
        """What `at` ranges over, how many that are, and the place of a candidate, in what was kept if that was."""
        v = self.names[node.variable]
        if not manner.listed:
            return f"lo_{v}, hi_{v}", f"(hi_{v} - lo_{v})", f"at_{v}"
        return f"found_{v}", f"found_{v}", f"{'G' if manner.rest else 'Y'}{node.number}[at_{v}]"

    def _first_line(self, out: Lines, text: str) -> None:
        """The first line of a loop whose head has just been written."""
        out.lines.append(Line(out.depth + 1, text, ""))

    def _outer_range(self, out: Lines, node: Node, first: str) -> None:
        """Where an event of a later state may lie, by the first event alone; it ascends with the first ones."""
        v, b = self.names[node.variable], self._buffer(node.variable)
        fill, r = f"FILL[{b.number}]", self.names[first]
        within = self.span >= 0 and not self._by_partition
        base, top = f"base{node.number}_{v}", f"top{node.number}_{v}"
        if first in node.step.after:
            out.add(
                f"{base} = next_upper({b.name}_{self.rank}, {base}, {fill}, {self.rank}_{r})", remark(f"after {first}")
            )
        elif within:
            out.add(f"{base} = next_lower({b.name}_t, {base}, {fill}, t_{r} - {self.span})", "WITHIN")
        if first in node.step.before:
            out.add(
                f"{top} = next_lower({b.name}_{self.rank}, {top}, {fill}, {self.rank}_{r})", remark(f"before {first}")
            )
        elif within:
            out.add(f"{top} = next_upper({b.name}_t, {top}, {fill}, t_{r} + {self.span})", "WITHIN")
        else:
            out.add(f"{top} = {fill}")

    def _range(self, out: Lines, node: Node, bound: Sequence[str], *, root: bool) -> None:
        """`lo` and `hi`: where in its buffer an event may lie, by the ordering filters and the window."""
        v, b, step = self.names[node.variable], self._buffer(node.variable), node.step
        within = self.span >= 0 and not self._by_partition
        base, top, arrays = "0", f"FILL[{b.number}]", b.name
        lower, upper = "within_lower", "within_upper"
        start = ""
        if root:
            # The events of a first state ascend, and with them the ranges of the next ones.
            base, start = f"from{node.number}_{v}", f"to{node.number}_{v}"
            lower, upper = "next_lower", "next_upper"
        elif node.number in self.kept:
            top, arrays = f"kept{node.number}_{v}", f"H{node.number}"
        elif node.number in self.outer:
            base, top = f"base{node.number}_{v}", f"top{node.number}_{v}"
        first = bound[0] if bound else ""
        narrowed = node.number in self.outer
        why, text, by = "", base, [""]
        if step.after:
            why, text = (
                remark(f"after {', '.join(step.after)}"),
                f"{upper}({arrays}_{self.rank}, {base}, {top}, {self._latest(step.after)})",
            )
            by = self._nearest(step.after, last=True)
        elif within and bound:
            why, text = "WITHIN", f"{lower}({arrays}_t, {base}, {top}, {self._latest(bound, 't')} - {self.span})"
            by = self._nearest(bound, last=True)
        elif within:
            why, text = "WITHIN", f"{lower}({arrays}_t, {base}, {top}, {self.layout.clock}[i0] - {self.span})"
        out.add(f"lo_{v} = {base if narrowed and by == [first] else _kept(base, root) + text}", why)
        start = start or f"lo_{v}"
        why, text, by = "", top, [""]
        if step.before:
            earliest = self._earliest(step.before)
            why, text = (
                remark(f"before {', '.join(step.before)}"),
                f"{lower}({arrays}_{self.rank}, {start}, {top}, {earliest})",
            )
            by = self._nearest(step.before, last=False)
        elif within and bound:
            why, text = "WITHIN", f"{upper}({arrays}_t, {start}, {top}, {self._earliest(bound, 't')} + {self.span})"
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
            remark(f"take {self._label(node)} with the same {column or ', '.join(self.query.partition_by)}"),
        )
        stops = Lines(depth=inside.depth)
        for line in head:
            stops.add(line)
        late, early = "continue" if backward else "break", "break" if backward else "continue"
        if step.before:
            with stops.block(
                f"if {b.name}_{self.rank}[j_{v}] >= {self._earliest(step.before)}:",
                remark(f"before {', '.join(step.before)}"),
            ):
                stops.add(late)
        elif self.span >= 0:
            with stops.block(f"if {b.name}_t[j_{v}] - {self._earliest(bound, 't')} > {self.span}:", "WITHIN"):
                stops.add(late)
        if step.after:
            with stops.block(
                f"if {b.name}_{self.rank}[j_{v}] <= {self._latest(step.after)}:",
                remark(f"after {', '.join(step.after)}"),
            ):
                stops.add(early)
        elif self.span >= 0:
            with stops.block(f"if {self._latest(bound, 't')} - {b.name}_t[j_{v}] > {self.span}:", "WITHIN"):
                stops.add(early)
        out.lines += stops.lines

    def _sorted_search(self, out: Lines, node: Node, bounds: Sequence[Bound]) -> None:
        """Set `found` to the number of candidates that comparisons leave, by sorted blocks; their places are in Y."""
        v, b, column = self.names[node.variable], self._buffer(node.variable), bounds[0].column
        z, x = self.layout.sorting(b, column), self.columns.names[column]
        low = most("max", [self._limit(bound) for bound in bounds if ">" in bound.operator]) or "-inf"
        high = most("min", [self._limit(bound) for bound in bounds if "<" in bound.operator]) or "inf"
        arrays = f"{b.name}__{x}, Z{z}_order, SORTED[{z}], lo_{v}, hi_{v}, {low}, {high}, Y{node.number}"
        out.add(
            f"found_{v} = sorted_between({arrays})", remark("; ".join(f"{column} {b.operator} ..." for b in bounds))
        )
        if self.counters:
            out.add(f"predicates += looked_at(SORTED[{z}], lo_{v}, hi_{v})")
        self.selected[f"Y{node.number}"] = None

    def _limit(self, bound: Bound) -> str:
        """What the column is at least, or at most; a little less, or more, where a sum is rounded."""
        known = value(bound.value, self._leaf, self.constants).as_float()
        if bound.shift is None:
            return known
        shift = value(bound.shift, self._leaf, self.constants).as_float()
        rounded = "least_with" if ">" in bound.operator else "most_with"
        return f"{rounded}({known}, {f'-({shift})' if bound.less else shift})"

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
            inside.append(f"{b.name}_{self.rank}[back_{v}] > {self._latest(step.after)}")
        elif self.span >= 0:
            inside.append(f"{self._latest(bound, 't')} - {b.name}_t[back_{v}] <= {self.span}")
        with out.block(f"while {' and '.join(inside)}:"):
            out.add(f"at_{v} = back_{v}")
            out.add(f"back_{v} = X{q}_prev[at_{v}]")
        with out.block(f"if at_{v} < 0:"):
            out.add(f"at_{v} = {first}")
        return q


def _kept(name: str, keep: bool) -> str:
    """Assign to `name` too, from where the next search begins."""
    return f"{name} = " if keep else ""
