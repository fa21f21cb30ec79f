"""Which family runs a query."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from augury.errors import UnsupportedPlan, names
from augury.ir.query import BoundQuery
from augury.loss import LossModel
from augury.plan import FAMILIES, Choice, EagerNfaPlan, Plan, Unsupported
from augury.planner.eager_nfa import build_eager_nfa
from augury.planner.lossy import build_lossy
from augury.planner.reference import build_reference

BUILDERS: Mapping[str, Callable[[BoundQuery], Plan | Unsupported]] = {
    "eager-nfa": build_eager_nfa,
    "lossy": build_lossy,
    "reference": build_reference,
}
"""One builder a family, the better ones first; a family without one is not part of this release."""


def choose(
    query: BoundQuery, family: str | None = None, *, merge: bool = True, loss: LossModel | None = None
) -> Choice:
    """The best plan for `query`, or the one of `family` if that is asked for.

    An unknown name, or a family that cannot run the query, raises `UnsupportedPlan`. Without `merge` runs stay
    apart. Plans of lossy streams need to know how events are lost.
    """
    if family is not None and family not in FAMILIES:
        raise UnsupportedPlan(f"there is no plan `{family}`; plans are {names(FAMILIES)}")
    built = {name: build(query, name, loss) for name in dict.fromkeys((*BUILDERS, *FAMILIES))}
    possible = [name for name, plan in built.items() if not isinstance(plan, Unsupported)]
    chosen = possible[0] if family is None else family
    plan = built[chosen]
    if isinstance(plan, Unsupported):
        raise UnsupportedPlan(f"plan `{family}` cannot run this query: {plan.reason}")
    if isinstance(plan, EagerNfaPlan) and not merge:
        plan = replace(plan, merge=False, unmerged="merge=False was asked for")
    rivals = {
        name: rival if isinstance(rival, Unsupported) else Unsupported(name, f"`{chosen}` {_PREFERRED[family is None]}")
        for name, rival in built.items()
        if name != chosen
    }
    return Choice(plan, tuple(rivals[name] for name in FAMILIES if name != chosen))


_PREFERRED = {True: "is expected to be faster", False: "was asked for"}


def build(query: BoundQuery, family: str, loss: LossModel | None = None) -> Plan | Unsupported:
    """The plan of one family, or the reason why there is none."""
    if family == "lossy":
        return build_lossy(query, loss)
    builder = BUILDERS.get(family)
    return Unsupported(family, "this release has no such evaluator") if builder is None else builder(query)
