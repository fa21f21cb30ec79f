"""NFA^b as paper 001 draws it (figure 2): a state for each component, a second one for the rest of a list."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from augury.ir.terms import Strategy
from augury.plan import Component, EagerNfaPlan, NfaBranch
from augury.planner.describe.parts import event
from augury.planner.draw.diagram import Diagram, Edge, EdgeKind, Node, NodeKind
from augury.planner.draw.labels import absences, conditions, numbered


def draw_eager_nfa(plan: EagerNfaPlan, _counters: object) -> tuple[Diagram, ...]:
    """One automaton a branch."""
    return tuple(
        Diagram(
            numbered("automaton", k, len(plan.branches)),
            tuple(_nodes(branch)),
            tuple(_edges(plan, branch)),
            tuple(absences(plan, branch.absent)),
        )
        for k, branch in enumerate(plan.branches)
    )


def _nodes(branch: NfaBranch) -> Iterator[Node]:
    for j, c in enumerate(branch.components):
        kind: NodeKind = "state" if j else "start"
        if c.iterated:
            yield Node(f"q{j}", (f"{c.variable}[1]",), kind)
            yield Node(f"q{j}+", (f"{c.variable}[i]",))
        else:
            yield Node(f"q{j}", (c.variable,), kind)
    yield Node("match", ("match",), "match")


def _edges(plan: EagerNfaPlan, branch: NfaBranch) -> Iterator[Edge]:
    ignored = _ignored(plan.query.strategy)
    for j, c in enumerate(branch.components):
        here, last = f"q{j}", j + 1 == len(branch.components)
        after = "match" if last else f"q{j + 1}"
        first = conditions(plan, (*c.alone, *c.tested(begins=True)))
        # A list ends with the event that begins what follows: nothing is passed over in between.
        if j and not branch.components[j - 1].iterated and ignored:
            yield Edge(here, here, "ignore", (ignored,))
        word: EdgeKind = "take" if j else "begin"
        if not c.iterated:
            yield Edge(here, after, word, (event(c), *first))
            continue
        yield Edge(here, f"{here}+", word, (event(c), *first))
        yield Edge(
            f"{here}+",
            f"{here}+",
            "take",
            (event(c) + _at_most(c), *conditions(plan, (*c.alone, *c.tested(begins=False)))),
        )
        if ignored:
            yield Edge(f"{here}+", f"{here}+", "ignore", (ignored,))
        enough = (f"with {c.low} or more",) if c.low > 1 else ()
        when = "after each" if last else f"when an event begins {branch.components[j + 1].variable}"
        yield Edge(f"{here}+", after, "proceed", (when, *enough, *conditions(plan, c.whole)))


def _at_most(c: Component) -> str:
    return "" if c.high is None else f", {c.high} at most"


def _ignored(strategy: Strategy) -> str:
    match strategy:
        case Strategy.SKIP_TILL_ANY_MATCH:
            return "any event"
        case Strategy.SKIP_TILL_NEXT_MATCH:
            return "what cannot be taken"
        case Strategy.PARTITION_CONTIGUITY:
            return "other partitions"
        case Strategy.STRICT_CONTIGUITY:
            return ""
        case _:
            assert_never(strategy)
