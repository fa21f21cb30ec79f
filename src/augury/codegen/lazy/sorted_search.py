"""Candidates by the value of a column that comparisons bound, in blocks of a buffer that are sorted by it."""

from __future__ import annotations

from collections.abc import Sequence

from augury.codegen.common.naming import remark
from augury.codegen.lazy.body import Body
from augury.codegen.lazy.conditions import extreme, number
from augury.codegen.lazy.context import Context
from augury.codegen.lazy.nest import Node
from augury.plan import Bound


def search_sorted(ctx: Context, out: Body, node: Node, bounds: Sequence[Bound]) -> None:
    """Set `found` to the number of candidates that comparisons leave; their positions are in `Y`."""
    v, b, column = ctx.names[node.variable], ctx.buffer(node.variable), bounds[0].column
    z, x = ctx.layout.sorting(b, column), ctx.columns.names[column]
    low = extreme("max", [_limit(ctx, out, bound) for bound in bounds if ">" in bound.operator]) or "-inf"
    high = extreme("min", [_limit(ctx, out, bound) for bound in bounds if "<" in bound.operator]) or "inf"
    arrays = f"{b.name}__{x}, sorted{z}_order, sorted_fill[{z}], lo_{v}, hi_{v}, {low}, {high}, found{node.number}"
    out.add(f"found_{v} = sorted_between({arrays})", remark("; ".join(f"{column} {b.operator} ..." for b in bounds)))
    if ctx.counters:
        out.add(f"predicates += looked_at(sorted_fill[{z}], lo_{v}, hi_{v})")
    ctx.candidates(node, f"found{node.number}")


def _limit(ctx: Context, out: Body, bound: Bound) -> str:
    """Text of the lower or upper bound of the column, a little wider where a sum is rounded."""
    known = number(ctx, out, bound.value)
    if bound.shift is None:
        return known
    shift = number(ctx, out, bound.shift)
    rounded = "least_with" if ">" in bound.operator else "most_with"
    return f"{rounded}({known}, {f'-({shift})' if bound.less else shift})"
