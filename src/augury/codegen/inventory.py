"""What the kernel of a plan must know beforehand: its strings, columns and registered functions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from augury.codegen.expressions import kind_of
from augury.codegen.runs import Columns
from augury.ir.functions import BUILTINS
from augury.ir.predicate import Call, Conjunct, Expr, Literal, Ref, walk
from augury.plan import Absence, Component, EagerNfaPlan
from augury.runtime.columns import ColumnSpec, array_names


def _conjuncts(plan: EagerNfaPlan) -> Iterable[tuple[Component, Conjunct]]:
    def inside(absent: Absence) -> Iterable[tuple[Component, Conjunct]]:
        for c in absent.components:
            yield from ((c, j) for j in (*c.alone, *c.take, *c.whole))
        for inner in absent.inner:
            yield from inside(inner)

    for branch in plan.branches:
        for c in branch.components:
            yield from ((c, j) for j in (*c.alone, *c.take, *c.whole))
        for absent in branch.absent:
            yield from inside(absent)


def _components(plan: EagerNfaPlan) -> Iterable[Component]:
    def inside(absent: Absence) -> Iterable[Component]:
        yield from absent.components
        for inner in absent.inner:
            yield from inside(inner)

    for branch in plan.branches:
        yield from branch.components
        for absent in branch.absent:
            yield from inside(absent)


def strings_of(plan: EagerNfaPlan) -> tuple[str, ...]:
    """The strings that the kernel knows by number: type names, then literals."""
    found: dict[str, None] = {t: None for c in _components(plan) for t in c.types}
    for _, conjunct in _conjuncts(plan):
        for e in walk(conjunct.expr):
            if isinstance(e, Literal) and isinstance(e.value, str):
                found[e.value] = None
    return tuple(found)


def functions_of(plan: EagerNfaPlan) -> dict[str, tuple[str, ...]]:
    calls: dict[str, tuple[str, ...]] = {}
    for _, conjunct in _conjuncts(plan):
        for e in walk(conjunct.expr):
            if isinstance(e, Call) and e.function not in BUILTINS:
                calls[e.function] = tuple(kind_of(a.type) for a in e.arguments)
    return calls


def columns_of(plan: EagerNfaPlan) -> tuple[tuple[ColumnSpec, ...], Columns]:
    """The columns that conjuncts read, and their identifiers in the kernel."""
    computed = {c.name: c.expr for c in plan.computed}
    specs: list[ColumnSpec] = []
    names: dict[str, str] = {}
    for _, conjunct in _conjuncts(plan):
        for e in walk(conjunct.expr):
            if isinstance(e, Ref) and e.column not in names:
                name = _identifier(e.column, len(specs))
                names[e.column] = name
                expr: Expr = computed.get(e.column) or Ref("e", e.column, e.type)
                specs.append(ColumnSpec(name, e.type.kind, expr))
    return tuple(specs), Columns(names)


def _identifier(column: str, number: int) -> str:
    """The column's own name where Python allows it; the prefix keeps it apart from the kernel's own names."""
    return f"c_{column}" if re.fullmatch(r"[A-Za-z0-9_]+", column) and not column.endswith("_null") else f"c{number}"


def emitted_names(specs: Sequence[ColumnSpec]) -> tuple[str, ...]:
    """The column arrays in the order the kernel takes them."""
    return tuple(name for spec in specs for name in array_names(spec))
