"""The arrays of runs and of the match buffer: one table, in the order that generated functions take them.

Allocation, growth, saving, the checks of a saved state and the table in docs/kernels.md are read from it.
"""

from __future__ import annotations

from functools import cache

from augury.runtime.arrays import FLOAT64, ArraySpec

RUNS, PARTITIONS, NODES, EDGES, MATCHES, TABLE = "runs", "partitions", "nodes", "edges", "matches", "table"
"""What arrays have a cell for."""

GONE = -3
"""The node before is one that was thrown away since its window had passed."""


@cache
def run_arrays(integers: int = 1, floats: int = 1, walks: int = 0) -> tuple[ArraySpec, ...]:
    """The arrays of a kernel whose runs remember so many integers and floats, and which goes through `walks` lists."""
    return (
        ArraySpec("run_state", low=0, owner=RUNS, saved=True, holds="its state, or the set of variables it has bound"),
        ArraySpec("run_node", low=0, refers_to=NODES, owner=RUNS, saved=True, holds="the node of its last event"),
        ArraySpec("run_start", owner=RUNS, saved=True, holds="time or place of its first event, the latest if merged"),
        ArraySpec("run_rank", low=0, owner=RUNS, saved=True, holds="rank of its last event"),
        ArraySpec("run_next", refers_to=RUNS, owner=RUNS, holds="the next run of its partition, -1 for none"),
        ArraySpec("run_integers", owner=RUNS, width=integers, saved=True, holds="the integers of its value vector"),
        ArraySpec(
            "run_floats", FLOAT64, owner=RUNS, width=floats, saved=True, holds="the floats of its value vector"
        ),
        ArraySpec(
            "free_runs", refers_to=RUNS, owner=RUNS, holds="a run that is free; the first `nums[RunCell.FREE]` count"
        ),
        ArraySpec("first_run", refers_to=RUNS, owner=PARTITIONS, fill=-1, holds="its newest run, -1 for none"),
        ArraySpec("live_runs", owner=PARTITIONS, holds="how many runs it has"),
        ArraySpec("node_event", low=0, refers_to="events", owner=NODES, saved=True, holds="its event"),
        ArraySpec(
            "node_before", low=GONE, refers_to=NODES, earlier=True, owner=NODES, saved=True,
            holds="the node before it: -1 begins a match, -3 was thrown away",
        ),
        ArraySpec(
            "node_component", low=-1, refers_to="components", owner=NODES, saved=True,
            holds="the component its event is bound to, -1 if it only joins histories, a second code if outdone",
        ),
        ArraySpec("node_start", owner=NODES, saved=True, holds="the latest start of the ways back from it"),
        ArraySpec("node_edge", low=-1, refers_to=EDGES, owner=NODES, saved=True, holds="its first further edge, or -1"),
        ArraySpec("edge_node", low=-1, refers_to=NODES, owner=EDGES, saved=True, holds="the node it leads back to"),
        ArraySpec(
            "edge_next", low=-1, refers_to=EDGES, earlier=True, owner=EDGES, saved=True,
            holds="the next edge of the same node, -1 for none",
        ),
        ArraySpec("final_node", refers_to=NODES, owner=MATCHES, holds="a node that ends matches, not written out yet"),
        ArraySpec("table_run", refers_to=RUNS, owner=TABLE, holds="a run that took the current event, by hash"),
        ArraySpec("table_stamp", owner=TABLE, holds="the event that the cell was written for"),
        ArraySpec(
            "list_event", refers_to="events", owner=NODES if walks else "", more=0 if walks else 1, rows=max(1, walks),
            holds="an event of a list that is gone through one by one",
        ),
    )  # fmt: skip


ARGUMENTS = tuple(spec.name for spec in run_arrays())
"""The names of the arrays, in the order of the arguments."""
