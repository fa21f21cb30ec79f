"""The columns that the kernel of a plan reads, and the arrays that hold them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from augury.codegen.common.constants import Constants
from augury.codegen.common.runs import Columns
from augury.ir.predicate import Conjunct, Expr, Ref, walk
from augury.plan import Absence, Component, Computed
from augury.runtime.arrays import INT32, UINT8, ArraySpec
from augury.runtime.columns import ColumnSpec, Encoding, array_names, column_arrays
from augury.runtime.dictionary import ranks
from augury.runtime.events import EventStore
from augury.runtime.identifiers import identifiers
from augury.runtime.kernel_source import KernelSource

UNRANKED = np.zeros(1, dtype=np.int64)
"""Stands for the order of strings in kernels that do not compare any."""

STREAM = (ArraySpec("time"), ArraySpec("rank"), ArraySpec("place"), ArraySpec("type_", INT32), ArraySpec("part"))
"""Arrays of every event that generated functions take first; the order of strings, values, sets and columns follow."""

NUMS = ArraySpec("nums")
KEEP = ArraySpec("keep", UINT8)
"""1 for what stays: events that fit, matches that nothing rejects."""


def with_inner(components: Iterable[Component], absent: Iterable[Absence]) -> Iterator[Component]:
    """The components, what ends their lists, and those of negated parts, however deep."""
    for c in components:
        yield c
        if c.until is not None:
            yield c.until
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


def stream_specs(constants: Constants, specs: Sequence[ColumnSpec]) -> tuple[ArraySpec, ...]:
    """The specifications of `stream_arrays`, in its order."""
    return (*STREAM, *lookup_specs(constants, specs))


def lookup_specs(constants: Constants, specs: Sequence[ColumnSpec]) -> tuple[ArraySpec, ...]:
    """The specifications of the arrays that conditions may read: order of strings, values, sets of values, columns."""
    return (ArraySpec("string_rank"), *constants.specs, *(array for spec in specs for array in column_arrays(spec)))


def names_of(specs: Iterable[ArraySpec]) -> str:
    """The arrays as arguments, or as parameters."""
    return ", ".join(spec.name for spec in specs)


def emitted_names(specs: Sequence[ColumnSpec]) -> tuple[str, ...]:
    """The column arrays in the order the kernel takes them."""
    return tuple(name for spec in specs for name in array_names(spec))


def stream_arrays(
    events: EventStore, encoding: Encoding, specs: Sequence[ColumnSpec], source: KernelSource
) -> list[npt.NDArray[Any]]:
    """The arrays that generated functions take first, in their order."""
    # Ranks are sorted anew whenever a string is new.
    order = ranks(encoding.dictionary) if source.ranks_strings else UNRANKED
    return [
        *events.views(("time", "rank", "place", "type", "partition")),
        order,
        *source.sets,
        *events.columns(specs),
    ]
