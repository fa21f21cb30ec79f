"""Conjuncts as statements: each names where it comes from, and the first that fails ends the test."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace

from augury.codegen.common.expressions import leaves, true
from augury.codegen.common.lines import Lines
from augury.codegen.common.naming import origin
from augury.codegen.common.runs import ReadSite
from augury.ir.predicate import Conjunct, ListLength
from augury.native.cells import Cell
from augury.plan import Component
from augury.runtime.identifiers import identifier
from augury.source import Source

NODE_CHAIN = "node_event, node_before, node_component"
"""The arrays of the match buffer that lead back along one history."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """The conditions tested at one component; `codes` are the numbers of the branch's components by variable."""

    component: Component
    at: ReadSite
    codes: Mapping[str, int]
    source: Source
    counters: bool

    @property
    def names(self) -> dict[str, str]:
        """The identifiers of the branch's variables."""
        return {v: identifier("v", code, v) for v, code in self.codes.items()}

    def __post_init__(self) -> None:
        # What is read of the events before decides what a run must remember.
        at = replace(self.at, variable=self.component.variable, event="i")
        for begins in (True, False) if self.component.iterated else (True,):
            for c in self.component.tested(begins=begins):
                for _, where, walk in self._tests(c, replace(at, begins=begins)):
                    self._declare(c, where, walk)
        for c in self.component.whole:
            self._declare(c, self.at, c.each)

    def _declare(self, c: Conjunct, at: ReadSite, walk: Collection[str]) -> None:
        """Ask the value vector for every cell that `c` reads, when the lists `walk` are gone through."""
        at = replace(at, walked=dict.fromkeys(walk, ("", "")))
        for leaf in leaves(c.expr):
            at.read(leaf)

    def _tests(self, c: Conjunct, at: ReadSite) -> Iterator[tuple[str, ReadSite, frozenset[str]]]:
        """When `c` is tested for an event that joins (always without a text), where, and by which lists it is walked.

        A conjunct that names elements by their number is decided with the last of these, for all elements so far.
        """
        v = self.component.variable
        number = c.decided_at.get(v)
        if number is None:
            yield "", at, c.each - {v}
            return
        length, now = at.read(ListLength(v)).value, replace(at, number=number)
        yield f"{length} == {number - 1}", now, c.each - {v}
        if v in c.each:
            yield f"{length} == {number - 1}", now, c.each
            yield f"{length} >= {number}", at, c.each - {v}

    @staticmethod
    def text(c: Conjunct, at: ReadSite) -> str:
        return true(c.expr, at.read, at.constants).value

    def take(self, out: Lines, name: str, run: str, *, begins: bool) -> None:
        """Statements that set `name` to false when event i cannot join the component."""
        v = self.component.variable
        at = replace(self.at, run=run, variable=v, event="i", begins=begins)
        for c in self.component.tested(begins=begins):
            for when, where, walk in self._tests(c, at):
                with out.block(f"if {name} and {when}:") if when else nullcontext():
                    self.test(out, name, c, where, sorted(walk), run)

    def whole(self, out: Lines, name: str, run: str) -> None:
        """Statements that set `name` to false when the list cannot end here."""
        at = replace(self.at, run=run)
        v = self.component.variable
        for c in self.component.whole:
            # One that names elements of the list by their number is decided already, unless it has fewer.
            shorter = f"{at.read(ListLength(v)).value} < {c.decided_at[v]}" if v not in c.whole else ""
            with out.block(f"if {name} and {shorter}:") if shorter else nullcontext():
                self.test(out, name, c, at, sorted(c.each), run)

    def test(self, out: Lines, name: str, c: Conjunct, at: ReadSite, walk: list[str], run: str) -> None:
        """Statements that set `name` to false when `c` does not hold, for every element of the lists `walk`."""
        if self.counters:
            with out.block(f"if {name}:"):
                out.add(f"nums[{Cell.PREDICATES}] += 1", "predicate evaluations")
        if not walk:
            out.add(f"{name} = {name} and {self.text(c, at)}", self.origin(c))
            return
        at.vector.walked = max(at.vector.walked, len(walk))
        with out.block(f"if {name}:", self.origin(c)):
            for depth, v in enumerate(walk):
                out.add(
                    f"n_{self.names[v]} = gather(run_node[{run}], {self.codes[v]}, {NODE_CHAIN}, list_event[{depth}])"
                )
            self._walk(out, name, c, at, walk, 0)

    def _walk(self, out: Lines, name: str, c: Conjunct, at: ReadSite, walk: list[str], depth: int) -> None:
        """A loop over the elements of each list that the conjunct holds for every one of."""
        if depth == len(walk):
            with out.block(f"if not {self.text(c, at)}:"):
                out.add(f"{name} = False")
                out.add("break")
            return
        v = walk[depth]
        first = 1 if v in c.from_second else 0
        k, n = f"k_{self.names[v]}", f"n_{self.names[v]}"
        with out.block(f"for {k} in range({first}, {n}):"):
            events = (f"list_event[{depth}, {k}]", f"list_event[{depth}, {k} - 1]")
            self._walk(out, name, c, replace(at, walked={**at.walked, v: events}), walk, depth + 1)
            if depth + 1 < len(walk):
                with out.block(f"if not {name}:"):
                    out.add("break")

    def origin(self, c: Conjunct) -> str:
        """The conjunct as text, and where it was written."""
        return origin(c, self.source)
