"""LazyChainPlan -> source of the chains: nested loops over input buffers, the rarest component outside.

`store` sorts new events into the buffers. `start_*` takes the new events of a first state and looks for the others in
the buffers, whatever their place in the pattern (paper 000, section 4). A partial match that events still to come may
complete is kept in the pool of its state; `resume_*` tries new events with the partial matches of earlier steps, and
`more_*` does so for lists. So every partial match is made once: when the last of its events arrives.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial

from augury.codegen.common.absence import emit_absences
from augury.codegen.common.constants import functions_of
from augury.codegen.common.inventory import stream_names
from augury.codegen.common.lines import Lines
from augury.codegen.common.naming import heading, remark
from augury.codegen.lazy.body import Body, Deferred, GiveUp
from augury.codegen.lazy.conditions import earliest, latest, loads, same_partition, test_all, within
from augury.codegen.lazy.context import Context, Scope, context_of
from augury.codegen.lazy.lists import search_lists
from augury.codegen.lazy.negation import give_up_if_present, negated_states
from augury.codegen.lazy.nest import Node, nest
from augury.codegen.lazy.report import NO_ROOM, report
from augury.codegen.lazy.search import search_for
from augury.codegen.lazy.source import (
    ENTRIES,
    FULL,
    MATCHES,
    NO_ROOM_IN_POOL,
    OUTPUT,
    SO_FAR,
    STOPPED,
    Entry,
    LazyChainSource,
    Pool,
)
from augury.plan import LazyChainPlan
from augury.runtime.kernel_source import kernel_source


def emit_lazy_chain(plan: LazyChainPlan, *, counters: bool = False) -> LazyChainSource:
    """The kernel of a plan; the same plan gives the same text."""
    states = nest(plan)
    ctx = context_of(plan, states, negated_states(plan, states.nodes), counters=counters)
    pools = _pools(ctx)
    functions = [function for node in states.nodes if (function := _function_of(ctx, node)) is not None]
    # The functions have asked for everything that the arguments are made of.
    stream = stream_names(ctx.constants, ctx.specs)
    arrays = _arrays(ctx, pools)
    arguments = f"nums, {stream}, {', '.join(arrays)}"
    out = Lines()
    _header(ctx, out)
    ctx.layout.store(out, arguments, _frequent(ctx))
    ctx.layout.tally(out, stream)
    for function in functions:
        _write_function(ctx, out, function, pools, arguments)
    for selector in ctx.selectors.values():
        out.lines += selector.lines
    negated = emit_absences(out, ctx.query, states.after, ctx.columns, ctx.constants, stream, counters=counters)
    entries = tuple(function.entry for function in functions)
    names = ("store", "tally", *(e.name for e in entries), *(("absent", "fits") if negated else ()))
    variables = [c.variable for b in plan.branches for c in b.components]
    return LazyChainSource(
        source=kernel_source(
            f"{out}\n".lstrip("\n"), names, ctx.constants.arrays, ranks_strings=ctx.constants.ranks_strings
        ),
        specs=ctx.specs,
        strings=ctx.constants.strings,
        layout=ctx.layout,
        arrays=tuple(arrays),
        pools=pools,
        entries=entries,
        lists={
            ctx.names[v]: (ctx.buffer(v).number, max(1, len(x.integers)), max(1, len(x.floats)))
            for v, x in ctx.vectors.items()
        },
        component_variables=tuple(variables),
        branch_of_component=tuple(b for b, branch in enumerate(plan.branches) for _ in branch.components),
        absent=states.after,
        negated=len(negated),
        functions=functions_of(ctx.tested),
        fixed=ctx.match_size,
        nodes=tuple(_counted_steps(plan, node) for node in states.nodes),
        found=ctx.found,
        node_buffers={n.number: ctx.buffer(n.variable).number for n in (*states.nodes, *ctx.negated.values())},
        buffer_of={v: ctx.buffer(v).number for v in variables},
        head_keys={n.number: key.column for n in states.nodes if (key := ctx.key(n)) is not None},
    )


def _pools(ctx: Context) -> tuple[Pool, ...]:
    """The pools of all states whose partial matches wait."""
    return tuple(
        Pool(
            n.number,
            tuple(ctx.names[v] for v in n.path),
            tuple(ctx.buffer(v).number for v in n.path),
            tuple(c.number for c in n.children if ctx.waits_by_key(c)),
        )
        for n in ctx.nest.nodes
        if n.stores
    )


def _arrays(ctx: Context, pools: tuple[Pool, ...]) -> list[str]:
    """The arrays of the kernel's own, in the order that functions take them."""
    lists = [f"{x}_{ctx.names[v]}" for v in ctx.vectors for x in ("S", "E", "RI", "RF")]
    pooled = [name for pool in pools for name in pool.arrays]
    return [*ctx.layout.arrays, *ctx.found, *lists, "PF", "COUNT", "SEEN", *pooled, *OUTPUT]


