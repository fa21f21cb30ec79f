"""The instruction that checks whether a kernel should stop."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from augury.budget import STOP

_INDEX = ir.IntType(64)


def emit_stopped(builder: Any, nums: Any) -> Any:
    """Instructions for `stopped` of the prelude.

    An atomic load, which is an ordinary one on the processor: the compiler may not move it out of a loop, although
    nothing in the loop writes to the cell.
    """
    cell = builder.load_atomic(builder.gep(nums, [_INDEX(STOP)]), "monotonic", 8)
    return builder.icmp_signed("!=", cell, _INDEX(0))
