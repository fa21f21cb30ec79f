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
    """One automaton per branch."""
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
        kind: NodeKind = "start" if j in branch.entries else "state"
        if c.iterated:
            yield Node(f"q{j}", (f"{c.variable}[1]",), kind)
            yield Node(f"q{j}+", (f"{c.variable}[i]",))
        else:
            yield Node(f"q{j}", (c.variable,), kind)
    yield Node("match", ("match",), "match")


def _edges(plan: EagerNfaPlan, branch: NfaBranch) -> Iterator[Edge]:
    ignored = _ignored(plan.query.strategy)
    for j, c in enumerate(branch.components):
        here, targets = f"q{j}", list(_targets(branch, j))
        first = conditions(plan, (*c.alone, *c.tested(begins=True)))
        # A list ends with the event that begins the next component: no event is skipped in between.
        if any(not branch.components[p].iterated for p in branch.before(j)) and ignored:
            yield Edge(here, here, "ignore", (ignored,))
        word: EdgeKind = "begin" if j in branch.entries else "take"
        if not c.iterated:
            for after, how in targets:
                yield Edge(here, after, word, (event(c), *first, *how))
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
        for after, how in targets:
            when = (
                "after each"
                if after == "match"
                else f"when an event begins {branch.components[int(after[1:])].variable}"
            )
            yield Edge(f"{here}+", after, "proceed", (when, *enough, *conditions(plan, c.whole), *how))


def _targets(branch: NfaBranch, j: int) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Targets of the edges from a component, each with what it requires of the rounds of its group."""
    ending = branch.round_ending(j)
    if ending is not None:
        loop, round = ending
        for k in loop.again if round.goes_on else ():
            yield f"q{k}", (f"a further round of {loop.variable}",)
        if not round.ends:
            return
        rounds = f"with {loop.low} or more rounds" if loop.low > 1 else f"no further round of {loop.variable}"
        for k in branch.after(j):
            yield f"q{k}", (rounds,)
        if not branch.after(j):
            yield "match", (rounds,) if loop.low > 1 else ()
        return
    for k in branch.follow(j):
        yield f"q{k}", ()
    if not branch.follow(j):
        yield "match", ()


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
