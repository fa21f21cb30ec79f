"""Groups in an automaton: what a run remembers of its rounds, and how one that has left a group is outdone.

A run that has left a group that takes all the rounds it can, and still waits for what follows, holds the node that its
last round ended with. A run that goes on from that node and completes a further round marks the node, once the event
has been looked at by all runs: what it completes may as well be what follows. The mark is another code of the same
component, so that it is saved with the node.
"""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

from augury.codegen.common.expressions import leaves
from augury.codegen.common.lines import Lines
from augury.codegen.common.naming import remark
from augury.codegen.common.runs import ReadSite, Slot, ValueVector, accumulate
from augury.ir.predicate import Element, Ref, walk
from augury.plan import EagerNfaPlan, Loop, NfaBranch, Round

ACCUMULATED = ("count", "sum", "sum_f", "overflow", "mean_f", "squares_f")
"""Operations whose cells are set to zero at the beginning of each round, and then added to."""


def declare_rounds(plan: EagerNfaPlan, at: ReadSite) -> None:
    """Ask the value vector for what runs have to know of rounds; what conditions read of them is known by then."""
    vector = at.vector
    for branch in plan.branches:
        for loop in branch.loops:
            for _, text in _arguments(vector, loop):
                for leaf in leaves(vector.arguments[loop.variable, text]):
                    at.read(leaf)
            if loop.low > 1 or (loop.high or 1) > 1 or _one_for_all(loop):
                vector.cell("r", Slot(loop.variable, "length"), 0)
            if loop.takes_all and _counts_events(branch, loop):
                vector.cell("r", Slot(loop.variable, "events"), 0)
            for latest, names in loop.latest:
                for name in names:
                    for slot in vector.of(latest.variable):
                        vector.cell("r", replace(slot, variable=name), 0)
                    for (v, text), argument in [*vector.arguments.items()]:
                        if v == latest.variable:
                            vector.arguments[name, text] = argument


def _one_for_all(loop: Loop) -> bool:
    """Whether first and further rounds share components, so that only the count of rounds tells them apart."""
    return loop.takes_all and any(r.initial and r.further for r in loop.rounds)


def _counts_events(branch: NfaBranch, loop: Loop) -> bool:
    """Whether a round may have more events than components."""
    return any(branch.components[j].iterated for j in range(loop.first, loop.last + 1))


def cell(vector: ValueVector, slot: Slot, run: str) -> str:
    array = "run_floats" if slot.is_float else "run_integers"
    return f"{array}[{run}, {vector.place(slot)}]"


def number(vector: ValueVector, loop: Loop, run: str) -> str:
    """The cell with the number of complete rounds."""
    return cell(vector, Slot(loop.variable, "length"), run)


def _arguments(vector: ValueVector, loop: Loop, variable: str | None = None) -> list[tuple[str, str]]:
    """The aggregates over all rounds: those that read a round once, or those over the list of a component in it."""
    over = {name: latest.variable for latest, names in loop.latest for name in names}
    wanted = {over[variable]} if variable in over else set()
    return [
        (v, text)
        for (v, text), argument in vector.arguments.items()
        if v == loop.variable
        and {e.variable for e in walk(argument) if isinstance(e, Ref) and e.element is Element.EACH} == wanted
    ]


def emit_event(out: Lines, at: ReadSite, branch: NfaBranch, j: int, run: str, *, begins: bool) -> None:
    """Emit the start of a round where event i joins component j of a group: cells of one round begin anew."""
    vector = at.vector
    loop = next((loop for loop in branch.loops if loop.first <= j <= loop.last), None)
    if loop is None:
        return
    if begins:
        for slot in vector.of(branch.components[j].variable):
            if slot.operation in ACCUMULATED:
                out.add(f"{cell(vector, slot, run)} = 0")
    if branch.components[j].iterated:
        for v, text in _arguments(vector, loop, branch.components[j].variable):
            for line in accumulate(vector, at.constants, v, text, run, at.columns.of("i")):
                out.add(line)
    events = Slot(loop.variable, "events")
    if events in vector.integers:
        first = begins and any(r.first == j for r in loop.rounds)
        out.add(
            f"{cell(vector, events, run)} {'= 1' if first else '+= 1'}", remark(f"events of a round of {loop.variable}")
        )


def emit_round(out: Lines, at: ReadSite, branch: NfaBranch, loop: Loop, round: Round, run: str) -> None:
    """Run `run` has completed a round: count it, remember what it has bound, and add to what is summed up."""
    vector = at.vector
    if Slot(loop.variable, "length") in vector.integers:
        out.add(f"{number(vector, loop, run)} += 1", remark(f"rounds of {loop.variable}"))
    own = {c.variable for c in branch.components[round.first : round.last + 1]}
    for latest, names in loop.latest:
        bound = next((name for name in names if name in own), None)
        for slot in vector.of(latest.variable):
            if bound is not None:
                out.add(f"{cell(vector, slot, run)} = {cell(vector, replace(slot, variable=bound), run)}")
            elif slot.operation == "length":
                out.add(f"{cell(vector, slot, run)} = 0")
    for v, text in _arguments(vector, loop):
        for line in accumulate(vector, at.constants, v, text, run, replace(at, run=run).read):
            out.add(line)


def emit_mark(out: Lines, vector: ValueVector, loop: Loop, round: Round, run: str) -> None:
    """Note the node that the round before ended with, if run `run` has just completed a further one."""
    if not round.probes and not (loop.takes_all and round.further and round.goes_on and round.ends):
        return
    with out.block(f"if {number(vector, loop, run)} > 1:") if round.initial else nullcontext():
        out.add(f"back = run_node[{run}]", "the end of the round before")
        events = Slot(loop.variable, "events")
        steps = cell(vector, events, run) if events in vector.integers else str(round.last - round.first + 1)
        out.add(f"left = {steps}", "events of this round")
        with out.block("while left > 0 and back >= 0:"):
            out.add("back = node_before[back]")
            out.add("left -= 1")
        with out.block("if back >= 0 and node_edge[back] == -1:"):
            out.add("node_edge[back] = marked")
            out.add("marked = back")


def emit_outdone(out: Lines, components: int) -> None:
    """Mark the nodes behind which a round was completed with event i; links between them are for this event only."""
    with out.block("while marked >= 0:", "outdone: what waits there is given up"):
        out.add("back = marked")
        out.add("marked = node_edge[back]")
        out.add("node_edge[back] = -1")
        with out.block(f"if node_component[back] < {components}:"):
            out.add(f"node_component[back] += {components}")
