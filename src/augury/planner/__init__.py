"""BoundQuery -> Choice: one builder a family, and the choice among them."""

from augury.planner.choose import choose, planned, uses_statistics
from augury.planner.hints import Hints

__all__ = ["Hints", "choose", "planned", "uses_statistics"]
