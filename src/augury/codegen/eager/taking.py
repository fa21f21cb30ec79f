"""The take edges: whether a run can take an event, and what becomes of the run that does."""

from __future__ import annotations

from augury.codegen.common.naming import remark
from augury.codegen.eager.automaton import Automaton
from augury.codegen.eager.groups import emit_depart, emit_try_last
from augury.codegen.eager.runs import Origin, emit_give_up, emit_join, emit_match, emit_place
from augury.codegen.eager.until import emit_goes_on, emit_until
from augury.ir.query import CountWindow
from augury.ir.terms import Strategy
from augury.plan import Phase


def emit_can_take(nfa: Automaton, name: str, b: int, j: int, *, begins: bool, first: bool = True) -> None:
    """Set `name` to whether run r can take event i for component j; `first` begins with whether the event fits."""
    out = nfa.out
    if first:
        out.add(f"{name} = fit_{nfa.code(b, j)}")
    tests = ["later"]
    if nfa.mixed:
        tests.append(nfa.same_partition)
    c = nfa.plan.branches[b].components[j]
    for p in nfa.plan.branches[b].before(j) if begins else ():
        before = nfa.plan.branches[b].components[p].variable
        for part in nfa.plan.branches[b].absent:
            if part.silence is not None and c.variable in part.before and before in part.after:
                tests.append(f"t - time[node_event[run_node[r]]] > {part.silence}")
    if not begins and c.high is not None and not leaves_when_full(nfa, b, j):
        tests.append(f"{nfa.length(c)} < {c.high}")
    out.add(f"{name} = {name} and {' and '.join(tests)}")
    nfa.conditions[b, j].take(out, name, "r", begins=begins)
    _may_be_element(nfa, name, b, j, begins=begins)
    emit_try_last(nfa, name, b, j)


def _may_be_element(nfa: Automaton, name: str, b: int, j: int, *, begins: bool) -> None:
    """Set `name` to false where UNTIL keeps event i out of the list of component j."""
    until = nfa.until[b, j]
    if until is not None:
        if begins:
            emit_until(nfa.out, until, nfa.code(b, j))
        c = nfa.plan.branches[b].components[j]
        emit_goes_on(nfa.out, name, nfa.vector, c, nfa.code(b, j), begins=begins)


def leaves_when_full(nfa: Automaton, b: int, j: int) -> bool:
    """Whether a run with a full list must not ignore what the next component can take.

    Other strategies end it with such an event, or let it be ignored anyway.
    """
    branch = nfa.plan.branches[b]
    if branch.components[j].high is None or not branch.follow(j) or branch.splits(j):
        return False
    return branch.gaps[j + 1].before is Strategy.SKIP_TILL_NEXT_MATCH


def emit_begin(nfa: Automaton, b: int, j: int) -> None:
    """Begin a run with event i as component j, if the event can be the first of a match."""
    out, c = nfa.out, nfa.plan.branches[b].components[j]
    out.add(f"go = fit_{nfa.code(b, j)}", remark(f"begin with {c.variable}"))
    nfa.conditions[b, j].take(out, "go", "r", begins=True)
    _may_be_element(nfa, "go", b, j, begins=True)
    emit_try_last(nfa, "go", b, j, cells="0")
    start = "place[i]" if isinstance(nfa.plan.query.window, CountWindow) else "t"
    with out.block("if go:"):
        if nfa.is_final(b, j):
            _final(nfa, b, j, "-1", start)
            return
        nfa.pools.allocate()
        nfa.pools.cells("0")
        out.add("run_node[q] = -1")
        out.add(f"run_start[q] = {start}")
        _take_into(nfa, b, j, begins=True, run=Origin.BEGUN)


def emit_take(nfa: Automaton, b: int, j: int, *, begins: bool, copy: bool) -> None:
    """Let a run take event i for component j: run r itself, or a `copy` while r stays as it is."""
    if nfa.is_final(b, j):
        _final(nfa, b, j, "run_node[r]", "run_start[r]")
        if not copy:
            nfa.pools.remove()
        return
    if copy:
        nfa.pools.allocate()
        nfa.pools.cells()
        nfa.out.add("run_node[q] = run_node[r]")
        nfa.out.add("run_start[q] = run_start[r]")
    else:
        nfa.out.add("q = r")
    _take_into(nfa, b, j, begins=begins, run=Origin.SPLIT if copy else Origin.SAME)


