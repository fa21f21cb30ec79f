"""Candidates compared by their lists, 64 at a time: by whole lists in blocks, or by what leads them.

Those that are near a list of the first event are noted once for each of these, as bits: in `N3` for state 3.
"""

from __future__ import annotations

from augury.codegen.common.lines import Lines
from augury.codegen.common.naming import constant, remark
from augury.codegen.lazy.nest import Node
from augury.codegen.lazy.select import Selections
from augury.native.prelude_lists import ABREAST
from augury.plan import Near
from augury.runtime.cosines import LEADING

SHIFT = ABREAST.bit_length() - 1
"""What divides a position by the size of a block."""


class Blocks(Selections):
    """Writes the comparisons, and the loop over what they leave."""

    def _abreast(self, out: Lines, node: Node, near: Near, *, noted: bool) -> None:
        """The head of a loop over the candidates whose lists may be near another one; 64 of them are asked at a time.

        What they are found by is tested again, since rounding may decide it, unless that was done when they were noted.
        """
        v, n = self.names[node.variable], node.number
        compared = "bounds" if near.led else "predicates"
        if noted:
            with out.block(f"if not noted{n}_{v}:", remark(f"{self._label(node)} near {near.other.variable}")):
                self._note(out, node, near)
                if self.counters:
                    out.add(f"{compared} += top{n}_{v} - base{n}_{v}")
            bits = f"int(N{n}[base_{v} >> {SHIFT}]) & places(base_{v}, lo_{v}, hi_{v})"
        else:
            self._limit_near(out, node, near)
            bits = self._near(node, near, f"base_{v}", f"lo_{v}", f"hi_{v}")
        out.add(f"base_{v} = (lo_{v} & -{ABREAST}) - {ABREAST}")
        out.add(f"bits_{v} = 0")
        why = f"take {self._label(node)}, {ABREAST} at a time"
        out.add(f"while bits_{v} != 0 or base_{v} + {ABREAST} < hi_{v}:", why)
        inside = Lines(depth=out.depth + 1)
        with inside.block(f"if bits_{v} == 0:", self._origin(near.conjunct)):
            inside.add(f"base_{v} += {ABREAST}")
            inside.add(f"bits_{v} = {bits}")
            if self.counters and not noted:
                inside.add(f"{compared} += max(0, min(hi_{v}, base_{v} + {ABREAST}) - max(lo_{v}, base_{v}))")
            inside.add("continue")
        inside.add(f"j_{v} = base_{v} + lowest(bits_{v})")
        inside.add(f"bits_{v} = without_lowest(bits_{v})")
        out.lines += inside.lines

    def _note(self, out: Lines, node: Node, near: Near) -> None:
        """Set the bits of those that are near."""
        v, n, b = self.names[node.variable], node.number, self._buffer(node.variable)
        base, top = f"base{n}_{v}", f"top{n}_{v}"
        self._limit_near(out, node, near)
        with out.block(f"for at_{v} in range({base} >> {SHIFT}, ({top} + {ABREAST - 1}) >> {SHIFT}):"):
            out.add(f"bits_{v} = near_{v} = {self._near(node, near, f'at_{v} << {SHIFT}', base, top)}")
            with out.block(f"while bits_{v} != 0:"):
                out.add(f"e_{v} = {b.name}_e[(at_{v} << {SHIFT}) + lowest(bits_{v})]")
                out.add(f"rest_{v} = without_lowest(bits_{v})")
                if self.counters:
                    out.add("predicates += 1")
                with out.block(f"if not {self._text(near.conjunct)}:", self._origin(near.conjunct)):
                    out.add(f"near_{v} ^= bits_{v} ^ rest_{v}")
                out.add(f"bits_{v} = rest_{v}")
            out.add(f"N{n}[at_{v}] = near_{v}")
        out.add(f"noted{n}_{v} = True")
        self.selected[f"N{n}"] = None

    def _noted(self, node: Node, near: Near) -> bool:
        """Whether a list of the first event decides, and the state is searched for several partial matches with it."""
        return near.other.variable == node.path[0] and len(node.path) > 2 and node.number in self.outer

    def _limit_near(self, out: Lines, node: Node, near: Near) -> None:
        v, d = self.names[node.variable], self._turning(node, near)
        x, e = self.columns.names[near.other.column], f"e_{self.names[near.other.variable]}"
        other = f"{x}_offsets, {x}_values, {x}_null, {e}"
        size = f"{x}_offsets[{e} + 1] - {x}_offsets[{e}]"
        out.add(f"squares_{v} = dot({other}, {other})")
        out.add(f"limit_{v} = least_near({constant(near.least)}, squares_{v}, {size}, WIDTH[{d}, 0])")
        if near.led:
            row = f"{x}_values, {x}_offsets[{e}], WIDTH[{d}, 0], C{d}, {float(near.sign)}, LED, {self._led(node)}"
            with out.block(f"if abs(limit_{v}) < inf:", "what leads it"):
                led = f"LED[{self._led(node) + LEADING}]"
                out.add(f"{led} = rest_of(squares_{v}, coefficients({row}), WIDTH[{d}, 0])")

    def _near(self, node: Node, near: Near, base: str, lo: str, hi: str) -> str:
        v, d = self.names[node.variable], self._turning(node, near)
        x, e = self.columns.names[near.other.column], f"e_{self.names[near.other.variable]}"
        if near.led:
            return f"near(D{d}, {LEADING + 1}, {base}, {lo}, {hi}, LED, {self._led(node)}, 1.0, limit_{v})"
        row = f"{x}_values, {x}_offsets[{e}], {float(near.sign)}, limit_{v}"
        return f"near(D{d}, WIDTH[{d}, 0], {base}, {lo}, {hi}, {row})"

    def _turning(self, node: Node, near: Near) -> int:
        return self.layout.turning(self._buffer(node.variable), near.own.column, led=near.led)

    def _led(self, node: Node) -> int:
        """Where what leads the list is put that candidates of a state are compared with; the first place is taken."""
        return (node.number + 1) * (LEADING + 1)
