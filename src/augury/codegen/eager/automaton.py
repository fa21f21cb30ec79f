"""The context that all parts of the emitter of one automaton share: its plan, the text so far, the cells of runs."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from itertools import accumulate

from augury.codegen.common.conditions import Conditions
from augury.codegen.common.constants import Constants, constants_of
from augury.codegen.common.inventory import columns_of, conjuncts_of, with_inner
from augury.codegen.common.lines import Lines
from augury.codegen.common.pools import Pools
from augury.codegen.common.runs import Columns, ReadSite, Slot, ValueVector
from augury.codegen.eager.merging import Merging
from augury.codegen.eager.present import never_null
from augury.codegen.eager.rounds import declare_rounds
from augury.codegen.eager.until import until_conditions
from augury.ir.predicate import Conjunct
from augury.ir.terms import Strategy
from augury.plan import Component, EagerNfaPlan, Gap, Loop, NfaState, Phase
from augury.runtime.columns import ColumnSpec


@dataclass(frozen=True, slots=True, eq=False)
class Automaton:
    """One kernel in the making: its plan, its text so far, and the value vector of its runs.

    Branches, components and states are known by their numbers: `b`, `j`, and the keys of `numbers`.
    """

    plan: EagerNfaPlan
    counters: bool
    out: Lines
    vector: ValueVector
    pools: Pools
    merging: Merging
    tested: tuple[Conjunct, ...]
    constants: Constants
    specs: tuple[ColumnSpec, ...]
    columns: Columns
    site: ReadSite
    """Reads run r, after all conditions have asked for what they read."""
    numbers: Mapping[NfaState, int]
    first_codes: tuple[int, ...]
    """The code of the first component of each branch, and behind them the number of all components."""
    conditions: Mapping[tuple[int, int], Conditions]
    """What is tested of events of a component, by branch and component."""
    until: Mapping[tuple[int, int], Conditions | None]
    """What is tested of events that end the list of a component; None where nothing ends it."""
    rounds: Mapping[tuple[int, str], Conditions]
    """What is tested when the last round of a group is complete, by branch and group."""

    @property
    def in_one_list(self) -> bool:
        """Whether the runs of all partitions are in one list: some step ends a run with the next event of any."""
        return Strategy.STRICT_CONTIGUITY in self.plan.query.strategies

    @property
    def mixed(self) -> bool:
        """Whether one list holds the runs of several partitions."""
        return self.in_one_list and bool(self.plan.query.partition_by)

    @property
    def same_partition(self) -> str:
        """Whether event i is of the partition of run r, where runs of all partitions are in one list."""
        return "part[i] == part[node_event[run_node[r]]]"

    def code(self, b: int, j: int) -> int:
        """The number of a component over all branches."""
        return self.first_codes[b] + j

    def state(self, b: int, j: int, phase: Phase, left: int = -1) -> int:
        return self.numbers[NfaState(b, j, phase, left)]

    def left_for(self, b: int, p: int, j: int) -> int:
        """The state of a run that has left component p, which may still grow if it is a list, and waits for j."""
        if self.plan.branches[b].lingers(p, j):
            return self.state(b, j, Phase.BEHIND, p)
        return self.state(b, j, Phase.WAITING)

    def gap(self, s: NfaState) -> Gap:
        return self.plan.branches[s.branch].gaps[s.component]

    def is_final(self, b: int, j: int) -> bool:
        """Whether a run ends with the event of component j."""
        branch = self.plan.branches[b]
        return not (branch.components[j].iterated or branch.follow(j) or branch.round_ending(j))

    def length(self, c: Component, run: str = "r") -> str:
        return f"run_integers[{run}, {self.vector.place(Slot(c.variable, 'length'))}]"

    def write_node(self, b: int, j: int, before: str, start: str) -> None:
        self.pools.write_node("i", before, str(self.code(b, j)), start)

    def keys(self, b: int, j: int, current: Collection[Slot] = ()) -> list[tuple[str, bool]]:
        """The cells that the rest of the automaton can read, but for `current`, which need no comparison."""
        return self.merging.keys({c.variable for c in self.plan.branches[b].components[: j + 1]}, j, current)


def automaton_of(plan: EagerNfaPlan, *, counters: bool) -> Automaton:
    """The automaton of a plan, before anything of it is emitted: what conditions read decides what runs remember."""
    components = [c for b in plan.branches for c in with_inner(b.components, b.absent)]
    components += [c for r in plan.rounds for c in with_inner((), r.absent)]
    loops = [loop for b in plan.branches for loop in b.loops]
    tested = (*conjuncts_of(components), *(j for loop in loops for j in loop.whole))
    components += [latest for loop in loops for latest, _ in loop.latest]
    # What must be absent in a round reads its events by the variables of the query.
    names, inside = dict(plan.names), [c for b in plan.branches for c in b.components]
    components += [replace(c, variable=names[c.variable]) for c in inside if c.variable in names]
    constants = constants_of(components, tested)
    specs, columns = columns_of(components, tested, plan.computed)
    out, vector = Lines(), ValueVector(never_null=never_null(inside))
    pools = Pools(out, vector, counters)
    first_codes = (0, *accumulate(len(branch.components) for branch in plan.branches))

    def site(reader: int) -> ReadSite:
        return ReadSite(vector, columns, constants, reader, "r")

    def of_component(b: int, j: int) -> Conditions:
        branch = plan.branches[b]
        c = branch.components[j]
        codes = {x.variable: first_codes[b] + k for k, x in enumerate(branch.components)}
        if c.iterated and (c.low > 1 or c.high is not None):
            vector.cell("r", Slot(c.variable, "length"), j)
        return Conditions(c, site(j), codes, plan.query.source, counters)

    def of_group(loop: Loop) -> Conditions:
        none = Component(loop.variable, (), 1, 1, False, (), (), loop.whole)
        return Conditions(none, site(loop.last), {}, plan.query.source, counters)

    # In this order: cells of the value vector are numbered as they are asked for.
    places = [(b, j) for b, branch in enumerate(plan.branches) for j in range(len(branch.components))]
    conditions = {(b, j): of_component(b, j) for b, j in places}
    until = {place: until_conditions(c.at, c) for place, c in conditions.items()}
    rounds = {(b, loop.variable): of_group(loop) for b, branch in enumerate(plan.branches) for loop in branch.loops}
    declare_rounds(plan, site(0))
    return Automaton(
        plan=plan,
        counters=counters,
        out=out,
        vector=vector,
        pools=pools,
        merging=Merging(out, pools, vector, counters),
        tested=tested,
        constants=constants,
        specs=specs,
        columns=columns,
        site=site(0),
        numbers={state: k for k, state in enumerate(plan.states)},
        first_codes=first_codes,
        conditions=conditions,
        until=until,
        rounds=rounds,
    )
