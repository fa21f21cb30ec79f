"""Linked chains: the chains of each component, and what links them to those of the component before."""

from __future__ import annotations

from augury.plan import LinkedPlan
from augury.planner.draw.diagram import Diagram, Edge, Node
from augury.planner.draw.labels import absences, conditions, taken


def draw_linked(plan: LinkedPlan, _counters: object) -> tuple[Diagram, ...]:
    """The components in order; a match is a path from the last one back to the first."""
    names = [c.variable for c in plan.components]
    nodes = [Node(f"c{k}", (taken(c),), "state" if k else "start") for k, c in enumerate(plan.components)]
    edges = []
    notes = []
    for k, c in enumerate(plan.components):
        alone = conditions(plan, c.alone)
        if alone:
            notes.append(f"{c.variable}: {' and '.join(alone)}")
        joined = conditions(plan, [j for j in plan.conjuncts if max(map(names.index, j.variables)) == k])
        if k:
            edges.append(Edge(f"c{k - 1}", f"c{k}", "link", joined))
        elif joined:
            notes += joined
    return (Diagram("chains", tuple(nodes), tuple(edges), (*notes, *absences(plan, plan.absent))),)
