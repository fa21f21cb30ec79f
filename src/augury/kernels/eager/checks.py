"""Checks of the runs and the match buffer of a saved state, before generated code walks through them.

Generated code has no bounds checks and follows links until they end. Here every link leads to an earlier cell, every
history is one that the automaton allows, and what runs remember of it agrees with it. All checks are on whole arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate

import numpy as np
import numpy.typing as npt

from augury.codegen.eager.arrays import GONE
from augury.ir.query import TimeWindow, Window
from augury.kernels.common.keys import KeyNumbers
from augury.plan import EagerNfaPlan, EventSetsPlan
from augury.plan.event_sets import MAX_VARIABLES
from augury.runtime.batch import Integers
from augury.runtime.checks import require
from augury.runtime.events import EventStore

Arrays = Mapping[str, Integers]


def check_history(
    runs: Arrays, nodes: Arrays, edges: Arrays, events: EventStore, keys: KeyNumbers, window: Window | None
) -> Integers:
    """Refuse histories that lead anywhere but back; the node that each edge belongs to."""
    start = events.view("time" if window is None or isinstance(window, TimeWindow) else "place")
    partition, rank = events.view("partition"), events.view("rank")
    owner = _owners(nodes, edges)
    require(edges["edge_node"] < owner, "a history leads to a later event")
    require(
        (nodes["node_before"] >= 0) | (nodes["node_before"] == -1) | (nodes["node_before"] == GONE),
        "a history leads nowhere",
    )
    require(partition[nodes["node_event"]] >= 0, "a run holds an event without a partition")
    for node, before in _links(nodes, edges, owner):
        own, earlier = nodes["node_event"][node], nodes["node_event"][before]
        require(partition[own] == partition[earlier], "a run holds events of two partitions")
        # A node without a component only joins histories, and has the later one of their last events.
        joins = nodes["node_component"][node] < 0
        require((own > earlier) | (joins & (own == earlier)), "the events of a run are out of order")
    _check_starts(nodes, edges, owner, start, partition, keys, window)
    require(runs["run_start"] == nodes["node_start"][runs["run_node"]], "a run starts at another time than its history")
    require(
        runs["run_rank"] == rank[nodes["node_event"][runs["run_node"]]],
        "the last event of a run is not that of its history",
    )
    return owner


def _links(nodes: Arrays, edges: Arrays, owner: Integers) -> list[tuple[Integers, Integers]]:
    """Nodes with a node before each: by their own link, and by their edges."""
    linked, joined = np.flatnonzero(nodes["node_before"] >= 0), np.flatnonzero(edges["edge_node"] >= 0)
    return [(linked, nodes["node_before"][linked]), (owner[joined], edges["edge_node"][joined])]


def _owners(nodes: Arrays, edges: Arrays) -> Integers:
    """The node that each edge belongs to, which is one and no other."""
    count = len(edges["edge_node"])
    heads, following = np.flatnonzero(nodes["node_edge"] >= 0), np.flatnonzero(edges["edge_next"] >= 0)
    referred = np.concatenate([nodes["node_edge"][heads], edges["edge_next"][following]])
    require(np.bincount(referred, minlength=count) == 1, "an edge belongs to no node, or to two")
    owner = np.full(count, -1, dtype=np.int64)
    owner[nodes["node_edge"][heads]] = heads
    # Each edge asks the one before it in the list, then the one twice, four times as far, until a head answers.
    up = np.arange(count)
    up[edges["edge_next"][following]] = following
    while (owner < 0).any():
        known = owner[up]
        owner = np.where(owner < 0, known, owner)
        up = up[up]
    return owner


def _check_starts(
    nodes: Arrays,
    edges: Arrays,
    owner: Integers,
    start: Integers,
    partition: Integers,
    keys: KeyNumbers,
    window: Window | None,
) -> None:
    """The latest start of the ways back from a node is that of the nodes before it.

    Were it later, generated code would look for ways that are not there, through all combinations there are.
    """
    if not len(nodes["node_event"]):
        return
    nothing = np.iinfo(np.int64).min
    latest = np.full(len(nodes["node_event"]), nothing)
    begins = nodes["node_before"] == -1
    latest[begins] = start[nodes["node_event"][begins]]
    linked = nodes["node_before"] >= 0
    latest[linked] = nodes["node_start"][nodes["node_before"][linked]]
    first = np.where(
        edges["edge_node"] >= 0, nodes["node_start"][edges["edge_node"]], start[nodes["node_event"][owner]]
    )
    np.maximum.at(latest, owner, first)
    agrees = nodes["node_start"] == latest
    if window is not None:
        # What was thrown away had expired, and everything still to come is no earlier than the last event.
        if isinstance(window, TimeWindow):
            past = nodes["node_start"] < _minus(int(start[-1]), window.ticks)
        else:
            past = nodes["node_start"] < keys.counts[partition[nodes["node_event"]]] - (window.events - 1)
        agrees |= (nodes["node_before"] == GONE) & past & (nodes["node_start"] >= latest)
    require(agrees, "a history starts later than any event in it")


def _minus(time: int, ticks: int) -> int:
    return max(-(2**63), time - ticks)


def check_states(plan: EagerNfaPlan, runs: Arrays, nodes: Arrays, edges: Arrays, owner: Integers) -> None:
    """Refuse histories that no run of these automata can have, and runs in a state that theirs does not lead to."""
    follows, first = transitions(plan)
    # What is outdone has another code of its component.
    nodes = {**nodes, "node_component": component_codes(nodes["node_component"], len(first))}
    code = _last_component(nodes, edges)
    require(
        (nodes["node_before"] != -1) | ((nodes["node_component"] >= 0) & first[nodes["node_component"]]),
        "a run begins in the middle of a pattern",
    )
    begun = owner[edges["edge_node"] == -1]
    require(
        (nodes["node_component"][begun] >= 0) & first[nodes["node_component"][begun]],
        "a run begins in the middle of a pattern",
    )
    for node, before in _links(nodes, edges, owner):
        own, earlier = code[node], code[before]
        joins = nodes["node_component"][node] < 0
        goes_on = follows[earlier, own] & ~joins
        again = joins & (own == earlier)
        # Of a history that was thrown away it is not known what it led to; nothing leads back through it.
        require(goes_on | again | (earlier < 0) | (joins & (own < 0)), "a run skips a component")
    expected = np.zeros((len(plan.states), len(first)), dtype=bool)
    first_codes = _first_codes(plan)
    for k, state in enumerate(plan.states):
        expected[k, [first_codes[state.branch] + j for j in plan.branches[state.branch].bound(state)]] = True
    require(runs["run_state"] < len(expected), "a run is in a state that there is not")
    reached = code[runs["run_node"]]
    require(expected[runs["run_state"], reached] | (reached < 0), "a run is in another state than its history")


def component_codes(codes: Integers, components: int) -> Integers:
    """The codes of components, also where they are those of what is outdone."""
    return np.where(codes >= components, codes - components, codes)


def transitions(plan: EagerNfaPlan) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """The components that may follow each component in a run, and those that a run may begin with."""
    first_codes = _first_codes(plan)
    follows, first = np.zeros((first_codes[-1],) * 2, dtype=bool), np.zeros(first_codes[-1], dtype=bool)
    for base, branch in zip(first_codes, plan.branches, strict=False):
        first[[base + j for j in branch.entries]] = True
        for j, c in enumerate(branch.components):
            follows[base + j, [base + k for k in (*branch.follow(j), *([j] if c.iterated else []))]] = True
    return follows, first


def _first_codes(plan: EagerNfaPlan) -> list[int]:
    return [0, *accumulate(len(branch.components) for branch in plan.branches)]


def _last_component(nodes: Arrays, edges: Arrays) -> Integers:
    """The component that each node, or the history it joins, has bound last; -1 where that was thrown away."""
    count = len(nodes["node_event"])
    # A node without a component asks the one before it, or that of its first edge; what has one, itself.
    link = np.where(nodes["node_before"] >= 0, nodes["node_before"], -1)
    other = (link < 0) & (nodes["node_edge"] >= 0)
    link[other] = edges["edge_node"][nodes["node_edge"][other]]
    up = np.where((nodes["node_component"] >= 0) | (link < 0), np.arange(count), link)
    while True:
        further = up[up]
        if (further == up).all():
            return np.asarray(nodes["node_component"][up]) if count else np.empty(0, dtype=np.int64)
        up = further


def check_sets(plan: EventSetsPlan, runs: Arrays, nodes: Arrays, edges: Arrays) -> None:
    """Refuse instances whose set of bound variables is not that of their history."""
    require(not len(edges["edge_node"]), "instances are never joined")
    require(nodes["node_component"] >= 0, "instances are never joined")
    require(nodes["node_before"] >= -1, "an instance has lost its history")
    branch_of = np.array([b for b, branch in enumerate(plan.branches) for _ in branch.components], dtype=np.int64)
    bits = np.array([1 << j for branch in plan.branches for j in range(len(branch.components))], dtype=np.int64)
    branch = branch_of[nodes["node_component"]]
    linked = np.flatnonzero(nodes["node_before"] >= 0)
    require(branch[linked] == branch[nodes["node_before"][linked]], "an instance is one of two branches")
    bound, up = bits[nodes["node_component"]], nodes["node_before"].copy()
    while (up >= 0).any():
        bound |= np.where(up >= 0, bound[up], 0)
        up = np.where(up >= 0, up[up], -1)
    at = runs["run_node"]
    require(
        runs["run_state"] == (branch[at] << MAX_VARIABLES) + bound[at],
        "an instance binds other variables than its history",
    )


def check_cells(
    integers: npt.NDArray[np.int64],
    event_cells: tuple[int, ...],
    code_cells: tuple[int, ...],
    events: int,
    strings: int,
) -> None:
    """Refuse remembered events and strings that there are not; what is not bound yet is 0."""
    for cells, low, below, what in (
        (event_cells, 0, events, "an event"),
        (code_cells, -1, max(1, strings), "a string"),
    ):
        held = integers[:, list(cells)]
        require((held >= low) & (held < below), f"a run remembers {what} that there is not")
