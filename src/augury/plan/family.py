"""The protocol of plans, and the names of the families."""

from __future__ import annotations

from typing import ClassVar, Literal, Protocol, TypeAlias

from augury.ir.query import BoundQuery

FamilyName: TypeAlias = Literal["reference", "eager-nfa", "lazy-chain", "lazy-tree", "event-sets", "linked", "lossy"]
"""Every evaluator that a caller may ask for by name; `families.FAMILIES` has a record for each."""


class Plan(Protocol):
    """A plan for evaluating a query: states, edges and order as data; a frozen dataclass of one family."""

    family: ClassVar[FamilyName]

    @property
    def query(self) -> BoundQuery:
        """The query that is evaluated."""
        ...
