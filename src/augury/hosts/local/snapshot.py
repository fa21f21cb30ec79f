"""Saves a matcher as bytes, and restores it."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeAlias

import pyarrow as pa

from augury.engine.sources.column_types import engine_schema
from augury.engine.stages import FIRST_DERIVED, LAST_DERIVED
from augury.engine.state.facts import Facts
from augury.engine.state.saved_options import option_facts, restored_options
from augury.engine.state.tables import exactly, get_arrivals, get_stages, put_arrivals, put_stages
from augury.engine.warnings import one_of_each_key
from augury.errors import HostError
from augury.hosts.local.matcher import Position, Setting, beginning, setting
from augury.runtime.checks import MAX_COUNT, inconsistent, require
from augury.runtime.state import FOREVER, LONG_AGO, RunState
from augury.runtime.values import arrow_type
from augury.schema import UNITS, Column, ColumnType, EventSchema, Kind, column_type
from augury.source import Source

Counter: TypeAlias = "tuple[type, int, int]"

MAGIC = b"AUGURY02"
EARLIER_MAGICS = (b"AUGURY01",)
"""The first bytes of snapshots of earlier releases."""

VERSION = 3
PLAIN, KEYED = b"SHA256\0\0", b"HMAC256\0"
"""The kind of digest, which follows `MAGIC`: a plain SHA-256 or, with a key, an HMAC."""

MARK_BYTES = len(MAGIC) + len(PLAIN)
BODY_START = MARK_BYTES + hashlib.sha256().digest_size
"""The offset of the saved state, which follows the mark and the digest."""

COUNTERS: dict[str, Counter] = {
    "late": (int, 0, MAX_COUNT),
    "next_row": (int, 0, MAX_COUNT),
    "next_derived": (int, FIRST_DERIVED, LAST_DERIVED),
    "watermark": (int, LONG_AGO, FOREVER),
    "highest": (int, LONG_AGO, FOREVER),
    "finished": (bool, False, True),
}
"""The type of each counter of a position, and the least and the greatest value it may have."""

MAX_TYPE_DEPTH = 32  # levels of nested lists in a type


def save(given: Setting, at: Position, key: bytes | None = None) -> bytes:
    """The bytes of a snapshot: a mark, a digest (with a key, an HMAC), and a state with JSON facts."""
    tables: dict[str, pa.Table] = {"schema": given.arrow.empty_table()}
    put_arrivals(tables, "held", at.held)
    put_arrivals(tables, "last", one_of_each_key(given.consuming, at.consumed, given.schema))
    put_stages(tables, at.stages)
    facts = {
        "source": [given.source.text, given.source.name],
        "schema": _schema_facts(given.schema),
        "options": option_facts(given.options),
        "lateness": given.lateness,
        "types": sorted(at.types),
        "counters": {name: getattr(at, name) for name in COUNTERS},
    }
    body = RunState("matcher", VERSION, tables, facts).to_bytes()
    mark = MAGIC + (PLAIN if key is None else KEYED)
    return mark + _digest(mark, body, key) + body


def load_snapshot(
    data: bytes,
    functions: Mapping[str, Callable[..., Any]],
    cache_dir: Path | None = None,
    key: bytes | None = None,
    compiled: Callable[..., Setting] = setting,
) -> tuple[Setting, Position]:
    """Read what `save` wrote; `compiled` is called to compile the query, or returns an earlier result."""
    saved = RunState.from_bytes(pa.py_buffer(_authentic(data, key)).slice(BODY_START))
    if (saved.family, saved.version) != ("matcher", VERSION):
        raise HostError("A544", f"a snapshot of version {saved.version} cannot be read by this release")
    facts = Facts(saved.facts, "the snapshot")
    options = restored_options(facts.part("options"))
    missing = sorted(set(facts.part("options").texts("functions")) - {name.lower() for name in functions})
    if missing:
        raise HostError(
            "A545",
            f"the query calls {', '.join(missing)}, which a snapshot does not hold",
            "give functions={...} to restore",
        )
    options = replace(options, functions=functions, cache_dir=cache_dir, live=True).watched()
    text, name = facts.texts("source", size=2)
    if "schema" not in saved.tables:
        raise inconsistent("it does not say what the events are")
    arrow = saved.tables["schema"].schema
    lateness = facts.optional("lateness", int)
    require(lateness is None or 0 <= lateness < MAX_COUNT, "there is no such lateness")
    given = compiled(Source(text, name), arrow, _schema(facts.part("schema"), arrow), options, lateness)
    return given, _position(saved.tables, facts, given)


def _position(tables: Mapping[str, pa.Table], facts: Facts, given: Setting) -> Position:
    chain = get_stages(tables, beginning(given).stages, exactly)
    held, last = (get_arrivals(tables, name, given.schema, exactly(given.arrow)) for name in ("held", "last"))
    require(bool((last.time == last.time[:1]).all()), "the last events are not at one time")
    counters = facts.part("counters")
    for name, (kind, low, high) in COUNTERS.items():
        require(low <= counters.one(name, kind) <= high, f"`{name}` cannot be {counters.one(name, kind)}")
    types = frozenset(facts.texts("types"))
    return Position(stages=chain, held=held, consumed=last, types=types, **dict(counters.stated))


def _authentic(data: bytes, key: bytes | None) -> bytes:
    """Check the digest, and return the bytes."""
    if not isinstance(data, bytes | bytearray | memoryview):
        raise HostError("A542", f"these bytes are none, but a {type(data).__name__}")
    data = bytes(data)
    if data[: len(MAGIC)] in EARLIER_MAGICS:
        raise HostError(
            "A544",
            "a snapshot of an earlier release, which wrote Arrow streams, cannot be read by this one",
            "feed the stream to a new Matcher, or finish it with the release that wrote the snapshot",
        )
    keyed = data[len(MAGIC) : MARK_BYTES]
    if data[: len(MAGIC)] != MAGIC or keyed not in (PLAIN, KEYED):
        raise HostError("A542", "these bytes are not a snapshot of a Matcher")
    if key is None and keyed == KEYED:
        raise HostError("A594", "the key of a snapshot is needed to restore it", "give key=... as to `snapshot`")
    if key is not None and keyed == PLAIN:
        raise HostError(
            "A594",
            "the key of a snapshot proves nothing here: this one was written without any",
            "restore it without key=... if you trust where it comes from",
        )
    mark, digest, body = data[:MARK_BYTES], data[MARK_BYTES:BODY_START], memoryview(data)[BODY_START:]
    if not hmac.compare_digest(_digest(mark, body, key), digest):
        if key is not None:
            raise HostError(
                "A594", "the key of a snapshot is another one, or somebody without it has changed these bytes"
            )
        raise HostError("A543", "the snapshot is damaged or cut off: its checksum does not agree")
    return data


def _digest(mark: bytes, body: bytes | memoryview, key: object) -> bytes:
    if key is None:
        return hashlib.sha256(body).digest()
    if not isinstance(key, bytes) or not key:
        raise HostError("A594", "the key of a snapshot is bytes, at least one", "such as secrets.token_bytes(32)")
    digest = hmac.new(key, mark, hashlib.sha256)
    digest.update(body)
    return digest.digest()


def _schema_facts(schema: EventSchema) -> dict[str, Any]:
    return {
        "columns": [[c.name, _type_facts(c.type)] for c in schema.columns],
        "time": schema.time,
        "type": schema.type,
        "order_by": list(schema.order_by),
        "time_unit": schema.time_unit,
        "types": None if schema.types is None else sorted(schema.types),
    }


def _schema(facts: Facts, arrow: pa.Schema) -> EventSchema:
    types = facts.optional("types", list)
    time, type, order = facts.one("time", str), facts.optional("type", str), facts.texts("order_by")
    unit = facts.one("time_unit", str)
    columns = tuple(Column(*_column(stated)) for stated in facts.one("columns", list))
    known = None if types is None else frozenset(facts.texts("types"))
    schema = EventSchema(columns, time, type, order, unit, known)
    seen = engine_schema(arrow, type)
    # Refuses roles that such columns cannot have.
    EventSchema.from_arrow(seen, time=time, type=type, order_by=order, time_unit=unit)
    require(list(schema.names) == arrow.names, "its events have other columns than its stream")
    for column, field in zip(schema.columns, seen, strict=True):
        fits = column.type == column_type(field.type) or arrow_type(column.type) == field.type
        require(fits, f"the values of `{column.name}` are of another type")
    return schema


def _column(stated: Any) -> tuple[str, ColumnType]:
    match stated:
        case [str(name), type]:
            return name, _type(type)
        case _:
            raise inconsistent("it does not say what the events are")


def _type_facts(type: ColumnType) -> list[Any]:
    return [str(type.kind), type.unit, None if type.item is None else _type_facts(type.item)]


def _type(facts: Any, depth: int = 0) -> ColumnType:
    match facts:
        case [str(kind), str() | None as unit, item] if kind in set(Kind) and depth < MAX_TYPE_DEPTH:
            require(unit is None or unit in UNITS, "there is no such unit of time")
            return ColumnType(Kind(kind), unit, None if item is None else _type(item, depth + 1))
        case _:
            raise inconsistent("a column is of a type that there is not")
