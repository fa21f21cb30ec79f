"""The reason why a family cannot run a query, as a value."""

from __future__ import annotations

from dataclasses import dataclass

from augury.source import Span


@dataclass(frozen=True, slots=True)
class Unsupported:
    """Why a plan family cannot run a query."""

    family: str
    reason: str
    span: Span | None = None
    too_large: bool = False
    """Whether a smaller query of the same kind would be supported."""
