"""The choice of a family for a query: the best bid among the plans that the families build."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

from augury.errors import Diagnostic, QueryError, UnsupportedPlan, names
from augury.ir.query import BoundQuery
from augury.plan import Choice, FamilyName, Plan, RejectedPlan, Unsupported
from augury.planner.bids import Bid, Rank, why_not
from augury.planner.hints import NO_HINTS, Hints, unusable_hint
from augury.planner.supports import HintName, Supports


class Candidate(Protocol):
    """The protocol of a family towards the planner; `families.Family` implements it."""

    @property
    def name(self) -> FamilyName: ...

    @property
    def supports(self) -> Supports: ...

    def build(self, query: BoundQuery, hints: Hints, /) -> Plan | Unsupported:
        """The plan of a query whose features are all declared as supported."""
        ...

    def estimate(self, plan: Any, hints: Hints, /) -> Bid:
        """The bid for that plan."""
        ...

    def measured(self, query: BoundQuery, /) -> bool:
        """Whether statistics of the stream change the plan of a query whose features are all declared."""
        ...


def planned(family: Candidate, query: BoundQuery, hints: Hints = NO_HINTS) -> Plan | Unsupported:
    """The plan of one family, or the reason why it has none; the only way plans are built."""
    return family.supports.refusal(family.name, query) or family.build(query, hints)


def choose(
    query: BoundQuery, families: Mapping[str, Candidate], asked: str | None = None, hints: Hints = NO_HINTS
) -> Choice:
    """The best plan for `query`, or the one of the family that is `asked` for.

    An unknown name, or a family that cannot run the query, raises `UnsupportedPlan`.
    """
    if asked is not None and asked not in families:
        raise UnsupportedPlan("A611", f"there is no plan `{asked}`", f"plans are {names(families)}")
    asked = _following(families, asked, hints)
    built = {name: planned(family, query, hints) for name, family in families.items()}
    possible = {name: plan for name, plan in built.items() if not isinstance(plan, Unsupported)}
    bids = {name: families[name].estimate(plan, hints) for name, plan in possible.items()}
    chosen = asked or min(bids, key=lambda name: bids[name].key, default=None)
    if chosen is None:
        raise UnsupportedPlan("A650", "no plan can run this query", _reasons(built))
    if asked is None and bids[chosen].rank is Rank.INTERPRETED:
        _check_size(query, built)
    if chosen not in possible:
        reason = built[chosen]
        assert isinstance(reason, Unsupported)
        raise UnsupportedPlan("A612", f"plan `{chosen}` cannot run this query: {reason.reason}")
    rivals: list[Unsupported | RejectedPlan] = []
    for name, rival in built.items():
        if isinstance(rival, Unsupported):
            rivals.append(rival)
        elif name != chosen:
            why = f"`{chosen}` was asked for" if asked else why_not(bids[name], bids[chosen], chosen)
            rivals.append(RejectedPlan(families[name].name, why, bids[name].cost))
    return Choice(possible[chosen], tuple(rivals), bids[chosen].cost)


def uses_statistics(query: BoundQuery, families: Mapping[str, Candidate], asked: str | None) -> bool:
    """Whether the choice depends on statistics of the stream."""
    return any(
        family.supports.refusal(family.name, query) is None and family.measured(query)
        for name, family in families.items()
        if asked in (None, name)
    )


def _check_size(query: BoundQuery, built: Mapping[str, Plan | Unsupported]) -> None:
    """Refuse a query that only its size leaves to an interpreter, which would take too long."""
    reasons = [plan for plan in built.values() if isinstance(plan, Unsupported) and plan.too_large]
    if reasons:
        help = "split it into queries that follow one another (RETURN ... INTO), or ask for plan='reference'"
        span = reasons[0].span or query.pattern.span
        message = f"this pattern is too large for every plan: {reasons[0].reason}"
        raise QueryError([Diagnostic("A292", message, span, "too large", help)], query.source)


def _following(families: Mapping[str, Candidate], asked: str | None, hints: Hints) -> str | None:
    """The family that was asked for, or the one that follows the hints where only some families do."""
    given: list[HintName] = []
    if hints.order is not None:
        given.append("order")
    if hints.negation is not None:
        given.append("negation")
    if not given:
        return asked
    able = [name for name, family in families.items() if family.supports.hints.issuperset(given)]
    if asked is None:
        return able[0]
    if asked in able:
        return asked
    raise unusable_hint(f"{given[0]} is for the plan `{able[0]}`, not for `{asked}`", f"leave out plan or {given[0]}")


def _reasons(built: Mapping[str, Plan | Unsupported]) -> str:
    return "; ".join(f"{name}: {plan.reason}" for name, plan in built.items() if isinstance(plan, Unsupported))
