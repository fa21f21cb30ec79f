"""The reference evaluator runs every query."""

from __future__ import annotations

from augury.ir.query import BoundQuery
from augury.plan import Plan, ReferencePlan, Unsupported


def build_reference(query: BoundQuery) -> Plan | Unsupported:
    """The query is its own plan."""
    return ReferencePlan(query)
