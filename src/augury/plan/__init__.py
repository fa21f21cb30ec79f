"""Plans: one dataclass module a family."""

from __future__ import annotations

from typing import TypeAlias

from augury.plan.choice import Choice
from augury.plan.eager_nfa import Absence, Computed, EagerNfaPlan, NfaBranch, NfaComponent
from augury.plan.reference import ReferencePlan
from augury.plan.unsupported import Unsupported

FAMILIES = ("reference", "eager-nfa", "lazy-chain", "lazy-tree", "event-sets", "linked", "lossy")
"""Every evaluator a caller may ask for by name."""

Plan: TypeAlias = "EagerNfaPlan | ReferencePlan"

__all__ = [
    "FAMILIES",
    "Absence",
    "Choice",
    "Computed",
    "EagerNfaPlan",
    "NfaBranch",
    "NfaComponent",
    "Plan",
    "ReferencePlan",
    "Unsupported",
]
