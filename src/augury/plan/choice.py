"""The planner's decision."""

from __future__ import annotations

from dataclasses import dataclass

from augury.plan.family import Plan
from augury.plan.unsupported import Unsupported
from augury.source import Span


@dataclass(frozen=True, slots=True)
class Dearer:
    """A plan that could run a query, and why another one does; `cost` is in operations a window, if it is known."""

    family: str
    reason: str
    cost: float | None = None
    span: Span | None = None


@dataclass(frozen=True, slots=True)
class Choice:
    """The plan to run with its cost in operations a window, if that is known, and why each rival is not."""

    plan: Plan
    rivals: tuple[Unsupported | Dearer, ...]
    cost: float | None = None
