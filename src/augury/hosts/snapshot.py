"""A matcher as bytes, and back."""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, assert_never

import pyarrow as pa

from augury.errors import HostError
from augury.hosts.matcher import Position, Setting, beginning, setting
from augury.hosts.reorder import Arrivals
from augury.loss import LossModel
from augury.options import Options
from augury.plan import GivenStatistics, Statistics, StreamStatistics
from augury.runtime.state import RunState
from augury.schema import Column, ColumnType, EventSchema, Kind
from augury.source import Source

MAGIC = b"AUGURY01"
VERSION = 1
COUNTERS = ("next_row", "next_derived", "watermark", "highest", "finished")


def save(given: Setting, at: Position) -> bytes:
    """One blob: a mark, a checksum, and an Arrow stream with JSON facts."""
    tables: dict[str, pa.Table] = {"schema": given.arrow.empty_table()}
    for name in ("held", "last", "late"):
        put_arrivals(tables, name, getattr(at, name))
    for k, stage in enumerate(at.stages):
        put_arrivals(tables, f"held{k}", stage.held)
        put_arrivals(tables, f"log{k}", stage.log)
        tables[f"state{k}"] = pa.table({"state": pa.array([stage.state.to_bytes()], pa.large_binary())})
    facts = {
        "source": [given.source.text, given.source.name],
        "schema": _schema_facts(given.schema),
        "options": _option_facts(given.options),
        "delay": given.delay,
        "types": sorted(at.types),
        "counters": {name: getattr(at, name) for name in COUNTERS},
    }
    body = RunState("matcher", VERSION, tables, facts).to_bytes()
    return MAGIC + hashlib.sha256(body).digest() + body


def load_snapshot(
    data: bytes, functions: Mapping[str, Callable[..., Any]], cache_dir: Path | None = None
) -> tuple[Setting, Position]:
    """Read what `save` wrote."""
    start = len(MAGIC) + hashlib.sha256().digest_size
    if bytes(data[: len(MAGIC)]) != MAGIC:
        raise HostError("A542", "these bytes are not a snapshot of a Matcher")
    if hashlib.sha256(data[start:]).digest() != data[len(MAGIC) : start]:
        raise HostError("A543", "the snapshot is damaged or cut off: its checksum does not agree")
    saved = RunState.from_bytes(data[start:])
    if (saved.family, saved.version) != ("matcher", VERSION):
        raise HostError("A544", f"a snapshot of version {saved.version} cannot be read by this release")
    facts, tables = saved.facts, saved.tables
    missing = sorted(set(facts["options"]["functions"]) - {name.lower() for name in functions})
    if missing:
        raise HostError(
            "A545",
            f"the query calls {', '.join(missing)}, which a snapshot does not hold",
            "give functions={...} to restore",
        )
    options = replace(_options(facts["options"]), functions=functions, cache_dir=cache_dir)
    given = setting(
        Source(*facts["source"]), tables["schema"].schema, _schema(facts["schema"]), options, facts["delay"]
    )
    fresh = beginning(given)
    chain = tuple(
        replace(
            stage,
            held=get_arrivals(tables, f"held{k}"),
            log=get_arrivals(tables, f"log{k}"),
            state=RunState.from_bytes(tables[f"state{k}"]["state"][0].as_py()),
        )
        for k, stage in enumerate(fresh.stages)
    )
    held, last, late = (get_arrivals(tables, name) for name in ("held", "last", "late"))
    return given, Position(chain, held, last, late, frozenset(facts["types"]), **facts["counters"])


def put_arrivals(tables: dict[str, pa.Table], name: str, events: Arrivals) -> None:
    """Add events to the tables of a state, under two names that begin with `name`."""
    tables[f"{name}.events"] = events.table
    tables[f"{name}.places"] = pa.table({"row": events.rows, "anchor": events.anchors, "time": events.time})


