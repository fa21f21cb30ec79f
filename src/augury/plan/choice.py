"""The planner's decision."""

from __future__ import annotations

from dataclasses import dataclass

from augury.plan.eager_nfa import EagerNfaPlan
from augury.plan.lossy import LossyPlan
from augury.plan.reference import ReferencePlan
from augury.plan.unsupported import Unsupported


@dataclass(frozen=True, slots=True)
class Choice:
    """The plan to run, and why each rival is not."""

    plan: EagerNfaPlan | LossyPlan | ReferencePlan
    rivals: tuple[Unsupported, ...]
