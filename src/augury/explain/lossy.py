"""A lossy plan as text: components, the edges between them with their best scores, and what is looked up how."""

from __future__ import annotations

from augury.explain.layout import aligned, place, window_text
from augury.plan import LossyEdge, LossyPlan


def explain_lossy(plan: LossyPlan) -> list[str]:
    """Lines about a plan."""
    query = plan.query
    out = aligned(
        [
            ["scores", f"{plan.model.scoring}, at least {query.threshold:g}, within {plan.error:.1g}"],
            ["window", window_text(query)],
            ["queues", f"hashed by {', '.join(plan.hash_by)}" if plan.hash_by else "one of each component"],
        ],
        indent="",
    )
    out += ["", "components"]
    rows = []
    for c in (*plan.positive, *plan.negated):
        absent = c in plan.negated
        rate, delay = plan.model.rate_of(c.variable), plan.model.delays.get(c.variable)
        types = "|".join(c.types) or "any type"
        rows.append([f"{'no ' if absent else ''}{types} {c.variable}", f"lost {rate:g}", str(delay or "never missing")])
    out += aligned(rows)
    out += ["", "edges, and the best score of each", *aligned([_edge(plan, e) for e in plan.edges])]
    if plan.removed:
        out += ["", "edges that never reach the threshold", *aligned([_edge(plan, e) for e in plan.removed])]
    if plan.conjuncts:
        out += ["", "tested as soon as it is known which of its components are missing"]
        out += aligned([[str(c), place(query.source, c.span)] for c in plan.conjuncts])
    return out


def _edge(plan: LossyPlan, e: LossyEdge) -> list[str]:
    source = "start" if e.source < 0 else plan.positive[e.source].variable
    target = plan.positive[e.target].variable if e.target < len(plan.positive) else "end"
    hidden = [*(f"{v} missing" for v in e.missing), *(f"no {v}" for v in e.absent)]
    return [f"{source} -> {target}", f"{e.peak:.3f}", ", ".join(hidden) or "nothing between"]
