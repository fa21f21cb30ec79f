"""The plan of the reference evaluator: the query itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from augury.ir.query import BoundQuery
from augury.plan.family import FamilyName


@dataclass(frozen=True, slots=True)
class ReferencePlan:
    """Interpret the query as SEMANTICS states it; always possible, never fast."""

    query: BoundQuery
    family: ClassVar[FamilyName] = "reference"
