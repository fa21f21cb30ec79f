"""Candidates with the same key as an event bound before, along the list that an index links them to."""

from __future__ import annotations

from augury.codegen.common.naming import remark
from augury.codegen.lazy.body import Body
from augury.codegen.lazy.conditions import earliest, latest
from augury.codegen.lazy.context import WITHIN, Context
from augury.codegen.lazy.nest import Node
from augury.plan import Key


def walk_key(ctx: Context, out: Body, node: Node, key: Key) -> None:
    """The head of a loop along the candidates with the same key, backwards where they lie before the other event."""
    v, b, step, bound = ctx.names[node.variable], ctx.buffer(node.variable), node.step, node.bound
    backward = key.other in step.before
    q = start_walk(ctx, out, node, key, backward=backward, lists=False)
    out.add(
        f"while at_{v} >= 0:",
        remark(f"take {ctx.label(node)} with the same {key.column or ', '.join(ctx.query.partition_by)}"),
    )
    late, early = ("continue", "break") if backward else ("break", "continue")
    stops = Body(depth=out.depth + 1)
    stops.add(f"j_{v} = at_{v}")
    stops.add(f"at_{v} = chain{q}_{'prev' if backward else 'next'}[j_{v}]")
    if step.before:
        limit, why = earliest(ctx, stops, node, step.before), remark(f"before {', '.join(step.before)}")
        with stops.block(f"if {b.name}_{ctx.rank}[j_{v}] >= {limit}:", why):
            stops.add(late)
    elif ctx.span >= 0:
        with stops.block(f"if {b.name}_t[j_{v}] - {earliest(ctx, stops, node, bound, 't')} > {WITHIN}:", "WITHIN"):
            stops.add(late)
    if step.after:
        limit, why = latest(ctx, stops, node, step.after), remark(f"after {', '.join(step.after)}")
        with stops.block(f"if {b.name}_{ctx.rank}[j_{v}] <= {limit}:", why):
            stops.add(early)
    elif ctx.span >= 0:
        with stops.block(f"if {latest(ctx, stops, node, bound, 't')} - {b.name}_t[j_{v}] > {WITHIN}:", "WITHIN"):
            stops.add(early)
    out.include(stops)


def start_walk(ctx: Context, out: Body, node: Node, key: Key, *, backward: bool, lists: bool) -> int:
    """Set `at` to the first candidate; the number of the index."""
    step, bound, v, u = node.step, node.bound, ctx.names[node.variable], ctx.names[key.other]
    b, owner = ctx.buffer(node.variable), ctx.keyed_buffer(key.other, key.other_column)
    q = ctx.layout.index(b, key.column)
    link = ctx.layout.link(owner, key.other_column, q)
    out.buffers.add(owner.number)
    j = out.local(f"j_{u}")
    first = f"first_of(chain{q}_first, {ctx.layout.key_of(owner, key.other_column, j)})"
    out.add(f"at_{v} = link{link}[{j}]")
    if backward:
        return q
    if key.other in step.after and not lists:
        out.add(f"at_{v} = chain{q}_next[at_{v}] if at_{v} >= 0 else {first}")
        return q
    out.add(f"back_{v} = chain{q}_prev[at_{v}] if at_{v} >= 0 else -1")
    inside = [f"back_{v} >= 0"]
    if step.after:
        inside.append(f"{b.name}_{ctx.rank}[back_{v}] > {latest(ctx, out, node, step.after)}")
    elif ctx.span >= 0:
        inside.append(f"{latest(ctx, out, node, bound, 't')} - {b.name}_t[back_{v}] <= {WITHIN}")
    with out.block(f"while {' and '.join(inside)}:"):
        out.add(f"at_{v} = back_{v}")
        out.add(f"back_{v} = chain{q}_prev[at_{v}]")
    with out.block(f"if at_{v} < 0:"):
        out.add(f"at_{v} = {first}")
    return q
