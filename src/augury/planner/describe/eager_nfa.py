"""The automata of an eager plan as text: states, edges, and where each conjunct is tested."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import assert_never

from augury.ir.predicate import Conjunct
from augury.ir.query import BoundQuery
from augury.ir.terms import Strategy
from augury.plan import Component, EagerNfaPlan, Loop, NfaBranch, NfaState, Phase, Round
from augury.planner.describe.parts import AutomatonSource, automata, computed_columns, dropping, event, tests
from augury.planner.describe.table import Description, Table
from augury.planner.describe.words import window_text


def describe_eager_nfa(plan: EagerNfaPlan, kernel: AutomatonSource, _counters: object) -> Description:
    """Lines and tables on the automata of a plan, and on the cells of a run of its `kernel`."""
    query = plan.query
    key = ", ".join(query.partition_by)
    facts = Table(
        [
            ["strategy", _strategies(query)],
            ["partition", f"{key}; {_partitioned(plan)}" if key else "none"],
            ["window", window_text(query) + ("" if query.window is None else ", on every edge")],
            ["runs", "merged when equivalent" if plan.merge else f"not merged: {plan.unmerged}"],
        ],
        indent="",
    )
    cells = [("run_node", "its last node"), *kernel.cells]
    branches = automata(plan.branches, lambda branch: _automaton(plan, branch))
    return [facts, *branches, "", "a run holds", Table(cells), *computed_columns(plan)]


def _partitioned(plan: EagerNfaPlan) -> str:
    if plan.query.strategies == {Strategy.STRICT_CONTIGUITY}:
        return "the events of a run agree on it, and any other event ends the run"
    return "each value has runs of its own"


def _automaton(plan: EagerNfaPlan, branch: NfaBranch) -> Iterator[str | Table]:
    yield "  start"
    for j in branch.entries:
        first = branch.components[j]
        yield from _edge(plan, "begin", f"{event(first)}  {_to(branch, j)}", _entering(first))
    for j in range(len(branch.components)):
        for state in branch.states(0, j):
            yield from _state(plan, branch, state)
        ending = branch.round_ending(j)
        if ending is not None:
            yield from _group(plan, branch, *ending)
    yield from dropping(plan, branch.absent)
    # A part absent from further rounds is absent from the first one as well.
    yield from dropping(plan, tuple(p for loop in branch.loops for r in loop.rounds if r.initial for p in r.absent))


def _state(plan: EagerNfaPlan, branch: NfaBranch, s: NfaState) -> Iterator[str | Table]:
    j, c = s.component, branch.components[s.component]
    match s.phase:
        case Phase.WAITING:
            yield f"  waiting for {c.variable}"
            yield from _edge(plan, "take", f"{event(c)}  {_to(branch, j)}", _entering(c))
            yield _ignore(branch.gaps[j].before)
        case Phase.BEHIND:
            earlier = branch.components[s.left].variable
            yield f"  behind {earlier}, waiting for {c.variable}"
            yield from _edge(plan, "take", f"{event(c)}  {_to(branch, j)}", _entering(c))
            yield _ignore(branch.gaps[j].before)
            yield f"    end      with an event that {earlier} could have taken"
        case Phase.LOOPING:
            yield f"  looping over {c.variable}"
            bound = "" if c.high is None else f", {c.high} at most"
            more = (*c.alone, *c.tested(begins=False))
            yield from _edge(plan, "take", f"{event(c)}{bound}", more)
            yield from _leaving(plan, branch, j)
            yield _ignore(branch.gaps[j].inside)
    if s.phase is not Phase.LOOPING and branch.outdone(j):
        yield "    end      once a further round of the group is complete"


def _group(plan: EagerNfaPlan, branch: NfaBranch, loop: Loop, round: Round) -> Iterator[str | Table]:
    """The edges of a run that has completed a round."""
    yield f"  round of {loop.variable} that ends with {branch.components[round.last].variable}"
    if round.probes:
        yield "    end      of the runs that have left the group before it, and of this one"
        return
    if round.goes_on and loop.again:
        most = "" if loop.high is None else f", {loop.high} at most"
        yield f"    again    {_waiting(branch, loop.again)}{most}"
    if not round.ends:
        return
    if not round.goes_on and loop.probed:
        yield f"    probe    {_waiting(branch, loop.probed)}"
    after = branch.after(round.last)
    enough = f"once there are {loop.low} or more" if loop.low > 1 else "after each round"
    yield from _edge(
        plan, "leave" if after else "match", f"{enough}{f'  {_waiting(branch, after)}' if after else ''}", loop.whole
    )


def _waiting(branch: NfaBranch, components: Iterable[int]) -> str:
    return f"-> waiting for {' or '.join(branch.components[k].variable for k in components)}"


def _leaving(plan: EagerNfaPlan, branch: NfaBranch, j: int) -> Iterator[str | Table]:
    """How a list ends: with an event of the next component, or with each event when it is the last."""
    c = branch.components[j]
    enough = f"{c.low} or more" if c.low > 1 else ""
    if not branch.follow(j) and branch.round_ending(j) is None:
        yield from _edge(plan, "match", f"after {enough} events" if enough else "after each event", c.whole)
        return
    if branch.splits(j) or branch.round_ending(j) is not None:
        text = f"once it has {enough}" if enough else "after each event"
        yield from _edge(plan, "leave", f"{text}, by a run of its own", c.whole)
        return
    after = branch.components[j + 1]
    text = f"{event(after)}{f', after {enough} {c.variable}' if enough else ''}  {_to(branch, j + 1)}"
    yield from _edge(plan, "proceed", text, (*c.whole, *_entering(after)))


def _entering(c: Component) -> tuple[Conjunct, ...]:
    """The conjuncts that the first event of a component is tested for."""
    return (*c.alone, *c.tested(begins=True))


def _edge(plan: EagerNfaPlan, word: str, text: str, conjuncts: Iterable[Conjunct]) -> Description:
    return [f"    {word:<8} {text}", *tests(plan, conjuncts, " " * 13 + "if ")]


def _strategies(query: BoundQuery) -> str:
    steps = (f"{step.strategy}({step.variable}{'[]' if step.inside else ''})" for step in query.steps)
    return ", ".join([str(query.strategy), *steps])


def _ignore(strategy: Strategy) -> str:
    match strategy:
        case Strategy.SKIP_TILL_ANY_MATCH:
            return "    ignore   any event, also one that is taken"
        case Strategy.SKIP_TILL_NEXT_MATCH:
            return "    ignore   an event that cannot be taken"
        case Strategy.PARTITION_CONTIGUITY:
            return "    ignore   an event of another partition; any other that cannot be taken ends the run"
        case Strategy.STRICT_CONTIGUITY:
            return "    ignore   nothing; an event that cannot be taken ends the run"
        case _:
            assert_never(strategy)


def _to(branch: NfaBranch, j: int) -> str:
    """The components that a run waits for, or goes on with, once component j has got an event."""
    c = branch.components[j]
    if c.iterated:
        return f"-> looping over {c.variable}"
    if branch.round_ending(j) is not None:
        return "-> round complete"
    follow = branch.follow(j)
    return _waiting(branch, follow) if follow else "-> match"
