"""Candidates compared by their lists, 64 at a time: by whole lists in blocks, or by their leading coefficients.

Those that are near a list of the first event are noted once for each of these, as bits: in `N3` for state 3.
"""

from __future__ import annotations

from augury.codegen.common.naming import remark
from augury.codegen.lazy.body import Body
from augury.codegen.lazy.conditions import condition
from augury.codegen.lazy.context import Context, Scope
from augury.codegen.lazy.nest import Node
from augury.native.prelude_lists import BLOCK_LISTS
from augury.plan import NearLists
from augury.runtime.cosines import LEADING

BLOCK_SHIFT = BLOCK_LISTS.bit_length() - 1
"""A position shifted right by so many bits is the number of its block."""


def noted_for_first(node: Node, near: NearLists, scope: Scope) -> bool:
    """Whether a list of the first event decides, and the state is searched for several partial matches with it."""
    return near.other.variable == node.path[0] and len(node.path) > 2 and node.number in scope.narrowed


def scan_blocks(ctx: Context, out: Body, node: Node, near: NearLists, *, noted: bool) -> None:
    """The head of a loop over the candidates whose lists may be near another one; 64 of them are asked at a time.

    The conjunct is tested again for each, since rounding may decide it, unless that was done when they were `noted`.
    """
    v, n = ctx.names[node.variable], node.number
    compared = "bounds" if near.led else "predicates"
    if noted:
        flag = f"noted{n}_{v}"
        out.flags.add(flag)
        with out.block(f"if not {flag}:", remark(f"{ctx.label(node)} near {near.other.variable}")):
            _note(ctx, out, node, near)
            if ctx.counters:
                out.add(f"{compared} += top{n}_{v} - base{n}_{v}")
        bits = f"int(near{n}[base_{v} >> {BLOCK_SHIFT}]) & places(base_{v}, lo_{v}, hi_{v})"
    else:
        _set_limit(ctx, out, node, near)
        bits = _near(ctx, out, node, near, f"base_{v}", f"lo_{v}", f"hi_{v}")
    out.add(f"base_{v} = (lo_{v} & -{BLOCK_LISTS}) - {BLOCK_LISTS}")
    out.add(f"bits_{v} = 0")
    why = f"take {ctx.label(node)}, {BLOCK_LISTS} at a time"
    out.add(f"while bits_{v} != 0 or base_{v} + {BLOCK_LISTS} < hi_{v}:", why)
    inside = Body(depth=out.depth + 1)
    with inside.block(f"if bits_{v} == 0:", ctx.origin(near.conjunct)):
        inside.add(f"base_{v} += {BLOCK_LISTS}")
        inside.add(f"bits_{v} = {bits}")
        if ctx.counters and not noted:
            inside.add(f"{compared} += max(0, min(hi_{v}, base_{v} + {BLOCK_LISTS}) - max(lo_{v}, base_{v}))")
        inside.add("continue")
    inside.add(f"j_{v} = base_{v} + lowest(bits_{v})")
    inside.add(f"bits_{v} = without_lowest(bits_{v})")
    out.include(inside)


def _note(ctx: Context, out: Body, node: Node, near: NearLists) -> None:
    """Set the bits of the candidates whose lists are near the list of the bound event."""
    v, n, b = ctx.names[node.variable], node.number, ctx.buffer(node.variable)
    base, top = out.cursor(f"base{n}_{v}"), out.cursor(f"top{n}_{v}")
    _set_limit(ctx, out, node, near)
    blocks = f"range({base} >> {BLOCK_SHIFT}, ({top} + {BLOCK_LISTS - 1}) >> {BLOCK_SHIFT})"
    with out.block(f"for at_{v} in {blocks}:"):
        out.add(f"bits_{v} = near_{v} = {_near(ctx, out, node, near, f'at_{v} << {BLOCK_SHIFT}', base, top)}")
        with out.block(f"while bits_{v} != 0:"):
            out.add(f"e_{v} = {b.name}_e[(at_{v} << {BLOCK_SHIFT}) + lowest(bits_{v})]")
            out.add(f"rest_{v} = without_lowest(bits_{v})")
            if ctx.counters:
                out.add("predicates += 1")
            with out.block(f"if not {condition(ctx, out, near.conjunct)}:", ctx.origin(near.conjunct)):
                out.add(f"near_{v} ^= bits_{v} ^ rest_{v}")
            out.add(f"bits_{v} = rest_{v}")
        out.add(f"near{n}[at_{v}] = near_{v}")
    out.add(f"noted{n}_{v} = True")
    ctx.candidate_blocks(node, f"near{n}")


def _set_limit(ctx: Context, out: Body, node: Node, near: NearLists) -> None:
    """Set `limit`: how large a dot product has to be for the lists to be near, rounding allowed for."""
    v, d = ctx.names[node.variable], _blocks(ctx, node, near)
    x, e = ctx.columns.names[near.other.column], out.local(f"e_{ctx.names[near.other.variable]}")
    other = f"{x}_offsets, {x}_values, {x}_null, {e}"
    size = f"{x}_offsets[{e} + 1] - {x}_offsets[{e}]"
    out.add(f"squares_{v} = dot({other}, {other})")
    least = ctx.layout.constants.number((node.number, "near"), near.least)
    out.add(f"limit_{v} = least_near({least}, squares_{v}, {size}, block_width[{d}, 0])")
    if near.led:
        row = f"{x}_values, {x}_offsets[{e}], block_width[{d}, 0], cosine{d}, {float(near.sign)}, lead, {_led(node)}"
        with out.block(f"if abs(limit_{v}) < inf:", "what leads it"):
            led = f"lead[{_led(node) + LEADING}]"
            out.add(f"{led} = rest_of(squares_{v}, coefficients({row}), block_width[{d}, 0])")


def _near(ctx: Context, out: Body, node: Node, near: NearLists, base: str, lo: str, hi: str) -> str:
    """The bits of the candidates of a block that may be near."""
    v, d = ctx.names[node.variable], _blocks(ctx, node, near)
    x, e = ctx.columns.names[near.other.column], out.local(f"e_{ctx.names[near.other.variable]}")
    if near.led:
        return f"near(block{d}, {LEADING + 1}, {base}, {lo}, {hi}, lead, {_led(node)}, 1.0, limit_{v})"
    row = f"{x}_values, {x}_offsets[{e}], {float(near.sign)}, limit_{v}"
    return f"near(block{d}, block_width[{d}, 0], {base}, {lo}, {hi}, {row})"


def _blocks(ctx: Context, node: Node, near: NearLists) -> int:
    """The number of the array that holds the candidates' lists in blocks."""
    return ctx.layout.turning(ctx.buffer(node.variable), near.own.column, led=near.led)


def _led(node: Node) -> int:
    """The offset in `lead` of the coefficients of the list that candidates are compared with; offset 0 is taken."""
    return (node.number + 1) * (LEADING + 1)
