"""BoundQuery -> Choice: one builder a family, and the choice among them."""

from augury.planner.choose import BUILDERS, LAZY, choose, uses_statistics
from augury.planner.hints import Hints

__all__ = ["BUILDERS", "LAZY", "Hints", "choose", "uses_statistics"]
