"""Row patterns over a streaming frame: undecidable clauses are refused, the rest runs in buckets of keys."""

from __future__ import annotations

import hashlib
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from augury.engine.row_patterns.bucket import remembers_keys
from augury.engine.row_patterns.planned import PlannedRowPattern
from augury.engine.row_patterns.stream import RowPatternStream, needed_columns, stream_column
from augury.engine.times import lateness_milliseconds
from augury.errors import AuguryWarning, Diagnostic, QueryError
from augury.explain.row_pattern import key_names
from augury.hosts.spark.expressions import column
from augury.hosts.spark.releases import require
from augury.hosts.spark.schemas import result_schema
from augury.hosts.spark.stream.match import (
    DEFAULT_BUCKETS,
    EVENT_TIME,
    LATE_COLUMN,
    event_time,
    run_buckets,
    without_late,
)
from augury.hosts.spark.stream.packing import BUCKET
from augury.ir.row_pattern import BoundRowPattern, Quantified, parts_of
from augury.ir.sql_types import Family, family, sql_name
from augury.options import Lateness, Options
from augury.source import Span

if TYPE_CHECKING:
    from augury.match_recognize.syntax import Clause

WATERMARK = "spark.watermarkDelayMs"
"""The metadata key by which Spark marks a column with a watermark."""


@dataclass(frozen=True, slots=True)
class StreamOptions:
    """Options for streams, and the limit of search steps per row."""

    lateness: Lateness | None
    buckets: int | None
    max_steps: int


def numbered_columns(schema: pa.Schema) -> pa.Schema:
    """The columns under distinct names."""
    return pa.schema([pa.field(f"column {k}", field.type) for k, field in enumerate(schema)])


def stream_result(frame: DataFrame, clause: Clause, planned: PlannedRowPattern, how: StreamOptions) -> DataFrame:
    """A streaming frame of the rows that a row pattern returns for a stream."""
    require("streams", "run it on finite frames, or update Spark")
    bound = planned.bound
    refuse_undecidable(clause, bound)
    buckets = bucket_count(bound, how)
    result = result_schema(numbered_columns(bound.output_schema))
    stream = RowPatternStream(planned, clause.span, result, buckets, how.max_steps, Options(threads=1))
    chosen = needed_columns(bound)
    events = frame.select(*(column(bound.schema.field(c).name).alias(stream_column(c)) for c in chosen))
    milliseconds = lateness_milliseconds(how.lateness, stream.schema)
    if milliseconds is None:
        _require_watermark(frame, clause, bound)
    else:
        events = events.withColumn(EVENT_TIME, event_time(stream.schema))
        events = events.withWatermark(EVENT_TIME, f"{milliseconds} milliseconds")
    for message in memory_warnings(bound):
        warnings.warn(message, AuguryWarning, stacklevel=6)
    keys = [column(stream_column(c)) for c in bound.partition_by]
    place = F.pmod(F.xxhash64(*keys), F.lit(buckets)).cast("int") if keys else F.lit(0)
    events = events.select(*(column(name) for name in stream.arrow.names), place.alias(BUCKET))
    found = run_buckets(
        events,
        stream,
        arrival=True,
        delay=milliseconds,
        result=result,
        late=LATE_COLUMN,
        metric=metric_name(bound, clause),
    )
    return without_late(found, LATE_COLUMN)


def metric_name(bound: BoundRowPattern, clause: Clause) -> str:
    """The metric of a streaming query that counts `late_events` and `matches` (rows returned)."""
    text = f"{clause.span.start} {bound.source.text}"
    return "augury_" + hashlib.sha256(text.encode()).hexdigest()[:8]


def refuse_undecidable(clause: Clause, bound: BoundRowPattern) -> None:
    """Refuse clauses that no watermark can decide."""
    found = [
        Diagnostic(
            "A750",
            "`$` asks for the last row of the partition, and on a stream there is none",
            anchor.span,
            "never decided",
            "leave it out, or bound the pattern by WITHIN",
        )
        for anchor in bound.anchors
        if anchor.end
    ]
    found += _order_problems(clause, bound)
    if found:
        raise QueryError(found, bound.source)


def _order_problems(clause: Clause, bound: BoundRowPattern) -> list[Diagnostic]:
    help = "write ORDER BY with the column of event times first, ascending"
    if not clause.order_by:
        word = Span(clause.span.start, clause.span.start + len("MATCH_RECOGNIZE"))
        message = "a row pattern over a stream needs ORDER BY: without it the order is that of arrival"
        return [Diagnostic("A751", message, word, "no ORDER BY", help)]
    first, written = bound.order_by[0], clause.order_by[0].column
    type = bound.schema.field(first.column).type
    if family(type) not in (Family.TIMESTAMP, Family.DATE):
        message = f"on a stream, ORDER BY starts with the event time, and this column is {sql_name(type)}"
        return [Diagnostic("A751", message, written.span, "not a time", help)]
    if first.descending:
        message = "on a stream, ORDER BY starts with the event time in ascending order: later rows come later"
        return [Diagnostic("A751", message, written.span, "descending", help)]
    return []


def _require_watermark(frame: DataFrame, clause: Clause, bound: BoundRowPattern) -> None:
    """Check that the event time is the column with Spark's watermark."""
    marked = [field.name for field in frame.schema.fields if WATERMARK in field.metadata]
    name = bound.schema.field(bound.order_by[0].column).name
    if name in marked:
        return
    span = clause.order_by[0].column.span
    if marked:
        message = f"the stream has its watermark on `{marked[0]}`, and ORDER BY starts with `{name}`"
    else:
        message = "the stream has no watermark: nothing says when the rows up to a time are complete"
    help = f'give lateness="10 minutes", or make the view of frame.withWatermark("{name}", "10 minutes")'
    raise QueryError([Diagnostic("A752", message, span, "the event time", help)], bound.source)


def memory_warnings(bound: BoundRowPattern) -> list[str]:
    """Warnings about state of a stream that grows without bound."""
    said = []
    if remembers_keys(bound):
        what = "MATCH_NUMBER" if bound.counts_matches else "`^`"
        said.append(f"{what} is remembered for every key of the stream, for ever")
    endless = [p for p in parts_of(bound.pattern) if isinstance(p, Quantified) and p.most is None]
    if endless and bound.within is None:
        said.append(
            f"nothing bounds `{endless[0]}`: the rows of a match that goes on are remembered for as long as it does; "
            "WITHIN bounds it"
        )
    if not bound.partition_by:
        said.append("the row pattern has no PARTITION BY: one task matches the whole stream")
    return said


def stream_split(bound: BoundRowPattern, how: StreamOptions) -> str:
    """A description of how a stream is split, and of its state."""
    key = key_names(bound)
    number = bucket_count(bound, how)
    where = f"a stream in {number} buckets of keys by {key}" if key else "a stream in one bucket"
    back = f", and {bound.reads_back} before that for PREV" if bound.reads_back else ""
    kept = f"rows are held until the watermark has passed them, and kept from the earliest undecided candidate on{back}"
    return "; ".join([where, kept, *memory_warnings(bound)])


def bucket_count(bound: BoundRowPattern, how: StreamOptions) -> int:
    """Number of buckets of keys for the state."""
    return 1 if not bound.partition_by else DEFAULT_BUCKETS if how.buckets is None else how.buckets
