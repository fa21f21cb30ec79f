"""Runs that have taken an event: what they remember of it, and the list of runs that they are put in."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum, auto

from augury.codegen.common.runs import updates
from augury.codegen.eager.automaton import Automaton
from augury.codegen.eager.rounds import emit_event


class Origin(Enum):
    """The origin of a run that takes an event."""

    SAME = auto()
    """It is run r, which keeps its place in the list."""
    SPLIT = auto()
    """It is a copy of run r, made while the list of runs is walked."""
    BEGUN = auto()
    """It begins with this event, after the list of runs has been walked."""


def emit_join(nfa: Automaton, b: int, j: int, *, begins: bool) -> None:
    """Update the value vector of run q, which takes event i for component j."""
    emit_event(nfa.out, nfa.site, nfa.plan.branches[b], j, "q", begins=begins)
    variable = nfa.plan.branches[b].components[j].variable
    for line in updates(nfa.vector, nfa.columns, nfa.constants, variable, begins):
        nfa.out.add(line)


def emit_place(nfa: Automaton, run: Origin, name: str = "q") -> None:
    """Put run `name` into its list of runs, or leave it there."""
    if run is Origin.SAME:
        nfa.pools.keep()
    else:
        nfa.pools.insert(name, walking=run is Origin.SPLIT)


def emit_wait(nfa: Automaton, name: str, run: Origin, states: Sequence[int]) -> None:
    """Put run `name` into the first of `states`, and a copy of it into each of the others."""
    nfa.out.add(f"run_state[{name}] = {states[0]}")
    emit_place(nfa, run, name)
    for state in states[1:]:
        emit_wait_beside(nfa, name, run, state)


def emit_wait_beside(nfa: Automaton, name: str, run: Origin, state: int) -> None:
    """Put a copy of run `name` into `state`."""
    nfa.pools.duplicate(name, "other")
    nfa.out.add(f"run_state[other] = {state}")
    nfa.pools.insert("other", walking=run is not Origin.BEGUN)


def emit_give_up(nfa: Automaton, name: str, run: Origin) -> None:
    """Free run `name`, which can complete no match."""
    if run is Origin.SAME:
        nfa.pools.remove()
    else:
        nfa.pools.free(name)


def emit_match(nfa: Automaton) -> None:
    """Report the match that ends with the last node written."""
    nfa.out.add("final_node[natural(found)] = node", "a match")
    nfa.out.add("found += 1")
