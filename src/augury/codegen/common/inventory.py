"""What the kernel of a plan reads: its columns, and the arrays that hold them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from augury.codegen.common.constants import Constants
from augury.codegen.common.runs import Columns
from augury.ir.predicate import Conjunct, Expr, Ref, walk
from augury.plan import Absence, Component, Computed
from augury.runtime.columns import ColumnSpec, Encoding, array_names
from augury.runtime.dictionary import ranks
from augury.runtime.events import EventStore
from augury.runtime.identifiers import identifiers
from augury.runtime.kernel_source import KernelSource

STREAM = ("time", "rank", "place", "type_", "part")
"""Arrays of every event that generated functions take first; the order of strings, sets and columns follow."""


def with_inner(components: Iterable[Component], absent: Iterable[Absence]) -> Iterator[Component]:
    """The components, and those of negated parts, however deep."""
    yield from components
    for part in absent:
        yield from with_inner(part.components, part.inner)


def conjuncts_of(components: Iterable[Component]) -> list[Conjunct]:
    """All that is tested anywhere at these components."""
    return [j for c in components for j in (*c.alone, *c.take, *c.whole)]


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
    # Not by the order of conjuncts: plans that evaluate a query in another order share the arrays of events.
    names = identifiers("c", sorted(read))
    for column, refs in read.items():
        expr: Expr = by_name.get(column) or Ref("e", column, refs[0].type)
        wanted = [types[e.variable] for e in refs]
        # An event of any type may be read by one that names none.
        only = frozenset(t for some in wanted for t in some) if all(wanted) else frozenset[str]()
        specs.append(ColumnSpec(names[column], refs[0].type.kind, expr, only))
    return tuple(specs), Columns(names)


def stream_names(constants: Constants, specs: Sequence[ColumnSpec]) -> str:
    """The parameters of generated functions for what `stream_arrays` gives."""
    return ", ".join([*STREAM, *lookup_names(constants, specs)])


def lookup_names(constants: Constants, specs: Sequence[ColumnSpec]) -> tuple[str, ...]:
    """Those of them that conditions may read: the order of strings, sets of values, and columns."""
    return ("string_rank", *constants.arrays, *emitted_names(specs))


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
        *source.sets,
        *map(events.view, emitted_names(specs)),
    ]
