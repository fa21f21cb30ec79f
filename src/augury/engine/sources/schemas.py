"""Whatever tells the columns of events -> what the engine knows of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

from augury.arguments import optional_text, text, texts, unusable
from augury.compiler import Measure
from augury.engine.arrivals import arrive, in_order
from augury.engine.sources.events import Events, engine_schema, is_text, read_events
from augury.engine.sources.readable import readable_schema
from augury.engine.statistics.measure import measure
from augury.errors import HostError
from augury.ir.query import BoundQuery
from augury.plan import StreamStatistics
from augury.runtime.values import arrow_type
from augury.schema import A_COLUMN, EventSchema

Schema: TypeAlias = "pa.Schema | EventSchema | Events"
"""An Arrow schema, an `EventSchema`, or events that have the columns: anything that `match` takes."""


@dataclass(frozen=True, slots=True, eq=False)
class KnownColumns:
    """The columns of events in Arrow's types and in the engine's; `events` are there if some were given."""

    arrow: pa.Schema
    schema: EventSchema
    events: pa.Table | None

    def measure(self) -> Measure | None:
        """What the planner may ask about the events, as it does when they are matched."""
        if self.events is None or not self.events.num_rows:
            return None
        table, schema = self.events, self.schema

        def measured(query: BoundQuery) -> StreamStatistics:
            return measure(in_order(arrive(table, schema, 0), schema), query)

        return measured


def known_columns(
    given: Schema, time: str, type: str | None, order_by: str | Iterable[str] | None, time_unit: str
) -> KnownColumns:
    """The columns of a schema, or of events.

    >>> known_columns([{"ts": 1, "x": 2}], "ts", "type", None, "s").schema.names
    ('ts', 'x')
    """
    if isinstance(given, EventSchema):
        return KnownColumns(pa.schema([(c.name, arrow_type(c.type)) for c in given.columns]), given, None)
    if isinstance(given, pa.RecordBatchReader):
        # Its events are for whoever matches them later.
        given = given.schema
    if isinstance(given, pa.Schema):
        given = readable_schema(given)
        time = text("time", time, wanted="the name of a column")
        if given.names.count(time) == 1 and is_text(given.field(time).type):
            raise HostError(
                "A515",
                f"the time column `{time}` of the schema holds strings",
                'give the type of the parsed times, such as pa.timestamp("us")',
            )
        return KnownColumns(given, event_schema(given, time, type, order_by, time_unit), None)
    if given is None:
        raise unusable("schema", "a schema, or events that have the columns", given)
    table = read_events(given, time)
    return KnownColumns(table.schema, event_schema(table.schema, time, type, order_by, time_unit), table)


def event_schema(
    arrow: pa.Schema, time: str, type: str | None, order_by: str | Iterable[str] | None, time_unit: str
) -> EventSchema:
    """What the engine knows of events with these Arrow columns."""
    type = optional_text("type", type, wanted="the name of a column")
    return EventSchema.from_arrow(
        engine_schema(arrow, type), time=time, type=type, order_by=order_by, time_unit=time_unit
    )


def required_columns(type: str | None, order_by: tuple[str, ...] | None) -> tuple[str | None, ...]:
    """The columns beside the time that an event may not leave out."""
    return (optional_text("type", type, wanted=A_COLUMN), *(order_by or ()))


def order_columns(order_by: str | Iterable[str] | None) -> tuple[str, ...] | None:
    """The names of the columns that events are ordered by, if they were given."""
    return None if order_by is None else texts("order_by", order_by, A_COLUMN)
