"""Planning: one builder a plan family, and the choice among the plans that they build."""

from augury.planner.choose import choose, planned, uses_statistics
from augury.planner.hints import Hints

__all__ = ["Hints", "choose", "planned", "uses_statistics"]
