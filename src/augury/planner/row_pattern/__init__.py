"""Row patterns: from a bound clause to its plan."""

from augury.planner.row_pattern.build import build_row_pattern
from augury.planner.row_pattern.program import program_of

__all__ = ["build_row_pattern", "program_of"]
