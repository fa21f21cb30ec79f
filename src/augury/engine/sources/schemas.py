"""Determines the columns of events, from a schema or from the events themselves."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa

from augury.arguments import unusable
from augury.compiler import Measure
from augury.engine.scan.file_scan import ParquetFiles, ParquetScan, dataset_files, parquet_files
from augury.engine.scan.narrow import TableScan
from augury.engine.scan.projected import ProjectedScan
from augury.engine.scan.scan import Scan
from augury.engine.scan.stream_scan import StreamScan
from augury.engine.sources.column_types import engine_schema, is_text
from augury.engine.sources.columnar import column_source, is_a
from augury.engine.sources.events import Events, is_stream, read_events, stream_of
from augury.engine.sources.files import PARQUET_SUFFIXES
from augury.engine.sources.paths import named_paths
from augury.engine.sources.readable import readable_schema, unreadable
from augury.engine.statistics.measure import measure
from augury.engine.statistics.sampling import scaled
from augury.engine.threads import cores
from augury.errors import HostError
from augury.ir.query import BoundQuery
from augury.options import Roles
from augury.plan import StreamStatistics
from augury.runtime.values import arrow_type
from augury.schema import EventSchema
from augury.timing import UNTIMED, CallStage, Clock

Schema: TypeAlias = pa.Schema | EventSchema | Events
"""An Arrow schema, an `EventSchema`, or events that have the columns: anything that `match` takes."""


@dataclass(frozen=True, slots=True, eq=False)
class KnownColumns:
    """The columns of events in Arrow's types and in the engine's; `scan` reads the events if some were given."""

    arrow: pa.Schema
    schema: EventSchema
    scan: Scan | None = None

    def measure(self, clock: Clock = UNTIMED) -> Measure | None:
        """The function by which the planner measures statistics on the events; None without events."""
        scan = self.scan
        if scan is None:
            return None

        def measured(query: BoundQuery) -> StreamStatistics:
            with clock.stage(CallStage.READING):
                sampled = scan.sample(query)
            if sampled is not None:
                events, totals = sampled
                return scaled(measure(events, query), len(events), totals)
            with clock.stage(CallStage.READING):
                events = scan.events(query)
            # The number of events may be known only now.
            return measure(events, query) if scan.rows else StreamStatistics()

        return measured


def table_columns(table: pa.Table, schema: EventSchema) -> KnownColumns:
    """The columns of a table of events."""
    return KnownColumns(table.schema, schema, TableScan(table, schema))


def known_events(
    given: Events, roles: Roles, threads: int | None = None, *, for_one_query: bool = False
) -> KnownColumns | None:
    """The columns of events, and a scan of them; None for events without columns, such as an empty file.

    Columnar sources are only opened here, and read for a query later, Parquet files by `threads`, by default one per
    processor. So are streams that can be read once, if they are `for_one_query` that needs no derived events. Anything
    else is read now.
    """
    scanned = scanned_files(given, roles, threads)
    if scanned is not None:
        return scanned
    source = column_source(given)
    if source is not None:
        arrow = readable_schema(source.columns())
        if _has_ticks(arrow, roles):
            schema = event_schema(arrow, roles)
            return KnownColumns(arrow, schema, ProjectedScan(source, arrow, schema))
    if for_one_query and is_stream(given):
        stream = stream_of(given)
        arrow = readable_schema(stream.reader.schema)
        if _has_ticks(arrow, roles):
            schema = event_schema(arrow, roles)
            return KnownColumns(arrow, schema, StreamScan(stream.reader, stream.name, arrow, schema))
        given = stream.reader
    table = read_events(given, roles.time, roles.required)
    return table_columns(table, event_schema(table.schema, roles)) if table.num_columns else None


def scanned_files(given: Events, roles: Roles, threads: int | None = None) -> KnownColumns | None:
    """The columns and a scan of events in Parquet files; None for any other events."""
    files = _files(given)
    if files is None or not _has_ticks(files.arrow, roles):
        return None
    schema = event_schema(files.arrow, roles)
    return KnownColumns(files.arrow, schema, ParquetScan(files, schema, threads or cores()))


def _has_ticks(arrow: pa.Schema, roles: Roles) -> bool:
    """Whether the time column exists and can be read as it is, which text cannot."""
    return roles.time in arrow.names and not is_text(arrow.field(roles.time).type)


def _files(given: Events) -> ParquetFiles | None:
    """The Parquet files that an argument names, if they can be scanned row group by row group; else None."""
    paths = named_paths(given)
    try:
        if is_a(given, "pyarrow", "Dataset"):
            return dataset_files(given)
        if paths is None or not all(_is_parquet(path) for path in paths):
            return None
        return parquet_files(*paths)
    except (OSError, pa.ArrowException) as e:
        named = "the data set" if paths is None else ", ".join(f"`{path}`" for path in paths[:3])
        raise unreadable(named, e) from e


def _is_parquet(path: Path) -> bool:
    return path.exists() and (path.is_dir() or path.name.lower().endswith(PARQUET_SUFFIXES))


def known_columns(given: Schema, roles: Roles) -> KnownColumns:
    """The columns of a schema, or of events.

    >>> known_columns([{"ts": 1, "x": 2}], Roles()).schema.names
    ('ts', 'x')
    """
    if isinstance(given, EventSchema):
        return KnownColumns(pa.schema([(c.name, arrow_type(c.type)) for c in given.columns]), given)
    if isinstance(given, pa.RecordBatchReader):
        # Its events are left for a later call to match.
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
    """The event schema for these Arrow columns, with the roles that options give them."""
    return EventSchema.from_arrow(
        engine_schema(arrow, roles.type),
        time=roles.time,
        type=roles.type,
        order_by=roles.order_by,
        time_unit=roles.time_unit,
    )
