"""Matches as generated code writes them down: `match_event` one after the other, `m` of them in `w` entries.

`match_offset` and `match_component` say where each begins and what its events are bound to, unless all are alike.
"""

from __future__ import annotations

from contextlib import nullcontext

from augury.codegen.lazy.body import Body
from augury.codegen.lazy.context import Context, Scope
from augury.codegen.lazy.nest import Node
from augury.codegen.lazy.source import NO_ROOM_FOR_MATCHES

NO_ROOM_COMMENT = "no room: the caller makes some and comes back"


def report(ctx: Context, out: Body, branch_number: int, scope: Scope) -> None:
    """Emit the statements that append the bound events to the matches."""
    branch = ctx.plan.branches[branch_number]
    first_code = sum(len(x.components) for x in ctx.plan.branches[:branch_number])
    with out.block("if quiet == 0:") if not scope.reporting else nullcontext():
        if ctx.match_size:
            _make_sure_of_room(out, str(ctx.match_size))
            _write_events(ctx, out)
            out.add("m += 1")
            return
        singles = [c for c in branch.components if not c.iterated]
        lists = [ctx.names[c.variable] for c in branch.components if c.iterated]
        _make_sure_of_room(out, " + ".join([str(len(singles)), *(f"d_{v}" for v in lists)]), offsets=True)
        for c in branch.in_sequence:
            v, code = ctx.names[c.variable], first_code + branch.components.index(c)
            with out.block(f"for k in range(d_{v}):") if c.iterated else nullcontext():
                out.add(f"match_event[w] = {f'events_{v}[k]' if c.iterated else out.local(f'e_{v}')}")
                out.add(f"match_component[w] = {code}")
                out.add("w += 1")
        if not branch.sequential:
            out.add("sort_match(match_event, match_component, match_offset[m], w)")
        out.add("m += 1")
        out.add("match_offset[m] = w")


def reports_only(ctx: Context, node: Node, scope: Scope) -> bool:
    """Whether an event that is taken here completes a match, and nothing else is to be done with it."""
    complete = not node.children and not node.step.absent and len(node.completes) == 1
    return bool(ctx.match_size) and scope.reporting and complete


def report_each(ctx: Context, out: Body, node: Node, span: str, count: str, event: str) -> None:
    """Write down a match for each place `at` of a `span`, where `event` is the last one that it binds."""
    v = ctx.names[node.variable]
    _make_sure_of_room(out, f"{ctx.match_size} * {count}")
    with out.block(f"for at_{v} in range({span}):", f"take {ctx.label(node)}"):
        out.add(f"e_{v} = {event}")
        _write_events(ctx, out)
    out.add(f"m += {count}")
    if ctx.counters:
        out.add(f"seen{node.number} += {count}", "partial matches")
        out.counted.add(node.number)


def _write_events(ctx: Context, out: Body) -> None:
    (branch,) = ctx.plan.branches
    for k, c in enumerate(branch.in_sequence if branch.sequential else branch.components):
        out.add(f"match_event[natural(w + {k})] = {out.local(f'e_{ctx.names[c.variable]}')}")
    out.add(f"w += {ctx.match_size}")


def _make_sure_of_room(out: Body, size: str, *, offsets: bool = False) -> None:
    more = "m + 1 >= match_offset.shape[0] or " if offsets else ""
    with out.block(f"if {more}w + {size} > match_event.shape[0]:"):
        out.comment(NO_ROOM_COMMENT)
        out.give_up(NO_ROOM_FOR_MATCHES)