def _frequent(ctx: Context) -> list[str]:
    """The variables by how often their events come, as far as that is known, else as the chains suppose."""
    rates = ctx.plan.statistics.rates
    last_first = [v for b in ctx.plan.branches for v in reversed(b.evaluation)]
    negated = [v for v in ctx.components if v not in last_first]
    return sorted([*last_first, *negated], key=lambda v: -rates.get(v, 0.0))


def _counted_steps(plan: LazyChainPlan, node: Node) -> tuple[tuple[int, int], ...]:
    """The branches, and their steps, whose partial matches are those of a state."""
    found = []
    k = len(node.path) - 1
    for b, branch in enumerate(plan.branches):
        if branch.evaluation[: k + 1] == node.path and plan.steps(branch)[0][k] == node.step:
            found.append((b, k))
    return tuple(found)


def _header(ctx: Context, out: Lines) -> None:
    for line in heading(ctx.query.source):
        out.comment(line)
    out.comment()
    for k, branch in enumerate(ctx.plan.branches):
        out.comment(remark(f"chain {k}: {', '.join(branch.evaluation)}; negation {ctx.plan.negation}"))
    for b in ctx.layout.buffers:
        out.comment(remark(f"{b.name}: input buffer of {', '.join(b.variables)}"))


# -- functions that a step of the stream calls -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Function:
    """A generated function that goes over what it is called for, one after the other, as `item`."""

    entry: Entry
    item: str
    why: str
    body: Body


def _function_of(ctx: Context, node: Node) -> _Function | None:
    """The function that takes new events at a state, if there is one."""
    if node.iterated:
        return _more(ctx, node) if node.waits and (node.parent is None or not node.parent.iterated) else None
    if node.parent is None:
        return _start(ctx, node)
    return _resume(ctx, node, node.parent) if node.may_come else None


def _start(ctx: Context, node: Node) -> _Function:
    """Take new events of a first state."""
    v, b = ctx.names[node.variable], ctx.buffer(node.variable)
    inside = Body(depth=2)
    _reached(ctx, inside, node, Scope(), root=True)
    body = Body(depth=2)
    loads(ctx, body, [node.variable], inside)
    body.include(inside)
    return _Function(Entry(f"start_{node.number}", "start", b.number, None), f"j_{v}", f"take {ctx.label(node)}", body)


