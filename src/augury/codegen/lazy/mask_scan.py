"""Candidates tested many at a time: comparisons over a range of a buffer, written as loops that vectorise.

A selector fills a mask for the whole range, then writes down where it is set. Conditions of a later state that read
only the first event are tested once for each of those, and what passes is copied aside: to `passed3_t`,
`passed3__c0_price`, ... for state 3, in order, with the positions in its buffer in `passed3`.
"""

from __future__ import annotations

from collections.abc import Sequence

from augury.codegen.common.expressions import read_by
from augury.codegen.common.lines import Lines
from augury.codegen.common.naming import remark
from augury.codegen.lazy.body import Body
from augury.codegen.lazy.conditions import condition_code
from augury.codegen.lazy.context import Context
from augury.codegen.lazy.nest import Node
from augury.ir.comparisons import vectorises
from augury.ir.predicate import Conjunct

MASK_STRIDE = 32
"""Candidates tested at once; a range is padded to a multiple of this number, and the padding is masked out."""

MAX_CHAINED_TESTS = 32
"""Tests in one chain of `&`; more are nested, so that thousands do not exceed the depth that Python parses."""


def masked_conjuncts(ctx: Context, node: Node) -> tuple[Conjunct, ...]:
    """The conjuncts of a state that selectors test."""
    if node.iterated or ctx.key(node) is not None:
        return ()
    if node.negated and node.variable not in ctx.plan.kept:
        # One is enough: the others are not looked at.
        return ()
    if node.step.bounds or node.variable not in ctx.plan.selected:
        return ()
    return tuple(j for j in node.step.component.take if vectorises(j))


def first_event_conjuncts(ctx: Context, node: Node) -> tuple[Conjunct, ...]:
    """Conjuncts of a state on its own and the first event of its path, if another event is bound between the two."""
    if len(node.path) < 3 or node.variable not in ctx.plan.kept:
        return ()
    return tuple(j for j in masked_conjuncts(ctx, node) if set(j.variables) <= {node.path[0], node.variable})


def mask_range(ctx: Context, out: Body, node: Node, conjuncts: Sequence[Conjunct], *, kept: bool) -> None:
    """Set `found` to the number of candidates between `lo` and `hi` that pass; their positions are in `found`.

    If candidates were `kept` for the first event, these are positions among them.
    """
    v, n = ctx.names[node.variable], node.number
    prefix = f"passed{n}" if kept else ctx.buffer(node.variable).name
    name = f"{'choose' if kept else 'select'}_{n}"
    arguments = _selector(ctx, out, name, node, conjuncts, prefix, f"found{n}", ())
    out.add(f"found_{v} = {name}(lo_{v}, hi_{v}, {arguments})", _origins(ctx, conjuncts))
    if ctx.counters:
        out.add(f"predicates += {len(conjuncts)} * (hi_{v} - lo_{v})")


def keep_for_first(ctx: Context, out: Body, node: Node) -> None:
    """Copy the candidates of a later state that pass what the first event alone decides; `kept` is their number."""
    v, n, b = ctx.names[node.variable], node.number, ctx.buffer(node.variable)
    conjuncts = first_event_conjuncts(ctx, node)
    rest = [j for j in masked_conjuncts(ctx, node) if j not in conjuncts]
    read = read_by(condition_code(ctx, j) for j in rest)
    copies = [
        *((f"_{x}", "") for x in ctx.layout.places if x != "e" or n in ctx.number_alone),
        *((f"__{x}", x) for x in b.columns if f"{v}__{x}" in read),
    ]
    name = f"keep_{n}"
    arguments = _selector(ctx, out, name, node, conjuncts, b.name, f"passed{n}", copies)
    base, top = out.cursor(f"base{n}_{v}"), out.cursor(f"top{n}_{v}")
    out.add(f"kept{n}_{v} = {name}({base}, {top}, {arguments})", _origins(ctx, conjuncts))
    if ctx.counters:
        out.add(f"predicates += {len(conjuncts)} * ({top} - {base})")


def _selector(
    ctx: Context,
    out: Body,
    name: str,
    node: Node,
    conjuncts: Sequence[Conjunct],
    prefix: str,
    found: str,
    copies: Sequence[tuple[str, str]],
) -> str:
    """Write the selector `name`; the arguments to call it with from `out`, after the range.

    It also makes `copies`, given as ends of names of arrays, and the columns that these hold.
    """
    v, b, n = ctx.names[node.variable], ctx.buffer(node.variable), node.number
    tests = [condition_code(ctx, j) for j in conjuncts]
    read = read_by(tests)
    columns = [x for x in b.columns if f"{v}__{x}" in read]
    own = {f"{v}__{x}" for x in columns}
    outer = [out.local(x) for x in read if x not in own]
    sources, kept = [f"{b.name}{x}" for x, _ in copies], [f"passed{n}{x}" for x, _ in copies]
    arrays = [f"{prefix}__{x}" for x in columns]
    more = [x for x in sources if x not in arrays]
    arguments = ", ".join([*outer, *arrays, "mask", found, *more, *kept])
    text = Lines()
    text.add()
    text.add()
    text.add("@kernel")
    with text.block(f"def {name}(lo, hi, {arguments}):", _origins(ctx, conjuncts)):
        text.add("size = hi - lo")
        text.add(f"width = (size + {MASK_STRIDE - 1}) & -{MASK_STRIDE}")
        for x in columns:
            text.add(f"s__{x} = {prefix}__{x}[lo : lo + width]")
        with text.block("for k in range(width):"):
            for x in columns:
                text.add(f"{v}__{x} = s__{x}[k]")
            text.add(f"mask[k] = {_all_true([test.value for test in tests])}")
        text.add(f"n = marked(mask, size, lo, {found})")
        for source, copy in zip(sources, kept, strict=True):
            with text.block("for k in range(n):"):
                text.add(f"{copy}[k] = {source}[{found}[k]]")
        text.add("return n")
    ctx.selectors[name] = text
    ctx.candidates(node, found)
    for name, (_, column) in zip(kept, copies, strict=True):
        ctx.candidates(node, name, column=column)
    return arguments


def _all_true(tests: Sequence[str]) -> str:
    """The conjunction of tests without branches, which would keep the loop from being vectorised.

    It is nested by `MAX_CHAINED_TESTS`, since Python's parser nests a chain of operators once for each of them.
    """
    if len(tests) <= MAX_CHAINED_TESTS:
        return " & ".join(tests)
    size = MAX_CHAINED_TESTS
    return _all_true([f"({_all_true(tests[i : i + size])})" for i in range(0, len(tests), size)])


def _origins(ctx: Context, conjuncts: Sequence[Conjunct]) -> str:
    return remark("; ".join(map(ctx.origin, conjuncts)))
