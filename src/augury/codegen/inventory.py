"""What the kernel of a plan must know beforehand: its strings, columns and registered functions."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from augury.codegen.expressions import kind_of
from augury.codegen.runs import Columns
from augury.codegen.source import KernelSource
from augury.ir.functions import BUILTINS
from augury.ir.predicate import Call, Conjunct, Expr, Literal, Ref, walk
from augury.plan import Absence, Component, Computed
from augury.runtime.columns import ColumnSpec, Encoding, array_names
from augury.runtime.dictionary import ranks
from augury.runtime.events import EventStore

STREAM = ("time", "rank", "place", "type_", "part")
"""The arrays of every event that generated functions take first; the order of strings and the columns follow."""


def with_inner(components: Iterable[Component], absent: Iterable[Absence]) -> Iterator[Component]:
    """The components, and those of negated parts, however deep."""
    yield from components
    for part in absent:
        yield from with_inner(part.components, part.inner)


def conjuncts_of(components: Iterable[Component]) -> list[Conjunct]:
    """All that is tested anywhere at these components."""
    return [j for c in components for j in (*c.alone, *c.take, *c.whole)]


def strings_of(components: Iterable[Component], conjuncts: Iterable[Conjunct]) -> tuple[str, ...]:
    """The strings that the kernel knows by number: type names, then literals."""
    found: dict[str, None] = {t: None for c in components for t in c.types}
    for conjunct in conjuncts:
        for e in walk(conjunct.expr):
            if isinstance(e, Literal) and isinstance(e.value, str):
                found[e.value] = None
    return tuple(found)


def functions_of(conjuncts: Iterable[Conjunct]) -> dict[str, tuple[str, ...]]:
    """The registered functions that are called, with the kinds of their arguments."""
    calls: dict[str, tuple[str, ...]] = {}
    for conjunct in conjuncts:
        for e in walk(conjunct.expr):
            if isinstance(e, Call) and e.function not in BUILTINS:
                calls[e.function] = tuple(kind_of(a.type) for a in e.arguments)
    return calls


def columns_of(
    components: Iterable[Component], conjuncts: Iterable[Conjunct], computed: Iterable[Computed]
) -> tuple[tuple[ColumnSpec, ...], Columns]:
    """The columns that conjuncts over events of `components` read, and their identifiers in the kernel."""
    by_name, types = {c.name: c.expr for c in computed}, {c.variable: c.types for c in components}
    read: dict[str, list[Ref]] = {}
    for conjunct in conjuncts:
        for e in walk(conjunct.expr):
            if isinstance(e, Ref):
                read.setdefault(e.column, []).append(e)
    specs: list[ColumnSpec] = []
    names: dict[str, str] = {}
    for column, refs in read.items():
        names[column] = _identifier(column, len(specs))
        expr: Expr = by_name.get(column) or Ref("e", column, refs[0].type)
        wanted = [types[e.variable] for e in refs]
        # An event of any type may be read by one that names none.
        only = frozenset(t for some in wanted for t in some) if all(wanted) else frozenset[str]()
        specs.append(ColumnSpec(names[column], refs[0].type.kind, expr, only))
    return tuple(specs), Columns(names)


def _identifier(column: str, number: int) -> str:
    """The column's own name where Python allows it; the prefix keeps it apart from the kernel's own names."""
    return f"c_{column}" if re.fullmatch(r"[A-Za-z0-9_]+", column) and not column.endswith("_null") else f"c{number}"


def emitted_names(specs: Sequence[ColumnSpec]) -> tuple[str, ...]:
    """The column arrays in the order the kernel takes them."""
    return tuple(name for spec in specs for name in array_names(spec))


def stream_arrays(
    events: EventStore, encoding: Encoding, specs: Sequence[ColumnSpec], source: KernelSource
) -> list[npt.NDArray[Any]]:
    """The arrays that generated functions take first, in their order."""
    # Ranks are sorted anew whenever a string is new.
    order = ranks(encoding.dictionary) if source.ranks_strings else np.zeros(1, dtype=np.int64)
    return [
        *map(events.view, ("time", "rank", "place", "type", "partition")),
        order,
        *map(events.view, emitted_names(specs)),
    ]