def get_arrivals(tables: Mapping[str, pa.Table], name: str) -> Arrivals:
    """Read what `put_arrivals` wrote."""
    places = tables[f"{name}.places"]
    columns = (places[c].to_numpy(zero_copy_only=False).copy() for c in ("row", "anchor", "time"))
    return Arrivals(tables[f"{name}.events"], *columns)


def _schema_facts(schema: EventSchema) -> dict[str, Any]:
    return {
        "columns": [[c.name, _type_facts(c.type)] for c in schema.columns],
        "time": schema.time,
        "type": schema.type,
        "order_by": list(schema.order_by),
        "time_unit": schema.time_unit,
        "types": None if schema.types is None else sorted(schema.types),
    }


def _schema(facts: Mapping[str, Any]) -> EventSchema:
    return EventSchema(
        tuple(Column(name, _type(t)) for name, t in facts["columns"]),
        facts["time"],
        facts["type"],
        tuple(facts["order_by"]),
        facts["time_unit"],
        None if facts["types"] is None else frozenset(facts["types"]),
    )


def _type_facts(type: ColumnType) -> list[Any]:
    return [str(type.kind), type.unit, None if type.item is None else _type_facts(type.item)]


def _type(facts: list[Any]) -> ColumnType:
    kind, unit, item = facts
    return ColumnType(Kind(kind), unit, None if item is None else _type(item))


def _option_facts(options: Options) -> dict[str, Any]:
    return {
        "plan": options.plan,
        "order": options.order,
        "negation": options.negation,
        "statistics": _statistics_facts(options.statistics),
        "parameters": {name: _parameter_facts(name, v) for name, v in options.parameters.items()},
        "functions": sorted(options.callables),
        "loss": None if options.loss is None else options.loss.to_json(),
        "max_matches": options.max_matches,
        "max_partial_matches": options.max_partial_matches,
        "max_runs": options.max_runs,
        "jit": options.jit,
        "merge": options.merge,
        "counters": options.counters,
        "compressed": options.compressed,
    }


def _options(facts: Mapping[str, Any]) -> Options:
    return Options(
        plan=facts["plan"],
        order=None if facts.get("order") is None else tuple(facts["order"]),
        negation=facts.get("negation"),
        statistics=_statistics(facts.get("statistics")),
        parameters={name: _parameter(v) for name, v in facts["parameters"].items()},
        loss=None if facts["loss"] is None else LossModel.from_json(facts["loss"]),
        max_matches=facts["max_matches"],
        max_partial_matches=facts["max_partial_matches"],
        max_runs=facts["max_runs"],
        jit=facts["jit"],
        merge=facts["merge"],
        counters=facts["counters"],
        compressed=facts["compressed"],
    )


def _statistics_facts(statistics: Statistics | None) -> list[Any] | None:
    match statistics:
        case None:
            return None
        case GivenStatistics():
            return ["given", statistics.to_json()]
        case StreamStatistics():
            rates, selectivities = dict(statistics.rates), dict(statistics.selectivities)
            return ["stream", [rates, selectivities, statistics.total, statistics.ticks, statistics.source]]
        case _:
            assert_never(statistics)


def _statistics(facts: list[Any] | None) -> Statistics | None:
    if facts is None:
        return None
    kind, stated = facts
    return GivenStatistics.of(stated) if kind == "given" else StreamStatistics(*stated)


def _parameter_facts(name: str, value: Any) -> list[Any]:
    match value:
        case dt.datetime():
            return ["datetime", value.isoformat()]
        case dt.timedelta():
            return ["timedelta", [value.days, value.seconds, value.microseconds]]
        case list() | tuple():
            return ["list", [_parameter_facts(name, v) for v in value]]
        case None | bool() | int() | float() | str():
            return ["plain", value]
        case _:
            raise HostError("A546", f"the parameter `{name}` of type {type(value).__name__} cannot be saved")


def _parameter(facts: list[Any]) -> Any:
    kind, value = facts
    match kind:
        case "datetime":
            return dt.datetime.fromisoformat(value)
        case "timedelta":
            return dt.timedelta(*value)
        case "list":
            return [_parameter(v) for v in value]
        case _:
            return value
