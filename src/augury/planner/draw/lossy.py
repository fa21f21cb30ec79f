"""Diagrams of lossy plans: components, and edges between observed ones across those that may be missing."""

from __future__ import annotations

from augury.plan import LossyEdge, LossyPlan
from augury.planner.draw.diagram import Diagram, Edge, Node
from augury.planner.draw.labels import conditions, taken


def draw_lossy(plan: LossyPlan, _counters: object) -> tuple[Diagram, ...]:
    """One node per positive component; edges that never reach the threshold are left out."""
    count = len(plan.positive)
    nodes = [Node("before", ("start",), "start")]
    nodes += [Node(f"c{k}", (taken(c),)) for k, c in enumerate(plan.positive)]
    nodes.append(Node("after", ("match",), "match"))
    edges = [Edge(_name(e.source, count), _name(e.target, count), "take", _hidden(e)) for e in plan.edges]
    notes = [
        f"{c.variable}: {' and '.join(tests)}"
        for c in (*plan.positive, *plan.negated)
        if (tests := conditions(plan, (*c.alone, *c.take)))
    ]
    return (Diagram("observed components", tuple(nodes), tuple(edges), (*notes, *conditions(plan, plan.conjuncts))),)


def _name(place: int, count: int) -> str:
    return "before" if place < 0 else "after" if place >= count else f"c{place}"


def _hidden(e: LossyEdge) -> tuple[str, ...]:
    parts = (*(f"{v} missing" for v in e.missing), *(f"no {v}" for v in e.absent))
    return (*parts, f"score ≤ {e.peak:.3f}") if parts else ()
