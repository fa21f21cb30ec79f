"""Tests of a candidate against the events bound before it: order, window, partition, and the conjuncts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from augury.codegen.common.expressions import Code, Leaf, as_float, true
from augury.codegen.common.naming import remark
from augury.codegen.common.runs import ReadSite, ValueVector
from augury.codegen.lazy.body import Body
from augury.codegen.lazy.context import WITHIN, Context
from augury.codegen.lazy.nest import Node
from augury.ir.predicate import Call, Compare, Conjunct, Expr, Ref, walk

# -- order and window --------------------------------------------------------------------------------------------------


def nearest(node: Node, variables: Iterable[str], *, last: bool) -> list[str]:
    """The variables among these that can be the latest event, or the earliest: none of the others lies beyond them."""
    vs = list(variables)
    return [v for v in vs if not any(((v, u) if last else (u, v)) in node.order for u in vs)]


def latest(ctx: Context, out: Body, node: Node, variables: Iterable[str], what: str = "") -> str:
    """The greatest rank, or clock (`t`), of events bound to `variables`."""
    return extreme("max", [_end(ctx, out, v, what, last=True) for v in nearest(node, variables, last=True)])


def earliest(ctx: Context, out: Body, node: Node, variables: Iterable[str], what: str = "") -> str:
    """The least rank, or clock (`t`), of events bound to `variables`."""
    return extreme("min", [_end(ctx, out, v, what, last=False) for v in nearest(node, variables, last=False)])


def _end(ctx: Context, out: Body, variable: str, what: str, *, last: bool) -> str:
    """Rank or clock of the first or last event of a bound variable."""
    v, what = ctx.names[variable], what or ctx.rank
    if not ctx.iterated(variable):
        return out.local(f"{what}_{v}")
    array = "rank" if what == "r" else ctx.layout.clock
    return f"{array}[events_{v}[{f'd_{v} - 1' if last else '0'}]]"


def extreme(function: str, texts: Sequence[str]) -> str:
    """The `min` or `max` of some texts; of none, no text.

    >>> extreme("max", ["t_v0_a"]), extreme("min", ["t_v0_a", "t_v1_b"])
    ('t_v0_a', 'min(t_v0_a, t_v1_b)')
    """
    return texts[0] if len(texts) == 1 else f"{function}({', '.join(texts)})" if texts else ""


def within(ctx: Context, out: Body, node: Node, clock: str, *, low: bool, high: bool = True) -> None:
    """Pass over an event whose `clock` is not in one window with the events bound before."""
    if ctx.span < 0 or not node.bound or not (low or high):
        return
    tests = [f"{clock} - {earliest(ctx, out, node, node.bound, 't')} > {WITHIN}"] if high else []
    tests += [f"{latest(ctx, out, node, node.bound, 't')} - {clock} > {WITHIN}"] if low else []
    with out.block(f"if {' or '.join(tests)}:", "WITHIN"):
        out.add("continue")


# -- partition and events bound before ---------------------------------------------------------------------------------


def partition_of(ctx: Context, out: Body, node: Node) -> str:
    """The number of the partition of what is bound."""
    first = node.path[0]
    v = ctx.names[first]
    return f"part[events_{v}[0]]" if ctx.iterated(first) else out.local(f"p_{v}")


def same_partition(ctx: Context, out: Body, node: Node) -> None:
    """Skip an event of another partition, unless candidates are searched by partition already."""
    if ctx.query.partition_by and node.bound and ctx.key(node) is None:
        p = out.local(f"p_{ctx.names[node.variable]}")
        with out.block(f"if {p} != {partition_of(ctx, out, node)}:", "another partition"):
            out.add("continue")


def not_bound_before(ctx: Context, out: Body, node: Node) -> None:
    """Pass over an event that is bound already, where the order does not keep the two apart."""
    mine = node.step.component
    for u in node.bound:
        c = ctx.components[u]
        apart = u in node.step.after or u in node.step.before
        if apart or (mine.types and c.types and not set(mine.types) & set(c.types)):
            continue
        name, event = ctx.names[u], out.local(f"e_{ctx.names[node.variable]}")
        in_list = f"contains(events_{name}, 0, d_{name}, {event})"
        test = in_list if c.iterated else f"{event} == {out.local(f'e_{name}')}"
        with out.block(f"if {test}:", remark(f"bound to {u}")):
            out.add("continue")


# -- conjuncts ---------------------------------------------------------------------------------------------------------


def test_all(ctx: Context, out: Body, conjuncts: Sequence[Conjunct]) -> None:
    """Pass over a candidate for which a conjunct is not true."""
    for j in _cheap_first(conjuncts):
        if ctx.counters:
            out.add("predicates += 1")
        with out.block(f"if not {condition(ctx, out, j)}:", ctx.origin(j)):
            out.add("continue")


def _cheap_first(conjuncts: Sequence[Conjunct]) -> list[Conjunct]:
    """Sort key of conjuncts: comparisons of scalars come before loops over the elements of lists."""
    return sorted(conjuncts, key=lambda j: not isinstance(j.expr, Compare) or any(map(_is_product, walk(j.expr))))


def _is_product(e: Expr) -> bool:
    return isinstance(e, Call) and e.function == "dot"


def condition(ctx: Context, out: Body, j: Conjunct) -> str:
    """A test that a conjunct over single events is true."""
    return out.code(condition_code(ctx, j))


def condition_code(ctx: Context, j: Conjunct) -> Code:
    """The same test with what it reads; a negated list stands for any one of its events."""
    return true(j.expr, partial(_leaf, ctx), ctx.constants)


def number(ctx: Context, out: Body, e: Expr) -> str:
    """The value of a number over single events, as a float."""
    code = as_float(e, partial(_leaf, ctx), ctx.constants)
    out.code(code)
    return code.as_float()


def _leaf(ctx: Context, leaf: Leaf) -> Code:
    assert isinstance(leaf, Ref)
    return _single(ctx, leaf)


def _single(ctx: Context, r: Ref) -> Code:
    return ctx.layout.single(ctx.buffer(r.variable), ctx.names[r.variable], r)


def at_list(
    ctx: Context, run: str, variable: str | None = None, event: str | None = None, *, begins: bool = False
) -> ReadSite:
    """The place at which conjuncts over lists are tested; each list has a value vector of its own."""
    return ReadSite(
        ValueVector(),
        ctx.columns,
        ctx.constants,
        0,
        run,
        variable,
        event,
        begins,
        lists={v: (x, f"d_{ctx.names[v]}") for v, x in ctx.vectors.items()},
        single=partial(_single, ctx),
    )


# -- what is read of a bound event -------------------------------------------------------------------------------------


def loads(ctx: Context, out: Body, variables: Iterable[str], body: Body) -> None:
    """Read what `body` uses of the events that variables are bound to."""
    for variable in variables:
        v, b = ctx.names[variable], ctx.buffer(variable)
        scalars = [(f"{x}_{v}", f"{b.name}_{x}") for x in ctx.layout.places]
        if ctx.query.partition_by:
            scalars.append((f"p_{v}", f"{b.name}_p"))
        scalars += [(f"{v}__{x}", f"{b.name}__{x}") for x in b.columns]
        for name, array in scalars:
            if name in body.reads:
                out.buffers.add(b.number)
                out.add(f"{name} = {array}[{out.local(f'j_{v}')}]")
