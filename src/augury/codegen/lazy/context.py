"""The context that all parts of the emitter of one kernel of lazy chains share, and the tables that they fill.

`j_v0_a` is the position in its buffer of the event bound to a, `e_v0_a`, `t_v0_a`, `p_v0_a` are its number, clock and
partition, `r_v0_a` is its rank where the clock does not tell the order, `v0_a__c0_price` is a column of it. Of an
iterated variable, `events_v1_b[:d_v1_b]` are the events bound so far.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace

from augury.codegen.common.constants import Constants, constants_of
from augury.codegen.common.inventory import columns_of, conjuncts_of, with_inner
from augury.codegen.common.lines import Lines
from augury.codegen.common.naming import origin, remark
from augury.codegen.common.runs import Columns, ValueVector
from augury.codegen.lazy.arrays import buffered, marked_blocks
from augury.codegen.lazy.keys import key_columns, search_key
from augury.codegen.lazy.layout import Buffer, Layout
from augury.codegen.lazy.nest import Nest, Node
from augury.ir.predicate import Conjunct
from augury.ir.query import BoundQuery, CountWindow, span_of
from augury.plan import Absence, Component, Key, LazyChainPlan
from augury.runtime.arrays import INT64, ArraySpec
from augury.runtime.columns import ColumnSpec, column_arrays
from augury.runtime.identifiers import identifiers

WITHIN = "within"
"""The local variable that holds the length of the window."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of an array, `at` the local variable of that name, with the positions of so many events."""

    array: str
    at: str
    width: int


@dataclass(frozen=True, slots=True)
class Scope:
    """The conditions and bounds that are already established at a place of the generated code."""

    narrowed: frozenset[int] = frozenset()
    """States for which the first event has narrowed the range of candidates."""
    kept: frozenset[int] = frozenset()
    """States of which the candidates that fit the first event have been copied aside."""
    reporting: bool = False
    """Whether the code is reached only when matches are wanted."""
    row: Row | None = None
    """The row that holds the positions of the first events that are bound."""


@dataclass(frozen=True, slots=True, eq=False)
class Context:
    """One kernel in the making: its plan and names, and the buffers, indexes and functions that were asked for."""

    plan: LazyChainPlan
    counters: bool
    nest: Nest
    negated: Mapping[tuple[int, Absence], Node]
    """The states that look for negated parts, by the state where they do and the part."""
    names: Mapping[str, str]
    """The identifiers of variables."""
    components: Mapping[str, Component]
    tested: tuple[Conjunct, ...]
    constants: Constants
    """The constants of conditions; functions load their values into local variables before their loops."""
    specs: tuple[ColumnSpec, ...]
    columns: Columns
    layout: Layout
    vectors: Mapping[str, ValueVector]
    """The value vectors of iterated variables."""
    span: int
    """The length of the window on the clock of the layout, or -1."""
    match_size: int
    """The number of events of every match, where all have as many and are bound in order; else 0."""
    cuts: frozenset[int]
    """States where a function ends: what follows is looked for by another one."""
    selectors: dict[str, Lines] = field(default_factory=dict)
    """Functions that test a range of candidates at once, by name: a state may be searched from several functions."""
    found: dict[str, ArraySpec] = field(default_factory=dict)
    """Arrays that searches write the candidates of a state to, by name."""
    number_alone: set[int] = field(default_factory=set)
    """States of which only the number of the event is read once it has been taken."""

    @property
    def query(self) -> BoundQuery:
        return self.plan.query

    @property
    def rank(self) -> str:
        """The prefix of what orders two events: `t` or `r`."""
        return self.layout.rank

    @property
    def counts_by_partition(self) -> bool:
        """Whether places are counted by partition, so that they do not ascend along a buffer."""
        return isinstance(self.query.window, CountWindow) and bool(self.query.partition_by)

    def buffer(self, variable: str) -> Buffer:
        return self.layout.buffer(self.components[variable])

    def keyed_buffer(self, variable: str, column: str) -> Buffer:
        """The buffer of a variable, which is to hold the numbers of the keys in a column."""
        b = self.buffer(variable)
        b.keys[column] = None
        return b

    def loads(self, names: Collection[str]) -> Iterator[tuple[str, str]]:
        """The local variables among `names` that hold values, and that of the window; each with its cell."""
        values = self.layout.constants
        if self.span >= 0:
            yield WITHIN, values.integer("span", self.span)
        for name, cell in (self.constants.loaded or {}).items():
            if name in names:
                yield name, cell

    def iterated(self, variable: str) -> bool:
        return self.components[variable].iterated

    def key(self, node: Node) -> Key | None:
        return search_key(self.plan, node)

    def waits_by_key(self, node: Node) -> bool:
        """Whether new events find the partial matches that wait for them by key."""
        return node.may_come and not node.iterated and self.key(node) is not None

    def candidates(self, node: Node, *names: str, column: str = "") -> None:
        """Ask for arrays that searches write candidates of a state to, or values of a column of theirs."""
        types = {array.name: array.dtype for spec in self.specs for array in column_arrays(spec)}
        dtype = types[column] if column else INT64
        for name in names:
            self.found[name] = buffered(name, self.buffer(node.variable).number, node.number, dtype=dtype)

    def candidate_blocks(self, node: Node, name: str) -> None:
        """Ask for an array of bits of which blocks of a buffer hold candidates of a state."""
        self.found[name] = marked_blocks(name, self.buffer(node.variable).number, node.number)

    def label(self, node: Node) -> str:
        c = node.step.component
        return remark(f"{'|'.join(c.types) or 'any'} {c.variable}")

    def origin(self, j: Conjunct) -> str:
        return origin(j, self.query.source)


def context_of(
    plan: LazyChainPlan,
    states: Nest,
    negated: Mapping[tuple[int, Absence], Node],
    cuts: frozenset[int],
    *,
    counters: bool,
) -> Context:
    """The context of a kernel of which nothing has been emitted."""
    components = [c for b in plan.branches for c in with_inner(b.components, b.absent)]
    tested = (*conjuncts_of(components), *plan.conjuncts, *(j for b in plan.branches for j in b.spacing))
    constants = constants_of(components, tested)
    specs, columns = columns_of(components, tested, plan.computed)
    names = identifiers("v", [v.name for v in plan.query.variables])
    lists = [c.variable for b in plan.branches for c in b.components if c.iterated]
    return Context(
        plan=plan,
        counters=counters,
        nest=states,
        negated=negated,
        names=names,
        components={c.variable: c for c in components},
        tested=tested,
        constants=replace(constants, loaded={}),
        specs=specs,
        columns=columns,
        layout=Layout(plan.query, columns, specs, constants, key_columns(plan, (*states.nodes, *negated.values()))),
        vectors={v: ValueVector(suffix=f"_{names[v]}") for v in lists},
        span=span_of(plan.query.window),
        cuts=cuts,
        match_size=len(plan.branches[0].components) if not lists and _alike(plan) else 0,
    )


def _alike(plan: LazyChainPlan) -> bool:
    """Whether matches of single events are told by their events alone, in the order of the components.

    Where that is not the order of time, nobody may ask which event is the last before matches are written out.
    """
    if len(plan.branches) > 1:
        return False
    (branch,) = plan.branches
    return branch.sequential or (plan.query.reports_all and not branch.absent)