def _take_into(nfa: Automaton, b: int, j: int, *, begins: bool, run: Origin) -> None:
    """Bind event i to component j of run q, and move q to its next state."""
    out, branch = nfa.out, nfa.plan.branches[b]
    c = branch.components[j]
    emit_join(nfa, b, j, begins=begins)
    if branch.splits(j):
        out.add("run_rank[q] = k")
        nfa.write_node(b, j, "run_node[q]", "run_start[q]")
        _split(nfa, b, j, run)
        return
    if not c.iterated and (branch.round_ending(j) or len(branch.follow(j)) > 1):
        out.add("run_rank[q] = k")
        nfa.write_node(b, j, "run_node[q]", "run_start[q]")
        out.add("run_node[q] = node")
        emit_depart(nfa, b, j, "q", run)
        return
    state = nfa.state(b, j, Phase.LOOPING) if c.iterated else nfa.state(b, branch.follow(j)[0], Phase.WAITING)
    if run is not Origin.SAME or begins:
        out.add(f"run_state[q] = {state}")
    out.add("run_rank[q] = k")
    if not nfa.plan.merge:
        nfa.write_node(b, j, "run_node[q]", "run_start[q]")
        _settle(nfa, b, j, run)
        return
    # All runs that get here have just taken event i, and remember the same of it.
    current = ("last",) if c.iterated else ("first", "last")
    keys = nfa.keys(b, j, [s for s in nfa.vector.of(c.variable) if s.element in current])
    nfa.merging.find(state, keys)
    with out.block("if m >= 0:", "an equivalent run took the same event: merge"):
        nfa.merging.join_taken()
        if run is Origin.SAME:
            nfa.pools.remove()
        else:
            nfa.pools.free("q")
    with out.block("else:"):
        with out.block(f"if lead_{state} < 0:"):
            out.add(f"lead_{state} = q")
        nfa.write_node(b, j, "run_node[q]", "run_start[q]")
        _settle(nfa, b, j, run)


def _split(nfa: Automaton, b: int, j: int, run: Origin) -> None:
    """Run q goes on with its list unless that is full; if the list may end here, another run leaves it."""
    out, c = nfa.out, nfa.plan.branches[b].components[j]
    out.add("run_node[q] = node")
    out.add(f"done = {nfa.length(c, 'q')} >= {c.low}" if c.low > 1 else "done = True")
    nfa.conditions[b, j].whole(out, "done", "q")
    if c.high is not None:
        with out.block(f"if {nfa.length(c, 'q')} < {c.high}:"):
            _go_on(nfa, b, j, run)
        with out.block("elif done:", "full"):
            emit_depart(nfa, b, j, "q", run, full=True)
        with out.block("else:"):
            emit_give_up(nfa, "q", run)
    else:
        _go_on(nfa, b, j, run)


def _go_on(nfa: Automaton, b: int, j: int, run: Origin) -> None:
    """Run q loops on, and beside it run w leaves the list if that may end."""
    out, branch = nfa.out, nfa.plan.branches[b]
    out.add(f"run_state[q] = {nfa.state(b, j, Phase.LOOPING)}")
    emit_place(nfa, run)
    with out.block("if done:", remark(f"leave {branch.components[j].variable}")):
        nfa.pools.duplicate("q")
        emit_depart(nfa, b, j, "w", Origin.BEGUN if run is Origin.BEGUN else Origin.SPLIT)


def _settle(nfa: Automaton, b: int, j: int, run: Origin) -> None:
    """Run q holds its new node: report it if that completes a match, and keep it."""
    out, branch = nfa.out, nfa.plan.branches[b]
    c = branch.components[j]
    out.add("run_node[q] = node")
    if c.iterated and not branch.follow(j):
        low = f"{nfa.length(c, 'q')} >= {c.low}" if c.low > 1 else "True"
        out.add(f"done = {low}")
        nfa.conditions[b, j].whole(out, "done", "q")
        with out.block("if done:", "a match"):
            out.add("final_node[natural(found)] = node")
            out.add("found += 1")
    emit_place(nfa, run)


def _final(nfa: Automaton, b: int, j: int, before: str, start: str) -> None:
    """A match ends with event i, which is bound to component j."""
    out = nfa.out
    if nfa.plan.merge:
        with out.block(f"if final_{b} >= 0:", "another run ends with the same event"):
            nfa.pools.edge(f"final_{b}", before, start)
        with out.block("else:", "a match"):
            nfa.write_node(b, j, before, start)
            out.add("final_node[natural(found)] = node")
            out.add("found += 1")
            out.add(f"final_{b} = node")
    else:
        nfa.write_node(b, j, before, start)
        emit_match(nfa)
