"""Candidates chosen many at a time: comparisons over a range of a buffer, written as loops that vectorise.

A selector fills a mask for the whole range, then writes down where it is set. Conditions of a later state that read
only the first event are tested once for each of those, and what passes is kept beside: in `H3_t`, `H3__c0_price`, ...
for state 3, in order, at the positions `F3` of its buffer.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from augury.codegen.common.lines import Lines
from augury.codegen.common.naming import remark
from augury.codegen.lazy.nest import Node
from augury.codegen.lazy.report import Reports
from augury.ir.predicate import Conjunct
from augury.plan.lazy_chain import vectorises

STRIDE = 32
"""Candidates that are tested side by side: a range is filled up to whole strides, by others that do not count."""


class Selections(Reports):
    """Writes selectors, and their calls."""

    selectors: dict[str, Lines]
    """By name: a state may be searched from several functions."""
    selected: dict[str, None]
    """The arrays that selectors write to."""
    event_alone: set[int]
    """The states of which nothing but the number of the event is read when it has been taken."""

    def _chosen(self, node: Node) -> tuple[Conjunct, ...]:
        """The conjuncts of a state that a selector tests."""
        if node.step.component.iterated or self._key(node) is not None:
            return ()
        if node in self.negated.values() and node.variable not in self.plan.kept:
            # One is enough: the others are not looked at.
            return ()
        if node.step.bounds or node.variable not in self.plan.selected:
            return ()
        return tuple(j for j in node.step.component.take if vectorises(j))

    def _kept_for_first(self, node: Node) -> tuple[Conjunct, ...]:
        """Those of them that read only the first event beside the state's own, if that is not the one before."""
        if len(node.path) < 3 or node.variable not in self.plan.kept:
            return ()
        return tuple(j for j in self._chosen(node) if set(j.variables) <= {node.path[0], node.variable})

    def _select(self, out: Lines, node: Node, conjuncts: Sequence[Conjunct], *, kept: bool) -> None:
        """Set `found` to the number of candidates between `lo` and `hi` that pass, whose places are in G or F."""
        v, n = self.names[node.variable], node.number
        prefix = f"H{n}" if kept else self._buffer(node.variable).name
        call = self._selector(f"{'choose' if kept else 'select'}_{n}", node, conjuncts, prefix, f"G{n}", ())
        out.add(f"found_{v} = {call.format(lo=f'lo_{v}', hi=f'hi_{v}')}", self._origins(conjuncts))
        if self.counters:
            out.add(f"predicates += {len(conjuncts)} * (hi_{v} - lo_{v})")

    def _keep_for_first(self, out: Lines, node: Node) -> None:
        """Set `kept` to the number of events that pass what the first event alone decides."""
        v, n, b = self.names[node.variable], node.number, self._buffer(node.variable)
        conjuncts = self._kept_for_first(node)
        rest = [j for j in self._chosen(node) if j not in conjuncts]
        copies = [
            *(f"_{x}" for x in self.layout.places if x != "e" or n in self.event_alone),
            *(f"__{x}" for x in self._columns_in(node, self._texts(rest))),
        ]
        call = self._selector(f"keep_{n}", node, conjuncts, b.name, f"F{n}", copies)
        text = call.format(lo=f"base{n}_{v}", hi=f"top{n}_{v}")
        out.add(f"kept{n}_{v} = {text}", self._origins(conjuncts))
        if self.counters:
            out.add(f"predicates += {len(conjuncts)} * (top{n}_{v} - base{n}_{v})")

    def _selector(
        self, name: str, node: Node, conjuncts: Sequence[Conjunct], prefix: str, found: str, copies: Sequence[str]
    ) -> str:
        """Write a selector; the text that calls it, with `lo` and `hi` left open."""
        v, b, n = self.names[node.variable], self._buffer(node.variable).name, node.number
        text = " & ".join(self._texts(conjuncts))
        columns = self._columns_in(node, [text])
        mine = {f"{v}__{x}" for x in columns}
        outer = list(dict.fromkeys(x for x in re.findall(r"\b\w+?__c\w+", text) if x not in mine))
        sources = [f"{b}{x}" for x in copies]
        kept = [f"H{n}{x}" for x in copies]
        arrays = [f"{prefix}__{x}" for x in columns]
        more = [x for x in sources if x not in arrays]
        arguments = ", ".join([*outer, *arrays, "MASK", found, *more, *kept])
        out = Lines()
        out.add()
        out.add()
        out.add("@kernel")
        with out.block(f"def {name}(lo, hi, {arguments}):", self._origins(conjuncts)):
            out.add("size = hi - lo")
            out.add(f"width = (size + {STRIDE - 1}) & -{STRIDE}")
            for x in columns:
                out.add(f"s__{x} = {prefix}__{x}[lo : lo + width]")
            with out.block("for k in range(width):"):
                for x in columns:
                    out.add(f"{v}__{x} = s__{x}[k]")
                out.add(f"MASK[k] = {text}")
            out.add(f"n = marked(MASK, size, lo, {found})")
            for source, copy in zip(sources, kept, strict=True):
                with out.block("for k in range(n):"):
                    out.add(f"{copy}[k] = {source}[{found}[k]]")
            out.add("return n")
        self.selectors[name] = out
        self.selected |= dict.fromkeys((found, *kept))
        return f"{name}({{lo}}, {{hi}}, {arguments})"

    def _texts(self, conjuncts: Sequence[Conjunct]) -> list[str]:
        return [self._text(j) for j in conjuncts]

    def _origins(self, conjuncts: Sequence[Conjunct]) -> str:
        return remark("; ".join(map(self._origin, conjuncts)))

    def _columns_in(self, node: Node, texts: Sequence[str]) -> list[str]:
        """The columns of the state's own event that texts read."""
        v, b = self.names[node.variable], self._buffer(node.variable)
        return [x for x in b.columns if any(re.search(rf"\b{v}__{x}\b", text) for text in texts)]
