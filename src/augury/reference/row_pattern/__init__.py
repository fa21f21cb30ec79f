"""Row patterns of SQL in slow, obvious Python: backtracking in the order of preference."""

from augury.reference.row_pattern.output import match_rows

__all__ = ["match_rows"]
