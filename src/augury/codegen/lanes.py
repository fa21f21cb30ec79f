"""The dot product of two lists as vector instructions: the sum that `dot` of the prelude computes, in the same order.

A compiler may not reorder a sum of floats, so it leaves the loop of the prelude as it is, one element at a time. Eight
partial sums that are independent by definition are one vector.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from llvmlite import ir

LANES = 8

_INDEX = ir.IntType(64)
_NUMBER = ir.DoubleType()
_VECTOR = ir.VectorType(_NUMBER, LANES)
_ZEROS = ir.Constant(_VECTOR, [0.0] * LANES)


@dataclass(frozen=True, slots=True)
class ListAt:
    """One list of a column: pointers to the offsets, the values and the nulls, and which list it is."""

    offsets: Any
    values: Any
    null: Any
    index: Any


def emit_dot(builder: Any, left: ListAt, right: ListAt) -> Any:
    """Instructions for the dot product of two lists, NaN for a null or unequal lengths."""
    (a, n), (b, m) = (_elements(builder, side) for side in (left, right))
    nulls = builder.or_(*(builder.load(builder.gep(side.null, [side.index])) for side in (left, right)))
    fits = builder.and_(builder.icmp_signed("==", nulls, ir.IntType(8)(0)), builder.icmp_signed("==", n, m))
    total = _products(builder, a, b, builder.select(fits, n, _INDEX(0)))
    return builder.select(fits, total, _NUMBER(float("nan")))


def _elements(builder: Any, side: ListAt) -> tuple[Any, Any]:
    """Where the elements of a list are, and how many."""
    first, end = (
        builder.load(builder.gep(side.offsets, [at])) for at in (side.index, builder.add(side.index, _INDEX(1)))
    )
    return builder.gep(side.values, [first]), builder.sub(end, first)


def _products(builder: Any, a: Any, b: Any, n: Any) -> Any:
    """Instructions for the sum of `a[k] * b[k]` over `n` elements behind two pointers.

    Nothing allows LLVM to fuse a product with its sum or to assume that there is no NaN.
    """
    before = builder.block
    loop, rest, end = (builder.append_basic_block(name) for name in ("lanes", "rest", "end"))
    whole = builder.and_(n, _INDEX(-LANES))
    builder.cbranch(builder.icmp_signed(">", whole, _INDEX(0)), loop, rest)

    builder.position_at_end(loop)
    at, sums = builder.phi(_INDEX), builder.phi(_VECTOR)
    x, y = (_load(builder, builder.gep(pointer, [at]), _VECTOR) for pointer in (a, b))
    longer = builder.fadd(sums, builder.fmul(x, y))
    following = builder.add(at, _INDEX(LANES))
    builder.cbranch(builder.icmp_signed("<", following, whole), loop, rest)
    _come_from(at, (before, _INDEX(0)), (loop, following))
    _come_from(sums, (before, _ZEROS), (loop, longer))

    builder.position_at_end(rest)
    full = builder.phi(_VECTOR)
    _come_from(full, (before, _ZEROS), (loop, longer))
    ways = [(rest, full)]
    choice = builder.switch(builder.and_(n, _INDEX(LANES - 1)), end)
    for size in range(1, LANES):
        case = builder.append_basic_block(f"rest_{size}")
        choice.add_case(_INDEX(size), case)
        builder.position_at_end(case)
        x, y = (_first(builder, builder.gep(pointer, [whole]), size) for pointer in (a, b))
        ways.append((case, builder.fadd(full, builder.fmul(x, y))))
        builder.branch(end)

    builder.position_at_end(end)
    lanes = builder.phi(_VECTOR)
    _come_from(lanes, *ways)
    width = LANES
    while width > 1:
        width //= 2
        low, high = (_slice(builder, lanes, start, width) for start in (0, width))
        lanes = builder.fadd(low, high)
    return builder.extract_element(lanes, ir.IntType(32)(0))


def _come_from(phi: Any, *ways: tuple[Any, Any]) -> None:
    for block, value in ways:
        phi.add_incoming(value, block)


def _load(builder: Any, pointer: Any, type: Any) -> Any:
    # Elements are aligned, vectors are not: a list starts anywhere in its column.
    return builder.load(builder.bitcast(pointer, type.as_pointer()), align=8)


def _first(builder: Any, pointer: Any, size: int) -> Any:
    """The first elements as a vector; zeros fill it up, which leave a lane as it is: no lane is ever minus zero."""
    vector = _ZEROS
    for k in range(size):
        element = _load(builder, builder.gep(pointer, [_INDEX(k)]), _NUMBER)
        vector = builder.insert_element(vector, element, ir.IntType(32)(k))
    return vector


def _slice(builder: Any, vector: Any, start: int, width: int) -> Any:
    mask = ir.Constant(ir.VectorType(ir.IntType(32), width), list(range(start, start + width)))
    return builder.shuffle_vector(vector, vector, mask)
