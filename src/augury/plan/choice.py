"""The planner's decision."""

from __future__ import annotations

from dataclasses import dataclass

from augury.plan.family import Plan
from augury.plan.unsupported import Unsupported
from augury.source import Span


@dataclass(frozen=True, slots=True)
class RejectedPlan:
    """A plan that could run the query, and why another one does; `cost` is in operations a window, if estimated."""

    family: str
    reason: str
    cost: float | None = None
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """The plan to run, its cost in operations a window if estimated, and the reason against each rival."""

    plan: Plan
    rivals: tuple[Unsupported | RejectedPlan, ...]
    cost: float | None = None
