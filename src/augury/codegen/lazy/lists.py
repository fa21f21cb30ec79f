"""Loops over the lists of iterated components (`iterate`, paper 000, section 4.5)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from augury.codegen.common.expressions import false, true
from augury.codegen.common.lines import Lines
from augury.codegen.common.naming import remark
from augury.codegen.common.runs import ReadSite, updates
from augury.codegen.lazy.body import Body
from augury.codegen.lazy.conditions import at_list, earliest, latest, not_bound_before, partition_of, within
from augury.codegen.lazy.context import WITHIN, Context, Scope
from augury.codegen.lazy.key_walk import start_walk
from augury.codegen.lazy.keys import list_key
from augury.codegen.lazy.nest import Node, one_way
from augury.codegen.lazy.range_scan import set_range
from augury.codegen.lazy.report import report
from augury.codegen.lazy.source import TOO_MANY_LISTS
from augury.ir.predicate import Conjunct
from augury.native.cells import ChainCell
from augury.plan import Component, Key


def search_lists(ctx: Context, out: Body, node: Node, scope: Scope, *, fresh: bool) -> None:
    """The loop over every list of candidates that the bounds and predicates allow.

    Lists grow depth first; one whose last element fails a test is never extended. Unless what is bound is `fresh`,
    a list somewhere must hold an event of this step.
    """
    c, bound = node.step.component, node.bound
    v, b = ctx.names[c.variable], ctx.buffer(c.variable)
    out.states.add(node.number)
    out.buffers.add(b.number)
    key, group = ctx.key(node), list_key(ctx.plan, node)
    only_list = not any(ctx.iterated(u) for u in bound)
    if key is None:
        set_range(ctx, out, node, scope)
        if not fresh and not node.children and only_list:
            # The only list: without a new candidate there is no new one.
            with out.block(f"if hi_{v} <= lo_{v} or {b.name}_e[hi_{v} - 1] < i0:"):
                out.add("continue")
        out.add(f"at_{v} = lo_{v}")
        following, over = f"at_{v} + 1", f"at_{v} >= hi_{v}"
        q = ctx.layout.index(b, group) if group is not None else -1
        if group is not None:
            following = f"chain{q}_next[at_{v}] if d_{v} > 0 else at_{v} + 1"
            over = f"at_{v} < 0 or at_{v} >= hi_{v}"
    else:
        q = start_walk(ctx, out, node, key, backward=False, lists=True)
        following = f"chain{q}_next[at_{v}]"
        over = f"at_{v} < 0"
        if node.step.before:
            over += f" or {b.name}_{ctx.rank}[at_{v}] >= {earliest(ctx, out, node, node.step.before)}"
        elif ctx.span >= 0:
            over += f" or {b.name}_t[at_{v}] - {earliest(ctx, out, node, bound, 't')} > {WITHIN}"
    if c.high is not None:
        over += f" or d_{v} >= {c.high}"
    if only_list:
        out.add("lists = 0")
    out.add(f"d_{v} = 0")
    _begin_vector(ctx, out, c)
    with out.block("while True:", f"iterate {ctx.label(node)}"):
        with out.block(f"if {over}:"):
            with out.block(f"if d_{v} == 0:"):
                out.add("break")
            out.add(f"d_{v} -= 1")
            out.add(f"at_{v} = places_{v}[d_{v}]")
            out.add(f"at_{v} = {following}")
            out.add("continue")
        out.add(f"j_{v} = at_{v}")
        out.add(f"at_{v} = {following}")
        out.add(f"e_{v} = {b.name}_e[j_{v}]")
        _test_element(ctx, out, node, key, group)
        _append_element(ctx, out, c)
        out.add("lists += 1")
        with out.block(f"if lists > nums[{ChainCell.LIMIT}]:"):
            out.give_up(TOO_MANY_LISTS)
        _stop_extending(ctx, out, c)
        if key is None and group is not None:
            with out.block(f"if d_{v} == 1:"):
                out.add(f"at_{v} = chain{q}_next[j_{v}]")
        out.add(f"ok = d_{v} >= {c.low}" if c.low > 1 else "ok = True")
        for j in c.whole:
            _test(ctx, out, j, at_list(ctx, f"d_{v}"), sorted(j.each))
        with out.block("if ok:"):
            if ctx.counters:
                out.add(f"seen{node.number} += 1", "partial matches")
                out.counted.add(node.number)
            for child in node.children:
                search_lists(ctx, out, child, scope, fresh=fresh)
            for branch in node.completes:
                _report(ctx, out, node, branch, scope, fresh=fresh)


def _report(ctx: Context, out: Body, node: Node, branch: int, scope: Scope, *, fresh: bool) -> None:
    """Report the match whose lists are complete, unless an earlier step has."""
    if fresh:
        report(ctx, out, branch, scope)
        return
    lists = [ctx.names[u] for u in node.path if ctx.iterated(u)]
    ends = [f"events_{u}[d_{u} - 1] >= i0" for u in lists]
    with out.block(f"if {' or '.join(ends)}:", "not found before"):
        report(ctx, out, branch, scope)


def _stop_extending(ctx: Context, out: Body, c: Component) -> None:
    """Stop extending a list whose aggregate has passed its bound: further elements only add to it."""
    v = ctx.names[c.variable]
    for j in c.whole:
        if c.variable in j.decided_at and c.variable not in j.whole and not j.each:
            test = out.code(true(j.expr, at_list(ctx, f"d_{v}").read, ctx.constants))
            when = f"d_{v} == {j.decided_at[c.variable]}"
            with out.block(f"if {when} and not {test}:", f"decided for every longer list: {ctx.origin(j)}"):
                out.add(f"d_{v} -= 1")
                out.add("continue")
        elif one_way(j, c):
            test = out.code(false(j.expr, at_list(ctx, f"d_{v}").read, ctx.constants))
            with out.block(f"if {test}:", f"no longer list can be true: {ctx.origin(j)}"):
                out.add(f"d_{v} -= 1")
                out.add("continue")


def _test_element(ctx: Context, out: Body, node: Node, key: Key | None, group: str | None) -> None:
    """Skip an event that cannot be the next element of the list."""
    c, step, bound = node.step.component, node.step, node.bound
    v, b = ctx.names[c.variable], ctx.buffer(c.variable)
    clock = f"{b.name}_t[j_{v}]"
    with out.block(f"if d_{v} > 0 and rank[e_{v}] <= rank[events_{v}[d_{v} - 1]]:", "concurrent with the last one"):
        out.add("continue")
    if key is not None:
        if step.after:
            limit, why = latest(ctx, out, node, step.after), remark(f"after {', '.join(step.after)}")
            with out.block(f"if {b.name}_{ctx.rank}[j_{v}] <= {limit}:", why):
                out.add("continue")
        elif ctx.span >= 0 and bound:
            with out.block(f"if {latest(ctx, out, node, bound, 't')} - {clock} > {WITHIN}:", "WITHIN"):
                out.add("continue")
    elif ctx.query.partition_by and bound:
        with out.block(f"if {b.name}_p[j_{v}] != {partition_of(ctx, out, node)}:", "another partition"):
            out.add("continue")
    if ctx.query.partition_by and key is None and not bound and group is None:
        with out.block(f"if d_{v} > 0 and {b.name}_p[j_{v}] != part[events_{v}[0]]:", "another partition"):
            out.add("continue")
    if ctx.counts_by_partition and key is None and bound:
        within(ctx, out, node, clock, low=not step.after, high=not step.before)
    if ctx.span >= 0 and not step.after and not step.before:
        test = f"d_{v} > 0 and {clock} - {ctx.layout.clock}[events_{v}[0]] > {WITHIN}"
        with out.block(f"if {test}:", "WITHIN"):
            out.add("continue")
    not_bound_before(ctx, out, node)
    out.add("ok = True")
    _test_joining(ctx, out, c)
    with out.block("if not ok:"):
        out.add("continue")


def _begin_vector(ctx: Context, out: Body, c: Component) -> None:
    """Clear the value vector of the empty list."""
    v, vector = ctx.names[c.variable], ctx.vectors[c.variable]

    def write(lines: Lines) -> None:
        for array, cells, zero in (("run_integers", vector.integers, "0"), ("run_floats", vector.floats, "0.0")):
            for k in range(len(cells)):
                lines.add(f"{array}_{v}[0, {k}] = {zero}")

    # Conditions of states to come may ask for more cells.
    out.defer(write)


def _append_element(ctx: Context, out: Body, c: Component) -> None:
    """Put the event at the end of the list, and into the value vector of the longer list."""
    v, vector = ctx.names[c.variable], ctx.vectors[c.variable]
    out.add(f"places_{v}[d_{v}] = j_{v}")
    out.add(f"events_{v}[d_{v}] = e_{v}")

    def write(lines: Lines) -> None:
        for array, cells in (("run_integers", vector.integers), ("run_floats", vector.floats)):
            for k in range(len(cells)):
                lines.add(f"{array}_{v}[d_{v} + 1, {k}] = {array}_{v}[d_{v}, {k}]")
        first = updates(vector, ctx.columns, ctx.layout.constants, c.variable, True, f"d_{v} + 1", f"e_{v}")
        later = updates(vector, ctx.columns, ctx.layout.constants, c.variable, False, f"d_{v} + 1", f"e_{v}")
        if first == later:
            for line in first:
                lines.add(line)
            return
        for head, update in ((f"if d_{v} == 0:", first), ("else:", later)):
            with lines.block(head):
                for line in update or ["pass"]:
                    lines.add(line)

    out.defer(write)
    out.add(f"d_{v} += 1")


def _test_joining(ctx: Context, out: Body, c: Component) -> None:
    """Set `ok` to false when a conjunct does not hold for the event that would join the list."""
    v = ctx.names[c.variable]
    for begins, head in ((True, f"if d_{v} == 0:"), (False, "else:")):
        mine = [j for j in c.take if not (c.variable in j.from_second if begins else c.variable not in j.each)]
        with out.block(head):
            for j in mine:
                at = at_list(ctx, f"d_{v}", c.variable, f"e_{v}", begins=begins)
                _test(ctx, out, j, at, sorted(j.each - {c.variable}))
            if not mine:
                out.add("pass")


def _test(ctx: Context, out: Body, j: Conjunct, at: ReadSite, walked: Sequence[str]) -> None:
    """Set `ok` to false when a conjunct does not hold, for every element of the lists `walked`."""
    if ctx.counters:
        with out.block("if ok:"):
            out.add("predicates += 1")
    depth = out.depth
    events: dict[str, tuple[str, str]] = {}
    for u in walked:
        name = ctx.names[u]
        out.add(f"for k_{name} in range({1 if u in j.from_second else 0}, d_{name}):")
        out.depth += 1
        events[u] = (f"events_{name}[k_{name}]", f"events_{name}[k_{name} - 1]")
    text = out.code(true(j.expr, replace(at, walked=events).read, ctx.constants))
    out.add(f"ok = ok and {text}", ctx.origin(j))
    out.depth = depth