def _resume(ctx: Context, node: Node, parent: Node) -> _Function:
    """Take new events of a later state, for the partial matches that wait for them."""
    v, b = ctx.names[node.variable], ctx.buffer(node.variable)
    p, waiting = f"P{parent.number}", f"PF[{parent.number}, 1]"
    inside = Body(depth=3)
    after = node.step.after
    if after:
        limit = latest(ctx, inside, node, after)
        with inside.block(f"if {inside.local(f'{ctx.rank}_{v}')} <= {limit}:", remark(f"after {', '.join(after)}")):
            inside.add("continue")
    if ctx.span >= 0:
        within(ctx, inside, node, inside.local(f"t_{v}"), low=False)
    same_partition(ctx, inside, node)
    test_all(ctx, inside, node.step.component.take)
    _reached(ctx, inside, node, Scope())
    key = ctx.key(node)
    body = Body(depth=2)
    loop = Body(depth=3)
    if key is not None:
        loop.add("q = at_q")
        loop.add(f"at_q = {p}_next{node.number}[q]")
        with loop.block(f"if q >= {waiting}:"):
            loop.add("continue", "made in this step")
    for u in parent.path:
        loop.add(f"j_{ctx.names[u]} = {p}_{ctx.names[u]}[q]")
    loads(ctx, loop, parent.path, inside)
    loop.include(inside)
    loads(ctx, body, [node.variable], loop)
    if key is None:
        body.add(f"for q in range({waiting}):")
    else:
        g = ctx.layout.key_of(ctx.keyed_buffer(node.variable, key.column), key.column, f"j_{v}")
        body.add(f"at_q = first_of({p}_head{node.number}, {g})")
        body.add("while at_q >= 0:")
    body.include(loop)
    entry = Entry(f"resume_{node.number}", "resume", b.number, parent.number)
    return _Function(entry, f"j_{v}", f"take {ctx.label(node)} from the stream", body)


def _more(ctx: Context, node: Node) -> _Function:
    """Look for lists that new events make longer, for the partial matches that wait for them."""
    parent = node.parent
    inside = Body(depth=2)
    search_lists(ctx, inside, node, Scope(), fresh=False)
    body = Body(depth=2)
    if parent is not None:
        if ctx.span >= 0 and not ctx.counts_by_partition:
            with body.block(f"if {ctx.layout.clock}[i0] - P{parent.number}__t[q] > {ctx.span}:", "WITHIN"):
                body.add("continue")
        for u in parent.path:
            body.add(f"j_{ctx.names[u]} = P{parent.number}_{ctx.names[u]}[q]")
        loads(ctx, body, parent.path, inside)
    body.include(inside)
    lists = tuple(ctx.buffer(n.variable).number for n in node.branching)
    pool = parent.number if parent is not None else None
    return _Function(Entry(f"more_{node.number}", "more", lists[0], pool, lists), "q", f"lists {ctx.label(node)}", body)


# -- what follows when an event has been taken -------------------------------------------------------------------------


def _reached(ctx: Context, out: Body, node: Node, scope: Scope, *, root: bool = False) -> None:
    """Look what must be absent, keep the partial match, go on to the next states, report."""
    for part in node.step.absent:
        give_up_if_present(ctx, out, node, part, scope)
    if ctx.counters:
        out.add(f"seen{node.number} += 1", "partial matches")
        out.counted.add(node.number)
    if node.children and not root:
        # One partial match may lead to more work than all before it.
        with out.block("if stopped(nums):"):
            out.give_up(STOPPED)
    if node.stores:
        _keep(ctx, out, node)
    for child in node.children:
        _go_on(ctx, out, child, scope, root=root)
    for branch in node.completes:
        report(ctx, out, branch, scope)


def _go_on(ctx: Context, out: Body, child: Node, scope: Scope, *, root: bool) -> None:
    """Look for the events of a next state."""
    # Where no partial match is kept, there is nothing to build up quietly.
    quiet = not scope.reporting and not any(n.stores for n in child.branching)
    if quiet:
        out.add("if quiet == 0:")
        out.depth += 1
        scope = replace(scope, reporting=True)
    if child.iterated:
        search_lists(ctx, out, child, scope, fresh=True)
    else:
        search_for(ctx, out, child, partial(_taken, ctx, child), scope, first=root)
    if quiet:
        out.depth -= 1


def _taken(ctx: Context, node: Node, out: Body, scope: Scope) -> None:
    _reached(ctx, out, node, scope)


