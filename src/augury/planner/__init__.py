"""BoundQuery -> Choice: one builder a family, and the choice among them."""

from augury.planner.choose import BUILDERS, choose

__all__ = ["BUILDERS", "choose"]
