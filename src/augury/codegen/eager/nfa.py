"""EagerNfaPlan -> source of the automaton: one pass over the events, runs in a pool, matches in a shared buffer.

A node of the match buffer is one event bound to one component, with the node bound before it; runs that share a
history share its nodes. When equivalent runs are merged, the node of the event they both took has several
predecessors. docs/decisions/0010 says why this is the paper's versioned buffer.
"""

from __future__ import annotations

from dataclasses import replace

from augury.codegen.common.absence import absence_entries, emit_absences
from augury.codegen.common.constants import functions_of
from augury.codegen.common.fitting import fits
from augury.codegen.common.inventory import NUMS, stream_specs
from augury.codegen.common.naming import heading, remark
from augury.codegen.common.runs import ReadSite
from augury.codegen.eager.arrays import run_arrays
from augury.codegen.eager.automaton import Automaton, automaton_of
from augury.codegen.eager.gaps import emit_state
from augury.codegen.eager.rounds import emit_outdone
from augury.codegen.eager.source import (
    PEAK_RUNS,
    ROOM,
    EagerNfaSource,
    automaton_source,
    emit_load_registers,
    emit_partition,
    emit_room,
    emit_store_registers,
)
from augury.codegen.eager.taking import emit_begin
from augury.ir.query import CountWindow, TimeWindow
from augury.plan import Component, EagerNfaPlan, Phase
from augury.runtime.kernel_source import Signature

_DOES = {Phase.WAITING: "waiting for", Phase.BEHIND: "behind a list, waiting for", Phase.LOOPING: "looping over"}
"""What a run does in each phase, in words."""


def emit_eager_nfa(plan: EagerNfaPlan, *, counters: bool = False) -> EagerNfaSource:
    """The kernel of a plan; the same plan gives the same text."""
    nfa = automaton_of(plan, counters=counters)
    stream = stream_specs(nfa.constants, nfa.specs)
    advance = Signature("advance", ("i0", "n", NUMS, *stream, *run_arrays()))
    _header(nfa)
    _advance(nfa, advance)
    absent = [*(b.absent for b in plan.branches), *(r.absent for r in plan.rounds)]
    negated = emit_absences(nfa.out, plan.query, absent, nfa.columns, nfa.constants, stream, counters=counters)
    source = automaton_source(
        [b.components for b in plan.branches],
        nfa.out,
        (advance, *absence_entries(negated, stream)),
        nfa.specs,
        nfa.constants,
        nfa.vector,
        negated,
        functions_of(nfa.tested),
    )
    # A node that is outdone has another code of its component.
    codes = 2 if plan.takes_all else 1
    return replace(
        source,
        component_variables=source.component_variables * codes,
        branch_of_component=source.branch_of_component * codes,
    )


def _header(nfa: Automaton) -> None:
    out = nfa.out
    for line in heading(nfa.plan.query.source):
        out.comment(line)
    out.comment()
    steps = "".join(f", {step.strategy}({step.variable}{'[]' if step.inside else ''})" for step in nfa.plan.query.steps)
    out.comment(remark(f"{nfa.plan.query.strategy}{steps}; runs {'merged' if nfa.plan.merge else 'not merged'}"))
    for k, s in enumerate(nfa.plan.states):
        c = nfa.plan.branches[s.branch].components[s.component]
        out.comment(f"state {k}: {_DOES[s.phase]} {remark(c.variable)}")
    for cell, holds in nfa.vector.described():
        out.comment(f"{cell}: {remark(holds)}")
    out.add()
    out.add()


def _advance(nfa: Automaton, advance: Signature) -> None:
    out = nfa.out
    out.add("@kernel")
    with out.block(advance.head):
        # Counters live in registers while the events pass.
        emit_load_registers(out)
        out.add(f"room = {ROOM}")
        with out.block("for event in range(i0, n):"):
            out.add("i = natural(event)")
            _event(nfa)
        emit_store_registers(out)
        out.add("return n")


def _event(nfa: Automaton) -> None:
    out = nfa.out
    emit_partition(out, in_one_list=nfa.in_one_list)
    # Each run may take the event, proceed with it, and be merged with one that ignores it. Of many keys most have
    # no run: how many there are is then not read, which would be one more place far away in memory.
    out.add("r = first_run[g]")
    begun, states = nfa.plan.begun, nfa.plan.states
    out.add(f"need = {begun} if r < 0 else {nfa.plan.spread} * live_runs[g] + {begun}")
    emit_room(out)
    if nfa.plan.merge:
        out.add("stamp += 1", "a new event: what the table of merged runs holds is out of date")
        for b in range(len(nfa.plan.branches)):
            out.add(f"final_{b} = -1")
        for k in range(len(states)):
            out.add(f"lead_{k} = idle_{k} = join_{k} = -1")
    for b, branch in enumerate(nfa.plan.branches):
        for j, c in enumerate(branch.components):
            out.add(f"fit_{nfa.code(b, j)} = {_fits(nfa, c)}", remark(c.variable))
            if c.until is not None:
                out.add(f"ends_{nfa.code(b, j)} = {_fits(nfa, c.until)}", remark(f"until {c.until.variable}"))
    if nfa.plan.takes_all:
        out.add("marked = -2", "the last node that is outdone by this event")
    out.add("link = -1", "the run before r")
    with out.block("while r >= 0:"):
        out.add("after = run_next[r]")
        out.add("later = k > run_rank[r]", "than the last event of the run")
        word = "if"
        expired = _expired(nfa)
        if expired:
            with out.block(f"if {expired}:", "WITHIN"):
                nfa.pools.remove()
            word = "elif"
        for k, s in enumerate(states):
            c = nfa.plan.branches[s.branch].components[s.component]
            others = k + 1 < len(states) or word == "if"
            with out.block(
                f"{word} run_state[r] == {k}:" if others else "else:",
                remark(f"{_DOES[s.phase]} {c.variable}"),
            ):
                emit_state(nfa, s)
            word = "elif"
        out.add("r = after")
    for b, branch in enumerate(nfa.plan.branches):
        for j in branch.entries:
            emit_begin(nfa, b, j)
    if nfa.plan.takes_all:
        emit_outdone(out, nfa.first_codes[-1])
    if nfa.counters:
        out.add(f"nums[{PEAK_RUNS}] = max(nums[{PEAK_RUNS}], runs)", "peak of simultaneous runs")


def _expired(nfa: Automaton) -> str:
    each = nfa.plan.query.each
    apart = "" if each is None else f"t - time[node_event[run_node[r]]] > {each}"
    return " or ".join(test for test in (_outside_window(nfa), apart) if test)


def _outside_window(nfa: Automaton) -> str:
    match nfa.plan.query.window:
        case TimeWindow() as window:
            return f"t - run_start[r] > {nfa.constants.within(window)}"
        case CountWindow() as window:
            # Places are counted by partition: those of another one say nothing about this run.
            mine = f"{nfa.same_partition} and " if nfa.mixed else ""
            return f"{mine}place[i] - run_start[r] >= {nfa.constants.within(window)}"
        case None:
            return ""


def _fits(nfa: Automaton, c: Component) -> str:
    at = ReadSite(nfa.vector, nfa.columns, nfa.constants, -1, "r", c.variable, "i", begins=True)
    return fits(c, nfa.plan.query, nfa.constants, at.read, in_partition=nfa.in_one_list)
