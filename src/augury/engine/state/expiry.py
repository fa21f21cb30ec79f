"""What time alone can change in a bucket."""

from __future__ import annotations

from augury.compiler import CompiledProgram
from augury.ir.branches import branches
from augury.ir.query import BoundQuery, TimeWindow
from augury.ir.terms import OutputMode, Strategy


def waits(program: CompiledProgram) -> bool:
    """Whether a match may become certain by the watermark alone, when no event comes."""
    return len(program.queries) > 1 or _waits(program.last.rewritten)


def _waits(query: BoundQuery) -> bool:
    if query.output is not OutputMode.ALL:
        return True
    return any(
        branch.absent or (query.strategy is not Strategy.SKIP_TILL_ANY_MATCH and not branch.sequential)
        for branch in branches(query.pattern)
    )


def forgets(program: CompiledProgram) -> bool:
    """Whether a bucket that keeps no events is like a new one."""
    return all(
        isinstance(q.bound.window, TimeWindow) and q.bound.output is not OutputMode.NONOVERLAP for q in program.queries
    )
