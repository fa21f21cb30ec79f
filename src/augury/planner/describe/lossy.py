"""A lossy plan as text: components, the edges between them with their best scores, and what is looked up how."""

from __future__ import annotations

from augury.plan import LossyEdge, LossyPlan
from augury.planner.describe.table import Description, Table
from augury.planner.describe.words import place, window_text


def describe_lossy(plan: LossyPlan, _kernel: object, _counters: object) -> Description:
    """Components, the edges between them with their best scores, and the conditions."""
    query = plan.query
    facts = Table(
        [
            ["scores", f"{plan.model.scoring}, at least {query.threshold:g}, within {plan.error:.1g}"],
            ["window", window_text(query)],
            ["queues", f"hashed by {', '.join(plan.hash_by)}" if plan.hash_by else "one of each component"],
        ],
        indent="",
    )
    out: Description = [facts, "", "components"]
    rows = []
    for c in (*plan.positive, *plan.negated):
        absent = c in plan.negated
        rate, delay = plan.model.rate_of(c.variable), plan.model.delays.get(c.variable)
        types = "|".join(c.types) or "any type"
        rows.append([f"{'no ' if absent else ''}{types} {c.variable}", f"lost {rate:g}", str(delay or "never missing")])
    out.append(Table(rows))
    out += ["", "edges, and the best score of each", Table([_edge(plan, e) for e in plan.edges])]
    if plan.removed:
        out += ["", "edges that never reach the threshold", Table([_edge(plan, e) for e in plan.removed])]
    if plan.conjuncts:
        out += ["", "tested as soon as it is known which of its components are missing"]
        out.append(Table([[str(c), place(query.source, c.span)] for c in plan.conjuncts]))
    return out


def _edge(plan: LossyPlan, e: LossyEdge) -> list[str]:
    source = "start" if e.source < 0 else plan.positive[e.source].variable
    target = plan.positive[e.target].variable if e.target < len(plan.positive) else "end"
    hidden = [*(f"{v} missing" for v in e.missing), *(f"no {v}" for v in e.absent)]
    return [f"{source} -> {target}", f"{e.peak:.3f}", ", ".join(hidden) or "nothing between"]
