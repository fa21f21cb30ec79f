"""Instructions that compare one list with 64 others at once, to find those with a large enough dot product.

The other lists are stored transposed, in blocks of 64: the first element of each, then the second of each, and so on.
One element is then multiplied with 64 at a time, and no sum across a vector is needed. Elements are 32 bit floats,
half as many bytes to read; the exact product decides what rounding may change (`least_near` of the prelude).
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from augury.native.vectors import all_lanes, call, come_from, sum_of_lanes
from augury.runtime.cosines import LEADING

LANES = 16
"""Floats in a vector."""

VECTORS = 4
"""Independent sums: with one alone, each addition would wait for the one before."""

_INDEX = ir.IntType(64)
_NUMBER = ir.FloatType()
_VECTOR = ir.VectorType(_NUMBER, LANES)
_LEADS = ir.VectorType(ir.DoubleType(), LEADING)
_ALL = _INDEX(-1)
_SIZE = LANES * VECTORS


def emit_near(
    builder: Any, rows: Any, width: Any, base: Any, lo: Any, hi: Any, values: Any, first: Any, sign: Any, limit: Any
) -> Any:
    """Instructions for `near` of the prelude; `rows` and `values` are pointers to 32 and 64 bit floats."""
    reads = builder.fcmp_ordered("<", call(builder, "llvm.fabs.f64", limit.type, limit), ir.DoubleType()(float("inf")))
    size = builder.select(reads, width, _INDEX(0))
    block = builder.gep(rows, [builder.mul(base, width)])
    sums = _products(builder, block, builder.gep(values, [first]), sign, size)
    least = all_lanes(builder, builder.fptrunc(limit, _NUMBER), LANES)
    found = _INDEX(0)
    for k, total in enumerate(sums):
        # True of a NaN as well: the exact product decides about that list.
        passes = builder.fcmp_unordered(">=", total, least)
        mask = builder.zext(builder.bitcast(passes, ir.IntType(LANES)), _INDEX)
        found = builder.or_(found, builder.shl(mask, _INDEX(k * LANES)))
    return builder.and_(found, _between(builder, builder.sub(lo, base), builder.sub(hi, base)))


def _products(builder: Any, block: Any, row: Any, sign: Any, size: Any) -> list[Any]:
    """The products of a row with the rows of a block, as vectors."""
    before = builder.block
    loop, end = builder.append_basic_block("elements"), builder.append_basic_block("sums")
    zeros = ir.Constant(_VECTOR, [0.0] * LANES)
    builder.cbranch(builder.icmp_signed(">", size, _INDEX(0)), loop, end)

    builder.position_at_end(loop)
    at, sums = builder.phi(_INDEX), [builder.phi(_VECTOR) for _ in range(VECTORS)]
    element = builder.fmul(sign, builder.load(builder.gep(row, [at])))
    x = all_lanes(builder, builder.fptrunc(element, _NUMBER), LANES)
    place = builder.gep(block, [builder.mul(at, _INDEX(_SIZE))])
    # A fused multiply-add where the processor has it: it rounds once.
    longer = [
        call(builder, f"llvm.fmuladd.v{LANES}f32", _VECTOR, x, _vector_at(builder, place, k), total)
        for k, total in enumerate(sums)
    ]
    following = builder.add(at, _INDEX(1))
    builder.cbranch(builder.icmp_signed("<", following, size), loop, end)
    come_from(at, (before, _INDEX(0)), (loop, following))
    for total, more in zip(sums, longer, strict=True):
        come_from(total, (before, zeros), (loop, more))

    builder.position_at_end(end)
    totals = [builder.phi(_VECTOR) for _ in range(VECTORS)]
    for total, more in zip(totals, longer, strict=True):
        come_from(total, (before, zeros), (loop, more))
    return totals


def emit_coefficients(
    builder: Any, values: Any, first: Any, width: Any, cosines: Any, sign: Any, led: Any, at: Any
) -> Any:
    """Instructions for `coefficients` of the prelude; `width` is 1 at least."""
    row = builder.gep(values, [first])
    before = builder.block
    loop, end = builder.append_basic_block("elements"), builder.append_basic_block("led")
    builder.branch(loop)

    builder.position_at_end(loop)
    j, total = builder.phi(_INDEX), builder.phi(_LEADS)
    x = all_lanes(builder, builder.fmul(sign, builder.load(builder.gep(row, [j]))), LEADING)
    place = builder.bitcast(builder.gep(cosines, [builder.mul(j, _INDEX(LEADING))]), _LEADS.as_pointer())
    more = call(builder, f"llvm.fmuladd.v{LEADING}f64", _LEADS, x, builder.load(place, align=8), total)
    following = builder.add(j, _INDEX(1))
    builder.cbranch(builder.icmp_signed("<", following, width), loop, end)
    come_from(j, (before, _INDEX(0)), (loop, following))
    come_from(total, (before, ir.Constant(_LEADS, [0.0] * LEADING)), (loop, more))

    builder.position_at_end(end)
    builder.store(more, builder.bitcast(builder.gep(led, [at]), _LEADS.as_pointer()), align=8)
    return sum_of_lanes(builder, builder.fmul(more, more), LEADING)


def _vector_at(builder: Any, place: Any, k: int) -> Any:
    pointer = builder.gep(place, [_INDEX(k * LANES)])
    return builder.load(builder.bitcast(pointer, _VECTOR.as_pointer()), align=4)


def _between(builder: Any, first: Any, end: Any) -> Any:
    """A mask of the places from `first` up to `end` of a block."""
    first = builder.select(builder.icmp_signed(">", first, _INDEX(0)), first, _INDEX(0))
    end = builder.select(builder.icmp_signed("<", end, _INDEX(_SIZE)), end, _INDEX(_SIZE))
    return builder.and_(builder.shl(_ALL, first), builder.lshr(_ALL, builder.sub(_INDEX(_SIZE), end)))


def emit_lowest(builder: Any, bits: Any) -> Any:
    """Instructions for `lowest` of the prelude."""
    return call(builder, "llvm.cttz.i64", _INDEX, bits, ir.IntType(1)(1))
