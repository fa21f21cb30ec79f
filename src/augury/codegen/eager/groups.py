"""The loops of groups: a run that has completed a round goes on with a further one, or behind its group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from augury.codegen.common.naming import remark
from augury.codegen.eager.automaton import Automaton
from augury.codegen.eager.rounds import emit_mark, emit_round, number
from augury.codegen.eager.runs import (
    Origin,
    emit_give_up,
    emit_join,
    emit_match,
    emit_wait,
    emit_wait_beside,
)
from augury.plan import Loop, Phase


def emit_depart(nfa: Automaton, b: int, j: int, name: str, run: Origin, *, full: bool = False) -> None:
    """Move run `name` to what may follow component j: a further round of its group, and what stands behind the group.

    The run is in no list of runs yet, unless it is the SAME; with `full` its list of component j cannot grow.
    """
    out, branch = nfa.out, nfa.plan.branches[b]
    states = {k: nfa.state(b, k, Phase.WAITING) if full else nfa.left_for(b, j, k) for k in branch.follow(j)}
    after = [states[k] for k in branch.after(j)]
    ending = branch.round_ending(j)
    if ending is None:
        emit_wait(nfa, name, run, after)
        return
    loop, round = ending
    emit_round(out, nfa.site, branch, loop, round, name)
    emit_mark(out, nfa.vector, loop, round, name)
    if round.probes:
        emit_give_up(nfa, name, run)
        return
    if round.ends:
        _may_end(nfa, b, loop, name)
    else:
        out.add("over = False")
    further = [states[k] for k in (loop.again if round.goes_on else loop.probed)]
    if not further:
        _end_group(nfa, name, run, after)
        return
    go = _go_round if round.goes_on else _probe
    if loop.high is None:
        go(nfa, name, run, further, after)
        return
    with out.block(f"if {number(nfa.vector, loop, name)} < {loop.high}:"):
        go(nfa, name, run, further, after)
    with out.block("else:", "no further round"):
        _end_group(nfa, name, run, after)


def _go_round(nfa: Automaton, name: str, run: Origin, again: Sequence[int], after: Sequence[int]) -> None:
    """Let run `name` wait for a further round, and copies of it for what follows the group, if that may end."""
    emit_wait(nfa, name, run, again)
    with nfa.out.block("if over:"):
        if not after:
            emit_match(nfa)
        for state in after:
            emit_wait_beside(nfa, name, run, state)


def _probe(nfa: Automaton, name: str, run: Origin, probes: Sequence[int], after: Sequence[int]) -> None:
    """Let run `name` leave the group, and copies of it find out whether a further round could have been complete."""
    with nfa.out.block("if over:"):
        emit_wait(nfa, name, run, [*after, *probes])
    with nfa.out.block("else:"):
        emit_give_up(nfa, name, run)


def _end_group(nfa: Automaton, name: str, run: Origin, after: Sequence[int]) -> None:
    """Move run `name`, which has taken all rounds there may be, to what follows its group."""
    out = nfa.out
    with out.block("if over:"):
        if after:
            emit_wait(nfa, name, run, after)
        else:
            emit_match(nfa)
            emit_give_up(nfa, name, run)
    with out.block("else:"):
        emit_give_up(nfa, name, run)


def _may_end(nfa: Automaton, b: int, loop: Loop, run: str) -> None:
    """Set `over` to whether the group may end with the round that a run has completed."""
    out, conditions = nfa.out, nfa.rounds[b, loop.variable]
    enough = f"{number(nfa.vector, loop, run)} >= {loop.low}" if loop.low > 1 else "True"
    out.add(f"over = {enough}", remark(f"may {loop.variable} end?"))
    for c in loop.whole:
        conditions.test(out, "over", c, replace(conditions.at, run=run), [], run)


def emit_try_last(nfa: Automaton, name: str, b: int, j: int, cells: str = "") -> None:
    """Set `name` to whether event i may end the last round of a group.

    A free run q is tried out: a copy of run r, or one whose value vector is filled with `cells`.
    """
    out, branch = nfa.out, nfa.plan.branches[b]
    ending = branch.round_ending(j)
    if ending is None or ending[1].goes_on or not ending[1].ends or branch.components[j].iterated:
        return
    loop, round = ending
    with out.block(f"if {name}:"):
        out.add("q = free_runs[free - 1]", remark(f"as if {loop.variable} ended here"))
        nfa.pools.cells(cells)
        emit_join(nfa, b, j, begins=True)
        emit_round(out, nfa.site, branch, loop, round, "q")
        _may_end(nfa, b, loop, "q")
        out.add(f"{name} = over")
