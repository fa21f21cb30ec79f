"""MATCH_RECOGNIZE over whole tables: sorting, choosing the evaluator, and putting its rows together."""

from augury.engine.row_patterns.evaluate import MAX_STEPS, evaluate
from augury.engine.row_patterns.planned import PlannedRowPattern, plan_row_pattern

__all__ = ["MAX_STEPS", "PlannedRowPattern", "evaluate", "plan_row_pattern"]
