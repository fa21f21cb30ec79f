"""LazyChainPlan -> source of the chains: nested loops over input buffers, the rarest component outside.

`store` sorts new events into the buffers. `start_*` takes the new events of a first state and looks for the others in
the buffers, whatever their place in the pattern (paper 000, section 4). A partial match that events still to come may
complete is kept in the pool of its state; `resume_*` tries new events with the partial matches of earlier steps, and
`more_*` does so for lists. So every partial match is made once: when the last of its events arrives.

A long chain is divided: a function ends by putting partial matches on a stage, from which `go_on_*` goes on with them.
So loops nest to a bounded depth, and what has to be compiled grows with the length of the chain, not with its square.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial

from augury.codegen.common.absence import absence_entries, emit_absences
from augury.codegen.common.constants import functions_of
from augury.codegen.common.inventory import NUMS, stream_specs
from augury.codegen.common.lines import Lines
from augury.codegen.common.naming import heading, remark
from augury.codegen.lazy.arrays import (
    COUNT,
    FOUND,
    buffer_owner,
    counted,
    listed,
    pool_owner,
    stage_owner,
    state_owner,
)
from augury.codegen.lazy.body import Body, Deferred, GiveUp
from augury.codegen.lazy.conditions import earliest, latest, loads, same_partition, test_all, within
from augury.codegen.lazy.context import WITHIN, Context, Row, Scope, context_of
from augury.codegen.lazy.lists import search_lists
from augury.codegen.lazy.negation import give_up_if_present, negated_states
from augury.codegen.lazy.nest import Node, cuts_of, nest
from augury.codegen.lazy.report import NO_ROOM_COMMENT, report
from augury.codegen.lazy.search import search_for
from augury.codegen.lazy.source import (
    NO_ROOM_IN_POOL,
    NO_ROOM_IN_STAGE,
    STOPPED,
    Entry,
    EntryKind,
    LazyChainSource,
    Pool,
    Stage,
)
from augury.native.cells import ChainCell
from augury.plan import LazyChainPlan
from augury.runtime.arrays import FLOAT64, ArraySpec
from augury.runtime.kernel_source import Signature, kernel_source

MAX_INLINE_STATES = 8
"""States whose loops stand in one function, each inside the one before; a longer chain is divided."""

STATES_PER_FUNCTION = 6
"""States of each function of a chain that is divided: CPython nests 20 loops at most, Numba slows down with each."""


def emit_lazy_chain(
    plan: LazyChainPlan,
    *,
    counters: bool = False,
    inline_states: int = MAX_INLINE_STATES,
    states_per_function: int = STATES_PER_FUNCTION,
) -> LazyChainSource:
    """The kernel of a plan; the same plan gives the same text.

    Chains of more than `inline_states` are divided into functions of `states_per_function`.
    """
    states = nest(plan)
    negated = negated_states(states.nodes)
    cuts = cuts_of(states, inline_states, states_per_function)
    ctx = context_of(plan, states, negated, cuts, counters=counters)
    pools = _pools(ctx)
    stages = tuple(Stage(n.number, len(n.path)) for n in states.nodes if n.number in cuts)
    functions = [function for node in states.nodes if (function := _function_of(ctx, node)) is not None]
    functions += [_go_on(ctx, node) for node in states.nodes if node.number in cuts]
    # The functions have asked for everything that the arguments are made of.
    stream = stream_specs(ctx.constants, ctx.specs)
    layout = ctx.layout.arrays(len(states.nodes) + len(negated))
    head_keys = {n.number: key.column for n in states.nodes if (key := ctx.key(n)) is not None}
    arrays = (*layout, *_arrays(ctx, pools, stages, head_keys))
    store, tally = ctx.layout.store_signature(stream, layout), ctx.layout.tally_signature(stream)
    out = Lines()
    _header(ctx, out)
    ctx.layout.store(out, store, _frequent(ctx))
    ctx.layout.tally(out, tally)
    entries, signatures = [], [store, tally]
    for function in functions:
        taken = _arrays_of(ctx, function, arrays)
        given = ("r0", "r1", "i0", "now", "quiet")
        signatures.append(Signature(function.entry.name, (*given, NUMS, *stream, *taken)))
        _write_function(ctx, out, function, signatures[-1])
        names = tuple(array.name for array in taken)
        entries.append(replace(function.entry, arrays=names, stages=tuple(sorted(function.body.stages))))
    for selector in ctx.selectors.values():
        out.lines += selector.lines
    absent = emit_absences(out, ctx.query, states.after, ctx.columns, ctx.layout.constants, stream, counters=counters)
    signatures += absence_entries(absent, stream)
    variables = [c.variable for b in plan.branches for c in b.components]
    return LazyChainSource(
        source=kernel_source(
            f"{out}\n".lstrip("\n"),
            signatures,
            ctx.constants.arrays,
            ranks_strings=ctx.constants.ranks_strings,
            code=out.code,
        ),
        specs=ctx.specs,
        strings=ctx.constants.strings,
        layout=ctx.layout,
        arrays=arrays,
        store_arrays=tuple(array.name for array in layout),
        pools=pools,
        stages=stages,
        entries=tuple(e for e in entries if e.kind is not EntryKind.GO_ON),
        go_on={e.pool: e for e in entries if e.kind is EntryKind.GO_ON and e.pool is not None},
        component_variables=tuple(variables),
        branch_of_component=tuple(b for b, branch in enumerate(plan.branches) for _ in branch.components),
        absent=states.after,
        negated=len(absent),
        functions=functions_of(ctx.tested),
        fixed=ctx.match_size,
        in_time=all(branch.sequential for branch in plan.branches) or not ctx.match_size,
        nodes=tuple(_counted_steps(plan, node) for node in states.nodes),
        buffer_of={v: ctx.buffer(v).number for v in variables},
        head_keys=head_keys,
    )


def _pools(ctx: Context) -> tuple[Pool, ...]:
    """The pools of all states whose partial matches wait."""
    return tuple(
        Pool(
            n.number,
            tuple(ctx.buffer(v).number for v in n.path),
            tuple(c.number for c in n.children if ctx.waits_by_key(c)),
        )
        for n in ctx.nest.nodes
        if n.stores
    )


def _arrays(
    ctx: Context, pools: Sequence[Pool], stages: Sequence[Stage], head_keys: Mapping[int, str]
) -> list[ArraySpec]:
    """The arrays of the kernel beside those of its layout."""
    found = list(ctx.found.values())
    for variable, vector in ctx.vectors.items():
        v, b = ctx.names[variable], ctx.buffer(variable).number
        found += [listed(f"{x}_{v}", b) for x in ("places", "events")]
        found.append(listed(f"run_integers_{v}", b, max(1, len(vector.integers))))
        found.append(listed(f"run_floats_{v}", b, max(1, len(vector.floats)), FLOAT64))
    states = len(ctx.nest.nodes)
    found += [counted("pool_fill", states, 2), COUNT, counted("state_seen", states)]
    found += [array for pool in pools for array in pool.arrays(head_keys)]
    if stages:
        found += [counted("stage_fill", states), *(stage.array for stage in stages)]
    return [*found, *FOUND]


def _arrays_of(ctx: Context, function: _Function, arrays: Sequence[ArraySpec]) -> tuple[ArraySpec, ...]:
    """The arrays that a function may touch: those of its states, buffers, pools and stages, and those of all."""
    body, entry = function.body, function.entry
    touched = {buffer_owner(n) for n in body.buffers | {ctx.buffer(v).number for v in ctx.vectors}}
    touched |= {state_owner(n) for n in body.states}
    touched |= {pool_owner(n) for n in body.pools} | {stage_owner(n) for n in body.stages}
    if entry.pool is not None:
        touched.add(stage_owner(entry.pool) if entry.kind is EntryKind.GO_ON else pool_owner(entry.pool))
    return tuple(array for array in arrays if touched.issuperset(array.scope))


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
        if branch.evaluation[: k + 1] == node.path and branch.steps[k] == node.step:
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
    entry = Entry(f"start_{node.number}", EntryKind.START, b.number, None)
    return _Function(entry, f"j_{v}", f"take {ctx.label(node)}", body)


def _resume(ctx: Context, node: Node, parent: Node) -> _Function:
    """Take new events of a later state, for the partial matches that wait for them."""
    v, b = ctx.names[node.variable], ctx.buffer(node.variable)
    p, waiting = f"pool{parent.number}", f"pool_fill[{parent.number}, 1]"
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
    _reached(ctx, inside, node, Scope(row=Row(f"{p}_at", "q", len(parent.path))))
    key = ctx.key(node)
    body = Body(depth=2)
    loop = Body(depth=3)
    if key is not None:
        loop.add("q = at_q")
        loop.add(f"at_q = {p}_next{node.number}[q]")
        with loop.block(f"if q >= {waiting}:"):
            loop.add("continue", "made in this step")
    _load_row(ctx, loop, parent, f"{p}_at", inside)
    loop.include(inside)
    loads(ctx, body, [node.variable], loop)
    if key is None:
        body.add(f"for q in range({waiting}):")
    else:
        g = ctx.layout.key_of(ctx.keyed_buffer(node.variable, key.column), key.column, f"j_{v}")
        body.buffers.add(b.number)
        body.add(f"at_q = first_of({p}_head{node.number}, {g})")
        body.add("while at_q >= 0:")
    body.include(loop)
    entry = Entry(f"resume_{node.number}", EntryKind.RESUME, b.number, parent.number)
    return _Function(entry, f"j_{v}", f"take {ctx.label(node)} from the stream", body)


def _more(ctx: Context, node: Node) -> _Function:
    """Look for lists that new events make longer, for the partial matches that wait for them."""
    parent = node.parent
    inside = Body(depth=2)
    search_lists(ctx, inside, node, Scope(), fresh=False)
    body = Body(depth=2)
    if parent is not None:
        if ctx.span >= 0 and not ctx.counts_by_partition:
            with body.block(f"if {ctx.layout.clock}[i0] - pool{parent.number}_t[q] > {WITHIN}:", "WITHIN"):
                body.add("continue")
        _load_row(ctx, body, parent, f"pool{parent.number}_at", inside)
    body.include(inside)
    lists = tuple(ctx.buffer(n.variable).number for n in node.branching)
    pool = parent.number if parent is not None else None
    entry = Entry(f"more_{node.number}", EntryKind.MORE, lists[0], pool, lists)
    return _Function(entry, "q", f"lists {ctx.label(node)}", body)


def _go_on(ctx: Context, node: Node) -> _Function:
    """Look for the states after a cut, for the partial matches of its stage."""
    inside = Body(depth=2)
    stage = f"stage{node.number}"
    for child in node.children:
        _search_child(ctx, inside, child, Scope(row=Row(stage, "q", len(node.path))), root=False)
    body = Body(depth=2)
    _load_row(ctx, body, node, stage, inside)
    body.include(inside)
    entry = Entry(f"go_on_{node.number}", EntryKind.GO_ON, ctx.buffer(node.variable).number, node.number)
    return _Function(entry, "q", f"after {ctx.label(node)}", body)


def _load_row(ctx: Context, out: Body, node: Node, rows: str, inside: Body) -> None:
    """Read what `inside` needs of the events of a partial match, whose positions are row `q` of an array."""
    loaded = Body(depth=out.depth)
    loads(ctx, loaded, node.path, inside)
    read = loaded.reads | inside.reads
    for k, u in enumerate(node.path):
        j = f"j_{ctx.names[u]}"
        if j in read:
            out.add(f"{j} = {rows}[q, {k}]")
    out.include(loaded)


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
        _keep(ctx, out, node, scope)
    if node.number in ctx.cuts:
        _hand_over(ctx, out, node, scope)
    else:
        for child in node.children:
            _search_child(ctx, out, child, scope, root=root)
    for branch in node.completes:
        report(ctx, out, branch, scope)


def _hand_over(ctx: Context, out: Body, node: Node, scope: Scope) -> None:
    """Put the partial match into the stage from which another function goes on with it."""
    n, stage = node.number, f"stage{node.number}"
    out.stages.add(n)
    idle = not scope.reporting and not any(below.stores for child in node.children for below in child.branching)
    with out.block("if quiet == 0:") if idle else nullcontext():
        with out.block(f"if s{n} >= {stage}.shape[0]:"):
            out.comment(NO_ROOM_COMMENT)
            out.give_up(NO_ROOM_IN_STAGE + n)
        _write_row(ctx, out, node, stage, f"s{n}", scope)
        out.add(f"s{n} += 1")


def _search_child(ctx: Context, out: Body, child: Node, scope: Scope, *, root: bool) -> None:
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


def _write_row(ctx: Context, out: Body, node: Node, rows: str, at: str, scope: Scope) -> None:
    """Write the positions of all events that are bound to a row; many that stand in a row already are copied."""
    copied = 0
    if scope.row is not None and scope.row.width > MAX_INLINE_STATES:
        copied = scope.row.width
        with out.block(f"for k in range({copied}):"):
            out.add(f"{rows}[{at}, k] = {scope.row.array}[{scope.row.at}, k]")
    for k, u in enumerate(node.path[copied:], copied):
        out.add(f"{rows}[{at}, {k}] = {out.local(f'j_{ctx.names[u]}')}")


def _keep(ctx: Context, out: Body, node: Node, scope: Scope) -> None:
    """Put the partial match into its pool, if an event to come may still be in its window."""
    n, p, first = node.number, f"pool{node.number}", ctx.names[node.path[0]]
    start = earliest(ctx, out, node, node.path, "t")
    test = "now < INT_MAX"
    if ctx.span >= 0:
        now = f"partition_events[{out.local(f'p_{first}')}]" if ctx.counts_by_partition else "now"
        test = f"now < INT_MAX and {now} - {start} <= {WITHIN}"
    out.pools.add(n)
    with out.block(f"if {test}:", "it may wait for the stream"):
        with out.block(f"if f{n} >= {p}_t.shape[0]:"):
            out.comment(NO_ROOM_COMMENT)
            out.give_up(NO_ROOM_IN_POOL + n)
        _write_row(ctx, out, node, f"{p}_at", f"f{n}", scope)
        out.add(f"{p}_t[f{n}] = {start}")
        if ctx.query.partition_by:
            out.add(f"{p}_p[f{n}] = {out.local(f'p_{first}')}")
        for child in node.children:
            key = ctx.key(child)
            if key is not None and ctx.waits_by_key(child):
                owner = ctx.keyed_buffer(key.other, key.other_column)
                out.buffers.add(owner.number)
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


def _write_function(ctx: Context, out: Lines, function: _Function, signature: Signature) -> None:
    """Write a function with its body, when all that the kernel holds is known.

    What it counts is in local variables, which are written back at the end. Where something is full, it puts them back
    as they were before the outermost event, and returns that: the caller makes room and comes back.
    """
    body, item = function.body, function.item
    registers = _registers(ctx, body)
    out.add()
    out.add()
    out.add("@kernel")
    with out.block(signature.head, function.why):
        for name, cell in (*ctx.loads(body.reads), *registers):
            out.add(f"{name} = {cell}")
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
    """Append the statements of a body to `out`, indented as there; `give_up` ends the loops that are left early."""
    depth = out.depth
    for line in body.items:
        out.depth = line.depth
        match line:
            case GiveUp(_, reason):
                for text in (
                    f"nums[{ChainCell.SO_FAR}] = m",
                    *give_up[:-1],
                    f"nums[{ChainCell.FULL}] = {reason}",
                    give_up[-1],
                ):
                    out.add(text)
            case Deferred(_, write):
                write(out)
            case _:
                out.add(line.text, line.why)
    out.depth = depth


def _registers(ctx: Context, body: Body) -> list[tuple[str, str]]:
    """The counters that a function holds in local variables while it runs, and the cells that they are saved in."""
    found = [("m", f"nums[{ChainCell.MATCHES}]"), ("w", f"nums[{ChainCell.EVENTS}]")]
    found += [(f"f{n}", f"pool_fill[{n}, 0]") for n in sorted(body.pools)]
    found += [(f"s{n}", f"stage_fill[{n}]") for n in sorted(body.stages)]
    if ctx.counters:
        cells = {
            "predicates": ChainCell.PREDICATES,
            "bounds": ChainCell.BOUNDS,
            "stored": ChainCell.BUFFER_WRITES,
        }
        found += [(register, f"nums[{cell}]") for register, cell in cells.items()]
        found += [(f"seen{n}", f"state_seen[{n}]") for n in sorted(body.counted)]
    return found
