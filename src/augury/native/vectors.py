"""Helpers for vector instructions."""

from __future__ import annotations

from typing import Any

from llvmlite import ir


def all_lanes(builder: Any, number: Any, lanes: int) -> Any:
    """A vector with one number in all lanes."""
    one = builder.insert_element(
        ir.Constant(ir.VectorType(number.type, lanes), ir.Undefined), number, ir.IntType(32)(0)
    )
    return builder.shuffle_vector(one, one, ir.Constant(ir.VectorType(ir.IntType(32), lanes), [0] * lanes))


def sum_of_lanes(builder: Any, lanes: Any, width: int) -> Any:
    """The sum of `width` lanes, halving the vector until one lane is left."""
    while width > 1:
        width //= 2
        low, high = (_slice(builder, lanes, start, width) for start in (0, width))
        lanes = builder.fadd(low, high)
    return builder.extract_element(lanes, ir.IntType(32)(0))


def _slice(builder: Any, vector: Any, start: int, width: int) -> Any:
    mask = ir.Constant(ir.VectorType(ir.IntType(32), width), list(range(start, start + width)))
    return builder.shuffle_vector(vector, vector, mask)


def call(builder: Any, name: str, type: Any, *arguments: Any) -> Any:
    """A call of an LLVM intrinsic."""
    kind = ir.FunctionType(type, [a.type for a in arguments])
    return builder.call(builder.module.globals.get(name) or ir.Function(builder.module, kind, name), arguments)


def come_from(phi: Any, *ways: tuple[Any, Any]) -> None:
    """Add the incoming values of a phi node, each with its block."""
    for block, value in ways:
        phi.add_incoming(value, block)
