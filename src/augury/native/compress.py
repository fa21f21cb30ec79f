"""Instructions that list the set places of a mask, 64 at a time, and that count ascending integers below a value.

With AVX-512, eight places are compressed and stored at once, without a data-dependent branch; the output needs room for
eight more than are found.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from augury.native.prelude_search import SEARCH_VECTOR
from augury.native.vectors import all_lanes, call, come_from

LANES = 8

MASK_WORD_BITS = 64
"""Bits tested at once; most words are zero."""

MAX_SINGLE_WRITES = 6
"""Set bits of a word up to which their places are written one by one; more are written as vectors."""

_BIT = ir.IntType(1)
_BYTE = ir.IntType(8)
_INDEX = ir.IntType(64)
_MASK = ir.VectorType(_BYTE, MASK_WORD_BITS)
_PLACES = ir.VectorType(_INDEX, LANES)


def emit_marked(builder: Any, mask: Any, size: Any, lo: Any, found: Any, *, native: bool) -> Any:
    """Instructions for `marked` of the prelude; `native` says that the processor has AVX-512."""
    before = builder.block
    loop, some, many, few, on, end = (
        builder.append_basic_block(name) for name in ("blocks", "some", "many", "few", "on", "end")
    )
    builder.cbranch(builder.icmp_signed(">", size, _INDEX(0)), loop, end)

    builder.position_at_end(loop)
    at, n = builder.phi(_INDEX), builder.phi(_INDEX)
    block = builder.load(builder.bitcast(builder.gep(mask, [at]), _MASK.as_pointer()), align=1)
    bits = builder.bitcast(builder.icmp_unsigned("!=", block, ir.Constant(_MASK, [0] * MASK_WORD_BITS)), _INDEX)
    bits = builder.and_(bits, _first(builder, builder.sub(size, at)))
    base = builder.add(lo, at)
    builder.cbranch(builder.icmp_unsigned("!=", bits, _INDEX(0)), some, on)

    builder.position_at_end(some)
    together = builder.icmp_signed(">", call(builder, "llvm.ctpop.i64", _INDEX, bits), _INDEX(MAX_SINGLE_WRITES))
    builder.cbranch(together if native else _BIT(0), many, few)

    builder.position_at_end(many)
    more = _together(builder, bits, base, found, n) if native else n
    builder.branch(on)

    builder.position_at_end(few)
    singly = _one_by_one(builder, bits, base, found, n)
    few = builder.block
    builder.branch(on)

    builder.position_at_end(on)
    total = builder.phi(_INDEX)
    following = builder.add(at, _INDEX(MASK_WORD_BITS))
    builder.cbranch(builder.icmp_signed("<", following, size), loop, end)
    come_from(total, (loop, n), (many, more), (few, singly))
    come_from(at, (before, _INDEX(0)), (on, following))
    come_from(n, (before, _INDEX(0)), (on, total))

    builder.position_at_end(end)
    result = builder.phi(_INDEX)
    come_from(result, (before, _INDEX(0)), (on, total))
    return result


def emit_ahead(builder: Any, operator: str, ascending: Any, lo: Any, value: Any) -> Any:
    """Instructions for `below` and `up_to` of the prelude."""
    lanes = ir.VectorType(_INDEX, SEARCH_VECTOR)
    there = builder.load(builder.bitcast(builder.gep(ascending, [lo]), lanes.as_pointer()), align=8)
    bits = builder.bitcast(
        builder.icmp_signed(operator, there, all_lanes(builder, value, SEARCH_VECTOR)), ir.IntType(SEARCH_VECTOR)
    )
    # With an extra bit after the last place, so that a first place that is not below always exists.
    bits = builder.not_(builder.zext(bits, _INDEX))
    return call(builder, "llvm.cttz.i64", _INDEX, bits, _BIT(1))


def _together(builder: Any, bits: Any, base: Any, found: Any, n: Any) -> Any:
    """Write the places of `bits`, counted from `base`, as vectors; returns the number of places so far."""
    eight = ir.VectorType(_BIT, LANES)
    places = builder.add(all_lanes(builder, base, LANES), ir.Constant(_PLACES, list(range(LANES))))
    for k in range(0, MASK_WORD_BITS, LANES):
        byte = builder.trunc(builder.lshr(bits, _INDEX(k)), _BYTE)
        here = builder.add(places, ir.Constant(_PLACES, [k] * LANES))
        zeros, marked = ir.Constant(_PLACES, [0] * LANES), builder.bitcast(byte, eight)
        moved = call(builder, f"llvm.x86.avx512.mask.compress.v{LANES}i64", _PLACES, here, zeros, marked)
        builder.store(moved, builder.bitcast(builder.gep(found, [n]), _PLACES.as_pointer()), align=8)
        n = builder.add(n, builder.zext(call(builder, "llvm.ctpop.i8", _BYTE, byte), _INDEX))
    return n


def _one_by_one(builder: Any, bits: Any, base: Any, found: Any, n: Any) -> Any:
    before = builder.block
    loop, end = builder.append_basic_block("bits"), builder.append_basic_block("done")
    builder.branch(loop)
    builder.position_at_end(loop)
    left, at = builder.phi(_INDEX), builder.phi(_INDEX)
    place = call(builder, "llvm.cttz.i64", _INDEX, left, _BIT(1))
    builder.store(builder.add(base, place), builder.gep(found, [at]))
    rest, following = builder.and_(left, builder.sub(left, _INDEX(1))), builder.add(at, _INDEX(1))
    come_from(left, (before, bits), (loop, rest))
    come_from(at, (before, n), (loop, following))
    builder.cbranch(builder.icmp_unsigned("!=", rest, _INDEX(0)), loop, end)
    builder.position_at_end(end)
    return following


def _first(builder: Any, count: Any) -> Any:
    """A mask of the first `count` places of a block; `count` is at least 1."""
    unused = builder.sub(_INDEX(MASK_WORD_BITS), count)
    unused = builder.select(builder.icmp_signed(">", unused, _INDEX(0)), unused, _INDEX(0))
    return builder.lshr(_INDEX(-1), unused)
