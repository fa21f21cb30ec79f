"""Matches as generated code writes them down: `O_events` one after the other, `m` of them in `w` entries.

`O_offsets` and `O_codes` say where each begins and what its events are bound to, unless every match is alike.
"""

from __future__ import annotations

from contextlib import nullcontext

from augury.codegen.common.lines import Lines
from augury.codegen.lazy.known import Known
from augury.codegen.lazy.nest import Node
from augury.codegen.lazy.source import NO_ROOM_FOR_MATCHES
from augury.plan import LazyChainPlan

NO_ROOM = "no room: the caller makes some and comes back"


class Reports(Known):
    """Writes that."""

    def __init__(self, plan: LazyChainPlan, counters: bool) -> None:
        super().__init__(plan, counters)
        self.loud = False
        """Whether what is written now runs only when matches are wanted."""
        sizes = {len(b.components) for b in plan.branches}
        ordered = all(b.sequential for b in plan.branches)
        self.fixed = sizes.pop() if len(plan.branches) == 1 and ordered and not self.vectors else 0

    def _full(self, out: Lines, what: str) -> None:
        """Go back to the caller from where the outermost event was taken."""
        out.add("@full " + what)

    def _report(self, out: Lines, b: int) -> None:
        """The match that is bound."""
        branch = self.plan.branches[b]
        first = sum(len(x.components) for x in self.plan.branches[:b])
        with out.block("if quiet == 0:") if not self.loud else nullcontext():
            if self.fixed:
                self._room(out, str(self.fixed))
                self._write(out)
                out.add("m += 1")
                return
            singles = [c for c in branch.components if not c.iterated]
            lists = [self.names[c.variable] for c in branch.components if c.iterated]
            self._room(out, " + ".join([str(len(singles)), *(f"d_{v}" for v in lists)]), offsets=True)
            for c in branch.in_sequence:
                v, code = self.names[c.variable], first + branch.components.index(c)
                with out.block(f"for k in range(d_{v}):") if c.iterated else nullcontext():
                    out.add(f"O_events[w] = {f'E_{v}[k]' if c.iterated else f'e_{v}'}")
                    out.add(f"O_codes[w] = {code}")
                    out.add("w += 1")
            if not branch.sequential:
                out.add("sort_match(O_events, O_codes, O_offsets[m], w)")
            out.add("m += 1")
            out.add("O_offsets[m] = w")

    def _only_reports(self, node: Node) -> bool:
        """Whether an event that is taken here completes a match, and nothing else is to be done with it."""
        alone = not node.children and not node.step.absent and len(node.completes) == 1
        return bool(self.fixed) and self.loud and alone

    def _report_each(self, out: Lines, node: Node, span: str, size: str, event: str) -> None:
        """A match for each place `at` of a `span` of so many, where `event` is the last one that it binds."""
        v = self.names[node.variable]
        self._room(out, f"{self.fixed} * {size}")
        with out.block(f"for at_{v} in range({span}):", f"take {self._label(node)}"):
            out.add(f"e_{v} = {event}")
            self._write(out)
        out.add(f"m += {size}")
        if self.counters:
            out.add(f"seen{node.number} += {size}", "partial matches")

    def _write(self, out: Lines) -> None:
        (branch,) = self.plan.branches
        for k, c in enumerate(branch.in_sequence):
            out.add(f"O_events[natural(w + {k})] = e_{self.names[c.variable]}")
        out.add(f"w += {self.fixed}")

    def _room(self, out: Lines, size: str, *, offsets: bool = False) -> None:
        more = "m + 1 >= O_offsets.shape[0] or " if offsets else ""
        with out.block(f"if {more}w + {size} > O_events.shape[0]:"):
            out.comment(NO_ROOM)
            self._full(out, f"{NO_ROOM_FOR_MATCHES}")
