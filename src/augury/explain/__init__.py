"""What became of a query, stage by stage."""

from augury.explain.text import STAGES, explain_text

__all__ = ["STAGES", "explain_text"]
