"""The gaps between steps: what becomes of a run in each state, by the strategy, when an event is looked at."""

from __future__ import annotations

from typing import assert_never

from augury.codegen.common.naming import remark
from augury.codegen.eager.automaton import Automaton
from augury.codegen.eager.taking import emit_can_take, emit_take, leaves_when_full
from augury.codegen.eager.until import emit_end
from augury.ir.terms import Strategy
from augury.plan import NfaState, Phase


def emit_state(nfa: Automaton, s: NfaState) -> None:
    """Emit what a run in state s does with event i; a run whose group took a further round is given up."""
    if s.phase is Phase.LOOPING or not nfa.plan.branches[s.branch].outdone(s.component):
        _look(nfa, s)
        return
    with nfa.out.block(f"if node_component[run_node[r]] >= {nfa.first_codes[-1]}:", "a further round was complete"):
        nfa.pools.remove()
    with nfa.out.block("else:"):
        _look(nfa, s)


def _look(nfa: Automaton, s: NfaState) -> None:
    match s.phase:
        case Phase.WAITING:
            _waiting(nfa, s)
        case Phase.BEHIND:
            _behind(nfa, s)
        case Phase.LOOPING:
            _looping(nfa, s)


def _waiting(nfa: Automaton, s: NfaState) -> None:
    emit_can_take(nfa, "took", s.branch, s.component, begins=True)
    _move(nfa, s, s.component, nfa.gap(s).before, begins=True)


def _behind(nfa: Automaton, s: NfaState) -> None:
    """A run that has left a list: it must not ignore an event that the list could have taken."""
    out, gaps = nfa.out, nfa.plan.branches[s.branch].gaps
    inside, before = gaps[s.left].inside, gaps[s.component].before
    _end_list(nfa, s.branch, s.left)
    emit_can_take(nfa, "took", s.branch, s.component, begins=True)
    emit_can_take(nfa, "could", s.branch, s.left, begins=False)
    # What ends a list may also be passed over, so that a later event ends it.
    if before is Strategy.SKIP_TILL_ANY_MATCH or inside is before is Strategy.SKIP_TILL_NEXT_MATCH:
        with out.block("if took:"):
            emit_take(nfa, s.branch, s.component, begins=True, copy=True)
        rest = out.block("if could:", "the list takes all it can")
    else:
        with out.block("if took:"):
            emit_take(nfa, s.branch, s.component, begins=True, copy=False)
        rest = out.block("elif could:", "the list takes all it can")
    with rest:
        nfa.pools.remove()
    with out.block("else:"):
        if inside is not Strategy.SKIP_TILL_NEXT_MATCH:
            # A contiguous list could have taken the next event alone, and that has passed.
            state = nfa.state(s.branch, s.component, Phase.WAITING)
            if inside is Strategy.PARTITION_CONTIGUITY and nfa.mixed:
                with out.block(f"if {nfa.same_partition}:"):
                    out.add(f"run_state[r] = {state}")
            else:
                out.add(f"run_state[r] = {state}")
        nfa.pools.keep()


def _looping(nfa: Automaton, s: NfaState) -> None:
    out, branch = nfa.out, nfa.plan.branches[s.branch]
    c = branch.components[s.component]
    _end_list(nfa, s.branch, s.component)
    if branch.splits(s.component):
        emit_can_take(nfa, "took", s.branch, s.component, begins=False)
        _move(nfa, s, s.component, nfa.gap(s).inside, begins=False)
        return
    if not leaves_when_full(nfa, s.branch, s.component):
        _growing(nfa, s)
        return
    with out.block(f"if {nfa.length(c)} >= {c.high}:", "full: it has left its loop"):
        _full(nfa, s)
    with out.block("else:"):
        _growing(nfa, s)


def _full(nfa: Automaton, s: NfaState) -> None:
    """A run with a full list: it waits for the next component alone."""
    branch = nfa.plan.branches[s.branch]
    nfa.out.add(f"took = fit_{nfa.code(s.branch, s.component + 1)}")
    nfa.conditions[s.branch, s.component].whole(nfa.out, "took", "r")
    emit_can_take(nfa, "took", s.branch, s.component + 1, begins=True, first=False)
    _move(nfa, s, s.component + 1, branch.gaps[s.component + 1].before, begins=True)


def _growing(nfa: Automaton, s: NfaState) -> None:
    """A run with a list that may take event i, be followed by it, or both."""
    out, branch = nfa.out, nfa.plan.branches[s.branch]
    c = branch.components[s.component]
    if branch.follow(s.component):
        # The proceed edge, constrained: only when the next component can begin with this event.
        out.add(f"go = fit_{nfa.code(s.branch, s.component + 1)}")
        if c.low > 1:
            out.add(f"go = go and {nfa.length(c)} >= {c.low}")
        with out.block("if go:"):
            nfa.conditions[s.branch, s.component].whole(out, "go", "r")
            emit_can_take(nfa, "go", s.branch, s.component + 1, begins=True, first=False)
        with out.block("if go:", remark(f"proceed to {branch.components[s.component + 1].variable}")):
            emit_take(nfa, s.branch, s.component + 1, begins=True, copy=True)
    emit_can_take(nfa, "took", s.branch, s.component, begins=False)
    _move(nfa, s, s.component, nfa.gap(s).inside, begins=False)


def _move(nfa: Automaton, s: NfaState, j: int, strategy: Strategy, *, begins: bool) -> None:
    """Emit the take and ignore edges that `strategy` gives a run at component j."""
    out = nfa.out
    match strategy:
        case Strategy.SKIP_TILL_ANY_MATCH:
            with out.block("if took:"):
                emit_take(nfa, s.branch, j, begins=begins, copy=True)
            _ignore(nfa, s)
        case Strategy.SKIP_TILL_NEXT_MATCH:
            with out.block("if took:"):
                emit_take(nfa, s.branch, j, begins=begins, copy=False)
            with out.block("else:"):
                _ignore(nfa, s)
        case Strategy.PARTITION_CONTIGUITY | Strategy.STRICT_CONTIGUITY:
            with out.block("if took:"):
                emit_take(nfa, s.branch, j, begins=begins, copy=False)
            if strategy is Strategy.PARTITION_CONTIGUITY and nfa.mixed:
                with out.block(f"elif not ({nfa.same_partition}):"):
                    _ignore(nfa, s)
            with out.block("else:"):
                nfa.pools.remove()
        case _:
            assert_never(strategy)


def _ignore(nfa: Automaton, s: NfaState) -> None:
    """Run r stays as it is; of several that stay with the same values, one goes on for all."""
    if not nfa.plan.merge:
        nfa.pools.keep()
        return
    (bound,) = nfa.plan.branches[s.branch].bound(s)
    nfa.merging.idle(nfa.numbers[s], nfa.keys(s.branch, bound))


def _end_list(nfa: Automaton, b: int, j: int) -> None:
    """Note in run r that event i ends its list of component j UNTIL such an event."""
    until = nfa.until[b, j]
    if until is not None:
        c = nfa.plan.branches[b].components[j]
        emit_end(nfa.out, nfa.vector, c, until, nfa.code(b, j), nfa.same_partition if nfa.mixed else "")