def _keep(ctx: Context, out: Body, node: Node) -> None:
    """Put the partial match into its pool, if an event to come may still be in its window."""
    n, p, first = node.number, f"P{node.number}", ctx.names[node.path[0]]
    start = earliest(ctx, out, node, node.path, "t")
    test = "now < INT_MAX"
    if ctx.span >= 0:
        now = f"COUNT[{out.local(f'p_{first}')}]" if ctx.counts_by_partition else "now"
        test = f"now < INT_MAX and {now} - {start} <= {ctx.span}"
    out.pools.add(n)
    with out.block(f"if {test}:", "it may wait for the stream"):
        with out.block(f"if f{n} >= {p}__t.shape[0]:"):
            out.comment(NO_ROOM)
            out.give_up(NO_ROOM_IN_POOL + n)
        for u in node.path:
            out.add(f"{p}_{ctx.names[u]}[f{n}] = {out.local(f'j_{ctx.names[u]}')}")
        out.add(f"{p}__t[f{n}] = {start}")
        if ctx.query.partition_by:
            out.add(f"{p}__p[f{n}] = {out.local(f'p_{first}')}")
        for child in node.children:
            key = ctx.key(child)
            if key is not None and ctx.waits_by_key(child):
                owner = ctx.keyed_buffer(key.other, key.other_column)
                g = ctx.layout.key_of(owner, key.other_column, out.local(f"j_{ctx.names[key.other]}"))
                out.add(f"g = {g}")
                out.add(f"{p}_id{child.number}[f{n}] = g")
                with out.block("if g >= 0:"):
                    out.add(f"{p}_next{child.number}[f{n}] = {p}_head{child.number}[g]")
                    out.add(f"{p}_head{child.number}[g] = f{n}")
        out.add(f"f{n} += 1")
        if ctx.counters:
            out.add("stored += 1")


# -- the text of functions ---------------------------------------------------------------------------------------------


def _write_function(ctx: Context, out: Lines, function: _Function, pools: tuple[Pool, ...], arguments: str) -> None:
    """Write a function with its body, when all that the kernel holds is known.

    What it counts is in local variables, which are written back at the end. Where something is full, it puts them back
    as they were before the outermost event, and returns that: the caller makes room and comes back.
    """
    body, item = function.body, function.item
    registers = _registers(ctx, body, pools)
    out.add()
    out.add()
    out.add("@kernel")
    with out.block(f"def {function.entry.name}(r0, r1, i0, now, quiet, {arguments}):", function.why):
        for register, cell in registers:
            out.add(f"{register} = {cell}")
        for cursor in body.cursors:
            out.add(f"{cursor} = 0")
        with out.block(f"for {item} in range(r0, r1):"):
            with out.block("if stopped(nums):"):
                for register, cell in registers:
                    out.add(f"{cell} = {register}")
                out.add(f"return {item}")
            for register, _ in registers:
                out.add(f"{register}_0 = {register}")
        give_up = [*(f"{cell} = {register}_0" for register, cell in registers), f"return {item}"]
        _write_body(out, body, give_up)
        for register, cell in registers:
            out.add(f"{cell} = {register}")
        out.add("return r1")


def _write_body(out: Lines, body: Body, give_up: list[str]) -> None:
    """Write statements as they are indented in a body; `give_up` ends those that do."""
    depth = out.depth
    for line in body.items:
        out.depth = line.depth
        match line:
            case GiveUp(_, reason):
                for text in (f"nums[{SO_FAR}] = m", *give_up[:-1], f"nums[{FULL}] = {reason}", give_up[-1]):
                    out.add(text)
            case Deferred(_, write):
                write(out)
            case _:
                out.add(line.text, line.why)
    out.depth = depth


def _registers(ctx: Context, body: Body, pools: tuple[Pool, ...]) -> list[tuple[str, str]]:
    """What a function counts in local variables while it runs, and the cells that these are kept in."""
    found = [("m", f"nums[{MATCHES}]"), ("w", f"nums[{ENTRIES}]")]
    found += [(f"f{pool.node}", f"PF[{pool.node}, 0]") for pool in pools if pool.node in body.pools]
    if ctx.counters:
        found += [("predicates", "nums[8]"), ("bounds", "nums[12]"), ("stored", "nums[11]")]
        found += [(f"seen{n.number}", f"SEEN[{n.number}]") for n in ctx.nest.nodes if n.number in body.counted]
    return found
