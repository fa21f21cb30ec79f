"""Plans: one dataclass module a family."""

from __future__ import annotations

from augury.plan.choice import Choice
from augury.plan.reference import ReferencePlan
from augury.plan.unsupported import Unsupported

FAMILIES = ("reference", "eager-nfa", "lazy-chain", "lazy-tree", "event-sets", "linked", "lossy")
"""Every evaluator a caller may ask for by name."""

Plan = ReferencePlan

__all__ = ["FAMILIES", "Choice", "Plan", "ReferencePlan", "Unsupported"]
