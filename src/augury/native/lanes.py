"""The dot product of two lists as vector instructions: the sum that `dot` of the prelude computes, in the same order.

A compiler may not reorder a sum of floats, so it compiles the loop of the prelude to one element at a time. The eight
partial sums of the prelude are independent by definition, so they fit one vector.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from augury.native.vectors import all_lanes, call, come_from, sum_of_lanes

LANES = 8
"""Floats in a vector, and partial sums of `dot`."""

MASKED_ELEMENTS = 3 * LANES
"""Elements loaded with a mask instead of a length check."""

_INDEX = ir.IntType(64)
_NUMBER = ir.DoubleType()
_VECTOR = ir.VectorType(_NUMBER, LANES)
_INDICES = ir.VectorType(_INDEX, LANES)
_ZEROS = ir.Constant(_VECTOR, [0.0] * LANES)


@dataclass(frozen=True, slots=True)
class ListAt:
    """One list of a column: pointers to the offsets, the values and the nulls, and which list it is."""

    offsets: Any
    values: Any
    null: Any
    index: Any


def emit_dot(builder: Any, left: ListAt, right: ListAt, *, masks: bool) -> Any:
    """Instructions for the dot product of two lists, NaN for a null or unequal lengths.

    With `masks`, the processor can load some lanes of a vector only, and short lists take no branch.
    """
    (a, n), (b, m) = (_elements(builder, side) for side in (left, right))
    nulls = builder.or_(*(_constant(builder, builder.gep(side.null, [side.index])) for side in (left, right)))
    fits = builder.and_(builder.icmp_signed("==", nulls, ir.IntType(8)(0)), builder.icmp_signed("==", n, m))
    sums = _ZEROS
    for at in range(0, MASKED_ELEMENTS if masks else 0, LANES):
        x, y = (_first(builder, pointer, at, size) for pointer, size in ((a, n), (b, m)))
        sums = builder.fadd(sums, builder.fmul(x, y))
    total = _products(builder, a, b, builder.select(fits, n, _INDEX(0)), sums, MASKED_ELEMENTS if masks else 0)
    return builder.select(fits, total, _NUMBER(float("nan")))


def _elements(builder: Any, side: ListAt) -> tuple[Any, Any]:
    """Pointer to the elements of a list, and their number."""
    first, end = (
        _constant(builder, builder.gep(side.offsets, [at])) for at in (side.index, builder.add(side.index, _INDEX(1)))
    )
    return builder.gep(side.values, [first]), builder.sub(end, first)


def _constant(builder: Any, pointer: Any) -> Any:
    """An invariant load, of memory that kernels never write: loops over other lists load it once."""
    value = builder.load(pointer)
    value.set_metadata("invariant.load", builder.module.add_metadata([]))
    return value


def _products(builder: Any, a: Any, b: Any, n: Any, done: Any, begin: int) -> Any:
    """Instructions for the sum of `a[k] * b[k]` over `n` elements behind two pointers; `done` are those before `begin`.

    LLVM may neither fuse a product with its sum nor assume that there is no NaN.
    """
    before = builder.block
    more, loop, rest, part, end = map(builder.append_basic_block, ("more", "lanes", "rest", "part", "end"))
    builder.cbranch(builder.icmp_signed(">", n, _INDEX(begin)), more, end)

    builder.position_at_end(more)
    whole = builder.and_(n, _INDEX(-LANES))
    builder.cbranch(builder.icmp_signed(">", whole, _INDEX(begin)), loop, rest)

    builder.position_at_end(loop)
    at, sums = builder.phi(_INDEX), builder.phi(_VECTOR)
    x, y = (_load(builder, builder.gep(pointer, [at]), _VECTOR) for pointer in (a, b))
    longer = builder.fadd(sums, builder.fmul(x, y))
    following = builder.add(at, _INDEX(LANES))
    builder.cbranch(builder.icmp_signed("<", following, whole), loop, rest)
    come_from(at, (more, _INDEX(begin)), (loop, following))
    come_from(sums, (more, done), (loop, longer))

    builder.position_at_end(rest)
    full = builder.phi(_VECTOR)
    come_from(full, (more, done), (loop, longer))
    builder.cbranch(builder.icmp_signed(">", n, whole), part, end)

    builder.position_at_end(part)
    x, y = (_first(builder, pointer, whole, n) for pointer in (a, b))
    filled = builder.fadd(full, builder.fmul(x, y))
    builder.branch(end)

    builder.position_at_end(end)
    lanes = builder.phi(_VECTOR)
    come_from(lanes, (before, done), (rest, full), (part, filled))
    return sum_of_lanes(builder, lanes, LANES)


def _load(builder: Any, pointer: Any, type: Any) -> Any:
    # Elements are aligned, vectors are not: a list starts anywhere in its column.
    return builder.load(builder.bitcast(pointer, type.as_pointer()), align=8)


def _first(builder: Any, pointer: Any, at: Any, size: Any) -> Any:
    """The elements from `at` on of `size` as a vector, padded with zeros, which leave a lane unchanged.

    No lane is ever minus zero. Lanes without an element are not read: they may lie beyond the end of the column.
    """
    begin = _INDEX(at) if isinstance(at, int) else at
    numbers = ir.Constant(_INDICES, list(range(LANES)))
    there = builder.icmp_signed("<", numbers, all_lanes(builder, builder.sub(size, begin), LANES))
    pointer = builder.gep(pointer, [begin])
    place = builder.bitcast(pointer, _VECTOR.as_pointer())
    return call(builder, f"llvm.masked.load.v{LANES}f64.p0", _VECTOR, place, ir.IntType(32)(8), there, _ZEROS)
