"""Lazy chain automata as paper 000 draws them (figure 3): take edges in the order of evaluation, store edges beside."""

from __future__ import annotations

from collections.abc import Iterator

from augury.plan import ChainBranch, ChainStep, LazyChainPlan, LazyTreePlan
from augury.planner.describe.lazy_chain import Counters
from augury.planner.describe.parts import between, event
from augury.planner.draw.diagram import Diagram, Edge, Node
from augury.planner.draw.labels import absences, conditions, numbered, taken
from augury.planner.expected import windows


def draw_lazy_tree(plan: LazyTreePlan, counters: Counters | None) -> tuple[Diagram, ...]:
    """The chains in the order that a tree starts with."""
    return draw_lazy_chain(plan.chain, counters)


def draw_lazy_chain(plan: LazyChainPlan, counters: Counters | None) -> tuple[Diagram, ...]:
    """One chain per branch; `counters` of a run are shown beside the estimates."""
    return tuple(
        Diagram(
            numbered("chain", k, len(plan.branches)),
            tuple(_nodes(plan, k, branch, counters)),
            tuple(_edges(plan, branch)),
            tuple(absences(plan, [*(part for step in branch.steps for part in step.absent), *branch.at_the_end])),
        )
        for k, branch in enumerate(plan.branches)
    )


def _nodes(plan: LazyChainPlan, k: int, branch: ChainBranch, counters: Counters | None) -> Iterator[Node]:
    bound: list[str] = []
    for j, step in enumerate(branch.steps):
        note = _counts(plan, k, j - 1, counters) if j else ""
        yield Node(f"q{j}", (", ".join(bound) or "start",), "state" if j else "start", note)
        bound.append(step.component.variable)
    yield Node("match", ("match",), "match", _counts(plan, k, len(branch.steps) - 1, counters))


def _edges(plan: LazyChainPlan, branch: ChainBranch) -> Iterator[Edge]:
    for j, step in enumerate(branch.steps):
        here, after = f"q{j}", "match" if j + 1 == len(branch.steps) else f"q{j + 1}"
        yield Edge(here, after, "take", tuple(_taken(plan, step)))
        later = [event(s.component) for s in branch.steps[j + 1 :]]
        if later:
            yield Edge(here, here, "store", tuple(later))


def _taken(plan: LazyChainPlan, step: ChainStep) -> Iterator[str]:
    """The label of a take edge: component, ordering filters and conditions, and how its events are found."""
    c = step.component
    yield taken(c)
    if step.after or step.before:
        yield between(step.after, step.before)
    key = step.key
    if key is not None:
        equal = (f"{c.variable}.{key.column}", f"{key.other}.{key.other_column}")
        yield f"{' = '.join(equal)}, by index"
    for text in conditions(plan, (*c.alone, *c.take, *c.whole)):
        if key is None or text not in (" = ".join(equal), " = ".join(reversed(equal))):
            yield text


def _counts(plan: LazyChainPlan, k: int, j: int, counters: Counters | None) -> str:
    """Estimated partial matches of a window at this state, and the counted ones."""
    expected = f"{plan.estimated[k][j]:,.3g} expected"
    found = None if counters is None else counters.get(f"partial_matches[{k},{j}]")
    number = windows(plan.query, plan.statistics)
    if found is None:
        return expected
    return f"{expected}, {found:,} found in all" if number is None else f"{expected}, {found / number:,.3g} found"
