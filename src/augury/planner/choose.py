"""Which family runs a query."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from augury.errors import UnsupportedPlan, names
from augury.ir.query import BoundQuery
from augury.plan import FAMILIES, Choice, Plan, Unsupported
from augury.planner.reference import build_reference

BUILDERS: Mapping[str, Callable[[BoundQuery], Plan | Unsupported]] = {"reference": build_reference}
"""One builder a family; a family without one is not part of this release."""


def choose(query: BoundQuery, family: str | None = None) -> Choice:
    """The best plan for `query`, or the one of `family` if that is asked for.

    An unknown name, or a family that cannot run the query, raises `UnsupportedPlan`.
    """
    if family is not None and family not in FAMILIES:
        raise UnsupportedPlan(f"there is no plan `{family}`; plans are {names(FAMILIES)}")
    built = {name: build(query, name) for name in FAMILIES}
    possible = [plan for plan in built.values() if not isinstance(plan, Unsupported)]
    refused = tuple(plan for plan in built.values() if isinstance(plan, Unsupported))
    if family is None:
        return Choice(possible[0], refused)
    wanted = built[family]
    if isinstance(wanted, Unsupported):
        raise UnsupportedPlan(f"plan `{family}` cannot run this query: {wanted.reason}")
    return Choice(wanted, refused)


def build(query: BoundQuery, family: str) -> Plan | Unsupported:
    """The plan of one family, or the reason why there is none."""
    builder = BUILDERS.get(family)
    return Unsupported(family, "this release has no such evaluator") if builder is None else builder(query)
