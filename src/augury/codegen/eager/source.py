"""Parts that all kernels of automata share: registers, room in their pools, and facts for their caller."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from augury.codegen.common.constants import Constants
from augury.codegen.common.lines import Lines
from augury.codegen.common.runs import ValueVector
from augury.native.cells import RunCell
from augury.plan import Component
from augury.runtime.columns import ColumnSpec
from augury.runtime.kernel_source import KernelSource, Signature, kernel_source

REGISTERS = {
    "nodes": RunCell.NODES,
    "edges": RunCell.EDGES,
    "free": RunCell.FREE,
    "found": RunCell.FOUND,
    "runs": RunCell.LIVE,
    "stamp": RunCell.STAMP,
}
"""How far the pools are filled: local variables while the events pass, cells of `nums` before and after."""

PEAK_RUNS = RunCell.PEAK_RUNS

ROOM = "min(free, node_event.shape[0] - nodes, edge_node.shape[0] - edges, final_node.shape[0] - found)"
"""Free places in the fullest pool (runs, nodes, edges, matches); an event starts only with the most it may need."""

COUNTERS = ("predicates", "runs", "peak_runs", "buffer_writes", "merged")
"""The measures of the papers, in cells 8 and following of `nums`."""


@dataclass(frozen=True, slots=True)
class EagerNfaSource:
    """The generated kernel and what its caller must know to feed it."""

    source: KernelSource
    specs: tuple[ColumnSpec, ...]
    strings: tuple[str, ...]
    integers: int
    floats: int
    event_cells: tuple[int, ...]
    component_variables: tuple[str, ...]
    branch_of_component: tuple[int, ...]
    negated: tuple[Component, ...]
    functions: Mapping[str, tuple[str, ...]]
    """Registered functions that the kernel calls, with the kinds of their arguments."""
    cells: tuple[tuple[str, str], ...]
    """The value vector of a run: each cell with what it holds."""
    code_cells: tuple[int, ...]
    """The cells of integers that hold codes of strings."""
    walks: int
    """The most lists that one condition goes through: each needs an array for its elements."""


def emit_load_registers(out: Lines) -> None:
    """Load counters into the registers that they are in while the events pass."""
    for name, cell in REGISTERS.items():
        out.add(f"{name} = nums[{cell}]")


def emit_store_registers(out: Lines) -> None:
    """Write counters back from the registers that they are in while the events pass."""
    for name, cell in REGISTERS.items():
        out.add(f"nums[{cell}] = {name}")


def emit_partition(out: Lines, *, in_one_list: bool, run: str = "a run") -> None:
    """Set `g` to the list of runs that event i is for; `in_one_list` are the runs of all partitions."""
    if in_one_list:
        out.add("g = 0", f"the events of any partition end {run}")
    else:
        out.add("g = part[i]")
        with out.block("if g < 0:"):
            out.add("continue")


def emit_room(out: Lines) -> None:
    """Return to the caller if the pools have no room for the `need` runs of event i; else load its time and rank."""
    out.add("room -= need")
    with out.block("if room < 0:"):
        out.add(f"room = {ROOM} - need")
        # Room is used up as work is done, so that this is looked at often enough, and seldom.
        with out.block("if room < 0 or stopped(nums):"):
            emit_store_registers(out)
            out.add("return i", "the caller makes room and comes back")
    out.add("t = time[i]")
    out.add("k = rank[i]")


def automaton_source(
    branches: Sequence[Sequence[Component]],
    out: Lines,
    entries: Sequence[Signature],
    specs: tuple[ColumnSpec, ...],
    constants: Constants,
    vector: ValueVector,
    negated: tuple[Component, ...],
    functions: Mapping[str, tuple[str, ...]],
) -> EagerNfaSource:
    """The source of runs, or of instances, once its text is written."""
    return EagerNfaSource(
        kernel_source(f"{out}\n", entries, constants.arrays, ranks_strings=constants.ranks_strings, code=out.code),
        specs,
        constants.strings,
        max(1, len(vector.integers)),
        max(1, len(vector.floats)),
        tuple(k for k, s in enumerate(vector.integers) if s.holds_event),
        tuple(c.variable for components in branches for c in components),
        tuple(b for b, components in enumerate(branches) for _ in components),
        negated,
        functions,
        vector.described(),
        vector.holding_codes(),
        vector.walked,
    )
