"""Plans a MATCH_RECOGNIZE clause: compiled, or left to the reference evaluator."""

from __future__ import annotations

from dataclasses import dataclass

from augury.codegen.row_pattern.search import RowPatternSource, emit_row_pattern
from augury.ir.row_pattern import BoundRowPattern
from augury.plan import Unsupported
from augury.plan.row_pattern import RowPatternPlan
from augury.planner.row_pattern import build_row_pattern


@dataclass(frozen=True, slots=True)
class PlannedRowPattern:
    """A clause with its plan and the text of its kernel; or the reason why the reference evaluator runs it."""

    bound: BoundRowPattern
    plan: RowPatternPlan | None
    source: RowPatternSource | None
    refused: Unsupported | None


def plan_row_pattern(bound: BoundRowPattern) -> PlannedRowPattern:
    """The compiled plan of a clause, or the reason why there is none."""
    plan = build_row_pattern(bound)
    if isinstance(plan, Unsupported):
        return PlannedRowPattern(bound, None, None, plan)
    return PlannedRowPattern(bound, plan, emit_row_pattern(plan), None)
