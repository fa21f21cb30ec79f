"""Ranges of a buffer: where candidates of a state may lie, by the ordering filters and the window."""

from __future__ import annotations

from augury.codegen.common.naming import remark
from augury.codegen.lazy.body import Body
from augury.codegen.lazy.conditions import earliest, latest, nearest
from augury.codegen.lazy.context import WITHIN, Context, Scope
from augury.codegen.lazy.nest import Node


def narrow_range(ctx: Context, out: Body, node: Node) -> None:
    """Set `base` and `top` of a later state: where its events may lie, by the first event alone.

    First events ascend, and the range with them.
    """
    v, b, first = ctx.names[node.variable], ctx.buffer(node.variable), node.path[0]
    fill, r = f"buffer_fill[{b.number}]", ctx.names[first]
    windowed = ctx.span >= 0 and not ctx.counts_by_partition
    base, top = f"base{node.number}_{v}", f"top{node.number}_{v}"
    if first in node.step.after:
        rank = out.local(f"{ctx.rank}_{r}")
        search = f"next_upper({b.name}_{ctx.rank}, {base}, {fill}, {rank})"
        out.add(f"{out.cursor(base)} = {search}", remark(f"after {first}"))
    elif windowed:
        clock = out.local(f"t_{r}")
        out.add(f"{out.cursor(base)} = next_lower({b.name}_t, {base}, {fill}, {clock} - {WITHIN})", "WITHIN")
    out.cursor(top)
    if first in node.step.before:
        rank = out.local(f"{ctx.rank}_{r}")
        search = f"next_lower({b.name}_{ctx.rank}, {top}, {fill}, {rank})"
        out.add(f"{top} = {search}", remark(f"before {first}"))
    elif windowed:
        clock = out.local(f"t_{r}")
        out.add(f"{top} = next_upper({b.name}_t, {top}, {fill}, {clock} + {WITHIN})", "WITHIN")
    else:
        out.add(f"{top} = {fill}")


def set_range(ctx: Context, out: Body, node: Node, scope: Scope, *, ascending: bool = False) -> None:
    """Set `lo` and `hi` of a state: where its events may lie, by all that is bound.

    If the first event is the only one bound, ranges are `ascending` with it: each search goes on from the one before.
    """
    v, b, step, bound = ctx.names[node.variable], ctx.buffer(node.variable), node.step, node.bound
    windowed = ctx.span >= 0 and not ctx.counts_by_partition
    base, top, arrays = "0", f"buffer_fill[{b.number}]", b.name
    lower, upper = "within_lower", "within_upper"
    start = f"lo_{v}"
    narrowed = node.number in scope.narrowed
    if ascending:
        base, start = out.cursor(f"from{node.number}_{v}"), out.cursor(f"to{node.number}_{v}")
        lower, upper = "next_lower", "next_upper"
    elif node.number in scope.kept:
        top, arrays = out.local(f"kept{node.number}_{v}"), f"passed{node.number}"
    elif narrowed:
        base, top = out.cursor(f"base{node.number}_{v}"), out.cursor(f"top{node.number}_{v}")
    keep = f"{base} = " if ascending else ""
    if step.after:
        why = remark(f"after {', '.join(step.after)}")
        if narrowed and nearest(node, step.after, last=True) == [bound[0]]:
            text = base
        else:
            text = f"{keep}{upper}({arrays}_{ctx.rank}, {base}, {top}, {latest(ctx, out, node, step.after)})"
    elif windowed and bound:
        why = "WITHIN"
        if narrowed and nearest(node, bound, last=True) == [bound[0]]:
            text = base
        else:
            limit = f"{latest(ctx, out, node, bound, 't')} - {WITHIN}"
            text = f"{keep}{lower}({arrays}_t, {base}, {top}, {limit})"
    elif windowed:
        why = "WITHIN"
        text = f"{keep}{lower}({arrays}_t, {base}, {top}, {ctx.layout.clock}[i0] - {WITHIN})"
    else:
        why, text = "", f"{keep}{base}"
    out.add(f"lo_{v} = {text}", why)
    keep = f"{start} = " if ascending else ""
    if step.before:
        why = remark(f"before {', '.join(step.before)}")
        if narrowed and nearest(node, step.before, last=False) == [bound[0]]:
            text = top
        else:
            text = f"{keep}{lower}({arrays}_{ctx.rank}, {start}, {top}, {earliest(ctx, out, node, step.before)})"
    elif windowed and bound:
        why = "WITHIN"
        if narrowed and nearest(node, bound, last=False) == [bound[0]]:
            text = top
        else:
            limit = f"{earliest(ctx, out, node, bound, 't')} + {WITHIN}"
            text = f"{keep}{upper}({arrays}_t, {start}, {top}, {limit})"
    else:
        why, text = "", f"{keep}{top}"
    out.add(f"hi_{v} = {text}", why)


def scan_range(ctx: Context, out: Body, node: Node) -> None:
    """The head of a loop over every event of the range."""
    v = ctx.names[node.variable]
    out.add(f"for j_{v} in range(lo_{v}, hi_{v}):", f"take {ctx.label(node)}")
