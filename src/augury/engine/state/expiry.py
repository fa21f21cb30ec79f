"""Decides whether a bucket without new events needs a timer, and whether an empty one can be dropped."""

from __future__ import annotations

from augury.compiler import CompiledProgram
from augury.ir.branches import branches
from augury.ir.query import BoundQuery, TimeWindow
from augury.ir.terms import OutputMode

_REMEMBERED = (OutputMode.NONOVERLAP, OutputMode.LONGEST_NONOVERLAP, OutputMode.NONOVERLAP_FROM)
"""Outputs for which the last match reported decides about every later one."""


def needs_timer(program: CompiledProgram) -> bool:
    """Whether a match may become certain by the watermark alone, when no event comes."""
    return len(program.queries) > 1 or _may_report_later(program.last.rewritten)


def _may_report_later(query: BoundQuery) -> bool:
    if not query.reports_all:
        return True
    if any(v.negated and v.group is not None for v in query.variables):
        # A NOT inside a group is not part of the branches below, which leave out rounds.
        return True
    return any(branch.absent or (not query.declarative and not branch.by_runs) for branch in branches(query.pattern))


def _is_short_lived(query: BoundQuery) -> bool:
    return query.output not in _REMEMBERED and not query.paced and query.longest_silence is None


def forgotten_when_idle(program: CompiledProgram) -> bool:
    """Whether a bucket without events may be dropped, because a new one would behave the same."""
    return all(isinstance(q.bound.window, TimeWindow) and _is_short_lived(q.bound) for q in program.queries)
