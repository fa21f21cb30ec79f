"""Saves events and kernel states as tables of a saved state, and reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

import pyarrow as pa

from augury.engine.arrivals import Arrivals, arrive
from augury.engine.kept import KeptEvents
from augury.engine.stages import Stage
from augury.runtime.checks import ArraySpec, inconsistent, read_arrays, require
from augury.runtime.state import RunState
from augury.schema import EventSchema

Fit: TypeAlias = "Callable[[pa.Table], pa.Table]"
"""Selects the needed columns of a table, or raises if it does not have them."""


def put_arrivals(tables: dict[str, pa.Table], name: str, events: Arrivals) -> None:
    """Add events to the tables of a state: the events and their positions, under names that begin with `name`."""
    tables[f"{name}.events"] = events.table
    tables[f"{name}.places"] = pa.table({"row": events.rows, "anchor": events.anchors})


def get_arrivals(tables: Mapping[str, pa.Table], name: str, schema: EventSchema, fit: Fit) -> Arrivals:
    """Read what `put_arrivals` wrote; `fit` selects the needed columns."""
    if f"{name}.events" not in tables:
        raise inconsistent(f"it has no `{name}.events`")
    table = fit(tables[f"{name}.events"])
    wanted = ArraySpec("row", low=0), ArraySpec("anchor", low=0)
    places = read_arrays(tables, f"{name}.places", wanted, rows=table.num_rows)
    # Reading the times also refuses events that no stream would have accepted.
    return replace(arrive(table, schema, 0), rows=places["row"], anchors=places["anchor"], consecutive=False)


def exactly(arrow: pa.Schema) -> Fit:
    """A `Fit` that accepts only tables of this schema."""

    def fit(table: pa.Table) -> pa.Table:
        require(bool(table.schema.equals(arrow)), "its events have other columns than its stream")
        return table

    return fit


def put_stages(tables: dict[str, pa.Table], stages: Sequence[Stage]) -> None:
    """Add the held events, the logs and the kernel states of a program's stages to the tables of a state."""
    for k, stage in enumerate(stages):
        put_arrivals(tables, f"held{k}", stage.held)
        put_arrivals(tables, f"log{k}", stage.log.everything())
        put_state(tables, f"state{k}", stage.state)


def get_stages(
    tables: Mapping[str, pa.Table], stages: Sequence[Stage], fit: Callable[[pa.Schema], Fit]
) -> tuple[Stage, ...]:
    """Read what `put_stages` wrote into stages before their first event; `fit` is called with a stage's columns."""

    def events(name: str, stage: Stage) -> Arrivals:
        return get_arrivals(tables, name, stage.query.bound.schema, fit(stage.arrow))

    return tuple(
        replace(
            stage,
            held=events(f"held{k}", stage),
            log=KeptEvents.of(events(f"log{k}", stage)),
            state=stage.kernel.restore(get_state(tables, f"state{k}")),
        )
        for k, stage in enumerate(stages)
    )


def put_state(tables: dict[str, pa.Table], name: str, state: RunState) -> None:
    """Add the state of a kernel to the tables of another one."""
    tables[name] = pa.table({"state": pa.array([state.to_bytes()], pa.large_binary())})


def get_state(tables: Mapping[str, pa.Table], name: str) -> RunState:
    """Read what `put_state` wrote."""
    table = tables.get(name)
    held = [] if table is None or table.column_names != ["state"] else [value.as_py() for value in table.column(0)]
    if len(held) != 1 or not isinstance(held[0], bytes):
        raise inconsistent(f"it has no `{name}`")
    return RunState.from_bytes(held[0])
