"""Whatever tells the columns of events -> what the engine knows of them."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from augury.arguments import path, unusable
from augury.compiler import Measure
from augury.engine.scan.file_scan import ParquetFiles, ParquetScan, cores, parquet_files
from augury.engine.scan.narrow import TableScan
from augury.engine.scan.scan import Scan
from augury.engine.sources.events import Events, engine_schema, is_text, read_events
from augury.engine.sources.files import PARQUET_SUFFIXES, unreadable
from augury.engine.sources.readable import readable_schema
from augury.engine.statistics.measure import measure
from augury.errors import HostError
from augury.options import Roles
from augury.runtime.values import arrow_type
from augury.schema import EventSchema

Schema: TypeAlias = pa.Schema | EventSchema | Events
"""An Arrow schema, an `EventSchema`, or events that have the columns: anything that `match` takes."""


@dataclass(frozen=True, slots=True, eq=False)
class KnownColumns:
    """The columns of events in Arrow's types and in the engine's; `scan` reads the events if some were given."""

    arrow: pa.Schema
    schema: EventSchema
    scan: Scan | None = None

    def measure(self) -> Measure | None:
        """What the planner may ask about the events, as it does when they are matched."""
        scan = self.scan
        if scan is None or not scan.rows:
            return None
        return lambda query: measure(scan.events(query), query)


def table_columns(table: pa.Table, schema: EventSchema) -> KnownColumns:
    """What is known of a table of events."""
    return KnownColumns(table.schema, schema, TableScan(table, schema))


def known_events(given: Events, roles: Roles) -> KnownColumns | None:
    """What is known of events; None of those without columns, such as an empty file.

    Parquet files are opened here, and read when it is known what for; anything else is read at once.
    """
    files = _files(given, roles)
    if files is not None:
        schema = event_schema(files.arrow, roles)
        return KnownColumns(files.arrow, schema, ParquetScan(files, schema, cores()))
    table = read_events(given, roles.time, roles.required)
    return table_columns(table, event_schema(table.schema, roles)) if table.num_columns else None


def _files(given: Events, roles: Roles) -> ParquetFiles | None:
    """The Parquet files that a path names, if they can be read as they are: times that are written out cannot."""
    if not isinstance(given, str | os.PathLike):
        return None
    named = path("events", given)
    if not named.exists() or not (named.is_dir() or named.name.lower().endswith(PARQUET_SUFFIXES)):
        return None
    try:
        files = parquet_files(named)
    except (OSError, pa.ArrowException) as e:
        raise unreadable(f"`{named}`", e) from e
    if files is None or roles.time not in files.arrow.names or is_text(files.arrow.field(roles.time).type):
        return None
    return files


def known_columns(given: Schema, roles: Roles) -> KnownColumns:
    """The columns of a schema, or of events.

    >>> known_columns([{"ts": 1, "x": 2}], Roles()).schema.names
    ('ts', 'x')
    """
    if isinstance(given, EventSchema):
        return KnownColumns(pa.schema([(c.name, arrow_type(c.type)) for c in given.columns]), given)
    if isinstance(given, pa.RecordBatchReader):
        # Its events are for whoever matches them later.
        given = given.schema
    if isinstance(given, pa.Schema):
        given = readable_schema(given)
        if given.names.count(roles.time) == 1 and is_text(given.field(roles.time).type):
            raise HostError(
                "A515",
                f"the time column `{roles.time}` of the schema holds strings",
                'give the type of the parsed times, such as pa.timestamp("us")',
            )
        return KnownColumns(given, event_schema(given, roles))
    if given is None:
        raise unusable("schema", "a schema, or events that have the columns", given)
    known = known_events(given, roles)
    return KnownColumns(pa.schema([]), event_schema(pa.schema([]), roles)) if known is None else known


def event_schema(arrow: pa.Schema, roles: Roles) -> EventSchema:
    """What the engine knows of events with these Arrow columns."""
    return EventSchema.from_arrow(
        engine_schema(arrow, roles.type),
        time=roles.time,
        type=roles.type,
        order_by=roles.order_by,
        time_unit=roles.time_unit,
    )
