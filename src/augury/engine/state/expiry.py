"""What the passing of time does to a bucket to which no event comes."""

from __future__ import annotations

from augury.compiler import CompiledProgram
from augury.ir.branches import branches
from augury.ir.query import BoundQuery, TimeWindow
from augury.ir.terms import OutputMode, Strategy


def needs_timer(program: CompiledProgram) -> bool:
    """Whether a match may become certain by the watermark alone, when no event comes."""
    return len(program.queries) > 1 or _may_report_later(program.last.rewritten)


def _may_report_later(query: BoundQuery) -> bool:
    if query.output is not OutputMode.ALL:
        return True
    return any(
        branch.absent or (query.strategy is not Strategy.SKIP_TILL_ANY_MATCH and not branch.sequential)
        for branch in branches(query.pattern)
    )


def forgotten_when_idle(program: CompiledProgram) -> bool:
    """Whether a bucket without events may be dropped, because a new one would do the same."""
    return all(
        isinstance(q.bound.window, TimeWindow) and q.bound.output is not OutputMode.NONOVERLAP for q in program.queries
    )
