"""SES automata as paper 002 draws them (figure 5): states are the sets of variables that are bound."""

from __future__ import annotations

from collections.abc import Iterator

from augury.plan import EventSetsPlan, SetBranch
from augury.planner.describe.parts import event
from augury.planner.draw.diagram import Diagram, Edge, Node, NodeKind
from augury.planner.draw.labels import absences, conditions, numbered, taken

MAX_STATES = 20
"""States up to which an automaton is drawn; for a larger one, the order of its components is drawn instead."""


def draw_event_sets(plan: EventSetsPlan, _counters: object) -> tuple[Diagram, ...]:
    """One automaton per branch."""
    return tuple(
        _automaton(plan, branch, numbered("automaton", k, len(plan.branches))) for k, branch in enumerate(plan.branches)
    )


def _automaton(plan: EventSetsPlan, branch: SetBranch, title: str) -> Diagram:
    notes = (*_conditions(plan, branch), *absences(plan, branch.absent))
    states = _states(branch)
    if states is None:
        return _order(branch, f"{title}: the order of its variables", notes)
    complete = len(branch.components)
    nodes = [Node(_name(s), (_label(branch, s),), _kind(s, complete)) for s in states]
    edges = [edge for state in states for edge in _leaving(branch, state)]
    return Diagram(title, tuple(nodes), tuple(edges), notes)


def _states(branch: SetBranch) -> list[tuple[int, ...]] | None:
    """The sets of components that can be bound together, smallest first; None if there are too many."""
    found: dict[tuple[int, ...], None] = {(): None}
    pending: list[tuple[int, ...]] = [()]
    while pending:
        state = pending.pop(0)
        for k, c in enumerate(branch.components):
            if k not in state and all(j in state for j in branch.before(c.variable)):
                after = tuple(sorted((*state, k)))
                if after not in found:
                    found[after] = None
                    pending.append(after)
        if len(found) > MAX_STATES:
            return None
    return sorted(found, key=len)


def _leaving(branch: SetBranch, state: tuple[int, ...]) -> Iterator[Edge]:
    for k, c in enumerate(branch.components):
        if k not in state and all(j in state for j in branch.before(c.variable)):
            yield Edge(_name(state), _name(tuple(sorted((*state, k)))), "take" if state else "begin", (event(c),))
    growing = [
        c
        for k, c in enumerate(branch.components)
        if k in state and c.iterated and not any(j in state for j in branch.after(c.variable))
    ]
    if growing:
        yield Edge(_name(state), _name(state), "take", tuple(event(c) for c in growing))


def _name(state: tuple[int, ...]) -> str:
    return "s" + "_".join(map(str, state))


def _label(branch: SetBranch, state: tuple[int, ...]) -> str:
    names = [branch.components[k].variable + ("+" if branch.components[k].iterated else "") for k in state]
    return ", ".join(names) or "∅"


def _kind(state: tuple[int, ...], complete: int) -> NodeKind:
    return "start" if not state else "match" if len(state) == complete else "state"


def _conditions(plan: EventSetsPlan, branch: SetBranch) -> Iterator[str]:
    for c in branch.components:
        tested = conditions(plan, c.alone)
        if tested:
            yield f"{c.variable}: {' and '.join(tested)}"
    yield from conditions(plan, branch.conjuncts)


def _order(branch: SetBranch, title: str, notes: tuple[str, ...]) -> Diagram:
    """A diagram of the components, each after those that must be complete before it."""
    nodes = [Node(f"c{k}", (taken(c),)) for k, c in enumerate(branch.components)]
    edges = []
    for k, c in enumerate(branch.components):
        before = branch.before(c.variable)
        for j in before:
            name = branch.components[j].variable
            if not any(i in before for i in branch.after(name)):
                edges.append(Edge(f"c{j}", f"c{k}", "proceed"))
    return Diagram(title, tuple(nodes), tuple(edges), notes)
