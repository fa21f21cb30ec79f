"""The planner's decision."""

from __future__ import annotations

from dataclasses import dataclass

from augury.plan.eager_nfa import EagerNfaPlan
from augury.plan.event_sets import EventSetsPlan
from augury.plan.lazy_chain import LazyChainPlan, LazyTreePlan
from augury.plan.linked import LinkedPlan
from augury.plan.lossy import LossyPlan
from augury.plan.reference import ReferencePlan
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

    plan: EagerNfaPlan | EventSetsPlan | LazyChainPlan | LazyTreePlan | LinkedPlan | LossyPlan | ReferencePlan
    rivals: tuple[Unsupported | Dearer, ...]
    cost: float | None = None
